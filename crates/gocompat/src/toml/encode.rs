//! Writing TOML: plain keys first, then tables, indented by two spaces a level.

use super::super::strconv::format_float;
use super::super::time::RFC3339_NANO;
use super::{Table, Value, join_key, write_key, write_quoted};

/// Why a value has no TOML form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Null in an array.
    #[error("toml: cannot encode array with nil element")]
    NilElement,
    /// A list of tables has no name at the top.
    #[error("toml: top-level values must be Go maps or structs")]
    NoKey,
    /// Null at the top, which the library panics on.
    #[error("reflect: call of reflect.Value.Type on zero Value")]
    Nil,
    /// Nested beyond what a document needs.
    #[error("toml: value nests too deeply")]
    Depth,
}

/// Levels of nesting that are still written.
const MAX_DEPTH: usize = 500;

/// Writes a table as a document; other values are written as they would stand after a key.
///
/// # Errors
/// Nulls in arrays or at the top, and lists of tables at the top.
pub fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    if *value == Value::Null {
        return Err(EncodeError::Nil);
    }
    if is_table_array(value) {
        return Err(EncodeError::NoKey);
    }
    check(value, MAX_DEPTH)?;
    let mut out = Vec::new();
    write(&mut out, &mut Vec::new(), value);
    Ok(out)
}

/// Refuses nulls in arrays before anything is written.
fn check(value: &Value, depth: usize) -> Result<(), EncodeError> {
    let depth = depth.checked_sub(1).ok_or(EncodeError::Depth)?;
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| match item {
            Value::Null => Err(EncodeError::NilElement),
            _ => check(item, depth),
        }),
        Value::Table(fields) => fields.values().try_for_each(|field| check(field, depth)),
        _ => Ok(()),
    }
}

fn write(out: &mut Vec<u8>, key: &mut Vec<Vec<u8>>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Table(fields) => {
            if key.len() == 1 {
                newline(out);
            }
            if !key.is_empty() {
                write_header(out, key, "[", "]");
            }
            write_fields(out, key, fields);
        }
        Value::Array(items) if is_table_array(value) => {
            for item in items {
                newline(out);
                write_header(out, key, "[[", "]]");
                if let Value::Table(fields) = item {
                    write_fields(out, key, fields);
                }
            }
        }
        _ => {
            if let Some(last) = key.last() {
                indent(out, key);
                write_key(out, last);
                out.extend_from_slice(b" = ");
                write_element(out, value);
                newline(out);
            } else {
                write_element(out, value);
            }
        }
    }
}

/// A line break, but not at the very beginning.
fn newline(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b'\n');
    }
}

fn indent(out: &mut Vec<u8>, key: &[Vec<u8>]) {
    out.resize(out.len() + 2 * (key.len() - 1), b' ');
}

fn write_header(out: &mut Vec<u8>, key: &[Vec<u8>], open: &str, close: &str) {
    indent(out, key);
    out.extend_from_slice(open.as_bytes());
    out.extend_from_slice(&join_key(key));
    out.extend_from_slice(close.as_bytes());
    out.push(b'\n');
}

fn write_fields(out: &mut Vec<u8>, key: &mut Vec<Vec<u8>>, fields: &Table) {
    for tables in [false, true] {
        for (name, value) in fields.iter().filter(|(_, value)| is_table(value) == tables) {
            key.push(name.clone());
            write(out, key, value);
            key.pop();
        }
    }
}

fn is_table(value: &Value) -> bool {
    matches!(value, Value::Table(_)) || is_table_array(value)
}

fn is_table_array(value: &Value) -> bool {
    matches!(value, Value::Array(items)
        if !items.is_empty() && items.iter().all(|item| matches!(item, Value::Table(_))))
}

fn write_element(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => {}
        Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Int(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Uint(value) => out.extend_from_slice(value.to_string().as_bytes()),
        Value::Float(value) => out.extend_from_slice(float(*value).as_bytes()),
        Value::Text(text) => write_quoted(out, text),
        Value::Time(time) => {
            let layout = match time.zone().name() {
                "datetime-local" => "2006-01-02T15:04:05.999999999",
                "date-local" => "2006-01-02",
                "time-local" => "15:04:05.999999999",
                _ => RFC3339_NANO,
            };
            out.extend_from_slice(&time.format(layout.as_bytes()));
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                write_element(out, item);
            }
            out.push(b']');
        }
        Value::Table(fields) => write_inline(out, fields),
    }
}

/// An inline table; a comma follows every field but the last, even if that is null and so not
/// written.
fn write_inline(out: &mut Vec<u8>, fields: &Table) {
    out.push(b'{');
    let (tables, plain): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_table(value));
    let ordered: Vec<_> = plain.into_iter().chain(tables).collect();
    for (index, (name, value)) in ordered.iter().enumerate() {
        if **value == Value::Null {
            continue;
        }
        write_key(out, name);
        out.extend_from_slice(b" = ");
        write_element(out, value);
        if index + 1 < ordered.len() {
            out.extend_from_slice(b", ");
        }
    }
    out.push(b'}');
}

/// The shortest form, always recognisable as a float.
fn float(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_nan() {
        return format!("{sign}nan");
    }
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let text = format_float(value, b'g', -1, 64);
    if text.contains(['.', 'e']) {
        text
    } else {
        format!("{text}.0")
    }
}
