//! Reading TOML, with the library's messages and the line and key they name.

use super::super::strconv::{NumErrorKind, parse_float, parse_int};
use super::super::strings::trim_space;
use super::super::time::Time;
use super::super::unicode::is_letter;
use super::super::zone::Zone;
use super::lex::{Fault, Lexer, Outcome, quoted, shown};
use super::tree::{Key, Tree};
use super::{DecodeError, Table, Value, is_bare, join_key};

/// Arrays and inline tables within each other that are still accepted.
const MAX_DEPTH: usize = 200;

/// Reads a document.
///
/// # Errors
/// What is not TOML, in the library's words; nesting beyond 200 levels has words of its own.
pub fn decode(text: &[u8]) -> Result<Table, DecodeError> {
    let text = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"]
        .iter()
        .find_map(|mark| text.strip_prefix(*mark))
        .unwrap_or(text);
    if text.iter().take(6).any(|&byte| byte == 0) {
        let message =
            "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8";
        return Err(DecodeError(format!("toml: line 1: {message}")));
    }
    let mut decoder = Decoder {
        lexer: Lexer::new(text),
        tree: Tree::default(),
        current: Vec::new(),
        key_line: 1,
    };
    match decoder.document() {
        Ok(()) => Ok(decoder.tree.finish()),
        Err(fault) => Err(decoder.error(&fault)),
    }
}

struct Decoder<'a> {
    lexer: Lexer<'a>,
    tree: Tree,
    /// The key whose value is being read, for messages.
    current: Vec<u8>,
    /// The line of the key or header being read.
    key_line: usize,
}

impl Decoder<'_> {
    fn error(&self, fault: &Fault) -> DecodeError {
        let mut key = join_key(&self.tree.context);
        if !self.current.is_empty() {
            if !key.is_empty() {
                key.push(b'.');
            }
            key.extend_from_slice(&self.current);
        }
        let last = if key.is_empty() {
            String::new()
        } else {
            format!(" (last key {})", quoted(&key))
        };
        DecodeError(format!(
            "toml: line {}{last}: {}",
            fault.line, fault.message
        ))
    }

    /// An error about the key being defined.
    fn key_fault(&self, message: String) -> Fault {
        Fault {
            line: self.key_line,
            message,
        }
    }

    fn document(&mut self) -> Outcome<()> {
        loop {
            match self.lexer.peek()? {
                None => return Ok(()),
                Some(' ' | '\t' | '\n' | '\r') => {
                    self.lexer.next()?;
                }
                Some('#') => self.lexer.skip_comment()?,
                Some('[') => {
                    self.lexer.next()?;
                    self.header()?;
                    self.end_of_line()?;
                }
                Some(_) => {
                    let outer = self.tree.context.clone();
                    self.pair()?;
                    self.tree.context = outer;
                    self.current.clear();
                    self.end_of_line()?;
                }
            }
        }
    }

    fn end_of_line(&mut self) -> Outcome<()> {
        self.lexer.skip_blanks()?;
        match self.lexer.next()? {
            None | Some('\n' | '\r') => Ok(()),
            Some('#') => self.lexer.skip_comment(),
            other => Err(self.lexer.fault(format!(
                "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                shown(other)
            ))),
        }
    }

    /// `[name]` or `[[name]]`, the first bracket already read.
    fn header(&mut self) -> Outcome<()> {
        let array = self.lexer.accept('[')?;
        let mut key = Key::new();
        loop {
            self.lexer.skip_blanks()?;
            match self.lexer.peek()? {
                Some(']') | None => {
                    return Err(self
                        .lexer
                        .fault("unexpected end of table name (table names cannot be empty)"));
                }
                Some('.') => {
                    return Err(self
                        .lexer
                        .fault("unexpected table separator (table names cannot be empty)"));
                }
                Some(_) => key.push(self.key_part(key.is_empty())?),
            }
            self.lexer.skip_blanks()?;
            match self.lexer.next()? {
                Some('.') => {}
                Some(']') => break,
                other => {
                    let message = format!(
                        "expected '.' or ']' to end table name, but got {} instead",
                        shown(other)
                    );
                    return Err(self.lexer.fault(message));
                }
            }
        }
        if array {
            let end = self.lexer.next()?;
            if end != Some(']') {
                let message = format!(
                    "expected end of table array name delimiter ']', but got {} instead",
                    shown(end)
                );
                return Err(self.lexer.fault(message));
            }
        }
        self.tree
            .enter(&key, array)
            .map_err(|message| self.key_fault(message))?;
        self.tree.note(b"", false);
        Ok(())
    }

    fn key_part(&mut self, first: bool) -> Outcome<Vec<u8>> {
        let part = match self.lexer.peek()? {
            Some(mark @ ('"' | '\'')) => {
                self.lexer.next()?;
                self.lexer.string(mark)?
            }
            _ => {
                let start = self.lexer.at();
                self.lexer
                    .skip(|rune| u8::try_from(rune).is_ok_and(is_bare))?;
                self.lexer.since(start).to_vec()
            }
        };
        if first {
            self.key_line = self.lexer.line();
        }
        Ok(part)
    }

    /// `key = value`.
    fn pair(&mut self) -> Outcome<()> {
        let (_, value, is_array) = self.key_and_value(MAX_DEPTH)?;
        let current = self.current.clone();
        self.tree
            .set(&current, value)
            .map_err(|message| self.key_fault(message))?;
        self.tree.note(&current, is_array);
        Ok(())
    }

    /// Reads a key, makes its parents the context, and reads its value.
    fn key_and_value(&mut self, depth: usize) -> Outcome<(Key, Value, bool)> {
        self.lexer.skip_blanks()?;
        match self.lexer.peek()? {
            Some('=') | None => {
                return Err(self.lexer.fault("unexpected '=': key name appears blank"));
            }
            Some('.') => {
                return Err(self
                    .lexer
                    .fault("unexpected '.': keys cannot start with a '.'"));
            }
            Some(_) => {}
        }
        let mut key = Key::new();
        loop {
            self.lexer.skip_blanks()?;
            match self.lexer.peek()? {
                Some('=') | None => return Err(self.lexer.fault("unexpected '='")),
                Some('.') => return Err(self.lexer.fault("unexpected '.'")),
                Some(_) => key.push(self.key_part(key.is_empty())?),
            }
            self.lexer.skip_blanks()?;
            match self.lexer.next()? {
                Some('.') => {}
                Some('=') => break,
                None => {
                    return Err(self
                        .lexer
                        .fault("unexpected EOF; expected key separator '='"));
                }
                other => {
                    let message = format!("expected '.' or '=', but got {} instead", shown(other));
                    let broken = other == Some('\n');
                    return Err(if broken {
                        self.lexer.fault_before(message)
                    } else {
                        self.lexer.fault(message)
                    });
                }
            }
        }
        let last = key.pop().unwrap_or_default();
        self.current.clone_from(&last);
        for part in &key {
            self.tree
                .enter_part(part)
                .map_err(|message| self.key_fault(message))?;
        }
        let (value, is_array) = self.value(false, depth)?;
        key.push(last);
        Ok((key, value, is_array))
    }

    /// A value, and whether it is an array.
    fn value(&mut self, in_array: bool, depth: usize) -> Outcome<(Value, bool)> {
        self.lexer.skip_blanks()?;
        let start = self.lexer.at();
        let first = self.lexer.next()?;
        let plain = |value| Ok((value, false));
        match first {
            Some('0'..='9') => return plain(self.number_or_date(start)?),
            Some('+' | '-') => return plain(self.signed(start)?),
            Some('[') => return Ok((self.array(depth)?, true)),
            Some('{') => return plain(self.inline_table(in_array, depth)?),
            Some(mark @ ('"' | '\'')) => {
                let text = if !self.lexer.accept(mark)? {
                    self.lexer.string(mark)?
                } else if self.lexer.accept(mark)? {
                    self.lexer.long_string(mark)?
                } else {
                    Vec::new()
                };
                return plain(Value::Text(text));
            }
            Some('.') => return Err(self.lexer.fault("floats must start with a digit, not '.'")),
            Some('i' | 'n') if self.ends_inf_or_nan()? => {
                return plain(self.float(self.lexer.since(start))?);
            }
            _ => {}
        }
        let unexpected = |text: String| format!("expected value but found {text} instead");
        match first {
            None => Err(self.lexer.fault("unexpected EOF; expected value")),
            Some('\n') => Err(self.lexer.fault_before(unexpected(shown(first)))),
            Some(rune) if is_letter(rune) => {
                // The library goes back one character only, which shows in its message.
                let from = if rune.is_ascii() {
                    self.lexer.at() - 1
                } else {
                    start
                };
                self.lexer.skip(is_letter)?;
                match self.lexer.since(from) {
                    b"true" => plain(Value::Bool(true)),
                    b"false" => plain(Value::Bool(false)),
                    word => Err(self.lexer.fault(unexpected(quoted(word)))),
                }
            }
            other => Err(self.lexer.fault(unexpected(shown(other)))),
        }
    }

    /// Reads `nf` or `an`, and may stop after the first letter of either.
    fn ends_inf_or_nan(&mut self) -> Outcome<bool> {
        Ok(self.lexer.accept('n')? && self.lexer.accept('f')?
            || self.lexer.accept('a')? && self.lexer.accept('n')?)
    }

    fn item_fault(&self, message: String) -> Fault {
        Fault {
            line: self.lexer.line(),
            message,
        }
    }

    fn number_or_date(&mut self, start: usize) -> Outcome<Value> {
        if self.lexer.since(start) == b"0" {
            let base = self.lexer.peek()?;
            let radix = match base {
                Some('b') => Some((2, "a binary")),
                Some('o') => Some((8, "an octal")),
                Some('x') => Some((16, "a hexadecimal")),
                _ => None,
            };
            if let Some((radix, name)) = radix {
                self.lexer.next()?;
                let next = self.lexer.peek()?;
                if !next.is_some_and(|rune| rune.is_digit(radix)) {
                    let text = String::from_utf8_lossy(self.lexer.since(start)).into_owned();
                    let next = next.unwrap_or('\0');
                    return Err(self
                        .lexer
                        .fault(format!("not {name} number: '{text}{next}'")));
                }
                self.lexer
                    .skip(|rune| rune.is_digit(radix) || rune == '_')?;
                return self.integer(self.lexer.since(start));
            }
        }
        self.lexer.skip(|rune| rune.is_ascii_digit())?;
        let first_digits = self.lexer.at() - start;
        match self.lexer.peek()? {
            // All dates begin with two digits or more, unless they begin with another than zero.
            Some('-' | ':') if first_digits > 1 || self.lexer.since(start) != b"0" => {
                self.lexer
                    .skip(|rune| rune.is_ascii_digit() || "-:Tt .Zz+".contains(rune))?;
                self.date(trim_space(self.lexer.since(start)))
            }
            _ => self.decimal(start),
        }
    }

    /// The rest of an integer or float.
    fn decimal(&mut self, start: usize) -> Outcome<Value> {
        self.lexer
            .skip(|rune| rune.is_ascii_digit() || rune == '_')?;
        if matches!(self.lexer.peek()?, Some('.' | 'e' | 'E')) {
            self.lexer
                .skip(|rune| rune.is_ascii_digit() || "_.-+eE".contains(rune))?;
            return self.float(self.lexer.since(start));
        }
        self.integer(self.lexer.since(start))
    }

    fn signed(&mut self, start: usize) -> Outcome<Value> {
        let first = self.lexer.next()?;
        let text = |lexer: &Lexer<'_>| String::from_utf8_lossy(lexer.since(start)).into_owned();
        match first {
            Some('i' | 'n') => {
                let rest = if first == Some('i') {
                    ['n', 'f']
                } else {
                    ['a', 'n']
                };
                if !self.lexer.accept(rest[0])? || !self.lexer.accept(rest[1])? {
                    return Err(self
                        .lexer
                        .fault(format!("invalid float: '{}'", text(&self.lexer))));
                }
                self.float(self.lexer.since(start))
            }
            Some('0') if matches!(self.lexer.peek()?, Some('b' | 'o' | 'x')) => {
                let base = self.lexer.peek()?.unwrap_or('\0');
                let sign = text(&self.lexer);
                Err(self.lexer.fault(format!(
                    "cannot use sign with non-decimal numbers: '{sign}{base}'"
                )))
            }
            Some('.') => Err(self.lexer.fault("floats must start with a digit, not '.'")),
            Some('0'..='9') => self.decimal(start),
            other => Err(self
                .lexer
                .fault(format!("expected a digit but got {}", shown(other)))),
        }
    }

    fn integer(&self, text: &[u8]) -> Outcome<Value> {
        let invalid =
            |why: &str| self.item_fault(format!("Invalid integer {}: {why}", quoted(text)));
        if !underscores_ok(text) {
            return Err(invalid("underscores must be surrounded by digits"));
        }
        if has_leading_zero(text) {
            return Err(invalid("cannot have leading zeroes"));
        }
        parse_int(text, 0, 64).map(Value::Int).map_err(|_| {
            self.item_fault(format!(
                "{} is out of range for int64",
                String::from_utf8_lossy(text)
            ))
        })
    }

    fn float(&self, text: &[u8]) -> Outcome<Value> {
        let invalid = |why: &str| self.item_fault(format!("Invalid float {}: {why}", quoted(text)));
        let mut parts = text
            .split(|byte| b".eE".contains(byte))
            .filter(|part| !part.is_empty());
        if !parts.clone().all(underscores_ok) {
            return Err(invalid("underscores must be surrounded by digits"));
        }
        if parts.next().is_some_and(has_leading_zero) {
            return Err(invalid("cannot have leading zeroes"));
        }
        let digit_after = |at: usize| text.get(at + 1).is_some_and(u8::is_ascii_digit);
        if text
            .iter()
            .enumerate()
            .any(|(at, &byte)| byte == b'.' && !digit_after(at))
        {
            return Err(invalid("'.' must be followed by one or more digits"));
        }
        match text {
            b"+nan" => return Ok(Value::Float(f64::NAN)),
            b"-nan" => return Ok(Value::Float(-f64::NAN)),
            _ => {}
        }
        let plain: Vec<u8> = text.iter().copied().filter(|&byte| byte != b'_').collect();
        parse_float(&plain, 64).map(Value::Float).map_err(|error| {
            self.item_fault(match error.kind {
                NumErrorKind::Range => format!(
                    "{} is out of range for float64",
                    String::from_utf8_lossy(text)
                ),
                _ => format!("Invalid float value: {}", quoted(text)),
            })
        })
    }

    fn date(&self, text: &[u8]) -> Outcome<Value> {
        const LAYOUTS: [(&str, &str); 7] = [
            ("2006-01-02T15:04:05.999999999Z07:00", ""),
            ("2006-01-02T15:04:05.999999999", "datetime-local"),
            ("2006-01-02", "date-local"),
            ("15:04:05.999999999", "time-local"),
            ("2006-01-02T15:04Z07:00", ""),
            ("2006-01-02T15:04", "datetime-local"),
            ("15:04", "time-local"),
        ];
        let text: Vec<u8> = text
            .iter()
            .map(|byte| match byte {
                b'z' => b'Z',
                b't' | b' ' => b'T',
                _ => *byte,
            })
            .collect();
        for (layout, zone) in LAYOUTS {
            if let Ok(time) = Time::parse(layout.as_bytes(), &text) {
                if !separators_fit(&text, layout) {
                    break;
                }
                let named = Zone::Fixed {
                    name: zone.to_owned(),
                    offset: 0,
                };
                return Ok(Value::Time(if zone.is_empty() {
                    time
                } else {
                    time.in_zone(named)
                }));
            }
        }
        Err(self.item_fault(format!("invalid datetime: {}", quoted(&text))))
    }

    fn array(&mut self, depth: usize) -> Outcome<Value> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| self.item_fault("arrays nest too deeply".to_owned()))?;
        let current = self.current.clone();
        self.tree.note(&current, true);
        let mut items = Vec::new();
        let mut value_next = true;
        loop {
            match self.lexer.peek()? {
                Some(' ' | '\t' | '\n' | '\r') => {
                    self.lexer.next()?;
                }
                Some('#') => self.lexer.skip_comment()?,
                Some(']') => {
                    self.lexer.next()?;
                    return Ok(Value::Array(items));
                }
                Some(',') if value_next => {
                    self.lexer.next()?;
                    return Err(self.lexer.fault("unexpected comma"));
                }
                _ if value_next => {
                    items.push(self.value(true, depth)?.0);
                    value_next = false;
                }
                _ => match self.lexer.next()? {
                    Some(',') => value_next = true,
                    other => {
                        let message = "expected a comma (',') or array terminator (']'), but got";
                        return Err(self.lexer.fault(format!("{message} {}", or_end(other))));
                    }
                },
            }
        }
    }

    fn inline_table(&mut self, in_array: bool, depth: usize) -> Outcome<Value> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| self.item_fault("tables nest too deeply".to_owned()))?;
        let mut fields = Table::new();
        let (outer, outer_key) = (self.tree.context.clone(), std::mem::take(&mut self.current));
        let mut inner = outer.clone();
        inner.push(outer_key.clone());
        self.tree.context.clone_from(&inner);
        self.tree.imply(&inner);
        self.tree
            .enter(&inner, in_array)
            .map_err(|message| self.key_fault(message))?;
        let mut pair_next = true;
        loop {
            match self.lexer.peek()? {
                Some(' ' | '\t' | '\n' | '\r') => {
                    self.lexer.next()?;
                }
                Some('#') => self.lexer.skip_comment()?,
                Some('}') => {
                    self.lexer.next()?;
                    break;
                }
                Some(',') if pair_next => {
                    self.lexer.next()?;
                    return Err(self.lexer.fault("unexpected comma"));
                }
                _ if pair_next => {
                    let (key, value, is_array) = self.key_and_value(depth)?;
                    let current = self.current.clone();
                    self.tree
                        .set(&current, value.clone())
                        .map_err(|message| self.key_fault(message))?;
                    self.tree.note(&current, is_array);
                    insert(&mut fields, &key, value);
                    self.tree.context.clone_from(&inner);
                    pair_next = false;
                }
                _ => match self.lexer.next()? {
                    Some(',') => pair_next = true,
                    other => {
                        let message = "expected a comma or an inline table terminator '}', but got";
                        return Err(self
                            .lexer
                            .fault(format!("{message} {} instead", or_end(other))));
                    }
                },
            }
        }
        self.tree.context = outer;
        self.current = outer_key;
        Ok(Value::Table(fields))
    }
}

/// Puts a value under a dotted key, whose parents the tree has already found to be tables.
fn insert(fields: &mut Table, key: &[Vec<u8>], value: Value) {
    match key {
        [] => {}
        [last] => {
            fields.insert(last.clone(), value);
        }
        [first, rest @ ..] => {
            if let Value::Table(inner) = fields
                .entry(first.clone())
                .or_insert_with(|| Value::Table(Table::new()))
            {
                insert(inner, rest, value);
            }
        }
    }
}

fn or_end(rune: Option<char>) -> String {
    rune.map_or_else(|| "end of file".to_owned(), |rune| format!("'{rune}'"))
}

fn has_leading_zero(text: &[u8]) -> bool {
    match text {
        [b'0', second, ..] => !b"box".contains(second),
        [b'-' | b'+', b'0', _, ..] => true,
        _ => false,
    }
}

/// Whether every underscore, and the end, follows a digit.
fn underscores_ok(text: &[u8]) -> bool {
    let name = text
        .strip_prefix(b"+")
        .or_else(|| text.strip_prefix(b"-"))
        .unwrap_or(text);
    if name == b"nan" || name == b"inf" {
        return true;
    }
    let mut after_digit = false;
    for byte in text {
        if *byte == b'_' && !after_digit {
            return false;
        }
        after_digit = byte.is_ascii_hexdigit();
    }
    after_digit
}

/// Whether the separators of a date stand where the layout has them, which they do not if a zero is
/// missing.
fn separators_fit(text: &[u8], layout: &str) -> bool {
    layout
        .bytes()
        .take_while(|byte| !matches!(byte, b'.' | b'Z'))
        .enumerate()
        .all(|(at, byte)| byte.is_ascii_digit() || text.get(at) == Some(&byte))
}
