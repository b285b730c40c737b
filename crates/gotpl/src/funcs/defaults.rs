//! sprig's answers for what is empty or not there, and the choices that follow from it.

use super::entry::{Answer, fixed, open, variadic};
use crate::fmt;
use crate::func::{Call, Flow, Func, Param};
use crate::value::{Kind, Value};

pub(crate) const TABLE: &[Func] = &[
    open("default", &[Param::Any], Param::Any, Flow::Guard, default),
    fixed("empty", &[Param::Any], Flow::Guard, empty),
    variadic("coalesce", Param::Any, Flow::Guard, coalesce),
    variadic("all", Param::Any, Flow::Decide, all),
    variadic("any", Param::Any, Flow::Decide, any),
    fixed(
        "ternary",
        &[Param::Any, Param::Any, Param::Bool],
        Flow::Decide,
        |call| {
            Ok(if call.bool(2) {
                call.value(0)
            } else {
                call.value(1)
            })
        },
    ),
    fixed("fail", &[Param::Text], Flow::Compute, |call| {
        Err(call.utf8(0).into_owned().into())
    }),
];

/// Whether sprig takes a value for unset. Objects never are, save a duration of nothing.
pub(crate) fn is_empty<'a>(call: &Call<'_, '_, 'a>, value: &Value<'a>) -> bool {
    !fmt::truth(call.cx(), value)
}

fn default<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let given = call.value(1);
    Ok(if call.len() < 2 || is_empty(call, &given) {
        call.value(0)
    } else {
        given
    })
}

fn empty<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(0);
    if let Kind::Unknown = value.kind {
        return Ok(value);
    }
    // The author asked whether it is there: the answer no longer depends on what is missing.
    let mark = if value.is_nil() { 0 } else { value.mark };
    Ok(Value::bool(is_empty(call, &value)).marked(mark))
}

fn coalesce<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    Ok(call
        .args
        .iter()
        .find(|value| !is_empty(call, value))
        .cloned()
        .unwrap_or(Value::NIL))
}

fn all<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    Ok(Value::bool(
        !call.args.iter().any(|value| is_empty(call, value)),
    ))
}

fn any<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    Ok(Value::bool(
        call.args.iter().any(|value| !is_empty(call, value)),
    ))
}
