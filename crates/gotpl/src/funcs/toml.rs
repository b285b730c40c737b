//! Helm's TOML out of values and into them. Both answer errors as what they return, unless told they must not.

use std::collections::BTreeMap;

use super::entry::{Answer, Body, fixed};
use super::json::{is_limit, or_error_entry};
use super::lists::{charge_elements, pack};
use super::reflect::too_deep;
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::fmt::UNKNOWN;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::go::toml::{EncodeError, Table, Value as Toml, decode, encode};
use crate::object::Object;
use crate::value::{Element, Kind, Text, Value, Width};

pub(crate) const TABLE: &[Func] = &[
    writing("toToml", |call| match written(call) {
        Err(fault) if !is_limit(&fault) && fault.text != EncodeError::Nil.to_string() => Ok(Value::text(fault.text)),
        answer => answer,
    }),
    writing("mustToToml", |call| written(call)),
    fixed("fromToml", &[Param::Text], Flow::Compute, |call| {
        let answer = match decode(call.text(0)) {
            Ok(table) => dict(call.cx(), &table, call.cx().run.limits.nesting),
            Err(error) => Err(error.to_string().into()),
        };
        or_error_entry(call.cx(), answer)
    }),
];

const fn writing(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Any], Flow::Shape, body)
}

fn written<'a>(call: &Call<'_, '_, 'a>) -> Answer<'a> {
    let value = &call.args[0];
    let toml = match &value.kind {
        // A nil list or dict is left out where it has a key; here it has none, and is empty.
        Kind::List(list) if list.is_nil() => Toml::Array(Vec::new()),
        Kind::Map(map) if map.is_nil() => Toml::Table(Table::new()),
        _ => grown(call.cx(), value, call.cx().run.limits.nesting)?,
    };
    match encode(&toml) {
        Ok(text) => Ok(Value::text(text)),
        Err(EncodeError::Depth) => Err(too_deep(call.cx())),
        Err(error) => Err(error.to_string().into()),
    }
}

fn grown<'a>(cx: &Cx<'a>, value: &Value<'a>, depth: usize) -> Result<Toml, Fault> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| too_deep(cx));
    Ok(match &value.kind {
        Kind::Missing | Kind::Nil => Toml::Null,
        Kind::Bool(value) => Toml::Bool(*value),
        Kind::Int(value, width) if width.unsigned() && *value < 0 => Toml::Uint(value.cast_unsigned()),
        Kind::Int(value, _) => Toml::Int(*value),
        Kind::Float(value) => Toml::Float(*value),
        Kind::Complex(_) => return Err("unsupported type for key '': complex128".into()),
        Kind::Text(text) => {
            cx.charge(text.len())?;
            Toml::Text(text.to_vec())
        }
        Kind::List(list) if list.is_nil() => Toml::Null,
        Kind::Map(map) if map.is_nil() => Toml::Null,
        Kind::List(list) => {
            let depth = deeper()?;
            charge_elements(cx, list.len())?;
            let items: Result<Vec<_>, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                (0..list.len()).filter_map(|index| cx.item(list, index)).map(|item| grown(cx, &item, depth)).collect()
            });
            Toml::Array(items?)
        }
        Kind::Map(map) => {
            let depth = deeper()?;
            charge_elements(cx, cx.size(map))?;
            let fields: Result<Table, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                let entries = cx.entries(map).into_iter();
                entries.map(|(key, value)| Ok((key.to_vec(), grown(cx, &value, depth)?))).collect()
            });
            Toml::Table(fields?)
        }
        Kind::Object(object) => match &**object {
            Object::Time(time) => Toml::Time(time.clone()),
            Object::Duration(_) => Toml::Text(object.string().unwrap_or_default().into_bytes()),
            object => Toml::from(&object.json()?),
        },
        Kind::Unknown => Toml::Text(UNKNOWN.as_bytes().to_vec()),
    })
}

fn dict<'a>(cx: &Cx<'a>, table: &Table, depth: usize) -> Answer<'a> {
    let depth = depth.checked_sub(1).ok_or_else(|| too_deep(cx))?;
    charge_elements(cx, table.len())?;
    let entries: Result<BTreeMap<_, _>, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
        let entry = |(key, toml): (&Vec<u8>, &Toml)| Ok((Text::from(key.clone()), value(cx, toml, depth)?));
        table.iter().map(entry).collect()
    });
    Ok(cx.dict(Element::Any, entries?))
}

fn value<'a>(cx: &Cx<'a>, toml: &Toml, depth: usize) -> Answer<'a> {
    Ok(match toml {
        Toml::Null => Value::NIL,
        Toml::Bool(value) => Value::bool(*value),
        Toml::Int(value) => Value::int64(*value),
        Toml::Uint(value) => Value::of(Kind::Int(value.cast_signed(), Width::Uint64)),
        Toml::Float(value) => Value::float(*value),
        Toml::Text(text) => {
            cx.charge(text.len())?;
            Value::text(text.as_slice())
        }
        Toml::Time(time) => Value::object(Object::Time(time.clone())),
        Toml::Array(items) => {
            let depth = depth.checked_sub(1).ok_or_else(|| too_deep(cx))?;
            let items: Result<Vec<_>, Fault> =
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || items.iter().map(|item| value(cx, item, depth)).collect());
            pack(cx, Element::Any, items?)?
        }
        Toml::Table(table) => dict(cx, table, depth)?,
    })
}
