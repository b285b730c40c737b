//! Helm's own functions that run templates, insist on values, and look into the cluster.

use super::entry::{Answer, fixed};
use super::tree::{self, Numbers};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Kind, Value};
use gocompat::strconv::quote;

pub(crate) const TABLE: &[Func] = &[
    fixed("include", &[Param::Text, Param::Any], Flow::Carry, include),
    fixed("tpl", &[Param::Text, Param::Any], Flow::Carry, tpl),
    fixed(
        "required",
        &[Param::Text, Param::Any],
        Flow::Carry,
        required,
    ),
    fixed(
        "lookup",
        &[Param::Text, Param::Text, Param::Text, Param::Text],
        Flow::Compute,
        lookup,
    ),
];

/// How often a template may include itself, straight or in a circle.
const MAX_INCLUDES: usize = 1000;

/// The name Helm parses the text of `tpl` under.
const ROOT: &str = "gotpl";

fn include<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let cx = call.cx();
    if let Kind::Unknown = call.args[0].kind {
        return Ok(call.value(0));
    }
    let name = call.utf8(0).into_owned();
    let key = name.clone().into_bytes();
    let mut included = cx.includes.borrow_mut();
    let count = included.entry(key.clone()).or_insert(0);
    if *count > MAX_INCLUDES {
        return Err(format!(
            "rendering template has a nested reference name: {name}: unable to execute template"
        )
        .into());
    }
    *count += 1;
    drop(included);
    let dot = call.value(1).unboxed();
    let result = call.frame.capture(call.frame.scope, &name, &dot);
    if let Some(count) = cx.includes.borrow_mut().get_mut(&key) {
        *count -= 1;
    }
    Ok(dependent(call, result?, 0))
}

fn tpl<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let source = call.shared_text(0);
    if let Kind::Unknown = call.args[0].kind {
        return Ok(call.value(0));
    }
    let about = |begin: &str, mut fault: Fault| {
        fault.text = format!(
            "{begin} {}: {}",
            String::from_utf8_lossy(&quote(&source)),
            fault.text
        );
        fault
    };
    let scope = call
        .cx()
        .parse(call.frame.scope, ROOT, &source)
        .map_err(|fault| about("cannot parse template", fault))?;
    let dot = call.value(1).unboxed();
    let made = call
        .frame
        .capture(scope, ROOT, &dot)
        .map_err(|fault| about("error during tpl function execution for", fault))?;
    Ok(dependent(call, without_no_value(call, made), 0))
}

/// In a watched run: a woven text of which every piece also depends on an argument.
fn dependent<'a>(call: &Call<'_, '_, 'a>, value: Value<'a>, index: usize) -> Value<'a> {
    let on = call.value(index).mark;
    let (Kind::Text(text), Some(mut tracer)) = (&value.kind, call.cx().tracer()) else {
        return value;
    };
    if on == 0 {
        drop(tracer);
        return value;
    }
    let mut pieces = tracer.pieces(value.mark, text.len(), call.frame.spot());
    for piece in &mut pieces {
        piece.mark = tracer.join(piece.mark, on);
        piece.written = false;
    }
    let mark = tracer.weave(pieces);
    drop(tracer);
    value.marked(mark)
}

/// What `tpl` made without what stands for nothing in it: Helm cuts it out, wherever it comes from.
fn without_no_value<'a>(call: &Call<'_, '_, 'a>, value: Value<'a>) -> Value<'a> {
    const NOTHING: &[u8] = b"<no value>";
    let Kind::Text(text) = &value.kind else {
        return value;
    };
    let found: Vec<usize> = memchr::memmem::find_iter(text, NOTHING).collect();
    if found.is_empty() {
        return value;
    }
    let mut kept = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in &found {
        kept.extend_from_slice(&text[from..*at]);
        from = at + NOTHING.len();
    }
    kept.extend_from_slice(&text[from..]);
    let mark = call.cx().tracer().map_or(0, |mut tracer| {
        let mut pieces = tracer.pieces(value.mark, text.len(), call.frame.spot());
        let (mut start, mut cuts) = (0, found.iter().peekable());
        for piece in &mut pieces {
            let end = start + piece.len;
            while let Some(at) = cuts.peek().copied() {
                piece.written = false;
                piece.len -= end.min(at + NOTHING.len()).saturating_sub(start.max(*at));
                if at + NOTHING.len() > end {
                    break;
                }
                cuts.next();
            }
            start = end;
        }
        tracer.weave(pieces)
    });
    Value::text(kept).marked(mark)
}

fn required<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(1);
    let absent = match &value.kind {
        Kind::Missing | Kind::Nil => true,
        Kind::Text(text) => text.is_empty(),
        _ => false,
    };
    if absent {
        Err(call.utf8(0).into_owned().into())
    } else {
        Ok(value)
    }
}

fn lookup<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let host = call.cx().run.host;
    let found = host
        .lookup(&call.utf8(0), &call.utf8(1), &call.utf8(2), &call.utf8(3))
        .map_err(Fault::new)?;
    tree::from_json(call.cx(), &found, Numbers::Typed)
}
