//! sprig's questions about Go types, and `reflect.DeepEqual`.

use super::entry::{Answer, Body, fixed};
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Kind, List, Map, Value};

pub(crate) const TABLE: &[Func] = &[
    one("typeOf", |call| {
        Ok(Value::text(call.value(0).type_name().as_bytes()))
    }),
    one("kindOf", |call| Ok(Value::text(call.value(0).kind_name()))),
    named("typeIs", |call| {
        Ok(Value::bool(
            call.text(0) == call.value(1).type_name().as_bytes(),
        ))
    }),
    named("typeIsLike", type_is_like),
    named("kindIs", |call| {
        Ok(Value::bool(
            call.text(0) == call.value(1).kind_name().as_bytes(),
        ))
    }),
    fixed(
        "deepEqual",
        &[Param::Any, Param::Any],
        Flow::Compute,
        |call| Ok(Value::bool(equal(call.cx(), &call.args[0], &call.args[1])?)),
    ),
];

/// The units of work of one element of what is compared.
const ELEMENT: u64 = 40;

const fn one(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Any], Flow::Compute, body)
}

const fn named(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Text, Param::Any], Flow::Compute, body)
}

fn type_is_like<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(1);
    let (wanted, name) = (call.text(0), value.type_name());
    Ok(Value::bool(
        wanted == name.as_bytes()
            || name
                .strip_prefix('*')
                .is_some_and(|name| wanted == name.as_bytes()),
    ))
}

/// `reflect.DeepEqual`: values of different types differ, and so do a nil list and an empty one.
pub(crate) fn equal<'a>(cx: &Cx<'a>, one: &Value<'a>, other: &Value<'a>) -> Result<bool, Fault> {
    equal_within(cx, one, other, cx.limits().nesting)
}

fn equal_within<'a>(
    cx: &Cx<'a>,
    one: &Value<'a>,
    other: &Value<'a>,
    depth: usize,
) -> Result<bool, Fault> {
    Ok(match (&one.kind, &other.kind) {
        (Kind::Missing | Kind::Nil, Kind::Missing | Kind::Nil) => true,
        (Kind::Bool(one), Kind::Bool(other)) => one == other,
        (Kind::Int(one, width), Kind::Int(other, other_width)) => {
            one == other && width == other_width
        }
        (Kind::Float(one), Kind::Float(other)) => one == other,
        (Kind::Complex(one), Kind::Complex(other)) => one == other,
        (Kind::Text(one), Kind::Text(other)) => {
            if one.len() == other.len() {
                cx.work(one.len() as u64)?;
            }
            one == other
        }
        (Kind::Object(one), Kind::Object(other)) => one.deep_equal(other),
        (Kind::List(one), Kind::List(other)) => {
            let depth = deeper(cx, depth)?;
            stacker::maybe_grow(RED_ZONE, MORE_STACK, || lists_equal(cx, one, other, depth))?
        }
        (Kind::Map(one), Kind::Map(other)) => {
            let depth = deeper(cx, depth)?;
            stacker::maybe_grow(RED_ZONE, MORE_STACK, || maps_equal(cx, one, other, depth))?
        }
        _ => false,
    })
}

/// One level less of `depth`. Counts as a step, since shared parts are walked once for each way to
/// them.
pub(crate) fn deeper(cx: &Cx<'_>, depth: usize) -> Result<usize, Fault> {
    cx.step()?;
    depth.checked_sub(1).ok_or_else(|| too_deep(cx))
}

pub(crate) fn too_deep(cx: &Cx<'_>) -> Fault {
    Fault::limit(format!(
        "exceeded the limit of {} nested lists and dicts",
        cx.limits().nesting
    ))
}

fn lists_equal<'a>(
    cx: &Cx<'a>,
    one: &List<'a>,
    other: &List<'a>,
    depth: usize,
) -> Result<bool, Fault> {
    if one.element() != other.element()
        || one.is_nil() != other.is_nil()
        || one.len() != other.len()
    {
        return Ok(false);
    }
    for index in 0..one.len() {
        cx.work(ELEMENT)?;
        let (Some(one), Some(other)) = (cx.item(one, index), cx.item(other, index)) else {
            return Ok(false);
        };
        if !equal_within(cx, &one, &other, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal<'a>(
    cx: &Cx<'a>,
    one: &Map<'a>,
    other: &Map<'a>,
    depth: usize,
) -> Result<bool, Fault> {
    if one.element() != other.element()
        || one.is_nil() != other.is_nil()
        || cx.size(one) != cx.size(other)
    {
        return Ok(false);
    }
    if cx.current(one).address() == cx.current(other).address() {
        return Ok(true);
    }
    cx.work(2 * ELEMENT * cx.size(one) as u64)?;
    let (entries, others) = (cx.entries(one), cx.entries(other));
    for ((key, value), (other_key, other_value)) in entries.iter().zip(&others) {
        if key != other_key || !equal_within(cx, value, other_value, depth)? {
            return Ok(false);
        }
    }
    Ok(true)
}
