//! Values as Go compares and prints them, where the API server's order or wording depends on it.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Whether two values are the same to the API server: 1 is 1.0.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || numbers(left, right) == Ordering::Equal
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.0 == right.0 && same(left.1, right.1))
        }
        _ => one == other,
    }
}

/// The order of any two values: numbers, strings, booleans, lists, maps, null.
pub fn compare(one: &Value, other: &Value) -> Ordering {
    const fn rank(value: &Value) -> u8 {
        match value {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
    match (one, other) {
        (Value::Number(left), Value::Number(right)) => numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| compare(left, right))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| left.len().cmp(&right.len())),
        (Value::Object(left), Value::Object(right)) => left
            .iter()
            .zip(right)
            .map(|(left, right)| left.0.cmp(right.0).then_with(|| compare(left.1, right.1)))
            .find(|order| *order != Ordering::Equal)
            .unwrap_or_else(|| left.len().cmp(&right.len())),
        _ => rank(one).cmp(&rank(other)),
    }
}

fn numbers(one: &Number, other: &Number) -> Ordering {
    if let (Some(left), Some(right)) = (one.as_i64(), other.as_i64()) {
        return left.cmp(&right);
    }
    let (left, right) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// A value as the paths of fields show it: strings quoted, lists and maps flat.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(shown).collect::<Vec<_>>().join(",")
        ),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{name}={}", shown(value)))
            .collect(),
    }
}

/// `%v` of a decoded value: `map[a:1]`, `[1 2]`, `<nil>`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(plain).collect::<Vec<_>>().join(" ")
        ),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// `%#v` of a decoded value: `map[string]interface {}{"a":1}`.
pub fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number_text(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!(
                "[]interface {{}}{{{}}}",
                items.iter().map(syntax).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), syntax(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `%T` of a decoded value.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A number as `%v` prints it.
pub fn number_text(number: &Number) -> String {
    number
        .as_f64()
        .filter(|_| number.is_f64())
        .map_or_else(|| number.to_string(), |float| float_text(float, -4))
}

/// The shortest digits, with an exponent where it is below the smallest one given or above 20.
fn float_text(float: f64, smallest: i32) -> String {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < smallest || exponent >= 21 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{float}")
}

/// A string as `%q` quotes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c < ' ' || c == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c.is_control()
                || (c.is_whitespace() && c != ' ')
                || c == '\u{ad}'
                || c == '\u{feff}' =>
            {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as Go's `encoding/json` writes it, with `<`, `>` and `&` escaped.
pub fn json(value: &Value) -> String {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => float_text(float, -6).replace("e-0", "e-"),
            None => number.to_string(),
        },
        Value::String(text) => json_string(text),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", json_string(name), json(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Null | Value::Bool(_) => value.to_string(),
    }
}

/// A string as Go's `encoding/json` writes it.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::json;

    use super::{compare, json, plain, same, shown, syntax};

    #[test]
    fn one_is_one_point_nothing() {
        assert!(same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!same(&json!(1), &json!("1")) && !same(&json!({"a": 1}), &json!({"b": 1})));
        assert_eq!(compare(&json!(80), &json!(443)), Ordering::Less);
        assert_eq!(compare(&json!("b"), &json!(1)), Ordering::Greater);
        assert_eq!(compare(&json!([1, 2]), &json!([1])), Ordering::Greater);
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        let value = json!({"a": [1, 1.5, "x\n", null], "b": true});
        assert_eq!(plain(&value), "map[a:[1 1.5 x\n <nil>] b:true]");
        assert_eq!(
            syntax(&value),
            "map[string]interface {}{\"a\":[]interface {}{1, 1.5, \"x\\n\", interface {}(nil)}, \"b\":true}"
        );
        assert_eq!(shown(&json!([1, "a"])), "[1,\"a\"]");
        assert_eq!(
            json(&json!({"a": "<", "b": 1e21, "c": 2.0, "d": 0.000_000_1})),
            r#"{"a":"\u003c","b":1e+21,"c":2,"d":1e-7}"#
        );
        assert_eq!(plain(&json!(1e21)), "1e+21");
        assert_eq!(plain(&json!(0.00001)), "1e-05");
    }
}
