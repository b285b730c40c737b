//! Where in the text each part of a value was written: a flat table beside the value, one short
//! entry per node.

use serde_json::Value;

use crate::chars::break_len;
use crate::decode::{self, is_merge};
use crate::error::{Error, Mark};
use crate::exact::{GoValue, key_text};
use crate::limits::Limits;
use crate::parser;
use crate::resolve::{self, Meaning, replace_invalid};
use crate::tree::{Node, Shape, Tree};

/// A value and where its parts were written.
#[derive(Debug, Clone)]
pub struct Spanned {
    /// The value, as [`crate::parse`] gives it.
    pub value: Value,
    /// Where its parts were written.
    pub spans: Spans,
}

/// A stretch of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The line it begins on, counted from one.
    pub line: usize,
    /// The column it begins at, in bytes counted from one.
    pub column: usize,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// One step from a value to a value inside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// To the value of this key.
    Key(Box<str>),
    /// To the item at this place, counted from zero.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its key; none for items and for the whole document.
    pub key: Option<Span>,
    /// The value itself without anchor and tag, quotes included. An alias is where the alias is.
    pub value: Span,
}

/// A key or a scalar value in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// The way to the value, or to the value that the key belongs to.
    pub path: Vec<Step>,
    /// Whether this is the key.
    pub is_key: bool,
    /// Where it is written.
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    Sequence,
    Mapping,
    Alias(u32),
    Merge,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: Kind,
    place: Mark,
    end: u32,
    next: u32,
    /// The text of a key; keys and values follow each other in a mapping.
    key: Option<Box<str>>,
}

impl Entry {
    fn span(&self) -> Span {
        Span {
            line: self.place.line as usize + 1,
            column: self.place.column as usize + 1,
            start: self.place.pos as usize,
            end: self.end as usize,
        }
    }
}

/// Where the parts of one document were written.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    entries: Vec<Entry>,
}

/// Reads as [`crate::parse`] does and tells where everything was written.
pub fn parse_spanned(text: &str) -> Result<Spanned, Error> {
    parse_spanned_with(text, &Limits::default())
}

/// Reads as [`parse_spanned`] does, within other limits.
pub fn parse_spanned_with(text: &str, limits: &Limits) -> Result<Spanned, Error> {
    let placed = |error: Error| error.in_bytes(text);
    let tree = parser::parse(text, limits).map_err(placed)?;
    let value = decode::decode(&tree, limits, false).map_err(placed)?;
    let mut entries: Vec<Entry> = tree.nodes.iter().map(|node| entry(text, node)).collect();
    for at in 0..tree.nodes.len() as u32 {
        if tree.nodes[at as usize].shape != Shape::Mapping {
            continue;
        }
        for key in decode::children(&tree, at).into_iter().step_by(2) {
            let node = &tree.nodes[key as usize];
            let entry = &mut entries[key as usize];
            if is_merge(&tree, node) {
                entry.kind = Kind::Merge;
            }
            entry.key = Some(name(&tree, node).into());
        }
    }
    if !text.is_ascii() {
        let starts = line_starts(text);
        for place in entries.iter_mut().map(|entry| &mut entry.place) {
            let start = starts.get(place.line as usize).copied().unwrap_or_default();
            place.column = place.pos.saturating_sub(start);
        }
    }
    Ok(Spanned {
        value,
        spans: Spans { entries },
    })
}

/// Where each line begins.
fn line_starts(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    let mut at = 0;
    while at < bytes.len() {
        match break_len(bytes, at) {
            0 => at += 1,
            length => {
                at += length;
                starts.push(at as u32);
            }
        }
    }
    starts
}

fn entry(text: &str, node: &Node<'_>) -> Entry {
    let kind = match node.shape {
        Shape::Scalar { .. } => Kind::Scalar,
        Shape::Sequence => Kind::Sequence,
        Shape::Mapping => Kind::Mapping,
        Shape::Alias(target) => Kind::Alias(target),
    };
    Entry {
        kind,
        place: place(text, node),
        end: node.end.max(node.start),
        next: node.next,
        key: None,
    }
}

/// Where the node itself begins, after its anchor and tag.
fn place(text: &str, node: &Node<'_>) -> Mark {
    let mut mark = node.mark;
    let bytes = text.as_bytes();
    while mark.pos < node.start {
        match break_len(bytes, mark.pos as usize) {
            0 => {
                let width = text[mark.pos as usize..]
                    .chars()
                    .next()
                    .map_or(1, char::len_utf8);
                mark.pos += width as u32;
                mark.column += 1;
            }
            length => {
                mark = Mark {
                    pos: mark.pos + length as u32,
                    line: mark.line + 1,
                    column: 0,
                }
            }
        }
    }
    mark
}

/// The text that a key has in the value.
fn name(tree: &Tree<'_>, node: &Node<'_>) -> String {
    let node = match node.shape {
        Shape::Alias(target) => &tree.nodes[target as usize],
        _ => node,
    };
    let meaning = match (node.tag, node.shape) {
        (0, Shape::Scalar { plain: true }) => resolve::plain(&node.value),
        (0, _) => Meaning::Text,
        // Reading has succeeded, so the tag fits.
        _ => resolve::tagged(tree.tag(node), &node.value).unwrap_or(Meaning::Text),
    };
    match meaning {
        Meaning::Text => node.value.as_ref().to_owned(),
        Meaning::Decoded(bytes) => replace_invalid(&bytes),
        Meaning::Bool(value) => value.to_string(),
        Meaning::Number(number) => key_text(&GoValue::Number(number)),
        Meaning::Null => String::new(),
    }
}

impl Spans {
    /// Where the value at `path` was written; an empty path is the whole document. Follows aliases
    /// and merge keys.
    pub fn find(&self, path: &[Step]) -> Option<Found> {
        let mut key = None;
        let mut at = 0;
        self.entries.first()?;
        for step in path {
            let target = self.target(at);
            (key, at) = match (step, self.entries[target as usize].kind) {
                (Step::Key(name), Kind::Mapping) => {
                    let (key, value) = self.field(target, name)?;
                    (Some(key), value)
                }
                (Step::Index(index), Kind::Sequence) => (None, self.children(target).nth(*index)?),
                _ => return None,
            };
        }
        let span = |at: u32| self.entries[at as usize].span();
        Some(Found {
            key: key.map(span),
            value: span(at),
        })
    }

    /// Every key and scalar in the order they are written, those inside merged mappings under their
    /// key `<<`.
    pub fn scalars(&self) -> Vec<Scalar> {
        let mut found = Vec::new();
        if !self.entries.is_empty() {
            self.collect(0, &mut Vec::new(), &mut found);
        }
        found
    }

    /// The key or scalar that holds the byte at `offset`.
    pub fn at(&self, offset: usize) -> Option<Scalar> {
        let mut path = Vec::new();
        let mut at = 0;
        let holds =
            |entry: &Entry| (entry.place.pos as usize..entry.end as usize).contains(&offset);
        loop {
            let entry = self.entries.get(at as usize)?;
            if !matches!(entry.kind, Kind::Sequence | Kind::Mapping) {
                return holds(entry).then(|| Scalar {
                    path,
                    is_key: entry.key.is_some(),
                    span: entry.span(),
                });
            }
            // Spans of siblings are in order, so the last that begins before the byte is the one to
            // look into.
            let (index, child) = self
                .children(at)
                .enumerate()
                .take_while(|(_, child)| self.entries[*child as usize].place.pos as usize <= offset)
                .last()?;
            match entry.kind {
                Kind::Sequence => path.push(Step::Index(index)),
                _ => {
                    let key = if index % 2 == 0 {
                        child
                    } else {
                        self.children(at).nth(index - 1)?
                    };
                    path.push(Step::Key(
                        self.entries[key as usize].key.clone().unwrap_or_default(),
                    ));
                }
            }
            at = child;
        }
    }

    fn collect(&self, at: u32, path: &mut Vec<Step>, found: &mut Vec<Scalar>) {
        let entry = &self.entries[at as usize];
        match entry.kind {
            Kind::Sequence => {
                for (index, child) in self.children(at).enumerate() {
                    path.push(Step::Index(index));
                    self.collect(child, path, found);
                    path.pop();
                }
            }
            Kind::Mapping => {
                let mut children = self.children(at);
                while let (Some(key), Some(value)) = (children.next(), children.next()) {
                    let entry = &self.entries[key as usize];
                    path.push(Step::Key(entry.key.clone().unwrap_or_default()));
                    found.push(Scalar {
                        path: path.clone(),
                        is_key: true,
                        span: entry.span(),
                    });
                    self.collect(value, path, found);
                    path.pop();
                }
            }
            Kind::Scalar | Kind::Alias(_) | Kind::Merge => {
                found.push(Scalar {
                    path: path.clone(),
                    is_key: false,
                    span: entry.span(),
                });
            }
        }
    }

    fn children(&self, at: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.entries[at as usize].next;
        let first = Some(at + 1).filter(|child| *child < end);
        std::iter::successors(first, move |child| {
            Some(self.entries[*child as usize].next).filter(|next| *next < end)
        })
    }

    fn target(&self, at: u32) -> u32 {
        match self.entries[at as usize].kind {
            Kind::Alias(target) => target,
            _ => at,
        }
    }

    /// The key and value of a field; of several, the one that came last, as when reading.
    fn field(&self, mapping: u32, name: &str) -> Option<(u32, u32)> {
        let mut found = None;
        let mut children = self.children(mapping);
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            let entry = &self.entries[key as usize];
            if entry.kind == Kind::Merge {
                found = self.merged(value, name).or(found);
            } else if entry.key.as_deref() == Some(name) {
                found = Some((key, value));
            }
        }
        found
    }

    fn merged(&self, at: u32, name: &str) -> Option<(u32, u32)> {
        let target = self.target(at);
        match self.entries[target as usize].kind {
            Kind::Mapping => self.field(target, name),
            Kind::Sequence => self
                .children(target)
                .find_map(|item| self.field(self.target(item), name)),
            _ => None,
        }
    }
}
