//! Writes values as YAML in block style, laid out line by line as go-yaml does.

use serde_json::Value;

use crate::analysis::{Analysis, Style, analyze, is_printable, wanted_style};
use crate::error::Error;
use crate::gojson;
use crate::natural::{self, Generation};
use crate::number::{Number, format_float, from_json_float};

/// Lines are folded at the first space after this column.
const WIDTH: usize = 80;
/// Longer keys are written with `?` in front.
const SIMPLE_KEY: usize = 128;
/// Keys longer than this in JSON cannot be read back by go-yaml, which therefore cannot write them
/// either.
const READABLE_KEY: usize = 1024;

/// Writes `value` exactly as `sigs.k8s.io/yaml` does: items are not indented under their key, keys
/// are in natural order, long lines are folded.
///
/// Fails only where Go fails: for the characters U+007F to U+009F, U+FFFE and U+FFFF, and for keys
/// of more than 1022 characters in JSON.
pub fn emit(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    emit_to(&mut out, value)?;
    Ok(out)
}

/// Appends to `out` what [`emit`] gives; on failure `out` is left as it was.
pub fn emit_to(out: &mut String, value: &Value) -> Result<(), Error> {
    let start = out.len();
    let mut emitter = Emitter::new(out, Generation::V2);
    emitter.document(value);
    if !emitter.unreadable {
        return Ok(());
    }
    // Go writes JSON, reads it as YAML and writes that: here it makes a difference.
    out.truncate(start);
    let mut json = String::new();
    gojson::write(&mut json, value);
    let read = crate::parse(&json)?;
    Emitter::new(out, Generation::V2).document(&read);
    Ok(())
}

/// Writes `value` as Helm's `toYamlPretty` does (yaml.v3 with an indentation of two): items are
/// indented under their key, floats keep their notation, nothing is folded.
pub fn emit_pretty(value: &Value) -> String {
    let mut out = String::new();
    emit_pretty_to(&mut out, value);
    out
}

/// Appends to `out` what [`emit_pretty`] gives.
pub fn emit_pretty_to(out: &mut String, value: &Value) {
    Emitter::new(out, Generation::V3).document(value);
}

/// What a node stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// A key that stands before its colon on one line.
    SimpleKey,
    Mapping,
}

struct Emitter<'o> {
    out: &'o mut String,
    generation: Generation,
    /// The column in characters.
    column: usize,
    /// Whether white space was written last, so that none is needed before the next thing.
    whitespace: bool,
    /// Whether the line holds nothing but indentation and `-`, `?` or `:` so far.
    indention: bool,
    unreadable: bool,
}

impl<'o> Emitter<'o> {
    fn new(out: &'o mut String, generation: Generation) -> Self {
        Self {
            out,
            generation,
            column: 0,
            whitespace: true,
            indention: true,
            unreadable: false,
        }
    }

    fn document(&mut self, value: &Value) {
        self.node(value, None, Place::Root);
        self.indent(0);
    }

    /// Writes a node inside a collection that is indented by `indent`.
    fn node(&mut self, value: &Value, indent: Option<usize>, place: Place) {
        match value {
            Value::Null => self.word("null"),
            Value::Bool(true) => self.word("true"),
            Value::Bool(false) => self.word("false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.string(text, indent, place),
            Value::Array(items) if items.is_empty() => self.word("[]"),
            Value::Array(items) => {
                let flat =
                    self.generation == Generation::V2 && place == Place::Mapping && !self.indention;
                let inner = indent.map_or(0, |indent| if flat { indent } else { indent + 2 });
                for item in items {
                    self.indent(inner);
                    self.indicator("-", true);
                    self.node(item, Some(inner), Place::Item);
                }
            }
            Value::Object(map) if map.is_empty() => self.word("{}"),
            Value::Object(map) => {
                let inner = indent.map_or(0, |indent| indent + 2);
                let mut entries: Vec<(&str, &Value)> = map
                    .iter()
                    .map(|(key, value)| (key.as_str(), value))
                    .collect();
                natural::sort(&mut entries, self.generation);
                for (key, value) in entries {
                    self.entry(key, value, inner);
                }
            }
        }
    }

    fn entry(&mut self, key: &str, value: &Value, indent: usize) {
        self.indent(indent);
        let analysis = analyze(key, self.generation);
        if key.len() > READABLE_KEY / 6 && gojson::string_length(key) > READABLE_KEY {
            self.unreadable = true;
        }
        if analysis.multiline || key.len() > SIMPLE_KEY {
            self.indicator("?", true);
            self.analyzed(key, analysis, Some(indent), Place::Mapping);
            self.indent(indent);
            self.indicator(":", true);
        } else {
            self.analyzed(key, analysis, Some(indent), Place::SimpleKey);
            self.out.push(':');
            self.column += 1;
            self.whitespace = false;
            self.indention = false;
        }
        self.node(value, Some(indent), Place::Mapping);
    }

    fn number(&mut self, number: &serde_json::Number) {
        // Only the second generation takes the way through JSON, where whole floats turn into
        // integers.
        let float = number.as_f64().filter(|_| number.is_f64());
        match float.map(|value| (value, from_json_float(value))) {
            None => self.word(&number.to_string()),
            Some((_, Number::Int(value))) if self.generation == Generation::V2 => {
                self.word(&value.to_string());
            }
            Some((_, Number::Uint(value))) if self.generation == Generation::V2 => {
                self.word(&value.to_string());
            }
            Some((0.0, _)) if self.generation == Generation::V2 => self.word("0"),
            Some((value, _)) => self.word(&format_float(value)),
        }
    }

    fn string(&mut self, text: &str, indent: Option<usize>, place: Place) {
        let analysis = analyze(text, self.generation);
        self.analyzed(text, analysis, indent, place);
    }

    fn analyzed(&mut self, text: &str, analysis: Analysis, indent: Option<usize>, place: Place) {
        self.unreadable |= analysis.unreadable;
        let simple = place == Place::SimpleKey;
        let mut style = wanted_style(text, self.generation);
        if style == Style::Plain && !analysis.plain {
            style = Style::SingleQuoted;
        }
        if (style == Style::SingleQuoted && !analysis.single_quoted)
            || (style == Style::Literal && (!analysis.literal || simple))
            || (simple && analysis.multiline)
        {
            style = Style::DoubleQuoted;
        }
        let indent = indent.map_or(2, |indent| indent + 2);
        // Keys before a colon are never folded.
        let width = if simple || self.generation == Generation::V3 {
            usize::MAX
        } else {
            WIDTH
        };
        match style {
            Style::Plain => self.plain(text, indent, width),
            Style::SingleQuoted => self.single_quoted(text, indent, width),
            Style::DoubleQuoted => self.double_quoted(text, indent, width),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Writes ASCII text that needs no thought.
    fn word(&mut self, text: &str) {
        self.space();
        self.out.push_str(text);
        self.column += text.len();
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes `-`, `?` or `:` at the beginning of a line, or a bracket or quote; only the former
    /// keep the line open for a collection.
    fn indicator(&mut self, text: &str, opens: bool) {
        self.space();
        self.out.push_str(text);
        self.column += text.len();
        self.whitespace = false;
        self.indention &= opens;
    }

    fn space(&mut self) {
        if !self.whitespace {
            self.out.push(' ');
            self.column += 1;
        }
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.indention = true;
    }

    /// Goes to the column `indent` of a line that holds nothing yet.
    fn indent(&mut self, indent: usize) {
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        if self.column < indent {
            self.out
                .extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
        self.whitespace = true;
        if self.generation == Generation::V2 {
            self.indention = true;
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// Writes text that can be cut into lines at its spaces.
    fn plain(&mut self, text: &str, indent: usize, width: usize) {
        self.space();
        self.folded(text, indent, width, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, indent: usize, width: usize) {
        self.indicator("'", false);
        self.folded(text, indent, width, true);
        self.put('\'');
        self.whitespace = false;
        self.indention = false;
    }

    fn folded(&mut self, text: &str, indent: usize, width: usize, quoted: bool) {
        if self.column + text.len() <= width && text.is_ascii() && !(quoted && text.contains('\''))
        {
            self.out.push_str(text);
            self.column += text.len();
            return;
        }
        let bytes = text.as_bytes();
        let (mut after_space, mut after_break) = (false, false);
        for (at, c) in text.char_indices() {
            match c {
                ' ' => {
                    let inside = !quoted || (at > 0 && at + 1 < bytes.len());
                    let next_is_space = bytes.get(at + 1) == Some(&b' ');
                    if !after_space && self.column > width && inside && !next_is_space {
                        self.indent(indent);
                    } else {
                        self.put(' ');
                    }
                    after_space = true;
                }
                // Line feeds never get here: such text is written literally or in double quotes.
                '\u{2028}' | '\u{2029}' => {
                    self.out.push(c);
                    self.column = 0;
                    self.indention = true;
                    after_break = true;
                }
                _ => {
                    if after_break {
                        self.indent(indent);
                    }
                    if quoted && c == '\'' {
                        self.put('\'');
                    }
                    self.put(c);
                    self.indention = false;
                    (after_space, after_break) = (false, false);
                }
            }
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, width: usize) {
        self.indicator("\"", false);
        let bytes = text.as_bytes();
        // A byte order mark in front makes go-yaml escape every character.
        let all = text.starts_with('\u{FEFF}');
        let mut after_space = false;
        for (at, c) in text.char_indices() {
            let is_break = matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
            if all || is_break || c == '"' || c == '\\' || !is_printable(c) {
                self.escape(c);
                after_space = false;
            } else if c == ' ' {
                if !after_space && self.column > width && at > 0 && at + 1 < bytes.len() {
                    self.indent(indent);
                    if bytes[at + 1] == b' ' {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
        self.whitespace = false;
        self.indention = false;
    }

    fn escape(&mut self, c: char) {
        let letter = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0B' => 'v',
            '\x0C' => 'f',
            '\r' => 'r',
            '\x1B' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{A0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = c as u32;
                let escaped = match code {
                    0..=0xFF => format!("\\x{code:02X}"),
                    0x100..=0xFFFF => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                self.out.push_str(&escaped);
                self.column += escaped.len();
                return;
            }
        };
        self.put('\\');
        self.put(letter);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        let is_break = |c: char| matches!(c, '\n' | '\u{2028}' | '\u{2029}');
        self.indicator("|", false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.out.push('2');
        }
        let mut end = text.chars().rev();
        match (
            end.next().is_some_and(is_break),
            end.next().is_none_or(is_break),
        ) {
            (false, _) => self.out.push('-'),
            (true, true) => self.out.push('+'),
            (true, false) => {}
        }
        self.line_break();
        self.whitespace = true;
        for line in text.split_inclusive(is_break) {
            let content = line.strip_suffix(is_break).unwrap_or(line);
            if !content.is_empty() {
                self.indent(indent);
                self.out.push_str(content);
                self.column += content.len();
                self.indention = false;
            }
            match &line[content.len()..] {
                "" => {}
                "\n" => self.line_break(),
                separator => {
                    self.out.push_str(separator);
                    self.column = 0;
                    self.indention = true;
                }
            }
        }
    }
}
