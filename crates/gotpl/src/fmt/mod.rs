//! Printing values as Go's `fmt` does.

mod format;
mod printer;

use std::ops::Range;

use crate::exec::Cx;
use crate::func::Fault;
use crate::value::{Kind, Value};

pub(crate) use format::sprintf;
use printer::Printer;

/// What stands in the output for something unknown.
pub(crate) const UNKNOWN: &str = "unknown";

/// Appends a value as `%v` prints it.
pub(crate) fn print<'a>(cx: &Cx<'a>, value: &Value<'a>, out: &mut Vec<u8>) -> Result<(), Fault> {
    match &value.kind {
        Kind::Text(text) => out.extend_from_slice(text),
        Kind::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Kind::Int(value, width) if !width.unsigned() => {
            out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
        }
        _ => Printer::new(cx, out).argument(value, 'v')?,
    }
    Ok(())
}

/// A value as `%v` prints it.
pub(crate) fn display<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Result<String, Fault> {
    let mut out = Vec::new();
    print(cx, value, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// `fmt.Sprint`: a space between two operands if neither is a string. In a watched run, the bytes
/// of each value, and its index, go to `spots`.
pub(crate) fn sprint<'a>(
    cx: &Cx<'a>,
    values: &[Value<'a>],
    out: &mut Vec<u8>,
    spots: &mut Vec<(Range<usize>, usize)>,
) -> Result<(), Fault> {
    let mut after_text = true;
    for (index, value) in values.iter().enumerate() {
        let is_text = matches!(value.kind, Kind::Text(_));
        if index > 0 && !is_text && !after_text {
            out.push(b' ');
        }
        let start = out.len();
        print(cx, value, out)?;
        if cx.watched() {
            spots.push((start..out.len(), index));
        }
        after_text = is_text;
    }
    Ok(())
}

/// Whether a value counts as true.
pub(crate) fn truth<'a>(cx: &Cx<'a>, value: &Value<'a>) -> bool {
    match &value.kind {
        Kind::Missing | Kind::Nil => false,
        Kind::Bool(value) => *value,
        Kind::Int(value, _) => *value != 0,
        Kind::Float(value) => *value != 0.0,
        Kind::Complex(value) => value.0 != 0.0 || value.1 != 0.0,
        Kind::Text(text) => !text.is_empty(),
        Kind::List(list) => list.len() > 0,
        Kind::Map(map) => cx.size(map) > 0,
        Kind::Object(object) => object.truth(),
        Kind::Unknown => true,
    }
}
