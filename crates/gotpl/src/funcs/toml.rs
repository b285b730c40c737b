//! Helm's TOML out of values and into them. Both answer errors as what they return, unless told
//! they must not.

use std::collections::BTreeMap;

use super::entry::{Answer, Body, fixed};
use super::json::{is_limit, or_error_entry};
use super::lists::{charge_elements, pack};
use super::reflect::{deeper, too_deep};
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::fmt::UNKNOWN;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::value::{Element, Kind, Text, Value, Width};
use gocompat::toml::{EncodeError, Table, Value as Toml, decode, encode};

pub(crate) const TABLE: &[Func] = &[
    writing("toToml", |call| match written(call) {
        Err(fault) if !is_limit(&fault) && fault.text != EncodeError::Nil.to_string() => {
            Ok(Value::text(fault.text))
        }
        answer => answer,
    }),
    writing("mustToToml", |call| written(call)),
    fixed("fromToml", &[Param::Text], Flow::Compute, |call| {
        let answer = match decode(call.text(0)) {
            Ok(table) => dict(call.cx(), &table, call.cx().limits().nesting),
            Err(error) => Err(error.to_string().into()),
        };
        or_error_entry(call.cx(), answer)
    }),
];

/// The units of work of one value that is written.
const ELEMENT: u64 = 200;

const fn writing(name: &'static str, body: Body) -> Func {
    fixed(name, &[Param::Any], Flow::Shape, body)
}

fn written<'a>(call: &Call<'_, '_, 'a>) -> Answer<'a> {
    let value = &call.args[0];
    let toml = match &value.kind {
        // A nil list or dict is left out where it has a key; here it has none, and is empty.
        Kind::List(list) if list.is_nil() => Toml::Array(Vec::new()),
        Kind::Map(map) if map.is_nil() => Toml::Table(Table::new()),
        _ => grown(call.cx(), value, call.cx().limits().nesting, 0)?,
    };
    match encode(&toml) {
        Ok(text) => Ok(Value::text(text)),
        Err(EncodeError::Depth) => Err(too_deep(call.cx())),
        Err(error) => Err(error.to_string().into()),
    }
}

/// A value as TOML, below keys of so many bytes.
fn grown<'a>(cx: &Cx<'a>, value: &Value<'a>, depth: usize, path: usize) -> Result<Toml, Fault> {
    cx.work(ELEMENT)?;
    Ok(match &value.kind {
        Kind::Missing | Kind::Nil => Toml::Null,
        Kind::Bool(value) => Toml::Bool(*value),
        Kind::Int(value, width) if width.unsigned() && *value < 0 => {
            Toml::Uint(value.cast_unsigned())
        }
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
            let depth = deeper(cx, depth)?;
            charge_elements(cx, list.len())?;
            refuse_nil_elements(cx, value, depth)?;
            let items: Result<Vec<_>, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                (0..list.len())
                    .filter_map(|index| cx.item(list, index))
                    .map(|item| grown(cx, &item, depth, path))
                    .collect()
            });
            Toml::Array(items?)
        }
        Kind::Map(map) => {
            let depth = deeper(cx, depth)?;
            charge_elements(cx, cx.size(map))?;
            // The order of the library, so that of several errors the first is the same: lists are
            // looked through before anything is written, and what is a table of its own is written
            // last.
            let entries = cx.entries(map);
            entries
                .iter()
                .try_for_each(|(_, value)| refuse_nil_elements(cx, value, depth))?;
            let (tables, plain): (Vec<_>, Vec<_>) = entries
                .into_iter()
                .partition(|(_, value)| is_table(cx, value));
            let fields: Result<Table, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                let ordered = plain.into_iter().chain(tables);
                let grown = |(key, value): (Text<'a>, Value<'a>)| {
                    let path = path.saturating_add(key.len() + 1);
                    // Where it is a table, the keys to it stand in its header.
                    cx.charge(path)?;
                    Ok((key.to_vec(), grown(cx, &value, depth, path)?))
                };
                ordered.map(grown).collect()
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

/// Fails on a nil in a list, or in a list in it; what dicts hold is not looked at.
fn refuse_nil_elements<'a>(cx: &Cx<'a>, value: &Value<'a>, depth: usize) -> Result<(), Fault> {
    let Kind::List(list) = &value.kind else {
        return Ok(());
    };
    let depth = deeper(cx, depth)?;
    stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
        (0..list.len())
            .filter_map(|index| cx.item(list, index))
            .try_for_each(|item| match &item.kind {
                Kind::Missing | Kind::Nil => Err(EncodeError::NilElement.to_string().into()),
                _ => refuse_nil_elements(cx, &item, depth),
            })
    })
}

/// Whether a value is written below a header of its own.
fn is_table<'a>(cx: &Cx<'a>, value: &Value<'a>) -> bool {
    let is_map = |value: &Value<'a>| matches!(&value.kind, Kind::Map(map) if !map.is_nil());
    match &value.kind {
        Kind::List(list) => {
            list.len() > 0
                && (0..list.len())
                    .all(|index| cx.item(list, index).is_some_and(|item| is_map(&item)))
        }
        _ => is_map(value),
    }
}

fn dict<'a>(cx: &Cx<'a>, table: &Table, depth: usize) -> Answer<'a> {
    let depth = deeper(cx, depth)?;
    charge_elements(cx, table.len())?;
    let entries: Result<BTreeMap<_, _>, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
        let entry =
            |(key, toml): (&Vec<u8>, &Toml)| Ok((Text::from(key.clone()), value(cx, toml, depth)?));
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
            let depth = deeper(cx, depth)?;
            let items: Result<Vec<_>, Fault> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                items.iter().map(|item| value(cx, item, depth)).collect()
            });
            pack(cx, Element::Any, items?)?
        }
        Toml::Table(table) => dict(cx, table, depth)?,
    })
}
