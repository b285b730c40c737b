//! sprig's dicts. `set` and `unset` change a dict for everyone who holds it, input data included.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::entry::{Answer, fixed, open};
use super::join::strval;
use super::lists::{charge_elements, pack};
use super::reflect::deeper;
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::trace::{Step, UseKind};
use crate::value::{Dict, Element, Items, Kind, List, Map, Text, Value};
use gocompat::semver::Version;

pub(crate) const TABLE: &[Func] = &[
    open("dict", &[], Param::Any, Flow::Carry, dict),
    fixed("get", &[Param::Map, Param::Text], Flow::Guard, get),
    fixed(
        "set",
        &[Param::Map, Param::Text, Param::Any],
        Flow::Carry,
        set,
    ),
    fixed("unset", &[Param::Map, Param::Text], Flow::Carry, unset),
    fixed("hasKey", &[Param::Map, Param::Text], Flow::Guard, has_key),
    open("pluck", &[Param::Text], Param::Map, Flow::Carry, pluck),
    open("keys", &[], Param::Map, Flow::Compute, keys),
    fixed("values", &[Param::Map], Flow::Carry, values),
    open("pick", &[Param::Map], Param::Text, Flow::Carry, pick),
    open("omit", &[Param::Map], Param::Text, Flow::Carry, omit),
    open("dig", &[], Param::Any, Flow::Guard, dig),
    fixed("deepCopy", &[Param::Any], Flow::Carry, deep_copy),
    fixed("mustDeepCopy", &[Param::Any], Flow::Carry, deep_copy),
];

/// The units of work of one element of what is copied.
const COPIED: u64 = 100;

/// A dict of `interface {}`, paid for.
fn packed<'a>(cx: &Cx<'a>, entries: BTreeMap<Text<'a>, Value<'a>>) -> Answer<'a> {
    charge_elements(cx, entries.len())?;
    Ok(cx.dict(Element::Any, entries))
}

/// Puts a value into a dict.
pub(crate) fn put<'a>(
    cx: &Cx<'a>,
    dict: &Rc<Dict<'a>>,
    key: Text<'a>,
    mut value: Value<'a>,
) -> Result<(), Fault> {
    if value.mark == 0
        && let Some(mut tracer) = cx.tracer()
        && tracer.path_at(Rc::as_ptr(dict).addr()).is_some()
    {
        // Without a mark of its own it would be taken for the data that stood there.
        value.mark = tracer.weave(Vec::new());
    }
    charge_elements(cx, 1)?;
    dict.entries.borrow_mut().insert(key, value);
    Ok(())
}

fn dict<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut entries = BTreeMap::new();
    for pair in call.args.chunks(2) {
        let value = pair.get(1).cloned().unwrap_or(Value::borrowed(b""));
        if let Kind::Unknown = pair[0].kind {
            return Ok(call.cx().derived(&call.args.iter().collect::<Vec<_>>()));
        }
        entries.insert(strval(call.cx(), &pair[0])?, value);
    }
    packed(call.cx(), entries)
}

fn is_unknown(value: &Value<'_>) -> bool {
    matches!(value.kind, Kind::Unknown)
}

/// Looks a key up for a function that answers for its absence, and notes that it did.
fn looked_up<'a>(call: &Call<'_, '_, 'a>, map: &Map<'a>, key: &[u8]) -> Value<'a> {
    let found = call.cx().get(map, key);
    if found.mark != 0
        && let Some(mut tracer) = call.cx().tracer()
    {
        tracer.note(
            UseKind::Guard,
            call.frame.spot(),
            Some(call.func.name),
            found.mark,
        );
    }
    found
}

fn get<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if is_unknown(&call.args[0]) {
        return Ok(call
            .cx()
            .beyond(&call.args[0], Step::Key(call.utf8(1).into())));
    }
    let found = looked_up(call, &call.map(0), call.text(1));
    Ok(if let Kind::Missing = found.kind {
        answer(call, Value::borrowed(b""), &[&call.args[0], &found])
    } else {
        found
    })
}

/// An answer in place of what is missing from these. Who asks takes it as it is; who fails over it
/// fails over them.
fn answer<'a>(call: &Call<'_, '_, 'a>, answer: Value<'a>, missing: &[&Value<'a>]) -> Value<'a> {
    let Some(mut tracer) = call.cx().tracer() else {
        return answer;
    };
    let mut mark = answer.mark;
    for value in missing {
        let answered = tracer.answered(value.mark);
        mark = tracer.join(mark, answered);
    }
    drop(tracer);
    answer.marked(mark)
}

fn has_key<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if is_unknown(&call.args[0]) {
        return Ok(call
            .cx()
            .beyond(&call.args[0], Step::Key(call.utf8(1).into())));
    }
    let found = looked_up(call, &call.map(0), call.text(1));
    Ok(match found.kind {
        Kind::Unknown => found,
        // The author asked whether it is there: the answer no longer depends on what is missing.
        Kind::Missing => Value::bool(false),
        _ => Value::bool(true).marked(found.mark),
    })
}

fn set<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let holder = call.value(0);
    if is_unknown(&holder) {
        let step = if is_unknown(&call.args[1]) {
            Step::Any
        } else {
            Step::Key(call.utf8(1).into())
        };
        call.cx().writes(&holder, step);
        return Ok(holder);
    }
    let map = call.map(0);
    if map.is_nil() {
        return Err("assignment to entry in nil map".into());
    }
    let (key, value) = match is_unknown(&call.args[1]) {
        // There is an entry then, of a name and a value that nobody knows.
        true => (
            Text::Borrowed(fmt::UNKNOWN.as_bytes()),
            call.cx().derived(&[&call.args[1], &call.args[2]]),
        ),
        false => (call.shared_text(1), call.value(2)),
    };
    put(call.cx(), &call.cx().changeable(&map), key, value)?;
    Ok(holder)
}

fn unset<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let holder = call.value(0);
    let map = call.map(0);
    if !is_unknown(&holder) && !map.is_nil() {
        call.cx()
            .changeable(&map)
            .entries
            .borrow_mut()
            .remove(call.text(1));
    }
    Ok(holder)
}

fn contains<'a>(cx: &Cx<'a>, map: &Map<'a>, key: &[u8]) -> bool {
    match cx.current(map) {
        Map::Json(fields) => std::str::from_utf8(key).is_ok_and(|key| fields.contains_key(key)),
        Map::Own(dict) => dict.entries.borrow().contains_key(key),
    }
}

/// The value under a key, if there is one. Absence is the function's business, and not noted as
/// missing.
pub(crate) fn entry<'a>(cx: &Cx<'a>, map: &Map<'a>, key: &[u8]) -> Option<Value<'a>> {
    contains(cx, map, key).then(|| cx.get(map, key))
}

fn pluck<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut found = Vec::new();
    for (index, value) in call.args.iter().enumerate().skip(1) {
        if is_unknown(value) {
            found.push(call.cx().beyond(value, Step::Key(call.utf8(0).into())));
        } else {
            found.extend(entry(call.cx(), &call.map(index), call.text(0)));
        }
    }
    pack(call.cx(), Element::Any, found)
}

fn keys<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut keys = Vec::new();
    for index in 0..call.len() {
        charge_elements(call.cx(), call.cx().size(&call.map(index)))?;
        keys.extend(
            call.cx()
                .entries(&call.map(index))
                .into_iter()
                .map(|(key, _)| Value::of(Kind::Text(key))),
        );
    }
    pack(call.cx(), Element::Text, keys)
}

fn values<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if is_unknown(&call.args[0]) {
        return Ok(call.value(0));
    }
    let values = call
        .cx()
        .entries(&call.map(0))
        .into_iter()
        .map(|(_, value)| value)
        .collect();
    pack(call.cx(), Element::Any, values)
}

fn pick<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if is_unknown(&call.args[0]) {
        return Ok(call.value(0));
    }
    let map = call.map(0);
    let mut entries = BTreeMap::new();
    for index in 1..call.len() {
        if let Some(value) = entry(call.cx(), &map, call.text(index)) {
            entries.insert(call.shared_text(index), value);
        }
    }
    packed(call.cx(), entries)
}

fn omit<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if is_unknown(&call.args[0]) {
        return Ok(call.value(0));
    }
    let omitted: std::collections::HashSet<&[u8]> =
        (1..call.len()).map(|index| call.text(index)).collect();
    let entries = call
        .cx()
        .entries(&call.map(0))
        .into_iter()
        .filter(|(key, _)| !omitted.contains(&**key))
        .collect();
    packed(call.cx(), entries)
}

fn not_a(value: &Value<'_>, wanted: &str) -> Fault {
    let found = if value.is_nil() {
        "nil".into()
    } else {
        value.type_name()
    };
    format!("interface conversion: interface {{}} is {found}, not {wanted}").into()
}

/// The dict a value is, by its exact Go type.
fn as_map<'v, 'a>(value: &'v Value<'a>) -> Result<&'v Map<'a>, Fault> {
    match &value.kind {
        Kind::Map(map) if map.element() == Element::Any => Ok(map),
        _ => Err(not_a(value, "map[string]interface {}")),
    }
}

fn dig<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let [path @ .., fallback, holder] = call.args else {
        return Err("dig needs at least three arguments".into());
    };
    if path.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    as_map(holder)?;
    if let Some(key) = path
        .iter()
        .find(|key| !matches!(key.kind, Kind::Text(_) | Kind::Unknown))
    {
        return Err(not_a(key, "string"));
    }
    let mut at = holder.clone();
    for key in path {
        let Kind::Text(key) = &key.kind else {
            return Ok(call.cx().derived(&[&at, key]));
        };
        if is_unknown(&at) {
            at = call.cx().beyond(&at, Step::Key(key.lossy().into()));
            continue;
        }
        let found = looked_up(call, as_map(&at)?, key);
        if let Kind::Missing = found.kind {
            return Ok(answer(call, fallback.clone(), &[&found]));
        }
        at = found;
    }
    Ok(at)
}

fn deep_copy<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let value = call.value(0);
    if value.is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    copied(call.cx(), &value, call.cx().limits().nesting)
}

fn copied<'a>(cx: &Cx<'a>, value: &Value<'a>, depth: usize) -> Answer<'a> {
    let copy = match &value.kind {
        Kind::List(list) if list.is_nil() => return Ok(value.clone()),
        Kind::Map(map) if map.is_nil() => return Ok(value.clone()),
        Kind::List(list) => {
            let depth = deeper(cx, depth)?;
            charge_elements(cx, list.len())?;
            cx.work(COPIED * list.len() as u64)?;
            let copies: Result<Vec<_>, _> = stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                cx.items(list)
                    .iter()
                    .map(|value| copied(cx, value, depth))
                    .collect()
            });
            let depth = match list {
                List::Own(items) => items.depth,
                List::Json(_) => 1,
            };
            let items = Items {
                element: list.element(),
                nil: false,
                values: copies?,
                depth,
            };
            Value::of(Kind::List(List::Own(items.into())))
        }
        Kind::Map(map) => {
            let depth = deeper(cx, depth)?;
            charge_elements(cx, cx.size(map))?;
            cx.work(COPIED * cx.size(map) as u64)?;
            let entries: Result<BTreeMap<_, _>, Fault> =
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                    cx.entries(map)
                        .into_iter()
                        .map(|(key, value)| Ok((key, copied(cx, &value, depth)?)))
                        .collect()
                });
            cx.dict(map.element(), entries?)
        }
        Kind::Object(object) => match &**object {
            // Go copies what it can reach from outside, and of a version that is nothing.
            Object::Version { value: false, .. } => match Version::parse(b"0.0.0") {
                Ok(version) => Value::object(Object::Version {
                    version,
                    value: false,
                }),
                Err(_) => return Ok(value.clone()),
            },
            _ => return Ok(value.clone()),
        },
        _ => return Ok(value.clone()),
    };
    Ok(copy.marked(value.mark))
}
