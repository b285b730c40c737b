//! sprig's lists: every function answers with a new one, and most must be given one.

use super::cast::to_int;
use super::defaults::is_empty;
use super::entry::{Answer, fixed, open};
use super::reflect::{equal, too_deep};
use crate::exec::Cx;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::trace::Step;
use crate::value::{Element, Items, Kind, List, Value};

pub(crate) const TABLE: &[Func] = &[
    open("list", &[], Param::Any, Flow::Carry, list),
    open("tuple", &[], Param::Any, Flow::Carry, list),
    open("concat", &[], Param::Any, Flow::Carry, concat),
    fixed("first", &[Param::Any], Flow::Carry, first),
    fixed("mustFirst", &[Param::Any], Flow::Carry, first),
    fixed("last", &[Param::Any], Flow::Carry, last),
    fixed("mustLast", &[Param::Any], Flow::Carry, last),
    fixed("rest", &[Param::Any], Flow::Carry, rest),
    fixed("mustRest", &[Param::Any], Flow::Carry, rest),
    fixed("initial", &[Param::Any], Flow::Carry, initial),
    fixed("mustInitial", &[Param::Any], Flow::Carry, initial),
    fixed("append", &[Param::Any, Param::Any], Flow::Carry, append),
    fixed("mustAppend", &[Param::Any, Param::Any], Flow::Carry, append),
    fixed("push", &[Param::Any, Param::Any], Flow::Carry, append),
    fixed("mustPush", &[Param::Any, Param::Any], Flow::Carry, append),
    fixed("prepend", &[Param::Any, Param::Any], Flow::Carry, prepend),
    fixed(
        "mustPrepend",
        &[Param::Any, Param::Any],
        Flow::Carry,
        prepend,
    ),
    fixed("reverse", &[Param::Any], Flow::Carry, reverse),
    fixed("mustReverse", &[Param::Any], Flow::Carry, reverse),
    fixed("uniq", &[Param::Any], Flow::Compute, uniq),
    fixed("mustUniq", &[Param::Any], Flow::Compute, uniq),
    fixed("compact", &[Param::Any], Flow::Compute, compact),
    fixed("mustCompact", &[Param::Any], Flow::Compute, compact),
    open("without", &[Param::Any], Param::Any, Flow::Compute, without),
    open(
        "mustWithout",
        &[Param::Any],
        Param::Any,
        Flow::Compute,
        without,
    ),
    fixed("has", &[Param::Any, Param::Any], Flow::Compute, has),
    fixed("mustHas", &[Param::Any, Param::Any], Flow::Compute, has),
    open("slice", &[Param::Any], Param::Any, Flow::Carry, slice),
    open("mustSlice", &[Param::Any], Param::Any, Flow::Carry, slice),
    fixed("chunk", &[Param::Int, Param::Any], Flow::Carry, chunk),
    fixed("mustChunk", &[Param::Int, Param::Any], Flow::Carry, chunk),
];

/// What Go says when it asks nothing for its type.
pub(crate) const NIL_POINTER: &str =
    "runtime error: invalid memory address or nil pointer dereference";

/// What one element of a list is charged as.
const ELEMENT_COST: usize = 8;

/// The units of work of comparing two values, beside what is in them.
const COMPARISON: u64 = 20;

/// Charges for a list of that many elements.
pub(crate) fn charge_elements(cx: &Cx<'_>, count: usize) -> Result<(), Fault> {
    cx.charge(count.saturating_mul(ELEMENT_COST))
}

/// A list, paid for, and not nested too deep to be dropped.
pub(crate) fn pack<'a>(cx: &Cx<'a>, element: Element, values: Vec<Value<'a>>) -> Answer<'a> {
    charge_elements(cx, values.len())?;
    let value = Value::list(element, values);
    match &value.kind {
        Kind::List(List::Own(items)) if items.depth > cx.limits().nesting => Err(too_deep(cx)),
        _ => Ok(value),
    }
}

/// Argument `index` as a list. Something unknown is answered by `unknown`; `purpose` begins the
/// complaint about anything else.
fn listed<'a>(
    call: &Call<'_, '_, 'a>,
    index: usize,
    purpose: &str,
    then: impl FnOnce(&List<'a>) -> Answer<'a>,
) -> Answer<'a> {
    let value = call.value(index);
    match &value.kind {
        Kind::List(list) => then(list),
        Kind::Unknown => Ok(value),
        Kind::Missing | Kind::Nil => Err(NIL_POINTER.into()),
        _ => Err(format!("{purpose} {}", value.kind_name()).into()),
    }
}

fn list<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    pack(call.cx(), Element::Any, call.args.to_vec())
}

fn concat<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut values = Vec::new();
    for value in call.args {
        match &value.kind {
            Kind::List(list) => {
                charge_elements(call.cx(), list.len())?;
                values.extend(call.cx().items(list));
            }
            Kind::Unknown if call.len() == 1 => return Ok(value.clone()),
            Kind::Unknown => return Ok(call.cx().derived(&call.args.iter().collect::<Vec<_>>())),
            Kind::Missing | Kind::Nil => return Err(NIL_POINTER.into()),
            _ => return Err(format!("Cannot concat type {} as list", value.kind_name()).into()),
        }
    }
    if values.is_empty() {
        Ok(Value::nil_list(Element::Any))
    } else {
        pack(call.cx(), Element::Any, values)
    }
}

fn first<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if let Kind::Unknown = call.value(0).kind {
        return Ok(call.cx().beyond(&call.value(0), Step::Index(0)));
    }
    listed(call, 0, "Cannot find first on type", |list| {
        Ok(call.cx().item(list, 0).unwrap_or(Value::NIL))
    })
}

fn last<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if let Kind::Unknown = call.value(0).kind {
        return Ok(call.cx().beyond(&call.value(0), Step::Any));
    }
    listed(call, 0, "Cannot find last on type", |list| {
        let found = list
            .len()
            .checked_sub(1)
            .and_then(|index| call.cx().item(list, index));
        Ok(found.unwrap_or(Value::NIL))
    })
}

/// The elements in a range, or a nil list if there were none to begin with.
fn part<'a>(cx: &Cx<'a>, list: &List<'a>, from: usize, to: usize) -> Answer<'a> {
    if list.len() == 0 {
        return Ok(Value::nil_list(Element::Any));
    }
    pack(
        cx,
        Element::Any,
        (from..to)
            .filter_map(|index| cx.item(list, index))
            .collect(),
    )
}

fn rest<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot find rest on type", |list| {
        part(call.cx(), list, 1, list.len())
    })
}

fn initial<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot find initial on type", |list| {
        part(call.cx(), list, 0, list.len().saturating_sub(1))
    })
}

fn append<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot push on type", |list| {
        let mut values = call.cx().items(list);
        values.push(call.value(1));
        pack(call.cx(), Element::Any, values)
    })
}

fn prepend<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot prepend on type", |list| {
        let mut values = vec![call.value(1)];
        values.extend(call.cx().items(list));
        pack(call.cx(), Element::Any, values)
    })
}

fn reverse<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot find reverse on type", |list| {
        let mut values = call.cx().items(list);
        values.reverse();
        pack(call.cx(), Element::Any, values)
    })
}

/// Whether a list holds an equal value.
fn holds<'a>(cx: &Cx<'a>, values: &[Value<'a>], wanted: &Value<'a>) -> Result<bool, Fault> {
    for value in values {
        cx.work(COMPARISON)?;
        if equal(cx, wanted, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot find uniq on type", |list| {
        let mut kept = Vec::new();
        for value in call.cx().items(list) {
            if !holds(call.cx(), &kept, &value)? {
                kept.push(value);
            }
        }
        pack(call.cx(), Element::Any, kept)
    })
}

fn compact<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot compact on type", |list| {
        let mut values = call.cx().items(list);
        values.retain(|value| !is_empty(call, value));
        pack(call.cx(), Element::Any, values)
    })
}

fn without<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(call, 0, "Cannot find without on type", |list| {
        let mut kept = Vec::new();
        for value in call.cx().items(list) {
            if !holds(call.cx(), &call.args[1..], &value)? {
                kept.push(value);
            }
        }
        pack(call.cx(), Element::Any, kept)
    })
}

fn has<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    if call.value(1).is_nil() {
        return Ok(Value::bool(false));
    }
    listed(call, 1, "Cannot find has on type", |list| {
        Ok(Value::bool(holds(
            call.cx(),
            &call.cx().items(list),
            &call.value(0),
        )?))
    })
}

fn slice<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    listed(
        call,
        0,
        "list should be type of slice or array but",
        |list| {
            if list.len() == 0 {
                return Ok(Value::NIL);
            }
            let bound = |index: usize, otherwise: usize| match call.args.get(index) {
                Some(value) => usize::try_from(to_int(value)).ok(),
                None => Some(otherwise),
            };
            match (bound(1, 0), bound(2, list.len())) {
                (Some(from), Some(to)) if from <= to && to <= capacity(list) => {
                    let item = |index| call.cx().item(list, index).unwrap_or(Value::NIL);
                    let values: Vec<_> = (from..to).map(item).collect();
                    charge_elements(call.cx(), values.len())?;
                    let depth = match list {
                        List::Own(items) => items.depth,
                        List::Json(_) => 1,
                    };
                    Ok(Value::of(Kind::List(List::Own(
                        Items {
                            element: list.element(),
                            nil: false,
                            values,
                            depth,
                        }
                        .into(),
                    ))))
                }
                _ => Err("reflect.Value.Slice: slice index out of bounds".into()),
            }
        },
    )
}

/// How far Go lets a list be sliced: one that it read grew by doubling, and the room left over
/// counts.
fn capacity(list: &List<'_>) -> usize {
    match list {
        List::Json(values) if values.len() <= 512 => values.len().next_power_of_two(),
        _ => list.len(),
    }
}

fn chunk<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    const OUT_OF_RANGE: &str = "runtime error: makeslice: len out of range";
    let size = call.int(0);
    listed(call, 1, "Cannot chunk type", |list| {
        let cx = call.cx();
        let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
        let mut chunks = Vec::new();
        match usize::try_from(size) {
            Ok(0) => return Err(OUT_OF_RANGE.into()),
            Ok(size) => {
                for values in cx.items(list).chunks(size) {
                    chunks.push(pack(cx, Element::Any, values.to_vec())?);
                }
            }
            // Go computes the number of chunks by dividing, and so answers for some lists even
            // here.
            Err(_) if length == 1 && size < -1 => {
                chunks.push(pack(cx, Element::Any, cx.items(list))?);
            }
            Err(_) if length < 2 || length - 1 > size.saturating_neg() => {
                return Err(OUT_OF_RANGE.into());
            }
            Err(_) => {}
        }
        pack(cx, Element::List, chunks)
    })
}
