//! JSON as Go's `encoding/json` writes and reads it: string escapes, float forms and the texts of
//! its errors. Containers are the caller's to write; reading gives `serde_json` values whose
//! numbers are all doubles.

use serde_json::{Map, Number, Value};

use super::strconv::{format_float, parse_float, quote};
use super::unicode::{push_rune, runes};

/// Why a text is not JSON, or a value not writable, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// Nesting beyond which Go refuses a text.
pub const MAX_DEPTH: usize = 10_000;

/// Appends a quoted string; `html` also escapes `<`, `>` and `&`, as Go does unless told otherwise.
pub fn write_string(out: &mut Vec<u8>, text: &[u8], html: bool) {
    out.push(b'"');
    for item in runes(text) {
        match item.rune {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\x08' => out.extend_from_slice(b"\\b"),
            '\x0c' => out.extend_from_slice(b"\\f"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => push_escape(out, item.rune),
            '<' | '>' | '&' if html => push_escape(out, item.rune),
            _ if item.is_invalid() => out.extend_from_slice(b"\\ufffd"),
            _ => out.extend_from_slice(&text[item.at..item.at + item.width]),
        }
    }
    out.push(b'"');
}

fn push_escape(out: &mut Vec<u8>, rune: char) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(rune)).as_bytes());
}

/// Appends a double: plain digits between 1e-6 and 1e21, else an exponent of no fixed width.
///
/// # Errors
/// Infinities and NaN have no JSON form.
pub fn write_float(out: &mut Vec<u8>, value: f64) -> Result<(), JsonError> {
    if !value.is_finite() {
        return Err(JsonError(format!(
            "json: unsupported value: {}",
            format_float(value, b'g', -1, 64)
        )));
    }
    let size = value.abs();
    let plain = size == 0.0 || (1e-6..1e21).contains(&size);
    let text = format_float(value, if plain { b'f' } else { b'e' }, -1, 64);
    // Go shortens `e-07` but leaves positive exponents, which here have two digits anyway.
    match text.split_once("e-0") {
        Some((mantissa, digit)) => out.extend_from_slice(format!("{mantissa}e-{digit}").as_bytes()),
        None => out.extend_from_slice(text.as_bytes()),
    }
    Ok(())
}

/// Checks that `text` is one JSON value, giving the error `json.Unmarshal` would.
///
/// # Errors
/// Go's syntax errors, such as `unexpected end of JSON input`.
pub fn check(text: &[u8]) -> Result<(), JsonError> {
    Scanner {
        text,
        at: 0,
        open: Vec::new(),
        limit: MAX_DEPTH,
    }
    .run()
}

/// Reads one JSON value as `json.Unmarshal` into `interface{}` does: numbers are doubles, the last
/// of equal keys wins, and broken UTF-8 or lone surrogates become U+FFFD. `depth` bounds nesting,
/// at most [`MAX_DEPTH`].
///
/// # Errors
/// Syntax errors, and numbers beyond a double.
pub fn decode(text: &[u8], depth: usize) -> Result<Value, JsonError> {
    let (value, error) = decode_leniently(text, depth)?;
    error.map_or(Ok(value), Err)
}

/// As [`decode`], but Go goes on after a number beyond a double: it is null, and the first such
/// error comes along.
///
/// # Errors
/// Syntax errors.
pub fn decode_leniently(
    text: &[u8],
    depth: usize,
) -> Result<(Value, Option<JsonError>), JsonError> {
    let mut failed = None;
    Scanner {
        text,
        at: 0,
        open: Vec::new(),
        limit: depth.min(MAX_DEPTH),
    }
    .run()?;
    let mut at = 0;
    let mut open: Vec<Open> = Vec::new();
    loop {
        let mut done = match next_token(text, &mut at) {
            Token::Open(open_byte) => {
                open.push(if open_byte == b'[' {
                    Open::Array(Vec::new())
                } else {
                    Open::Object(Map::new(), None)
                });
                continue;
            }
            Token::Text(value) => match open.last_mut() {
                Some(Open::Object(_, key @ None)) => {
                    *key = Some(value);
                    continue;
                }
                _ => Value::String(value),
            },
            Token::Number(number) => parse_number(number).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Value::Null
            }),
            Token::Literal(value) => value,
            Token::Close => match open.pop() {
                Some(Open::Array(items)) => Value::Array(items),
                Some(Open::Object(fields, _)) => Value::Object(fields),
                None => return Ok((Value::Null, failed)),
            },
            Token::End => return Ok((Value::Null, failed)),
        };
        match open.last_mut() {
            None => return Ok((done, failed)),
            Some(Open::Array(items)) => items.push(done.take()),
            Some(Open::Object(fields, key)) => {
                fields.insert(key.take().unwrap_or_default(), done.take());
            }
        }
    }
}

fn parse_number(text: &[u8]) -> Result<Value, JsonError> {
    let number = parse_float(text, 64).ok().and_then(Number::from_f64);
    number.map(Value::Number).ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        JsonError(format!(
            "json: cannot unmarshal number {text} into Go value of type float64"
        ))
    })
}

enum Open {
    Array(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

enum Token<'a> {
    Open(u8),
    Close,
    Text(String),
    Number(&'a [u8]),
    Literal(Value),
    End,
}

/// The next token of a text that [`Scanner`] accepted.
fn next_token<'a>(text: &'a [u8], at: &mut usize) -> Token<'a> {
    while text
        .get(*at)
        .is_some_and(|byte| b" \t\r\n,:".contains(byte))
    {
        *at += 1;
    }
    let Some(&first) = text.get(*at) else {
        return Token::End;
    };
    let start = *at;
    *at += 1;
    match first {
        b'{' | b'[' => Token::Open(first),
        b'}' | b']' => Token::Close,
        b'"' => {
            while text.get(*at).is_some_and(|&byte| byte != b'"') {
                *at += if text[*at] == b'\\' { 2 } else { 1 };
            }
            let body = text.get(start + 1..*at).unwrap_or_default();
            *at += 1;
            Token::Text(unescape(body))
        }
        b't' | b'f' | b'n' => {
            *at += if first == b'f' { 4 } else { 3 };
            Token::Literal(if first == b'n' {
                Value::Null
            } else {
                Value::Bool(first == b't')
            })
        }
        _ => {
            while text
                .get(*at)
                .is_some_and(|byte| b"+-.eE0123456789".contains(byte))
            {
                *at += 1;
            }
            Token::Number(&text[start..*at])
        }
    }
}

/// The text of a checked string literal's body.
fn unescape(body: &[u8]) -> String {
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        if byte != b'\\' {
            let end = body[at..]
                .iter()
                .position(|&byte| byte == b'\\')
                .map_or(body.len(), |offset| at + offset);
            for item in runes(&body[at..end]) {
                push_rune(&mut out, item.rune);
            }
            at = end;
            continue;
        }
        let mark = body.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        match mark {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => {
                let first = hex_unit(body, at);
                at += 4;
                let pair = if body.get(at..at + 2) == Some(b"\\u") {
                    hex_unit(body, at + 2)
                } else {
                    0
                };
                let rune = if (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&pair)
                {
                    at += 6;
                    0x1_0000 + ((first - 0xd800) << 10) + (pair - 0xdc00)
                } else {
                    first
                };
                push_rune(
                    &mut out,
                    char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER),
                );
            }
            _ => out.push(mark),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex_unit(body: &[u8], at: usize) -> u32 {
    body.get(at..at + 4).map_or(0, |digits| {
        digits.iter().fold(0, |sum, &byte| {
            sum << 4 | char::from(byte).to_digit(16).unwrap_or(0)
        })
    })
}

/// What may come next.
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    After,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<u8>,
    limit: usize,
}

impl Scanner<'_> {
    fn run(mut self) -> Result<(), JsonError> {
        let mut expect = Expect::Value;
        loop {
            expect = match expect {
                Expect::Value | Expect::ValueOrEnd => match self.next_solid()? {
                    b']' if matches!(expect, Expect::ValueOrEnd) => self.close(),
                    first => self.value(first)?,
                },
                Expect::Key | Expect::KeyOrEnd => match self.next_solid()? {
                    b'}' if matches!(expect, Expect::KeyOrEnd) => self.close(),
                    b'"' => {
                        self.string()?;
                        match self.next_solid()? {
                            b':' => Expect::Value,
                            other => return Err(invalid(other, "after object key")),
                        }
                    }
                    other => {
                        return Err(invalid(other, "looking for beginning of object key string"));
                    }
                },
                Expect::After => match (self.open.last().copied(), self.peek_solid()) {
                    (None, None) => return Ok(()),
                    (None, Some(byte)) => return Err(invalid(byte, "after top-level value")),
                    (Some(_), None) => return Err(end()),
                    (Some(b'{'), Some(b',')) => self.step(Expect::Key),
                    (Some(b'['), Some(b',')) => self.step(Expect::Value),
                    (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => {
                        self.at += 1;
                        self.close()
                    }
                    (Some(b'{'), Some(byte)) => {
                        return Err(invalid(byte, "after object key:value pair"));
                    }
                    (Some(_), Some(byte)) => return Err(invalid(byte, "after array element")),
                },
            };
        }
    }

    fn step(&mut self, expect: Expect) -> Expect {
        self.at += 1;
        expect
    }

    fn close(&mut self) -> Expect {
        self.open.pop();
        Expect::After
    }

    fn peek_solid(&mut self) -> Option<u8> {
        while self
            .text
            .get(self.at)
            .is_some_and(|byte| b" \t\r\n".contains(byte))
        {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn next_solid(&mut self) -> Result<u8, JsonError> {
        let byte = self.peek_solid().ok_or_else(end)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next byte inside a token; Go closes its input with a space, which its messages then
    /// show.
    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    fn value(&mut self, first: u8) -> Result<Expect, JsonError> {
        match first {
            b'{' | b'[' => {
                self.open.push(first);
                if self.open.len() > self.limit {
                    return Err(JsonError("exceeded max depth".to_owned()));
                }
                return Ok(if first == b'{' {
                    Expect::KeyOrEnd
                } else {
                    Expect::ValueOrEnd
                });
            }
            b'"' => self.string()?,
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            b'-' | b'0'..=b'9' => self.number(first)?,
            _ => return Err(invalid(first, "looking for beginning of value")),
        }
        Ok(Expect::After)
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        for wanted in word.bytes().skip(1) {
            if self.peek() != wanted {
                let context = format!("in literal {word} (expecting '{}')", char::from(wanted));
                return Err(invalid(self.peek(), &context));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        loop {
            let byte = *self.text.get(self.at).ok_or_else(end)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(()),
                b'\\' => {
                    let mark = self.peek();
                    self.at += 1;
                    match mark {
                        b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                        b'u' => {
                            for _ in 0..4 {
                                if !self.peek().is_ascii_hexdigit() {
                                    return Err(invalid(
                                        self.peek(),
                                        "in \\u hexadecimal character escape",
                                    ));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(invalid(mark, "in string escape code")),
                    }
                }
                0..0x20 => return Err(invalid(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn number(&mut self, first: u8) -> Result<(), JsonError> {
        let mut lead = first;
        if first == b'-' {
            lead = self.digit("in numeric literal")?;
        }
        if lead != b'0' {
            self.digits();
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, context: &str) -> Result<u8, JsonError> {
        let byte = self.peek();
        if !byte.is_ascii_digit() {
            return Err(invalid(byte, context));
        }
        self.at += 1;
        Ok(byte)
    }

    fn digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
    }
}

fn end() -> JsonError {
    JsonError("unexpected end of JSON input".to_owned())
}

fn invalid(byte: u8, context: &str) -> JsonError {
    let shown = match byte {
        b'\'' => r"\'".to_owned(),
        b'"' => "\"".to_owned(),
        _ => {
            let mut text = Vec::new();
            push_rune(&mut text, char::from(byte));
            let quoted = quote(&text);
            String::from_utf8_lossy(&quoted[1..quoted.len() - 1]).into_owned()
        }
    };
    JsonError(format!("invalid character '{shown}' {context}"))
}

#[cfg(test)]
mod tests;
