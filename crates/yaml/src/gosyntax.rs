//! Prints values the way Go's `%#v` does, for the error messages that quote them.

use std::cmp::Ordering;
use std::fmt::Write;

use crate::exact::GoValue;
use crate::number::{Number, format_float};

/// The value in Go syntax. A bare nil prints as `<nil>`, one inside a collection as `interface
/// {}(nil)`.
pub(crate) fn print(value: &GoValue) -> String {
    let mut out = String::new();
    match value {
        GoValue::Nil => out.push_str("<nil>"),
        value => write(&mut out, value),
    }
    out
}

fn write(out: &mut String, value: &GoValue) {
    match value {
        GoValue::Nil => out.push_str("interface {}(nil)"),
        GoValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        GoValue::Number(number) => number_syntax(out, *number),
        GoValue::Text(text) => quote(out, text.as_bytes()),
        GoValue::Bytes(bytes) => quote(out, bytes),
        GoValue::Slice(items) => {
            out.push_str("[]interface {}{");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write(out, item);
            }
            out.push('}');
        }
        GoValue::Map(map) => {
            out.push_str("map[interface {}]interface {}{");
            let mut entries: Vec<_> = map.entries.iter().collect();
            entries.sort_by(|(a, _), (b, _)| order(a, b));
            for (at, (key, value)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
    }
}

fn number_syntax(out: &mut String, number: Number) {
    // Writing to a string cannot fail.
    let _ = match number {
        Number::Int(value) => write!(out, "{value}"),
        Number::Uint(value) => write!(out, "{value:#x}"),
        Number::Float(value) if value.is_nan() => write!(out, "NaN"),
        Number::Float(value) if value.is_infinite() => {
            write!(out, "{}Inf", if value > 0.0 { '+' } else { '-' })
        }
        Number::Float(value) => write!(out, "{}", format_float(value)),
    };
}

/// The order in which Go prints the keys of a map: within one type by value. Between types Go's
/// order is that of addresses in memory; text first is what its compilers happen to give.
fn order(a: &GoValue, b: &GoValue) -> Ordering {
    let rank = |value: &GoValue| match value {
        GoValue::Nil => 0,
        GoValue::Bool(_) => 1,
        GoValue::Number(Number::Float(_)) => 3,
        GoValue::Number(Number::Int(_)) => 4,
        GoValue::Text(_) => 2,
        _ => 5,
    };
    match (a, b) {
        (GoValue::Text(a), GoValue::Text(b)) => a.cmp(b),
        (GoValue::Bool(a), GoValue::Bool(b)) => a.cmp(b),
        (GoValue::Number(Number::Int(a)), GoValue::Number(Number::Int(b))) => a.cmp(b),
        (GoValue::Number(Number::Uint(a)), GoValue::Number(Number::Uint(b))) => a.cmp(b),
        (GoValue::Number(Number::Float(a)), GoValue::Number(Number::Float(b))) => {
            // Not a number comes first.
            (!a.is_nan())
                .cmp(&!b.is_nan())
                .then(a.partial_cmp(b).unwrap_or(Ordering::Equal))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Writes text in double quotes with Go's escapes.
fn quote(out: &mut String, text: &[u8]) {
    out.push('"');
    for chunk in text.utf8_chunks() {
        quote_chars(out, chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
}

fn quote_chars(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0C' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0B' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            _ => {
                let code = c as u32;
                let _ = match code {
                    0..=0x1F | 0x7F => write!(out, "\\x{code:02x}"),
                    _ if is_printable(c) => write!(out, "{c}"),
                    0..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
}

/// Whether Go prints the character as it is. Rust's own escaping for debugging tells nearly the
/// same.
fn is_printable(c: char) -> bool {
    !c.is_control() && (c == ' ' || !c.is_whitespace()) && c.escape_debug().next() != Some('\\')
}
