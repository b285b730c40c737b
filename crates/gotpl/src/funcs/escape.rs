//! Go's escapers for HTML, JavaScript and URL queries.

use crate::cost::Cost;
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::Value;
use gocompat::unicode::{is_print, push_rune, runes};

type Answer<'a> = Result<Value<'a>, Fault>;

macro_rules! escaper {
    ($name:literal, $body:expr) => {
        Func {
            name: $name,
            params: &[],
            rest: Some(Param::Any),
            flow: Flow::Compute,
            cost: Cost::UNKNOWN,
            body: $body,
        }
    };
}

pub(crate) const TABLE: &[Func] = &[
    escaper!("html", |call| escaped(call, html)),
    escaper!("js", |call| escaped(call, js)),
    escaper!("urlquery", |call| escaped(call, url_query)),
];

fn escaped<'a>(call: &mut Call<'_, '_, 'a>, escape: fn(&[u8]) -> Vec<u8>) -> Answer<'a> {
    let mut text = Vec::new();
    // Unlike `print`, a nil argument shows as it would in the output.
    let shown: Vec<_> = call
        .args
        .iter()
        .map(|value| {
            if value.is_nil() {
                Value::borrowed(b"<no value>")
            } else {
                value.clone()
            }
        })
        .collect();
    call.args
        .iter()
        .filter(|value| value.is_nil())
        .for_each(|value| call.cx().prints_nil(value));
    fmt::sprint(call.cx(), &shown, &mut text, &mut Vec::new())?;
    Ok(Value::text(escape(&text)))
}

fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            byte => out.push(*byte),
        }
    }
    out
}

fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for item in runes(text) {
        match item.rune {
            '\\' => out.extend_from_slice(b"\\\\"),
            '\'' => out.extend_from_slice(b"\\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' | '>' | '&' | '=' | '\0'..='\x1f' => {
                out.extend_from_slice(format!("\\u{:04X}", item.rune as u32).as_bytes());
            }
            rune if item.is_invalid() && is_print(rune) => out.push(text[item.at]),
            rune if rune.is_ascii() || is_print(rune) => push_rune(&mut out, rune),
            rune => out.extend_from_slice(format!("\\u{:04X}", rune as u32).as_bytes()),
        }
    }
    out
}

pub(super) fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            byte => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    out
}
