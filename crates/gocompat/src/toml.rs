//! TOML as BurntSushi's library writes and reads it, TOML 1.1: layout, order and error texts.

mod decode;
mod encode;
mod lex;
mod tree;

use std::collections::BTreeMap;

pub use decode::decode;
pub use encode::{EncodeError, encode};

use super::time::Time;

/// A TOML value, or null, which TOML does not have but data to write may.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Left out of tables, refused in arrays.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond the signed ones, which can be written but is never read.
    Uint(u64),
    /// A float, which may be infinite or NaN.
    Float(f64),
    /// A string of bytes.
    Text(Vec<u8>),
    /// A date, a time or both; local ones are in a zone named `datetime-local`, `date-local` or
    /// `time-local`.
    Time(Time),
    /// A list.
    Array(Vec<Value>),
    /// A table.
    Table(Table),
}

/// A table, in the order of its keys' bytes.
pub type Table = BTreeMap<Vec<u8>, Value>;

impl From<&serde_json::Value> for Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Self::Int(value),
                (None, Some(value)) => Self::Uint(value),
                (None, None) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Self::Text(text.clone().into_bytes()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(fields) => Self::Table(
                fields
                    .iter()
                    .map(|(key, value)| (key.clone().into_bytes(), value.into()))
                    .collect(),
            ),
        }
    }
}

/// Why a text is not TOML: `toml: line 1 (last key "a"): ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

/// A key as it must be written: bare if it can be, else in quotes.
fn write_key(out: &mut Vec<u8>, key: &[u8]) {
    if !key.is_empty() && key.iter().all(|&byte| is_bare(byte)) {
        out.extend_from_slice(key);
    } else {
        write_quoted(out, key);
    }
}

fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn write_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Parts of a key with dots between them.
fn join_key(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b'.');
        }
        write_key(&mut out, part);
    }
    out
}

#[cfg(test)]
mod tests;
