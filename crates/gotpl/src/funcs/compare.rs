//! Go's comparisons.

use std::cmp::Ordering;

use crate::cost::Cost;
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Kind, Value};

type Answer<'a> = Result<Value<'a>, Fault>;

macro_rules! comparison {
    ($name:literal, $body:expr) => {
        Func {
            name: $name,
            params: &[Param::Value, Param::Value],
            rest: None,
            flow: Flow::Compute,
            cost: Cost::UNKNOWN,
            body: $body,
        }
    };
}

pub(crate) const TABLE: &[Func] = &[
    Func {
        name: "eq",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Compute,
        cost: Cost::UNKNOWN,
        body: eq,
    },
    comparison!("ne", |call| Ok(Value::bool(!equal(
        call,
        &call.args[0],
        &call.args[1]
    )?))),
    comparison!("lt", |call| Ok(Value::bool(less(
        &call.args[0],
        &call.args[1]
    )?))),
    comparison!("le", |call| Ok(Value::bool(less_or_equal(call)?))),
    comparison!("gt", |call| Ok(Value::bool(!less_or_equal(call)?))),
    comparison!("ge", |call| Ok(Value::bool(!less(
        &call.args[0],
        &call.args[1]
    )?))),
];

fn eq<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let (first, rest) = (&call.args[0], &call.args[1..]);
    if rest.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in rest {
        if equal(call, first, other)? {
            return Ok(Value::bool(true));
        }
    }
    Ok(Value::bool(false))
}

fn less_or_equal(call: &Call<'_, '_, '_>) -> Result<bool, Fault> {
    Ok(less(&call.args[0], &call.args[1])? || equal(call, &call.args[0], &call.args[1])?)
}

/// What Go compares as one kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Complex,
    Int,
    Uint,
    Float,
    Text,
    None,
}

fn basic(value: &Value<'_>) -> Basic {
    match &value.kind {
        Kind::Bool(_) => Basic::Bool,
        Kind::Int(_, width) if width.unsigned() => Basic::Uint,
        Kind::Int(..) => Basic::Int,
        Kind::Float(_) => Basic::Float,
        Kind::Complex(_) => Basic::Complex,
        Kind::Text(_) => Basic::Text,
        Kind::Object(object) if object.integer().is_some() => Basic::Int,
        _ => Basic::None,
    }
}

fn integer(value: &Value<'_>) -> i128 {
    match &value.kind {
        Kind::Int(value, width) if width.unsigned() => i128::from(value.cast_unsigned()),
        Kind::Int(value, _) => i128::from(*value),
        Kind::Object(object) => object.integer().map_or(0, i128::from),
        _ => 0,
    }
}

fn equal<'a>(call: &Call<'_, '_, 'a>, one: &Value<'a>, other: &Value<'a>) -> Result<bool, Fault> {
    let (left, right) = (basic(one), basic(other));
    match (left, right) {
        (Basic::Int | Basic::Uint, Basic::Int | Basic::Uint) => {
            return Ok(integer(one) == integer(other));
        }
        _ if left != right => {
            if one.is_nil() || other.is_nil() {
                return Ok(false);
            }
            return Err(incompatible(one, other));
        }
        _ => {}
    }
    Ok(match (&one.kind, &other.kind) {
        (Kind::Bool(one), Kind::Bool(other)) => one == other,
        (Kind::Float(one), Kind::Float(other)) => one == other,
        (Kind::Complex(one), Kind::Complex(other)) => one == other,
        (Kind::Text(one), Kind::Text(other)) => one == other,
        _ => return incomparable(call, one, other),
    })
}

/// Lists, dicts, objects and nothing.
fn incomparable<'a>(
    call: &Call<'_, '_, 'a>,
    one: &Value<'a>,
    other: &Value<'a>,
) -> Result<bool, Fault> {
    if one.kind_name() != other.kind_name() && !one.is_nil() && !other.is_nil() {
        let (shown, other_shown) = (as_text(call, one)?, fmt::display(call.cx(), other)?);
        let (one, other) = (one.type_name(), other.type_name());
        return Err(format!("non-comparable types {shown}: {one}, {other}: {other_shown}").into());
    }
    let nil = |value: &Value<'a>| match &value.kind {
        Kind::Missing | Kind::Nil => true,
        Kind::List(list) => list.is_nil(),
        Kind::Map(map) => map.is_nil(),
        _ => false,
    };
    if nil(one) || nil(other) {
        return Ok(nil(one) == nil(other));
    }
    match (&one.kind, &other.kind) {
        (Kind::Object(one), Kind::Object(other)) => Ok(one.same(other)),
        _ => {
            let shown = as_text(call, other)?;
            Err(format!("non-comparable type {shown}: {}", other.type_name()).into())
        }
    }
}

/// A value under `%s`, which Go's messages happen to use here.
fn as_text<'a>(call: &Call<'_, '_, 'a>, value: &Value<'a>) -> Result<String, Fault> {
    let mut out = Vec::new();
    fmt::sprintf(
        call.cx(),
        b"%s",
        std::slice::from_ref(value),
        &mut out,
        &mut Vec::new(),
    )?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn incompatible(one: &Value<'_>, other: &Value<'_>) -> Fault {
    format!(
        "incompatible types for comparison: {} and {}",
        one.type_name(),
        other.type_name()
    )
    .into()
}

fn less(one: &Value<'_>, other: &Value<'_>) -> Result<bool, Fault> {
    let (left, right) = (basic(one), basic(other));
    if left == Basic::None || right == Basic::None {
        return Err("invalid type for comparison".into());
    }
    match (left, right) {
        (Basic::Int | Basic::Uint, Basic::Int | Basic::Uint) => {
            return Ok(integer(one) < integer(other));
        }
        _ if left != right => return Err(incompatible(one, other)),
        _ => {}
    }
    match (&one.kind, &other.kind) {
        (Kind::Float(one), Kind::Float(other)) => {
            Ok(one.partial_cmp(other) == Some(Ordering::Less))
        }
        (Kind::Text(one), Kind::Text(other)) => Ok(one < other),
        _ => Err("invalid type for comparison".into()),
    }
}
