//! JSON text exactly as Go's `encoding/json` writes it. `sigs.k8s.io/yaml` writes YAML by way of
//! this text, which shows when a string holds characters that JSON leaves alone and YAML does not.

use std::fmt::Write;

use serde_json::Value;

use crate::number::{Number, from_json_float};

/// Appends the value as JSON.
pub(crate) fn write(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
        Value::Number(number) => match number
            .as_f64()
            .filter(|_| number.is_f64())
            .map(from_json_float)
        {
            // Any notation will do that reads as the same number again.
            Some(Number::Int(value)) => out.push_str(&value.to_string()),
            Some(Number::Uint(value)) => out.push_str(&value.to_string()),
            _ => out.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0C' => out.push_str("\\f"),
            '\0'..='\x1F' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// How many characters the string takes in JSON, quotes included.
pub(crate) fn string_length(text: &str) -> usize {
    let mut out = String::with_capacity(text.len() + 16);
    write_string(&mut out, text);
    out.chars().count()
}
