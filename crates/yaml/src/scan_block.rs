//! Reads block scalars: `|` keeps line breaks, `>` folds them, and the header says what happens to
//! the last ones.

use std::borrow::Cow;

use crate::chars::{break_len, byte, is_blank, is_break_or_end};
use crate::error::Error;
use crate::scanner::Scanner;
use crate::token::{Kind, Token};

/// What a block scalar's header asks for.
struct Header {
    /// `+` keeps the trailing breaks, `-` drops them all, nothing keeps one.
    chomp: Option<u8>,
    /// How much deeper than its parent the text is indented, when it cannot be seen from the text.
    indent: Option<u8>,
}

impl<'a> Scanner<'a> {
    /// Reads a block scalar, the `|` or `>` included.
    pub(crate) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token<'a>, Error> {
        let (text, bytes) = (self.text, self.bytes);
        let start = self.mark();
        self.pos += 1;
        let header = self.scan_block_header()?;
        let mut indent = header
            .indent
            .map_or(0, |digit| self.indent.max(0) + i64::from(digit));
        let mut end = self.pos;
        let mut out = String::new();
        let mut breaks = String::new();
        self.scan_block_breaks(&mut indent, &mut breaks, &mut end)?;
        let mut last_break = "";
        let mut was_blank = false;
        while i64::from(self.column()) == indent && byte(bytes, self.pos) != 0 {
            let now_blank = is_blank(bytes, self.pos);
            // Between two lines that are both not further indented, one break folds into a space.
            if !literal && last_break == "\n" && !was_blank && !now_blank {
                if breaks.is_empty() {
                    out.push(' ');
                }
            } else {
                out.push_str(last_break);
            }
            out.push_str(&breaks);
            breaks.clear();
            was_blank = now_blank;
            let line_end = self.line_end(self.pos);
            out.push_str(&text[self.pos..line_end]);
            self.advance_to(line_end);
            end = line_end;
            last_break = self.take_break().unwrap_or_default();
            self.scan_block_breaks(&mut indent, &mut breaks, &mut end)?;
        }
        if header.chomp != Some(b'-') {
            out.push_str(last_break);
        }
        if header.chomp == Some(b'+') {
            out.push_str(&breaks);
        }
        Ok(self.scalar(Kind::QuotedScalar, start, end, Cow::Owned(out)))
    }

    fn scan_block_header(&mut self) -> Result<Header, Error> {
        let mut header = Header {
            chomp: self.scan_chomping(),
            indent: None,
        };
        let digit = byte(self.bytes, self.pos);
        if digit.is_ascii_digit() {
            if digit == b'0' {
                return Err(self.error("found an indentation indicator equal to 0"));
            }
            header.indent = Some(digit - b'0');
            self.pos += 1;
            header.chomp = header.chomp.or_else(|| self.scan_chomping());
        }
        while is_blank(self.bytes, self.pos) {
            self.pos += 1;
        }
        if byte(self.bytes, self.pos) == b'#' {
            self.skip_comment();
        }
        if !is_break_or_end(self.bytes, self.pos) {
            return Err(self.error("did not find expected comment or line break"));
        }
        self.skip_break();
        Ok(header)
    }

    fn scan_chomping(&mut self) -> Option<u8> {
        let sign = byte(self.bytes, self.pos);
        matches!(sign, b'+' | b'-').then(|| {
            self.pos += 1;
            sign
        })
    }

    /// Passes over indentation and empty lines, and finds the indentation when it is still unknown
    /// (zero).
    fn scan_block_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut String,
        end: &mut usize,
    ) -> Result<(), Error> {
        let mut deepest = 0;
        loop {
            while (*indent == 0 || i64::from(self.column()) < *indent)
                && byte(self.bytes, self.pos) == b' '
            {
                self.pos += 1;
            }
            let column = i64::from(self.column());
            deepest = deepest.max(column);
            if (*indent == 0 || column < *indent) && byte(self.bytes, self.pos) == b'\t' {
                return Err(
                    self.error("found a tab character where an indentation space is expected")
                );
            }
            if break_len(self.bytes, self.pos) == 0 {
                break;
            }
            breaks.push_str(self.take_break().unwrap_or_default());
            *end = self.pos;
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
