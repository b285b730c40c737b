//! JSON text to a value, noting fields that are there twice, and failing in the words of Go's
//! decoder.

use std::{cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value, and whether a field of it was there twice; the last one counts.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, bool), String> {
    let twice = Cell::new(false);
    // Bytes that are no text become the sign for that, as Go does it.
    let text = String::from_utf8_lossy(bytes);
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let value = Seed(&twice)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    value
        .map(|value| (value, twice.get()))
        .map_err(|error| go_error(&text, &error))
}

#[derive(Clone, Copy)]
struct Seed<'a>(&'a Cell<bool>);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // A whole number that is written as a fraction is whole, as Go writes it.
        if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "it is whole, and small enough"
            )]
            return Ok((value as i64).into());
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.insert(name, value).is_some() {
                self.0.set(true);
            }
        }
        Ok(map.into())
    }
}

/// What Go's decoder says of a text that is no JSON.
fn go_error(text: &str, error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let line = text
        .split('\n')
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let at = |column: usize| {
        line.as_bytes()
            .get(column.saturating_sub(1))
            .map_or('?', |byte| char::from(*byte))
    };
    let letter = at(error.column());
    let message = error.to_string();
    let context = if message.starts_with("recursion limit") {
        return format!("invalid character '{letter}' exceeded max depth");
    } else if message.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else if message.starts_with("expected `:`") {
        "after object key"
    } else if message.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if message.starts_with("expected `,` or `]`") {
        "after array element"
    } else if message.starts_with("trailing characters") {
        "after top-level value"
    } else if message.starts_with("expected ident") {
        return literal_error(line, error.column());
    } else {
        "looking for beginning of value"
    };
    format!("invalid character '{letter}' {context}")
}

/// A word that begins like `null`, `true` or `false` and goes on otherwise.
fn literal_error(line: &str, column: usize) -> String {
    let bytes = line.as_bytes();
    let end = column.saturating_sub(1).min(bytes.len().saturating_sub(1));
    for start in (0..=end).rev().take(5) {
        for word in ["null", "true", "false"] {
            if bytes.get(start) != word.as_bytes().first() {
                continue;
            }
            let same = word
                .bytes()
                .zip(&bytes[start..])
                .take_while(|(wanted, is)| wanted == *is)
                .count();
            if let (Some(wanted), Some(is)) = (word.as_bytes().get(same), bytes.get(start + same)) {
                let (is, wanted) = (char::from(*is), char::from(*wanted));
                return format!(
                    "invalid character '{is}' in literal {word} (expecting '{wanted}')"
                );
            }
        }
    }
    "invalid character looking for beginning of value".to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_is_there_twice_counts_once_and_is_noted() {
        for (text, value, twice) in [
            (
                r#"{"a": 1, "b": [{"c": null}]}"#,
                json!({"a": 1, "b": [{"c": null}]}),
                false,
            ),
            (r#"{"a": 1, "a": 2}"#, json!({"a": 2}), true),
            (
                r#"[{"a": 1.0, "b": 1.5, "b": true}]"#,
                json!([{"a": 1, "b": true}]),
                true,
            ),
            (
                "18446744073709551615",
                json!(18_446_744_073_709_551_615_u64),
                false,
            ),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), (value, twice), "{text}");
        }
        assert_eq!(parse(b"\"a\xff\"").unwrap().0, "a\u{fffd}");
    }

    #[test]
    fn what_is_no_json_is_told_as_go_tells_it() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            (r#"{"a":"#, "unexpected end of JSON input"),
            (
                "nonsense",
                "invalid character 'o' in literal null (expecting 'u')",
            ),
            (
                "{data: 1}",
                "invalid character 'd' looking for beginning of object key string",
            ),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
            ("1 x", "invalid character 'x' after top-level value"),
            ("x", "invalid character 'x' looking for beginning of value"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
        assert_eq!(
            parse("[".repeat(500).as_bytes()).unwrap_err(),
            "invalid character '[' exceeded max depth"
        );
    }
}
