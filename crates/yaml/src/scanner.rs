//! Cuts text into tokens by the rules of YAML 1.1 as libyaml understands them: indentation opens
//! and closes block collections, and a `:` may turn what came before it on the same line into a
//! key. The scalars, anchors, tags and directives themselves are read in the sibling files.

use std::collections::VecDeque;

use crate::chars::{byte, is_blank_or_end};
use crate::cursor;
use crate::error::{Error, Mark};
use crate::token::{Kind, Token};

/// A key may not be longer than this many characters, quotes included.
const KEY_LENGTH: usize = 1024;

/// A place where a key may have begun, should a `:` follow.
#[derive(Debug, Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    /// In a block mapping at this column only a key may stand here.
    required: bool,
    token: usize,
    index: usize,
    mark: Mark,
}

/// The state of cutting one text into tokens.
pub(crate) struct Scanner<'a> {
    pub(crate) text: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) pos: usize,
    pub(crate) indent: i64,
    pub(crate) flow_level: usize,
    pub(crate) key_allowed: bool,
    pub(crate) line: u32,
    /// The index, in characters, of the first character of this line.
    pub(crate) line_index: usize,
    /// How many bytes before `pos` continue a character; always zero in ASCII text.
    pub(crate) continuations: usize,
    pub(crate) ascii: bool,
    /// Where the chunk begins that holds a forbidden character.
    pub(crate) bad_from: usize,
    indents: Vec<i64>,
    keys: Vec<SimpleKey>,
    /// Numbers of the tokens that may turn out to be keys, ascending, each with its place in
    /// `keys`.
    key_tokens: VecDeque<(usize, usize)>,
    tokens: VecDeque<Token<'a>>,
    taken: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let bytes = text.as_bytes();
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        // A second byte order mark is passed over like the first, but takes up a column.
        let second = if text[start..].starts_with('\u{feff}') && start > 0 {
            3
        } else {
            0
        };
        Self {
            text,
            bytes,
            pos: start + second,
            indent: -1,
            flow_level: 0,
            key_allowed: true,
            line: 0,
            line_index: start,
            continuations: second / 3 * 2,
            ascii: bytes.is_ascii(),
            bad_from: cursor::first_bad_chunk(text, start),
            indents: Vec::new(),
            keys: vec![SimpleKey::default()],
            key_tokens: VecDeque::new(),
            tokens: VecDeque::with_capacity(8),
            taken: 0,
        }
    }

    /// Looks at the next token, cutting as much as is needed to be sure of it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<(Kind, Mark, u32), Error> {
        while self.tokens.is_empty() || self.first_may_be_key()? {
            self.fetch()?;
        }
        match self.tokens.front() {
            Some(token) => Ok((token.kind, token.start, token.end)),
            None => Err(Error::bare("yaml: no token to look at")),
        }
    }

    /// Takes the token that was looked at.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Token<'a>> {
        let token = self.tokens.pop_front();
        self.taken += usize::from(token.is_some());
        token
    }

    /// Whether a later `:` could still make the first waiting token part of a key.
    fn first_may_be_key(&mut self) -> Result<bool, Error> {
        while let Some((token, at)) = self.key_tokens.front().copied() {
            if token == self.taken && at < self.keys.len() {
                return self.key_still_possible(at);
            }
            if token >= self.taken {
                break;
            }
            // The parser has the token already: it can no longer become a key.
            self.key_tokens.pop_front();
        }
        Ok(false)
    }

    fn key_still_possible(&mut self, at: usize) -> Result<bool, Error> {
        let key = self.keys[at];
        if key.possible && (key.mark.line < self.line || key.index + KEY_LENGTH < self.index()) {
            if key.required {
                return Err(self.error("could not find expected ':'"));
            }
            self.keys[at].possible = false;
        }
        Ok(self.keys[at].possible)
    }

    /// Cuts the next token, telling of a forbidden character as soon as go-yaml would have met it.
    fn fetch(&mut self) -> Result<(), Error> {
        let done = self.fetch_token();
        // Inside a scalar go-yaml looks one character further ahead.
        let ahead = if done.is_err() { 2 } else { 1 };
        if self.pos + 8 > self.bad_from && self.starved(ahead) {
            Err(self.forbidden())
        } else {
            done
        }
    }

    fn fetch_token(&mut self) -> Result<(), Error> {
        self.skip_to_token();
        if self.pos + 16 > self.bad_from && self.starved(4) {
            return Err(self.forbidden());
        }
        let column = self.column();
        self.close_blocks(i64::from(column));
        let (bytes, pos) = (self.bytes, self.pos);
        let next = byte(bytes, pos);
        if column == 0 {
            match next {
                b'%' => return self.fetch_directive(),
                b'-' if self.at_document_mark() => {
                    return self.fetch_document_mark(Kind::DocumentStart);
                }
                b'.' if self.at_document_mark() => {
                    return self.fetch_document_mark(Kind::DocumentEnd);
                }
                _ => {}
            }
        }
        let flow = self.flow_level > 0;
        match next {
            0 => self.fetch_end(),
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if is_blank_or_end(bytes, pos + 1) => self.fetch_block_entry(),
            b'?' if flow || is_blank_or_end(bytes, pos + 1) => self.fetch_key(),
            b':' if flow || is_blank_or_end(bytes, pos + 1) => self.fetch_value(),
            b'*' => self.fetch_with(Self::scan_alias),
            b'&' => self.fetch_with(Self::scan_anchor),
            b'!' => self.fetch_with(Self::scan_tag),
            b'|' | b'>' if !flow => {
                self.forget_key()?;
                self.key_allowed = true;
                let token = self.scan_block_scalar(next == b'|')?;
                self.tokens.push_back(token);
                Ok(())
            }
            b'\'' => self.fetch_with(Self::scan_single_quoted),
            b'"' => self.fetch_with(Self::scan_double_quoted),
            b' ' | b'\t' | b'\n' | b'\r' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                Err(self.error("found character that cannot start any token"))
            }
            _ => self.fetch_with(Self::scan_plain),
        }
    }

    /// Cuts a token with which a key may begin and after which none may.
    fn fetch_with(&mut self, scan: fn(&mut Self) -> Result<Token<'a>, Error>) -> Result<(), Error> {
        self.save_key()?;
        self.key_allowed = false;
        let token = scan(self)?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_end(&mut self) -> Result<(), Error> {
        if self.column() != 0 {
            self.line += 1;
            self.line_index = self.index();
        }
        self.close_blocks(-1);
        self.forget_key()?;
        self.key_allowed = false;
        self.push_mere(Kind::StreamEnd, 0);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Result<(), Error> {
        self.close_blocks(-1);
        self.forget_key()?;
        self.key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_document_mark(&mut self, kind: Kind) -> Result<(), Error> {
        self.close_blocks(-1);
        self.forget_key()?;
        self.key_allowed = false;
        self.push_mere(kind, 3);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Result<(), Error> {
        self.save_key()?;
        let token = self.next_token();
        let (index, mark) = (self.index(), self.mark());
        self.keys.push(SimpleKey {
            possible: false,
            required: false,
            token,
            index,
            mark,
        });
        self.flow_level += 1;
        self.key_allowed = true;
        self.push_mere(kind, 1);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), Error> {
        self.forget_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            // An empty collection shares its number with the key it may itself be, so that key is
            // lost here: go-yaml therefore does not see `[]: value` as a mapping.
            if let Some(key) = self.keys.pop() {
                self.unlist(key.token);
            }
        }
        self.key_allowed = false;
        self.push_mere(kind, 1);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), Error> {
        self.forget_key()?;
        self.key_allowed = true;
        self.push_mere(Kind::FlowEntry, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(self.error("block sequence entries are not allowed in this context"));
            }
            self.open_block(self.mark(), None, Kind::BlockSequenceStart);
        }
        self.forget_key()?;
        self.key_allowed = true;
        self.push_mere(Kind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), Error> {
        if self.flow_level == 0 {
            if !self.key_allowed {
                return Err(self.error("mapping keys are not allowed in this context"));
            }
            self.open_block(self.mark(), None, Kind::BlockMappingStart);
        }
        self.forget_key()?;
        self.key_allowed = self.flow_level == 0;
        self.push_mere(Kind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), Error> {
        let last = self.keys.len() - 1;
        if self.key_still_possible(last)? {
            let key = self.keys[last];
            self.insert(
                key.token.checked_sub(self.taken),
                Token::mere(Kind::Key, key.mark, key.mark.pos),
            );
            self.open_block(key.mark, Some(key.token), Kind::BlockMappingStart);
            self.keys[last].possible = false;
            self.unlist(key.token);
            self.key_allowed = false;
        } else {
            if self.flow_level == 0 {
                if !self.key_allowed {
                    return Err(self.error("mapping values are not allowed in this context"));
                }
                self.open_block(self.mark(), None, Kind::BlockMappingStart);
            }
            self.key_allowed = self.flow_level == 0;
        }
        self.push_mere(Kind::Value, 1);
        Ok(())
    }

    /// Remembers that a key may begin here.
    fn save_key(&mut self) -> Result<(), Error> {
        if !self.key_allowed {
            return Ok(());
        }
        let mark = self.mark();
        let required = self.flow_level == 0 && self.indent == i64::from(mark.column);
        let key = SimpleKey {
            possible: true,
            required,
            token: self.next_token(),
            index: self.index(),
            mark,
        };
        self.forget_key()?;
        let last = self.keys.len() - 1;
        self.keys[last] = key;
        match self.key_tokens.back_mut() {
            Some(entry) if entry.0 == key.token => entry.1 = last,
            _ => self.key_tokens.push_back((key.token, last)),
        }
        Ok(())
    }

    /// Gives up the key that may have begun at this flow level.
    fn forget_key(&mut self) -> Result<(), Error> {
        let last = self.keys.len() - 1;
        let key = self.keys[last];
        if key.possible {
            if key.required {
                return Err(self.error("could not find expected ':'"));
            }
            self.keys[last].possible = false;
            self.unlist(key.token);
        }
        Ok(())
    }

    fn unlist(&mut self, token: usize) {
        if let Ok(found) = self
            .key_tokens
            .binary_search_by_key(&token, |(token, _)| *token)
        {
            self.key_tokens.remove(found);
        }
    }

    /// Opens a block collection when `mark` is further right than the one around it; `before` is
    /// the number of the token in front of which it begins, the end of the queue by default.
    fn open_block(&mut self, mark: Mark, before: Option<usize>, kind: Kind) {
        let column = i64::from(mark.column);
        if self.flow_level > 0 || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let at = before.and_then(|number| number.checked_sub(self.taken));
        self.insert(at, Token::mere(kind, mark, mark.pos));
    }

    /// Ends every block collection that is further right than `column`.
    #[inline]
    fn close_blocks(&mut self, column: i64) {
        while self.flow_level == 0 && self.indent > column {
            let mark = self.mark();
            self.tokens
                .push_back(Token::mere(Kind::BlockEnd, mark, mark.pos));
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn insert(&mut self, at: Option<usize>, token: Token<'a>) {
        match at {
            Some(at) if at <= self.tokens.len() => self.tokens.insert(at, token),
            _ => self.tokens.push_back(token),
        }
    }

    fn push_mere(&mut self, kind: Kind, length: usize) {
        let mark = self.mark();
        self.pos += length;
        self.tokens
            .push_back(Token::mere(kind, mark, self.pos as u32));
    }

    fn next_token(&self) -> usize {
        self.taken + self.tokens.len()
    }
}
