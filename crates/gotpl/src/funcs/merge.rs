//! sprig's merges, by the rules of the library it merges with: what is empty in the first dict
//! counts as unset.

use super::dicts::{entry, put};
use super::entry::{Answer, Body, open};
use super::reflect::deeper;
use crate::exec::{Cx, MORE_STACK, RED_ZONE};
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Kind, Map, Text, Value};

pub(crate) const TABLE: &[Func] = &[
    merging("merge", |call| merged(call, false)),
    merging("mustMerge", |call| merged(call, false)),
    merging("mergeOverwrite", |call| merged(call, true)),
    merging("mustMergeOverwrite", |call| merged(call, true)),
];

const fn merging(name: &'static str, body: Body) -> Func {
    open(name, &[Param::Map], Param::Map, Flow::Carry, body)
}

fn merged<'a>(call: &mut Call<'_, '_, 'a>, overwrite: bool) -> Answer<'a> {
    let cx = call.cx();
    let mut holder = call.value(0);
    for (index, value) in call.args.iter().enumerate() {
        if let Kind::Unknown = value.kind {
            // The first takes what the others have: whatever was known of its entries no longer is.
            cx.writes(&call.value(0), crate::trace::Step::Any);
            return Ok(cx.derived(&call.args.iter().collect::<Vec<_>>()));
        }
        if index == 0 {
            continue;
        }
        let source = call.map(index);
        if let Kind::Map(map) = &holder.kind
            && map.is_nil()
            && !source.is_nil()
        {
            // A nil dict cannot be filled: a new one takes its place, for the answer only.
            holder = cx.dict(Element::Any, Default::default());
        }
        if let Kind::Map(target) = &holder.kind {
            let mark = call.value(index).mark;
            merge_into(cx, target, (&source, mark), overwrite, cx.limits().nesting)?;
        }
    }
    Ok(holder)
}

/// The units of work of one entry that is merged.
const MERGED: u64 = 200;

/// Merges `source` into `target`, in place.
fn merge_into<'a>(
    cx: &Cx<'a>,
    target: &Map<'a>,
    (source, mark): (&Map<'a>, u32),
    overwrite: bool,
    depth: usize,
) -> Result<(), Fault> {
    let depth = deeper(cx, depth)?;
    cx.work(MERGED * cx.size(source) as u64)?;
    if cx.watched() && cx.size(source) > 0 {
        let keys = cx.key_mark(source, mark);
        let address = Map::Own(cx.changeable(target)).address();
        cx.tracer()
            .into_iter()
            .for_each(|mut tracer| tracer.key_depends(address, keys));
    }
    for (key, value) in cx.entries(source) {
        if value.is_nil() {
            if overwrite {
                assign(cx, target, key, value)?;
            }
            continue;
        }
        let present = entry(cx, target, &key);
        if let (Kind::Map(from), Some(Kind::Map(into))) =
            (&value.kind, present.as_ref().map(|value| &value.kind))
            && !into.is_nil()
        {
            stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
                merge_into(cx, into, (from, value.mark), overwrite, depth)
            })?;
        }
        // Asked only now: merging may just have filled an empty dict, which then stays where it is.
        let unset = present.as_ref().is_none_or(|value| is_unset(cx, value));
        let both_maps = matches!(
            (&value.kind, present.as_ref().map(|value| &value.kind)),
            (Kind::Map(_), Some(Kind::Map(_)))
        );
        if unset || (overwrite && !both_maps) {
            assign(cx, target, key, value)?;
        }
    }
    Ok(())
}

/// Emptiness as the merging library sees it: a complex zero is a value.
fn is_unset<'a>(cx: &Cx<'a>, value: &Value<'a>) -> bool {
    !matches!(value.kind, Kind::Complex(_)) && !fmt::truth(cx, value)
}

fn assign<'a>(cx: &Cx<'a>, target: &Map<'a>, key: Text<'a>, value: Value<'a>) -> Result<(), Fault> {
    if target.element() != Element::Any {
        let element = target.element().name();
        let text = format!(
            "reflect.Value.SetMapIndex: value of type interface {{}} is not assignable to type {element}"
        );
        return Err(text.into());
    }
    put(cx, &cx.changeable(target), key, value)
}
