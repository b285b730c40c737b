//! Moves through the text: where the scanner stands, in bytes, lines and columns, and how it passes
//! over space.

use std::borrow::Cow;

use crate::chars::{
    break_len, byte, continuations, is_blank_or_end, is_break_or_end, is_forbidden,
};
use crate::error::{Error, Mark};
use crate::scanner::Scanner;
use crate::token::{Kind, Token};

/// How much text go-yaml decodes at a time. It finds a forbidden character no sooner than it
/// reaches its chunk.
const CHUNK: usize = 512;

impl<'a> Scanner<'a> {
    /// Passes over spaces, line breaks and comments.
    pub(crate) fn skip_to_token(&mut self) {
        loop {
            let tabs = self.flow_level > 0 || !self.key_allowed;
            // Indentation is long; eight spaces at a time.
            while self.bytes.get(self.pos..self.pos + 8) == Some(b"        ") {
                self.pos += 8;
            }
            while let Some(b' ' | b'\t') = self.bytes.get(self.pos)
                && (tabs || self.bytes[self.pos] == b' ')
            {
                self.pos += 1;
            }
            if byte(self.bytes, self.pos) == b'#' {
                self.skip_comment();
            }
            if !self.skip_break() {
                return;
            }
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    /// Passes over everything up to the end of the line.
    pub(crate) fn skip_comment(&mut self) {
        let end = self.line_end(self.pos);
        self.advance_to(end);
    }

    /// Where the line that `from` is on ends.
    #[inline]
    pub(crate) fn line_end(&self, from: usize) -> usize {
        let mut end = from;
        while end < self.bytes.len() {
            match self.bytes[end] {
                b'\n' | b'\r' | 0 => break,
                0xC2 | 0xE2 if is_break_or_end(self.bytes, end) => break,
                _ => end += 1,
            }
        }
        end
    }

    /// Passes over a line break, if one is here.
    #[inline]
    pub(crate) fn skip_break(&mut self) -> bool {
        self.take_break().is_some()
    }

    /// Takes a line break as the text it stands for: LF, except for U+2028 and U+2029, which stay.
    #[inline]
    pub(crate) fn take_break(&mut self) -> Option<&'a str> {
        let length = break_len(self.bytes, self.pos);
        if length == 0 {
            return None;
        }
        let start = self.pos;
        let lf = self.bytes[start] < 0xE2;
        self.pos += length;
        if self.bytes[start] >= 0x80 {
            self.continuations += length - 1;
        }
        self.line += 1;
        self.line_index = self.index();
        Some(if lf {
            "\n"
        } else {
            &self.text[start..self.pos]
        })
    }

    /// Moves to `end` on the same line.
    #[inline]
    pub(crate) fn advance_to(&mut self, end: usize) {
        if !self.ascii {
            self.continuations += continuations(&self.bytes[self.pos..end]);
        }
        self.pos = end;
    }

    /// Whether `---` or `...` stands here, followed by space or the end; only meaningful in the
    /// first column.
    pub(crate) fn at_document_mark(&self) -> bool {
        let rest = &self.bytes[self.pos.min(self.bytes.len())..];
        (rest.starts_with(b"---") || rest.starts_with(b"..."))
            && is_blank_or_end(self.bytes, self.pos + 3)
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.pos - self.continuations
    }

    #[inline]
    pub(crate) fn column(&self) -> u32 {
        (self.index() - self.line_index) as u32
    }

    #[inline]
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            pos: self.pos as u32,
            line: self.line,
            column: self.column(),
        }
    }

    /// An error at the current place.
    pub(crate) fn error(&self, problem: &str) -> Error {
        Error::scanner(problem, self.mark())
    }

    /// A scalar token from `start` to here.
    pub(crate) fn scalar(
        &self,
        kind: Kind,
        start: Mark,
        end: usize,
        value: Cow<'a, str>,
    ) -> Token<'a> {
        Token {
            kind,
            start,
            end: end as u32,
            value,
            suffix: None,
            version: (0, 0),
        }
    }

    /// Whether fewer than `wanted` characters are left before the chunk with the forbidden
    /// character.
    pub(crate) fn starved(&self, wanted: usize) -> bool {
        self.bad_from != usize::MAX
            && (self.pos > self.bad_from || {
                let left = &self.bytes[self.pos..self.bad_from];
                left.len() - continuations(left) < wanted
            })
    }

    pub(crate) fn forbidden(&self) -> Error {
        Error::placed("control characters are not allowed", self.mark())
    }
}

/// Where the first chunk with a forbidden character begins.
pub(crate) fn first_bad_chunk(text: &str, start: usize) -> usize {
    let suspicious = |b: &u8| matches!(b, 0..=8 | 11 | 12 | 14..=31 | 0x7F | 0xC2 | 0xEF);
    if !text.as_bytes().iter().any(suspicious) {
        return usize::MAX;
    }
    let Some(bad) = text[start..]
        .char_indices()
        .find(|(_, c)| is_forbidden(*c))
        .map(|(at, _)| at + start)
    else {
        return usize::MAX;
    };
    let mut from = 0;
    loop {
        let next = text.floor_char_boundary(from + CHUNK);
        if bad < next || next >= text.len() {
            return from.max(start);
        }
        from = next;
    }
}
