//! Reads plain and quoted scalars. On one line they are slices of the text; over several lines the
//! breaks between are folded into spaces.

use std::borrow::Cow;

use crate::chars::{break_len, byte, is_blank, is_blank_or_end, is_separator, width};
use crate::error::Error;
use crate::scanner::Scanner;
use crate::token::{Kind, Token};

/// Bytes that may end a run inside a plain scalar: everything else is passed over without a second
/// look.
const PLAIN_STOPS: [bool; 256] = stops(b"\0 \t\n\r:,?[]{}\xC2\xE2");
const SINGLE_STOPS: [bool; 256] = stops(b"\0 \t\n\r'\xC2\xE2");
const DOUBLE_STOPS: [bool; 256] = stops(b"\0 \t\n\r\"\\\xC2\xE2");

const fn stops(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
}

/// The line breaks between two pieces of a scalar.
#[derive(Default)]
struct Breaks<'a> {
    first: Option<&'a str>,
    more: String,
}

impl<'a> Breaks<'a> {
    fn add(&mut self, text: &'a str) {
        match self.first {
            None => self.first = Some(text),
            Some(_) => self.more.push_str(text),
        }
    }

    /// Writes what the breaks fold into and forgets them.
    fn fold_into(&mut self, out: &mut String) {
        match self.first.take() {
            Some("\n") if self.more.is_empty() => out.push(' '),
            Some("\n") => out.push_str(&self.more),
            other => {
                out.push_str(other.unwrap_or_default());
                out.push_str(&self.more);
            }
        }
        self.more.clear();
    }
}

impl<'a> Scanner<'a> {
    /// Reads a scalar without quotes.
    pub(crate) fn scan_plain(&mut self) -> Result<Token<'a>, Error> {
        let (text, bytes) = (self.text, self.bytes);
        let start = self.mark();
        let indent = self.indent + 1;
        let flow = self.flow_level > 0;
        let mut folded: Option<String> = None;
        let mut breaks = Breaks::default();
        let (mut piece, mut end) = (self.pos, self.pos);
        loop {
            if byte(bytes, self.pos) == b'#' || (self.column() == 0 && self.at_document_mark()) {
                break;
            }
            let run_end = plain_run(bytes, self.pos, flow);
            if run_end > self.pos {
                if breaks.first.is_some() {
                    let out = folded.get_or_insert_default();
                    out.push_str(&text[piece..end]);
                    breaks.fold_into(out);
                    piece = self.pos;
                }
                self.advance_to(run_end);
                end = run_end;
            }
            if !is_blank(bytes, self.pos) && break_len(bytes, self.pos) == 0 {
                break;
            }
            loop {
                match byte(bytes, self.pos) {
                    b'\t' if breaks.first.is_some() && i64::from(self.column()) < indent => {
                        return Err(self.error("found a tab character that violates indentation"));
                    }
                    b' ' | b'\t' => self.pos += 1,
                    _ => match self.take_break() {
                        Some(text) => breaks.add(text),
                        None => break,
                    },
                }
            }
            if !flow && i64::from(self.column()) < indent {
                break;
            }
        }
        // A scalar that ended with its line leaves the next line free for a key.
        if breaks.first.is_some() {
            self.key_allowed = true;
        }
        let value = match folded {
            None => Cow::Borrowed(&text[piece..end]),
            Some(mut out) => {
                out.push_str(&text[piece..end]);
                Cow::Owned(out)
            }
        };
        Ok(self.scalar(Kind::PlainScalar, start, end, value))
    }

    /// Reads a scalar in single quotes.
    pub(crate) fn scan_single_quoted(&mut self) -> Result<Token<'a>, Error> {
        self.scan_quoted(b'\'')
    }

    /// Reads a scalar in double quotes.
    pub(crate) fn scan_double_quoted(&mut self) -> Result<Token<'a>, Error> {
        self.scan_quoted(b'"')
    }

    fn scan_quoted(&mut self, quote: u8) -> Result<Token<'a>, Error> {
        let (text, bytes) = (self.text, self.bytes);
        let start = self.mark();
        self.pos += 1;
        if let Some(end) = closing_quote(bytes, self.pos, quote) {
            let value = Cow::Borrowed(&text[self.pos..end]);
            self.advance_to(end);
            self.pos += 1;
            return Ok(self.scalar(Kind::QuotedScalar, start, self.pos, value));
        }
        let stops = if quote == b'"' {
            &DOUBLE_STOPS
        } else {
            &SINGLE_STOPS
        };
        let mut out = String::new();
        let mut breaks = Breaks::default();
        loop {
            if self.column() == 0 && self.at_document_mark() {
                return Err(self.error("found unexpected document indicator"));
            }
            if byte(bytes, self.pos) == 0 {
                // Go tells the end of the text, which helps nobody to find the quote that is not
                // closed.
                return Err(self.error("found unexpected end of stream").began(start));
            }
            let mut broken = false;
            while !is_blank_or_end(bytes, self.pos) {
                let next = bytes[self.pos];
                if next == quote {
                    if quote == b'"' || byte(bytes, self.pos + 1) != b'\'' {
                        break;
                    }
                    out.push('\'');
                    self.pos += 2;
                } else if next == b'\\' && quote == b'"' {
                    if break_len(bytes, self.pos + 1) > 0 {
                        self.pos += 1;
                        self.skip_break();
                        broken = true;
                        break;
                    }
                    self.scan_escape(&mut out)?;
                } else {
                    let mut end = self.pos + width(next);
                    while end < bytes.len() && !stops[bytes[end] as usize] {
                        end += 1;
                    }
                    out.push_str(&text[self.pos..end]);
                    self.advance_to(end);
                }
            }
            if byte(bytes, self.pos) == quote {
                self.pos += 1;
                return Ok(self.scalar(Kind::QuotedScalar, start, self.pos, Cow::Owned(out)));
            }
            let blanks = self.pos;
            let mut blanks_end = self.pos;
            let escaped = broken;
            loop {
                match byte(bytes, self.pos) {
                    b' ' | b'\t' => self.pos += 1,
                    _ => match self.take_break() {
                        // After an escaped break every further one counts in full.
                        Some(text) if escaped => breaks.more.push_str(text),
                        Some(text) => {
                            broken = true;
                            breaks.add(text);
                        }
                        None => break,
                    },
                }
                if !broken {
                    blanks_end = self.pos;
                }
            }
            if broken {
                breaks.fold_into(&mut out);
            } else {
                out.push_str(&text[blanks..blanks_end]);
            }
        }
    }

    /// Reads one escape sequence, the backslash included.
    fn scan_escape(&mut self, out: &mut String) -> Result<(), Error> {
        let digits = match byte(self.bytes, self.pos + 1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            letter => {
                let Some(c) = simple_escape(letter) else {
                    return Err(self.error("found unknown escape character"));
                };
                out.push(c);
                self.pos += 2;
                return Ok(());
            }
        };
        self.pos += 2;
        let mut code = 0u32;
        for at in self.pos..self.pos + digits {
            let Some(digit) = char::from(byte(self.bytes, at)).to_digit(16) else {
                return Err(self.error("did not find expected hexdecimal number"));
            };
            code = (code << 4) | digit;
        }
        let Some(c) = char::from_u32(code) else {
            return Err(self.error("found invalid Unicode character escape code"));
        };
        out.push(c);
        self.pos += digits;
        Ok(())
    }
}

fn simple_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0B',
        b'f' => '\x0C',
        b'r' => '\r',
        b'e' => '\x1B',
        b' ' | b'"' | b'\'' | b'\\' => char::from(letter),
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}

/// Where the run of characters that cannot end a plain scalar ends.
#[inline]
fn plain_run(bytes: &[u8], from: usize, flow: bool) -> usize {
    let mut end = from;
    while end < bytes.len() {
        let b = bytes[end];
        if PLAIN_STOPS[b as usize] {
            match b {
                b':' if !is_blank_or_end(bytes, end + 1) => {}
                b',' | b'?' | b'[' | b']' | b'{' | b'}' if !flow => {}
                0xC2 if byte(bytes, end + 1) != 0x85 => {}
                0xE2 if !is_separator(bytes, end) => {}
                _ => break,
            }
        }
        end += 1;
    }
    end
}

/// Where a quoted scalar ends that begins at `from`, if it is on one line and needs no unescaping.
#[inline]
fn closing_quote(bytes: &[u8], from: usize, quote: u8) -> Option<usize> {
    for (end, b) in bytes.iter().enumerate().skip(from) {
        match b {
            _ if *b == quote => {
                let doubled = quote == b'\'' && byte(bytes, end + 1) == b'\'';
                return (!doubled).then_some(end);
            }
            b'\\' if quote == b'"' => return None,
            b'\n' | b'\r' | 0 => return None,
            0xC2 | 0xE2 if break_len(bytes, end) > 0 => return None,
            _ => {}
        }
    }
    None
}
