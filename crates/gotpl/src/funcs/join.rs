//! sprig's functions between text and lists of text: printing values, joining, splitting, sorting.

use std::collections::BTreeMap;

use Flow::{Compute, Shape};
use Param::{Any, Int};

use super::entry::{Answer, fixed, mark_of};
use super::pieces::Weaver;
use crate::exec::Cx;
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Kind, Text, Value};
use gocompat::{strings, unicode};

pub(crate) const TABLE: &[Func] = &[
    fixed("toString", &[Any], Shape, |call| {
        Ok(Value::of(Kind::Text(strval(call.cx(), &call.value(0))?)))
    }),
    fixed("toStrings", &[Any], Compute, |call| {
        let texts = texts_of(call.cx(), &call.value(0))?;
        Ok(text_list(call, texts))
    }),
    fixed("join", &[Param::Text, Any], Shape, join),
    fixed("sortAlpha", &[Any], Compute, sort_alpha),
    fixed("split", &[Param::Text, Param::Text], Compute, |call| {
        split_dict(call, 0, -1, 1)
    }),
    fixed(
        "splitn",
        &[Param::Text, Int, Param::Text],
        Compute,
        |call| split_dict(call, 0, call.int(1), 2),
    ),
    fixed("splitList", &[Param::Text, Param::Text], Compute, |call| {
        let texts = split(call, 0, -1, 1)?;
        Ok(text_list(call, texts))
    }),
];

/// A value as sprig prints it: strings as they are, what has a `String` method through that, the
/// rest with `%v`.
pub(crate) fn strval<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Result<Text<'a>, Fault> {
    match &value.kind {
        Kind::Text(text) => Ok(text.clone()),
        Kind::List(list) if list.element() == Element::Byte => {
            let byte = |item: Value<'a>| match item.kind {
                Kind::Int(byte, _) => u8::try_from(byte).ok(),
                _ => None,
            };
            Ok(cx
                .items(list)
                .into_iter()
                .filter_map(byte)
                .collect::<Vec<u8>>()
                .into())
        }
        _ => {
            let mut out = Vec::new();
            fmt::print(cx, value, &mut out)?;
            cx.charge(out.len())?;
            Ok(out.into())
        }
    }
}

/// The elements of a list as sprig prints them, without nils; of anything else, just that.
pub(crate) fn texts_of<'a>(cx: &Cx<'a>, value: &Value<'a>) -> Result<Vec<Text<'a>>, Fault> {
    match &value.kind {
        Kind::Missing | Kind::Nil => Ok(Vec::new()),
        Kind::List(list) => {
            cx.charge(list.len())?;
            cx.items(list)
                .iter()
                .filter(|item| !item.is_nil())
                .map(|item| strval(cx, item))
                .collect()
        }
        _ => Ok(vec![strval(cx, value)?]),
    }
}

/// A `[]string` whose elements depend on all arguments of the call.
pub(super) fn text_list<'a>(call: &Call<'_, '_, 'a>, texts: Vec<Text<'a>>) -> Value<'a> {
    let mark = mark_of(call);
    let values = texts
        .into_iter()
        .map(|text| Value::of(Kind::Text(text)).marked(mark))
        .collect();
    Value::list(Element::Text, values)
}

/// Part of a text, sharing its bytes if they live as long as the run.
pub(super) fn part<'a>(text: &Text<'a>, range: std::ops::Range<usize>) -> Text<'a> {
    match text {
        Text::Borrowed(bytes) => Text::Borrowed(bytes.get(range).unwrap_or_default()),
        Text::Shared(bytes) => Text::Shared(bytes.get(range).unwrap_or_default().into()),
    }
}

fn join<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let texts = texts_of(call.cx(), &call.value(1))?;
    let separator = call.text(0);
    let gaps = separator
        .len()
        .saturating_mul(texts.len().saturating_sub(1));
    call.cx().charge(
        texts
            .iter()
            .map(|text| text.len())
            .fold(gaps, usize::saturating_add),
    )?;
    let mut out = Vec::new();
    let mut weaver = Weaver::new(call);
    let list = call.value(1);
    let items = match &list.kind {
        Kind::List(items) if call.cx().watched() => call.cx().items(items),
        _ => Vec::new(),
    };
    let mut items = items.into_iter().filter(|item| !item.is_nil());
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(separator);
            weaver.push(call, separator.len(), call.args.first());
        }
        out.extend_from_slice(text);
        weaver.push(call, text.len(), items.next().as_ref().or(Some(&list)));
    }
    Ok(weaver.weave(call, out))
}

fn sort_alpha<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(0);
    let mut texts = match &value.kind {
        Kind::List(_) => texts_of(call.cx(), &value)?,
        _ => vec![strval(call.cx(), &value)?],
    };
    // Each is compared with as many as it takes to find its place.
    let (letters, turns) = (
        texts
            .iter()
            .fold(0, |sum: u64, text| sum.saturating_add(text.len() as u64)),
        texts.len().max(2).ilog2(),
    );
    call.spend(letters.saturating_mul(u64::from(turns)))?;
    texts.sort_unstable();
    Ok(text_list(call, texts))
}

/// What a list or dict element costs beside its text.
const ELEMENT: usize = 64;

fn split<'a>(
    call: &Call<'_, '_, 'a>,
    separator: usize,
    limit: i64,
    index: usize,
) -> Result<Vec<Text<'a>>, Fault> {
    let (separator, text) = (call.text(separator), call.shared_text(index));
    let parts = if separator.is_empty() {
        unicode::rune_count(&text)
    } else {
        memchr::memmem::find_iter(&text, separator).count() + 1
    };
    let parts = usize::try_from(limit).map_or(parts, |limit| parts.min(limit));
    call.cx().charge(parts.saturating_mul(ELEMENT))?;
    let mut at = 0;
    let cut = |found: &[u8]| {
        let range = at..at + found.len();
        at = range.end + separator.len();
        part(&text, range)
    };
    Ok(strings::split_n(&text, separator, limit)
        .into_iter()
        .map(cut)
        .collect())
}

fn split_dict<'a>(
    call: &Call<'_, '_, 'a>,
    separator: usize,
    limit: i64,
    index: usize,
) -> Answer<'a> {
    let mark = mark_of(call);
    let texts = split(call, separator, limit, index)?;
    let entries: BTreeMap<_, _> = texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| {
            (
                format!("_{at}").into_bytes().into(),
                Value::of(Kind::Text(text)).marked(mark),
            )
        })
        .collect();
    Ok(call.cx().dict(Element::Text, entries))
}
