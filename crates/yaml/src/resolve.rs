//! Decides what the text of a scalar means: go-yaml's reading of YAML 1.1, in which `yes` and `on`
//! are booleans and `0777` is octal.

use crate::error::Error;
use crate::number::{self, Number};
use crate::timestamp::is_timestamp;

/// What a scalar means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    Number(Number),
    /// The text itself.
    Text,
    /// Other bytes than are written: what `!!binary` decodes to.
    Decoded(Vec<u8>),
}

const PREFIX: &str = "tag:yaml.org,2002:";

/// What a plain scalar without a tag means.
#[inline]
pub(crate) fn plain(text: &str) -> Meaning {
    let Some(first) = text.as_bytes().first() else {
        return Meaning::Null;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~'
            if text.len() < 6 =>
        {
            word(text)
        }
        _ => Meaning::Text,
    }
}

fn word(text: &str) -> Meaning {
    match text {
        "true" | "True" | "TRUE" | "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            Meaning::Bool(true)
        }
        "false" | "False" | "FALSE" | "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            Meaning::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Meaning::Null,
        _ => Meaning::Text,
    }
}

fn number(text: &str) -> Meaning {
    let found = match text {
        ".nan" | ".NaN" | ".NAN" => Some(Number::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            Some(Number::Float(f64::INFINITY))
        }
        "-.inf" | "-.Inf" | "-.INF" => Some(Number::Float(f64::NEG_INFINITY)),
        _ if text.starts_with('.') => number::parse_point_float(text).map(Number::Float),
        _ => number::parse(text),
    };
    found.map_or(Meaning::Text, Meaning::Number)
}

/// What a scalar with a tag means, or why it cannot mean that.
pub(crate) fn tagged(tag: &str, text: &str) -> Result<Meaning, Error> {
    let Some(name) = tag.strip_prefix(PREFIX) else {
        return Ok(Meaning::Text);
    };
    if name == "binary" {
        let Some(bytes) = base64(text) else {
            return Err(Error::bare(
                "yaml: !!binary value contains invalid base64 data",
            ));
        };
        return Ok(Meaning::Decoded(bytes));
    }
    if !matches!(name, "bool" | "int" | "float" | "null" | "timestamp") {
        return Ok(Meaning::Text);
    }
    if name == "timestamp" && is_timestamp(text) {
        return Ok(Meaning::Text);
    }
    let meaning = plain(text);
    let found = match meaning {
        Meaning::Null => "null",
        Meaning::Bool(_) => "bool",
        Meaning::Number(Number::Float(_)) => "float",
        Meaning::Number(Number::Int(value)) if name == "float" => {
            return Ok(Meaning::Number(Number::Float(value as f64)));
        }
        Meaning::Number(_) => "int",
        Meaning::Text | Meaning::Decoded(_) => "str",
    };
    if found == name {
        return Ok(meaning);
    }
    Err(Error::bare(format!(
        "yaml: cannot decode !!{found} `{text}` as a !!{name}"
    )))
}

/// Decodes base64 in the standard alphabet with padding; line breaks count for nothing.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut symbols: Vec<u8> = text
        .bytes()
        .filter(|b| !matches!(b, b'\n' | b'\r'))
        .collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let padding = symbols
        .iter()
        .rev()
        .take(2)
        .take_while(|b| **b == b'=')
        .count();
    symbols.truncate(symbols.len() - padding);
    let mut out = Vec::with_capacity(symbols.len() / 4 * 3);
    for group in symbols.chunks(4) {
        let mut bits = 0u32;
        for symbol in group {
            let value = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - group.len());
        out.extend(bits.to_be_bytes().iter().skip(1).take(group.len() - 1));
    }
    Some(out)
}

/// Bytes as text, as Go's JSON does it: one replacement character for every byte that is not UTF-8.
pub(crate) fn replace_invalid(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(std::iter::repeat_n(
            char::REPLACEMENT_CHARACTER,
            chunk.invalid().len(),
        ));
    }
    out
}
