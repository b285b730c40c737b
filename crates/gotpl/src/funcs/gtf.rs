//! The functions of `gtf` whose names neither Go nor sprig nor Helm has. They never fail: what they
//! cannot read gives an empty answer.

use Flow::{Compute, Shape};
use Param::{Any, Int, Text};

use super::entry::{Answer, fixed};
use super::escape::url_query;
use super::random::numbers;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Kind, Value};
use gocompat::unicode::{push_rune, rune_count, runes, to_upper};
use gocompat::{strconv, strings};

pub(crate) const TABLE: &[Func] = &[
    fixed("length", &[Any], Compute, |call| {
        Ok(Value::int(size(call, 0).unwrap_or(0)))
    }),
    fixed("lengthis", &[Int, Any], Compute, |call| {
        Ok(Value::bool(size(call, 1) == Some(call.int(0))))
    }),
    fixed("truncatechars", &[Int, Text], Compute, truncate_chars),
    fixed("urlencode", &[Text], Compute, |call| {
        Ok(Value::text(url_query(call.text(0))))
    }),
    fixed("wordcount", &[Text], Compute, |call| {
        Ok(Value::int(strings::fields(call.text(0)).len() as i64))
    }),
    fixed("divisibleby", &[Any, Any], Compute, |call| {
        let divides = number(call, 0)
            .zip(number(call, 1))
            .is_some_and(|(by, number)| number % by == 0.0);
        Ok(Value::bool(divides))
    }),
    fixed("capfirst", &[Text], Shape, |call| {
        Ok(Value::text(capitalized(call.text(0))))
    }),
    fixed("pluralize", &[Text, Any], Compute, pluralize),
    fixed("yesno", &[Text, Text, Param::Bool], Compute, |call| {
        let chosen = if call.bool(2) { 0 } else { 1 };
        Ok(Value::of(Kind::Text(call.shared_text(chosen))))
    }),
    fixed("rjust", &[Int, Text], Shape, |call| {
        justified(call, |gap| (gap, 0))
    }),
    fixed("ljust", &[Int, Text], Shape, |call| {
        justified(call, |gap| (0, gap))
    }),
    fixed("center", &[Int, Text], Shape, |call| {
        justified(call, |gap| (gap / 2, gap - gap / 2))
    }),
    fixed("filesizeformat", &[Any], Compute, |call| {
        Ok(Value::text(
            number(call, 0).map(file_size).unwrap_or_default(),
        ))
    }),
    fixed("apnumber", &[Any], Compute, ap_number),
    fixed("intcomma", &[Any], Compute, |call| {
        Ok(Value::text(
            integer(call, 0).map(with_commas).unwrap_or_default(),
        ))
    }),
    fixed("ordinal", &[Any], Compute, |call| {
        Ok(Value::text(
            integer(call, 0).map(ordinal).unwrap_or_default(),
        ))
    }),
    fixed("striptags", &[Text], Shape, |call| {
        Ok(Value::text(without_tags(call.text(0))))
    }),
    fixed("random", &[Any], Compute, random),
];

/// How many characters or elements there are.
fn size(call: &Call<'_, '_, '_>, index: usize) -> Option<i64> {
    let size = match &call.args.get(index)?.kind {
        Kind::Text(text) => rune_count(text),
        Kind::List(list) => list.len(),
        Kind::Map(map) => call.cx().size(map),
        _ => return None,
    };
    i64::try_from(size).ok()
}

/// An integer of any type.
fn integer(call: &Call<'_, '_, '_>, index: usize) -> Option<i128> {
    match &call.args.get(index)?.kind {
        Kind::Int(value, width) if width.unsigned() => Some(i128::from(value.cast_unsigned())),
        Kind::Int(value, _) => Some(i128::from(*value)),
        Kind::Object(object) => object.integer().map(i128::from),
        _ => None,
    }
}

/// A number of any type.
fn number(call: &Call<'_, '_, '_>, index: usize) -> Option<f64> {
    match &call.args.get(index)?.kind {
        Kind::Float(value) => Some(*value),
        _ => integer(call, index).map(|value| value as f64),
    }
}

fn truncate_chars<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (text, letters) = (call.shared_text(1), rune_count(call.text(1)));
    let limit = match usize::try_from(call.int(0)) {
        Ok(limit) if limit < letters => limit,
        _ => return Ok(Value::of(Kind::Text(text))),
    };
    let dots: &[u8] = if limit > 3 { b"..." } else { b"" };
    let mut out = Vec::new();
    runes(&text)
        .take(limit - dots.len())
        .for_each(|item| push_rune(&mut out, item.rune));
    out.extend_from_slice(dots);
    Ok(Value::text(out))
}

/// The first byte in upper case, taken for a character of its own even inside a longer one.
fn capitalized(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 1);
    if let Some((first, rest)) = text.split_first() {
        push_rune(&mut out, to_upper(char::from(*first)));
        out.extend_from_slice(rest);
    }
    out
}

fn pluralize<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let endings: Vec<&[u8]> = call.text(0).split(|byte| *byte == b',').collect();
    let (one, many): (&[u8], &[u8]) = match endings[..] {
        [many] => (b"", many),
        [one, many] => (one, many),
        _ => return Ok(Value::borrowed(b"")),
    };
    Ok(Value::text(match integer(call, 1) {
        Some(1) => one,
        Some(_) => many,
        None => b"",
    }))
}

/// A text in a field of some width; `sides` says how the missing space is shared out.
fn justified<'a>(call: &Call<'_, '_, 'a>, sides: fn(usize) -> (usize, usize)) -> Answer<'a> {
    let text = call.text(1);
    let gap = usize::try_from(call.int(0))
        .unwrap_or(0)
        .saturating_sub(rune_count(text));
    call.cx().charge(gap)?;
    let (left, right) = sides(gap);
    let mut out = vec![b' '; left];
    out.extend_from_slice(text);
    out.resize(out.len() + right, b' ');
    Ok(Value::text(out))
}

fn file_size(bytes: f64) -> String {
    let mut size = bytes;
    let mut units = ["bytes", "KB", "MB", "GB", "TB", "PB"]
        .into_iter()
        .peekable();
    let mut unit = units.next().unwrap_or_default();
    while size >= 1024.0
        && let Some(larger) = units.next()
    {
        size /= 1024.0;
        unit = larger;
    }
    format!("{} {unit}", strconv::format_float(size, b'f', 1, 64)).replace(".0", "")
}

fn ap_number<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    const NAMES: [&str; 9] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    ];
    match integer(call, 0) {
        Some(number @ 1..=9) => Ok(NAMES
            .get(number as usize - 1)
            .map_or(Value::NIL, |name| Value::text(*name))),
        // Zero and less fall off the front of gtf's table.
        Some(..=0) => Ok(Value::NIL),
        _ => Ok(call.value(0)),
    }
}

fn with_commas(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn ordinal(number: i128) -> String {
    if number < 0 {
        return String::new();
    }
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn without_tags(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = memchr::memchr(b'<', rest)
        && let Some(length) = memchr::memchr(b'>', &rest[open..])
    {
        out.extend_from_slice(&rest[..open]);
        rest = &rest[open + length + 1..];
    }
    out.extend_from_slice(rest);
    strings::trim_space(&out).to_vec()
}

/// One of the characters or elements; nil if there are none.
fn random<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(0);
    let choose = |count: usize| -> Result<Option<usize>, Fault> {
        if count == 0 {
            return Ok(None);
        }
        Ok(numbers(call, 1)?
            .first()
            .map(|number| (number % count as u64) as usize))
    };
    let chosen = match &value.kind {
        Kind::Text(text) => choose(rune_count(text))?
            .and_then(|at| runes(text).nth(at))
            .map(|item| {
                let mut out = Vec::new();
                push_rune(&mut out, item.rune);
                Value::text(out)
            }),
        Kind::List(list) => choose(list.len())?.and_then(|at| call.cx().item(list, at)),
        _ => Some(Value::borrowed(b"")),
    };
    Ok(chosen.unwrap_or(Value::NIL))
}
