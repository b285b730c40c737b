//! sprig's functions that cut, pad, compare and replace text. Those that know words are in `words`.

use Flow::{Compute, Shape};
use Param::{Any, Int, Text};

use super::entry::{Answer, fixed, variadic};
use super::join::strval;
use super::pieces::{self, Weaver};
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Kind, Value};
use gocompat::{strconv, strings, unicode};

pub(crate) const TABLE: &[Func] = &[
    fixed("hello", &[], Compute, |_| Ok(Value::borrowed(b"Hello!"))),
    fixed("trim", &[Text], Shape, |call| {
        Ok(trimmed(call, 0, unicode::is_space))
    }),
    fixed("trimAll", &[Text, Text], Shape, trim_all),
    fixed("trimall", &[Text, Text], Shape, trim_all),
    fixed("trimPrefix", &[Text, Text], Shape, trim_prefix),
    fixed("trimSuffix", &[Text, Text], Shape, trim_suffix),
    fixed("upper", &[Text], Shape, |call| {
        Ok(pieces::rewritten(call, 0, strings::upper(call.text(0))))
    }),
    fixed("lower", &[Text], Shape, |call| {
        Ok(pieces::rewritten(call, 0, strings::lower(call.text(0))))
    }),
    fixed("repeat", &[Int, Text], Compute, repeat),
    fixed("substr", &[Int, Int, Text], Compute, substr),
    fixed("trunc", &[Int, Text], Shape, trunc),
    fixed("contains", &[Text, Text], Compute, |call| {
        Ok(Value::bool(strings::contains(call.text(1), call.text(0))))
    }),
    fixed("hasPrefix", &[Text, Text], Compute, |call| {
        Ok(Value::bool(call.text(1).starts_with(call.text(0))))
    }),
    fixed("hasSuffix", &[Text, Text], Compute, |call| {
        Ok(Value::bool(call.text(1).ends_with(call.text(0))))
    }),
    variadic("quote", Any, Shape, quote),
    variadic("squote", Any, Shape, squote),
    variadic("cat", Any, Shape, cat),
    fixed("indent", &[Int, Text], Shape, |call| {
        pieces::indent(call, 1, call.int(0), b"")
    }),
    fixed("nindent", &[Int, Text], Shape, |call| {
        pieces::indent(call, 1, call.int(0), b"\n")
    }),
    fixed("replace", &[Text, Text, Text], Shape, replace),
    fixed("plural", &[Text, Text, Int], Compute, |call| {
        let chosen = if call.int(2) == 1 { 0 } else { 1 };
        Ok(Value::of(Kind::Text(call.shared_text(chosen))))
    }),
];

/// The text at `index` without the runes at both ends that satisfy `cut`.
fn trimmed<'a>(call: &Call<'_, '_, 'a>, index: usize, cut: impl Fn(char) -> bool) -> Value<'a> {
    let text = call.text(index);
    let tail = strings::trim_start_func(text, &cut);
    let kept = strings::trim_end_func(tail, &cut);
    let start = text.len() - tail.len();
    pieces::cut(call, index, start..start + kept.len())
}

fn trim_all<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let cutset = call.shared_text(0);
    call.spend((cutset.len() as u64).saturating_mul(call.text(1).len() as u64))?;
    Ok(trimmed(call, 1, |rune| {
        unicode::runes(&cutset).any(|item| item.rune == rune)
    }))
}

fn trim_prefix<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (prefix, text) = (call.text(0), call.text(1));
    let start = if text.starts_with(prefix) {
        prefix.len()
    } else {
        0
    };
    Ok(pieces::cut(call, 1, start..text.len()))
}

fn trim_suffix<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (suffix, text) = (call.text(0), call.text(1));
    let end = if text.ends_with(suffix) {
        text.len() - suffix.len()
    } else {
        text.len()
    };
    Ok(pieces::cut(call, 1, 0..end))
}

fn repeat<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (Ok(count), text) = (usize::try_from(call.int(0)), call.text(1)) else {
        return Err("strings: negative Repeat count".into());
    };
    call.cx().charge(text.len().saturating_mul(count))?;
    Ok(Value::text(if text.is_empty() {
        Vec::new()
    } else {
        text.repeat(count)
    }))
}

fn substr<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (start, end, len) = (call.int(0), call.int(1), call.text(2).len());
    let outside =
        |text: String| Fault::new(format!("runtime error: slice bounds out of range {text}"));
    let wanted = usize::try_from(end);
    let Ok(from) = usize::try_from(start) else {
        return match wanted {
            Ok(to) if to <= len => Ok(pieces::cut(call, 2, 0..to)),
            Ok(to) => Err(outside(format!("[:{to}] with length {len}"))),
            Err(_) => Err(outside(format!("[:{end}]"))),
        };
    };
    let to = wanted.ok().filter(|to| *to <= len).unwrap_or(len);
    if from > to {
        return Err(outside(format!("[{from}:{to}]")));
    }
    Ok(pieces::cut(call, 2, from..to))
}

fn trunc<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (count, len) = (call.int(0), call.text(1).len());
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let range = match size {
        size if size >= len => 0..len,
        size if count < 0 => len - size..len,
        size => 0..size,
    };
    Ok(pieces::cut(call, 1, range))
}

fn quote<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    for value in call.args.iter().filter(|value| !value.is_nil()) {
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(&strconv::quote(&strval(call.cx(), value)?));
    }
    Ok(pieces::wrapped(call, 0, out, 1))
}

fn squote<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    for value in call.args.iter().filter(|value| !value.is_nil()) {
        out.extend_from_slice(if out.is_empty() { b"'" } else { b" '" });
        fmt::print(call.cx(), value, &mut out)?;
        out.push(b'\'');
    }
    Ok(pieces::wrapped(call, 0, out, 1))
}

fn cat<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    let mut weaver = Weaver::new(call);
    for (index, value) in call.args.iter().filter(|value| !value.is_nil()).enumerate() {
        if index > 0 {
            out.push(b' ');
            weaver.push(call, 1, None);
        }
        let start = out.len();
        fmt::print(call.cx(), value, &mut out)?;
        weaver.push(call, out.len() - start, Some(value));
    }
    Ok(weaver.weave(call, out))
}

fn replace<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (old, new, text) = (call.text(0), call.text(1), call.text(2));
    if new.len() > old.len() {
        let matches = if old.is_empty() {
            unicode::rune_count(text) + 1
        } else {
            memchr::memmem::find_iter(text, old).count()
        };
        call.cx()
            .charge(matches.saturating_mul(new.len() - old.len()))?;
    }
    let out = strings::replace_all(text, old, new);
    if !call.cx().watched() || old.is_empty() || call.args[0].mark != 0 {
        return Ok(pieces::rewritten(call, 2, out));
    }
    // What takes the place of something is the author's, or whose it is; the rest stays what it
    // was.
    let mut weaver = Weaver::new(call);
    let whole = pieces::cut(call, 2, 0..text.len());
    let mut start = 0;
    for at in memchr::memmem::find_iter(text, old) {
        weaver.push_part(call, &whole, start..at);
        weaver.push(call, new.len(), call.args.get(1));
        start = at + old.len();
    }
    weaver.push_part(call, &whole, start..text.len());
    Ok(weaver.weave(call, out))
}
