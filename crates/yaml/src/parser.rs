//! Puts tokens together into the nodes of the first document, by the grammar of YAML 1.1 as libyaml
//! reads it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, Mark};
use crate::limits::Limits;
use crate::scanner::Scanner;
use crate::token::Kind;
use crate::tree::{Node, Shape, Tree};

/// What the parser expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    BlockSequence,
    IndentlessSequence,
    BlockKey,
    BlockValue,
    FlowSequence { first: bool },
    PairKey,
    PairValue,
    PairEnd,
    FlowKey { first: bool },
    FlowValue,
    FlowNoValue,
    Done,
}

/// The state of putting one document together.
pub(crate) struct Parser<'a, 'l> {
    scanner: Scanner<'a>,
    limits: &'l Limits,
    tree: Tree<'a>,
    anchors: HashMap<String, u32>,
    handles: Vec<(String, String)>,
    state: State,
    /// What to expect once the node at hand is complete.
    states: Vec<State>,
    /// The collections that are still open.
    open: Vec<u32>,
    /// Where the last thing that was read ends.
    last_end: u32,
}

/// Reads the first document of `text`; nothing at all when there is none.
pub(crate) fn parse<'a>(text: &'a str, limits: &Limits) -> Result<Tree<'a>, Error> {
    // Byte positions are kept in 32 bits.
    if text.len() > limits.bytes.min(u32::MAX as usize - 16) {
        return Err(Error::bare(format!(
            "yaml: exceeded max size of {} bytes",
            limits.bytes
        )));
    }
    let mut parser = Parser {
        scanner: Scanner::new(text),
        limits,
        tree: Tree::default(),
        anchors: HashMap::new(),
        handles: Vec::new(),
        state: State::Done,
        states: Vec::new(),
        open: Vec::new(),
        last_end: 0,
    };
    parser.tree.nodes.reserve((text.len() / 24).min(1 << 16));
    parser.document()?;
    Ok(parser.tree)
}

impl Parser<'_, '_> {
    fn document(&mut self) -> Result<(), Error> {
        let (first, ..) = self.scanner.peek()?;
        match first {
            Kind::StreamEnd => return Ok(()),
            Kind::VersionDirective | Kind::TagDirective | Kind::DocumentStart => {
                self.directives()?;
                let (kind, mark, _) = self.scanner.peek()?;
                if kind != Kind::DocumentStart {
                    return Err(Error::parser(
                        "did not find expected <document start>",
                        mark,
                    ));
                }
                self.scanner.take();
                let (kind, mark, _) = self.scanner.peek()?;
                match kind {
                    Kind::VersionDirective
                    | Kind::TagDirective
                    | Kind::DocumentStart
                    | Kind::DocumentEnd
                    | Kind::StreamEnd => self.empty(mark)?,
                    _ => self.node(true, false)?,
                }
            }
            _ => {
                self.default_handles();
                self.node(true, false)?;
            }
        }
        while self.state != State::Done {
            self.step()?;
        }
        // The end of the document is looked for, and may fail, although what follows it is of no
        // interest.
        self.scanner.peek()?;
        Ok(())
    }

    fn directives(&mut self) -> Result<(), Error> {
        let mut version = None;
        loop {
            let (kind, mark, _) = self.scanner.peek()?;
            if !matches!(kind, Kind::VersionDirective | Kind::TagDirective) {
                break;
            }
            let Some(token) = self.scanner.take() else {
                break;
            };
            if kind == Kind::VersionDirective {
                if version.replace(token.version).is_some() {
                    return Err(Error::parser("found duplicate %YAML directive", mark));
                }
                if token.version != (1, 1) {
                    return Err(Error::parser("found incompatible YAML document", mark));
                }
            } else {
                if self
                    .handles
                    .iter()
                    .any(|(handle, _)| *handle == token.value)
                {
                    return Err(Error::parser("found duplicate %TAG directive", mark));
                }
                self.handles.push((
                    token.value.into_owned(),
                    token.suffix.unwrap_or_default().into(),
                ));
            }
        }
        self.default_handles();
        Ok(())
    }

    fn default_handles(&mut self) {
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if !self.handles.iter().any(|(known, _)| known == handle) {
                self.handles.push((handle.to_owned(), prefix.to_owned()));
            }
        }
    }

    fn step(&mut self) -> Result<(), Error> {
        match self.state {
            State::BlockSequence => self.block_sequence(),
            State::IndentlessSequence => self.indentless_sequence(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowSequence { first } => self.flow_sequence(first),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => {
                let (_, mark, _) = self.scanner.peek()?;
                self.close_collection(mark.pos);
                self.state = State::FlowSequence { first: false };
                Ok(())
            }
            State::FlowKey { first } => self.flow_key(first),
            State::FlowValue => self.flow_value(),
            State::FlowNoValue => {
                let (_, mark, _) = self.scanner.peek()?;
                self.empty_then(mark, State::FlowKey { first: false })
            }
            State::Done => Ok(()),
        }
    }

    fn block_sequence(&mut self) -> Result<(), Error> {
        let (kind, mark, _) = self.scanner.peek()?;
        match kind {
            Kind::BlockEntry => {
                let after = after(mark);
                self.scanner.take();
                match self.scanner.peek()?.0 {
                    Kind::BlockEntry | Kind::BlockEnd => {
                        self.empty_then(after, State::BlockSequence)
                    }
                    _ => self.node_then(State::BlockSequence, true, false),
                }
            }
            Kind::BlockEnd => {
                self.scanner.take();
                self.close_block();
                Ok(())
            }
            _ => Err(Error::parser("did not find expected '-' indicator", mark)),
        }
    }

    fn indentless_sequence(&mut self) -> Result<(), Error> {
        let (kind, mark, _) = self.scanner.peek()?;
        if kind != Kind::BlockEntry {
            self.close_block();
            return Ok(());
        }
        let after = after(mark);
        self.scanner.take();
        match self.scanner.peek()?.0 {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => {
                self.empty_then(after, State::IndentlessSequence)
            }
            _ => self.node_then(State::IndentlessSequence, true, false),
        }
    }

    fn block_key(&mut self) -> Result<(), Error> {
        let (kind, mark, end) = self.scanner.peek()?;
        match kind {
            Kind::Key => {
                // A key without `?` is a token of no width.
                let after = if end > mark.pos { after(mark) } else { mark };
                self.scanner.take();
                match self.scanner.peek()?.0 {
                    Kind::Key | Kind::Value | Kind::BlockEnd => {
                        self.empty_then(after, State::BlockValue)
                    }
                    _ => self.node_then(State::BlockValue, true, true),
                }
            }
            Kind::BlockEnd => {
                self.scanner.take();
                self.close_block();
                Ok(())
            }
            _ => Err(Error::parser("did not find expected key", mark)),
        }
    }

    fn block_value(&mut self) -> Result<(), Error> {
        let (kind, mark, _) = self.scanner.peek()?;
        if kind != Kind::Value {
            return self.empty_then(mark, State::BlockKey);
        }
        let after = after(mark);
        self.scanner.take();
        match self.scanner.peek()?.0 {
            Kind::Key | Kind::Value | Kind::BlockEnd => self.empty_then(after, State::BlockKey),
            _ => self.node_then(State::BlockKey, true, true),
        }
    }

    fn flow_sequence(&mut self, first: bool) -> Result<(), Error> {
        let (mut kind, mut mark, mut end) = self.scanner.peek()?;
        if kind != Kind::FlowSequenceEnd && !first {
            if kind != Kind::FlowEntry {
                return Err(Error::parser("did not find expected ',' or ']'", mark));
            }
            self.scanner.take();
            (kind, mark, end) = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowSequenceEnd => {
                self.scanner.take();
                self.close_flow(end);
                Ok(())
            }
            Kind::Key => {
                self.scanner.take();
                self.open_collection(Shape::Mapping, mark, mark.pos)?;
                self.state = State::PairKey;
                Ok(())
            }
            _ => self.node_then(State::FlowSequence { first: false }, false, false),
        }
    }

    fn pair_key(&mut self) -> Result<(), Error> {
        let (kind, mark, _) = self.scanner.peek()?;
        match kind {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                // As libyaml does, this swallows the token, whichever of the three it is.
                self.scanner.take();
                self.empty_then(after(mark), State::PairValue)
            }
            _ => self.node_then(State::PairValue, false, false),
        }
    }

    fn pair_value(&mut self) -> Result<(), Error> {
        let (kind, mark, _) = self.scanner.peek()?;
        if kind == Kind::Value {
            self.scanner.take();
            if !matches!(
                self.scanner.peek()?.0,
                Kind::FlowEntry | Kind::FlowSequenceEnd
            ) {
                return self.node_then(State::PairEnd, false, false);
            }
        }
        self.empty_then(mark, State::PairEnd)
    }

    fn flow_key(&mut self, first: bool) -> Result<(), Error> {
        let (mut kind, mark, mut end) = self.scanner.peek()?;
        if kind != Kind::FlowMappingEnd && !first {
            if kind != Kind::FlowEntry {
                return Err(Error::parser("did not find expected ',' or '}'", mark));
            }
            self.scanner.take();
            (kind, _, end) = self.scanner.peek()?;
        }
        match kind {
            Kind::FlowMappingEnd => {
                self.scanner.take();
                self.close_flow(end);
                Ok(())
            }
            Kind::Key => {
                self.scanner.take();
                let (kind, mark, _) = self.scanner.peek()?;
                match kind {
                    Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd => {
                        self.empty_then(mark, State::FlowValue)
                    }
                    _ => self.node_then(State::FlowValue, false, false),
                }
            }
            _ => self.node_then(State::FlowNoValue, false, false),
        }
    }

    fn flow_value(&mut self) -> Result<(), Error> {
        let (kind, mut mark, _) = self.scanner.peek()?;
        if kind == Kind::Value {
            self.scanner.take();
            let (kind, next, _) = self.scanner.peek()?;
            if !matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd) {
                return self.node_then(State::FlowKey { first: false }, false, false);
            }
            mark = next;
        }
        self.empty_then(mark, State::FlowKey { first: false })
    }

    fn node_then(&mut self, then: State, block: bool, indentless: bool) -> Result<(), Error> {
        self.states.push(then);
        self.node(block, indentless)
    }

    /// Reads a node's anchor and tag, and the node itself if it is a scalar; a collection is only
    /// begun.
    fn node(&mut self, block: bool, indentless: bool) -> Result<(), Error> {
        let (mut kind, start, mut end) = self.scanner.peek()?;
        if kind == Kind::Alias {
            let name = self
                .scanner
                .take()
                .map(|token| token.value)
                .unwrap_or_default();
            let Some(target) = self.anchors.get(name.as_ref()).copied() else {
                return Err(Error::placed(
                    format_args!("unknown anchor '{name}' referenced"),
                    start,
                ));
            };
            self.push(Shape::Alias(target), 0, start, start.pos, end, name)?;
            self.complete();
            return Ok(());
        }
        let mut mark = start;
        let (mut anchor, mut tag) = (None, None);
        while (kind == Kind::Anchor && anchor.is_none()) || (kind == Kind::Tag && tag.is_none()) {
            if let Some(token) = self.scanner.take() {
                if kind == Kind::Anchor {
                    anchor = Some(token.value.into_owned());
                } else {
                    tag = Some((token.value, token.suffix.unwrap_or_default(), mark));
                }
            }
            (kind, mark, end) = self.scanner.peek()?;
        }
        let tag = match tag {
            None => String::new(),
            Some((handle, suffix, _)) if handle.is_empty() => suffix.into(),
            Some((handle, suffix, place)) => {
                match self.handles.iter().find(|(known, _)| *known == handle) {
                    Some((_, prefix)) => format!("{prefix}{suffix}"),
                    None => return Err(Error::parser("found undefined tag handle", place)),
                }
            }
        };
        if let Some(name) = &anchor {
            self.anchors
                .insert(name.clone(), self.tree.nodes.len() as u32);
        }
        match kind {
            Kind::BlockEntry if indentless => {
                self.open_collection(Shape::Sequence, start, mark.pos)?;
                self.state = State::IndentlessSequence;
            }
            Kind::PlainScalar | Kind::QuotedScalar => {
                let plain = tag == "!" || (tag.is_empty() && kind == Kind::PlainScalar);
                let value = self
                    .scanner
                    .take()
                    .map(|token| token.value)
                    .unwrap_or_default();
                let tag = self.keep_tag(tag);
                self.push(Shape::Scalar { plain }, tag, start, mark.pos, end, value)?;
                self.complete();
            }
            Kind::FlowSequenceStart => self.begin(
                Shape::Sequence,
                start,
                mark,
                State::FlowSequence { first: true },
            )?,
            Kind::FlowMappingStart => {
                self.begin(Shape::Mapping, start, mark, State::FlowKey { first: true })?;
            }
            Kind::BlockSequenceStart if block => {
                self.begin(Shape::Sequence, start, mark, State::BlockSequence)?;
            }
            Kind::BlockMappingStart if block => {
                self.begin(Shape::Mapping, start, mark, State::BlockKey)?;
            }
            _ if anchor.is_some() || !tag.is_empty() => {
                let plain = tag.is_empty();
                let tag = self.keep_tag(tag);
                self.push(
                    Shape::Scalar { plain },
                    tag,
                    start,
                    mark.pos,
                    mark.pos,
                    Cow::Borrowed(""),
                )?;
                self.complete();
            }
            _ => return Err(Error::parser("did not find expected node content", mark)),
        }
        Ok(())
    }

    fn keep_tag(&mut self, tag: String) -> u32 {
        if tag.is_empty() {
            return 0;
        }
        self.tree.tags.push(tag);
        self.tree.tags.len() as u32
    }

    fn begin(&mut self, shape: Shape, start: Mark, token: Mark, state: State) -> Result<(), Error> {
        self.scanner.take();
        self.open_collection(shape, start, token.pos)?;
        self.state = state;
        Ok(())
    }

    fn empty(&mut self, mark: Mark) -> Result<(), Error> {
        self.push(
            Shape::Scalar { plain: true },
            0,
            mark,
            mark.pos,
            mark.pos,
            Cow::Borrowed(""),
        )
    }

    fn empty_then(&mut self, mark: Mark, state: State) -> Result<(), Error> {
        self.state = state;
        self.empty(mark)
    }

    fn open_collection(&mut self, shape: Shape, mark: Mark, start: u32) -> Result<(), Error> {
        if self.open.len() >= self.limits.depth {
            return Err(Error::scanner(
                format_args!("exceeded max depth of {}", self.limits.depth),
                mark,
            ));
        }
        self.open.push(self.tree.nodes.len() as u32);
        self.push(shape, 0, mark, start, start, Cow::Borrowed(""))
    }

    /// Ends a block collection, which reaches as far as the last thing in it.
    fn close_block(&mut self) {
        self.close_collection(self.last_end);
        self.complete();
    }

    fn close_flow(&mut self, end: u32) {
        self.close_collection(end);
        self.complete();
    }

    fn close_collection(&mut self, end: u32) {
        let next = self.tree.nodes.len() as u32;
        if let Some(node) = self
            .open
            .pop()
            .and_then(|open| self.tree.nodes.get_mut(open as usize))
        {
            node.next = next;
            node.end = end.max(node.start);
        }
        self.last_end = self.last_end.max(end);
    }

    /// Goes back to what was expected before the node that is now complete.
    fn complete(&mut self) {
        self.state = self.states.pop().unwrap_or(State::Done);
    }
}

impl<'a> Parser<'a, '_> {
    fn push(
        &mut self,
        shape: Shape,
        tag: u32,
        mark: Mark,
        start: u32,
        end: u32,
        value: Cow<'a, str>,
    ) -> Result<(), Error> {
        let next = self.tree.nodes.len() as u32 + 1;
        if self.tree.nodes.len() >= self.limits.nodes {
            return Err(Error::scanner(
                format_args!("exceeded max number of {} nodes", self.limits.nodes),
                mark,
            ));
        }
        self.last_end = self.last_end.max(end);
        self.tree.nodes.push(Node {
            shape,
            tag,
            mark,
            start,
            end,
            next,
            value,
        });
        Ok(())
    }
}

/// The place right after a token of one character.
fn after(mark: Mark) -> Mark {
    Mark {
        pos: mark.pos + 1,
        line: mark.line,
        column: mark.column + 1,
    }
}
