//! Go's own functions for looking into values and printing them.

use super::pieces;
use crate::cost::Cost;
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Items, Kind, List, Map, Value, Width};

type Answer<'a> = Result<Value<'a>, Fault>;

pub(crate) const TABLE: &[Func] = &[
    // Both are evaluated by the caller, which stops at the argument that decides.
    Func {
        name: "and",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Carry,
        cost: Cost::UNKNOWN,
        body: |call| Ok(call.value(0)),
    },
    Func {
        name: "or",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Carry,
        cost: Cost::UNKNOWN,
        body: |call| Ok(call.value(0)),
    },
    // There are no functions in JSON data: the caller answers with an error.
    Func {
        name: "call",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Compute,
        cost: Cost::UNKNOWN,
        body: |call| Ok(call.value(0)),
    },
    Func {
        name: "not",
        params: &[Param::Value],
        rest: None,
        flow: Flow::Compute,
        cost: Cost::UNKNOWN,
        body: not,
    },
    Func {
        name: "len",
        params: &[Param::Value],
        rest: None,
        flow: Flow::Compute,
        cost: Cost::UNKNOWN,
        body: len,
    },
    Func {
        name: "index",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Carry,
        cost: Cost::UNKNOWN,
        body: index,
    },
    Func {
        name: "slice",
        params: &[Param::Value],
        rest: Some(Param::Value),
        flow: Flow::Compute,
        cost: Cost::UNKNOWN,
        body: slice,
    },
    Func {
        name: "print",
        params: &[],
        rest: Some(Param::Any),
        flow: Flow::Shape,
        cost: Cost::UNKNOWN,
        body: print,
    },
    Func {
        name: "println",
        params: &[],
        rest: Some(Param::Any),
        flow: Flow::Shape,
        cost: Cost::UNKNOWN,
        body: println,
    },
    Func {
        name: "printf",
        params: &[Param::Text],
        rest: Some(Param::Any),
        flow: Flow::Shape,
        cost: Cost::UNKNOWN,
        body: printf,
    },
];

fn not<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    Ok(Value::bool(!fmt::truth(call.cx(), &call.value(0))))
}

fn len<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(0);
    let len = match &value.kind {
        Kind::Text(text) => text.len(),
        Kind::List(list) => list.len(),
        Kind::Map(map) => call.cx().size(map),
        Kind::Nil => return Err("len of nil pointer".into()),
        Kind::Missing => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        _ => return Err(format!("len of type {}", value.type_name()).into()),
    };
    Ok(Value::int(len as i64))
}

/// A position in something of `len` elements; `len` itself is let through, as in Go.
fn position(index: &Value<'_>, len: usize) -> Result<usize, Fault> {
    let at = match &index.kind {
        Kind::Int(at, _) => *at,
        Kind::Missing | Kind::Nil => return Err("cannot index slice/array with nil".into()),
        _ => {
            return Err(format!("cannot index slice/array with type {}", index.type_name()).into());
        }
    };
    match usize::try_from(at) {
        Ok(position) if position <= len => Ok(position),
        _ => Err(format!("index out of range: {at}").into()),
    }
}

fn index<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut item = call.value(0);
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for index in &call.args[1..] {
        if let Kind::Unknown = item.kind {
            item = call.cx().beyond(&item, step(index));
            continue;
        }
        if let (Kind::Unknown, Kind::Map(_) | Kind::List(_) | Kind::Text(_)) =
            (&index.kind, &item.kind)
        {
            item = call.cx().derived(&[&item, index]);
            continue;
        }
        item = match &item.kind {
            Kind::Nil | Kind::Missing => {
                call.cx().blame(&item);
                return Err("index of nil pointer".into());
            }
            Kind::Text(text) => {
                let at = position(index, text.len())?;
                match text.get(at) {
                    Some(byte) => {
                        Value::of(Kind::Int(i64::from(*byte), Width::Uint8)).marked(item.mark)
                    }
                    None => return Err("reflect: string index out of range".into()),
                }
            }
            Kind::List(list) => match call.cx().item(list, position(index, list.len())?) {
                Some(item) => item,
                None => return Err("reflect: slice index out of range".into()),
            },
            Kind::Map(map) => entry(call, map, index)?,
            _ => return Err(format!("can't index item of type {}", item.type_name()).into()),
        };
    }
    Ok(item)
}

fn step(index: &Value<'_>) -> crate::trace::Step {
    match &index.kind {
        Kind::Text(text) => crate::trace::Step::Key(text.lossy().into()),
        Kind::Int(at, _) => {
            usize::try_from(*at).map_or(crate::trace::Step::Any, crate::trace::Step::Index)
        }
        _ => crate::trace::Step::Any,
    }
}

fn entry<'a>(call: &Call<'_, '_, 'a>, map: &Map<'a>, key: &Value<'a>) -> Answer<'a> {
    match &key.kind {
        Kind::Text(text) => {
            let found = call.cx().get(map, text);
            Ok(match found.kind {
                Kind::Missing if map.element() == Element::Text => {
                    Value::borrowed(b"").marked(found.mark)
                }
                Kind::Missing => Value {
                    kind: Kind::Nil,
                    boxed: true,
                    ..found
                },
                _ => found,
            })
        }
        Kind::Missing | Kind::Nil => Err("value is nil; should be of type string".into()),
        _ => Err(format!("value has type {}; should be string", key.type_name()).into()),
    }
}

fn slice<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let item = call.value(0);
    let indexes = &call.args[1..];
    let len = match &item.kind {
        Kind::Missing | Kind::Nil => return Err("slice of untyped nil".into()),
        _ if indexes.len() > 3 => {
            return Err(format!("too many slice indexes: {}", indexes.len()).into());
        }
        Kind::Text(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Kind::Text(text) => text.len(),
        Kind::List(list) => list.len(),
        _ => return Err(format!("can't slice item of type {}", item.type_name()).into()),
    };
    let mut bounds = [0, len, len];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = position(index, len)?;
    }
    let [from, to, cap] = bounds;
    for (low, high) in [(from, to), (to, cap)] {
        if low > high {
            return Err(format!("invalid slice index: {low} > {high}").into());
        }
    }
    Ok(match &item.kind {
        Kind::List(list) => {
            let values = call.cx().items(list).drain(from..to).collect();
            let items = Items {
                element: list.element(),
                nil: list.is_nil(),
                values,
                depth: 1,
            };
            Value::of(Kind::List(List::Own(items.into())))
        }
        _ => Value::text(&call.text(0)[from..to]),
    })
}

fn print<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    let mut spots = Vec::new();
    fmt::sprint(call.cx(), call.args, &mut out, &mut spots)?;
    Ok(pieces::put_together(call, out, spots, call.args))
}

fn println<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    let mut spots = Vec::new();
    for (index, value) in call.args.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        let start = out.len();
        fmt::print(call.cx(), value, &mut out)?;
        spots.push((start..out.len(), index));
    }
    out.push(b'\n');
    Ok(pieces::put_together(call, out, spots, call.args))
}

fn printf<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut out = Vec::new();
    let format = call.shared_text(0);
    let mut verbs = Vec::new();
    fmt::sprintf(call.cx(), &format, &call.args[1..], &mut out, &mut verbs)?;
    // A format that is data itself, or takes widths or more arguments than it says, belongs to all
    // of them.
    if !call.cx().watched()
        || call.args[0].mark != 0
        || format.contains(&b'*')
        || out.ends_with(b")") && verbs.len() + 1 < call.len()
    {
        return Ok(Value::text(out));
    }
    Ok(pieces::put_together(call, out, verbs, &call.args[1..]))
}
