//! Reading TOML's characters: what may not occur at all, where lines end, and strings with their
//! escapes.

use super::super::strconv::{quote, quote_rune};
use super::super::unicode::{decode_rune, push_rune};

/// What is wrong, and in which line.
pub(crate) struct Fault {
    pub(crate) line: usize,
    pub(crate) message: String,
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// A place in the text; lines count from 1.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    /// The end has been read, not only seen ahead.
    ended: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            ended: false,
        }
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text from `start` to here.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
    }

    /// Reads a character; `None` is the end.
    pub(crate) fn next(&mut self) -> Outcome<Option<char>> {
        let found = self.look()?;
        match found {
            None => self.ended = true,
            Some(rune) => {
                self.at += rune.len_utf8();
                self.line += usize::from(rune == '\n');
            }
        }
        Ok(found)
    }

    /// The next character without reading it.
    pub(crate) fn peek(&mut self) -> Outcome<Option<char>> {
        self.ended = false;
        self.look()
    }

    fn look(&self) -> Outcome<Option<char>> {
        let rest = &self.text[self.at..];
        let Some(&first) = rest.first() else {
            return Ok(None);
        };
        let (rune, width) = decode_rune(rest);
        let here = |message| Fault {
            line: self.line + usize::from(first == b'\n'),
            message,
        };
        if rune == char::REPLACEMENT_CHARACTER && width == 1 {
            return Err(here(format!("invalid UTF-8 byte: 0x{first:02x}")));
        }
        let lone_return = rune == '\r' && rest.get(1) != Some(&b'\n');
        if lone_return || rune.is_ascii_control() && !matches!(rune, '\t' | '\r' | '\n') {
            return Err(here(format!(
                "TOML files cannot contain control characters: '0x{first:02x}'"
            )));
        }
        Ok(Some(rune))
    }

    /// Reads the next character if it is `wanted`.
    pub(crate) fn accept(&mut self, wanted: char) -> Outcome<bool> {
        let found = self.peek()? == Some(wanted);
        if found {
            self.next()?;
        }
        Ok(found)
    }

    /// Reads on while `belongs` holds.
    pub(crate) fn skip(&mut self, belongs: impl Fn(char) -> bool) -> Outcome<()> {
        while self.peek()?.is_some_and(&belongs) {
            self.next()?;
        }
        Ok(())
    }

    pub(crate) fn skip_blanks(&mut self) -> Outcome<()> {
        self.skip(|rune| rune == ' ' || rune == '\t')
    }

    /// Reads the rest of a comment.
    pub(crate) fn skip_comment(&mut self) -> Outcome<()> {
        self.skip(|rune| rune != '\n' && rune != '\r')
    }

    /// An error here; at the end it belongs to the last line that has something in it.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        let blank = self.ended && self.at > 0 && self.text[self.at - 1] == b'\n';
        Fault {
            line: self.line - usize::from(blank),
            message: message.into(),
        }
    }

    /// An error about a line break just read, which belongs to the line it ended.
    pub(crate) fn fault_before(&self, message: impl Into<String>) -> Fault {
        Fault {
            line: self.line - 1,
            message: message.into(),
        }
    }

    /// A string in `"` or `'`, its opening quote already read.
    pub(crate) fn string(&mut self, mark: char) -> Outcome<Vec<u8>> {
        let start = self.at;
        loop {
            match self.next()? {
                None if mark == '"' => return Err(self.fault("unexpected EOF; expected '\"'")),
                None => return Err(self.fault("unexpected EOF; expected \"'\"")),
                // A carriage return has not ended its line yet, but Go counts back from it all the
                // same.
                Some('\n' | '\r') => {
                    return Err(self.fault_before("strings cannot contain newlines"));
                }
                Some('\\') if mark == '"' => self.escape(start)?,
                Some(rune) if rune == mark => break,
                Some(_) => {}
            }
        }
        let body = &self.text[start..self.at - 1];
        if mark == '"' {
            self.unescape(body)
        } else {
            Ok(body.to_vec())
        }
    }

    /// A string in `"""` or `'''`, its opening quotes already read.
    pub(crate) fn long_string(&mut self, mark: char) -> Outcome<Vec<u8>> {
        let start = self.at;
        loop {
            match self.next()? {
                None if mark == '"' => return Err(self.fault("unexpected EOF; expected '\"\"\"'")),
                None => return Err(self.fault("unexpected EOF; expected \"'''\"")),
                Some('\\') if mark == '"' => match self.peek()? {
                    Some('\n' | '\r') => {
                        self.next()?;
                    }
                    _ => self.escape(start)?,
                },
                Some(rune) if rune == mark => {
                    let run = 1 + self.text[self.at..]
                        .iter()
                        .take_while(|&&byte| char::from(byte) == mark)
                        .count();
                    match run {
                        1 | 2 => self.at += run - 1,
                        // Up to two quotes may stand right before the closing three.
                        3..=5 => {
                            self.at += run - 1;
                            break;
                        }
                        _ if mark == '"' => return Err(self.fault("unexpected '\"\"\"\"\"\"'")),
                        _ => return Err(self.fault("unexpected \"''''''\"")),
                    }
                }
                Some(_) => {}
            }
        }
        let body = &self.text[start..self.at - 3];
        let body = body
            .strip_prefix(b"\n")
            .or_else(|| body.strip_prefix(b"\r\n"))
            .unwrap_or(body);
        if mark == '"' {
            self.unescape(&join_lines(body))
        } else {
            Ok(body.to_vec())
        }
    }

    /// Checks what follows a backslash.
    fn escape(&mut self, start: usize) -> Outcome<()> {
        let (count, name) = match self.next()? {
            Some('e' | 'b' | 't' | 'n' | 'f' | 'r' | '"' | ' ' | '\t' | '\\') => return Ok(()),
            Some('x') => (2, "two hexadecimal digits after '\\x'"),
            Some('u') => (4, "four hexadecimal digits after '\\u'"),
            Some('U') => (8, "eight hexadecimal digits after '\\U'"),
            None => return Err(self.fault_before("invalid escape in string '\\\0'")),
            Some(rune) => return Err(self.fault(format!("invalid escape in string '\\{rune}'"))),
        };
        for _ in 0..count {
            if !self.next()?.is_some_and(|rune| rune.is_ascii_hexdigit()) {
                return Err(self.fault(format!(
                    "expected {name}, but got {} instead",
                    quoted(self.since(start))
                )));
            }
        }
        Ok(())
    }

    /// Replaces the escapes of a text that [`Lexer::escape`] checked.
    fn unescape(&self, body: &[u8]) -> Outcome<Vec<u8>> {
        let fault = |message| Fault {
            line: self.line,
            message,
        };
        let mut out = Vec::with_capacity(body.len());
        let mut rest = body;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            let Some((&mark, after)) = rest.split_first() else {
                break;
            };
            rest = after;
            let digits = match mark {
                b'x' => 2,
                b'u' => 4,
                b'U' => 8,
                b' ' | b'\t' => {
                    return Err(fault(format!("invalid escape: '\\{}'", char::from(mark))));
                }
                _ => {
                    out.push(match mark {
                        b'b' => 8,
                        b't' => b'\t',
                        b'n' => b'\n',
                        b'f' => 12,
                        b'r' => b'\r',
                        b'e' => 27,
                        _ => mark,
                    });
                    continue;
                }
            };
            let (code, after) = rest.split_at(digits.min(rest.len()));
            rest = after;
            let text = String::from_utf8_lossy(code);
            let rune = u32::from_str_radix(&text, 16).ok().and_then(char::from_u32);
            let rune = rune.ok_or_else(|| {
                fault(format!("Escaped character '\\u{text}' is not valid UTF-8."))
            })?;
            push_rune(&mut out, rune);
        }
        Ok(out)
    }
}

/// Takes out backslashes at ends of lines with all blanks and line breaks after them.
fn join_lines(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte == b'\\' {
            if body.get(at + 1) == Some(&b'\\') {
                out.extend_from_slice(b"\\\\");
                at += 2;
                continue;
            }
            let blanks = body[at + 1..]
                .iter()
                .take_while(|byte| b" \t\r\n".contains(byte))
                .count();
            if body[at + 1..at + 1 + blanks].contains(&b'\n') {
                at += 1 + blanks;
                continue;
            }
        }
        out.push(byte);
        at += 1;
    }
    out
}

/// A character as errors show it; the end shows as NUL.
pub(crate) fn shown(rune: Option<char>) -> String {
    String::from_utf8_lossy(&quote_rune(rune.map_or(0, u32::from))).into_owned()
}

/// A text as errors show it.
pub(crate) fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&quote(text)).into_owned()
}
