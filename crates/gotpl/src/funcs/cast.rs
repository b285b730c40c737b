//! Any value as a number, by the rules of the library sprig casts with: what cannot be one is zero.

use crate::value::{Kind, Value};
use gocompat::strconv::{parse_float, parse_int};

/// As an integer; fractions are cut off.
pub(crate) fn to_int(value: &Value<'_>) -> i64 {
    match &value.kind {
        Kind::Int(value, _) => *value,
        Kind::Float(value) => truncate(*value),
        Kind::Text(text) => parse_int(without_zero_fraction(text), 0, 64).unwrap_or(0),
        Kind::Bool(value) => i64::from(*value),
        Kind::Object(object) if matches!(object.type_name(), "time.Month" | "time.Weekday") => {
            object.integer().unwrap_or(0)
        }
        _ => 0,
    }
}

/// As a double.
pub(crate) fn to_float(value: &Value<'_>) -> f64 {
    match &value.kind {
        Kind::Float(value) => *value,
        Kind::Int(value, width) if width.unsigned() => value.cast_unsigned() as f64,
        Kind::Text(text) => parse_float(text, 64).unwrap_or(0.0),
        _ => to_int(value) as f64,
    }
}

/// What the processor Go is usually compiled for makes of a double that no `int64` can hold: the
/// least one.
fn truncate(value: f64) -> i64 {
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    if fits { value as i64 } else { i64::MIN }
}

/// `5.00` is read as `5`; any other fraction stays, and then is no integer.
fn without_zero_fraction(text: &[u8]) -> &[u8] {
    let zeros = text.iter().rev().take_while(|byte| **byte == b'0').count();
    match text.get(..text.len() - zeros) {
        Some([whole @ .., b'.']) if zeros > 0 => whole,
        _ => text,
    }
}
