//! Merges an applied object into a live one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::atom::{Atom, deduce, element_of};
use crate::fields::Element;
use crate::shape::{ListShape, MapShape, Shape};

/// The live object with all that was applied.
pub fn merge(shape: Shape<'_>, live: &Value, applied: &Value) -> Value {
    let atom = deduce(shape, applied);
    match (atom, live, applied) {
        (Atom::Map(map), Value::Object(live), Value::Object(applied))
            if !map.is_atomic() && (!live.is_empty() || !applied.is_empty()) =>
        {
            Value::Object(fields(map, live, applied))
        }
        (Atom::List(list), Value::Array(live), Value::Array(applied))
            if !list.is_atomic() && (!live.is_empty() || !applied.is_empty()) =>
        {
            Value::Array(items(list, live, applied))
        }
        // Null where a map or list of items was means no items of one's own.
        (Atom::Map(map), Value::Object(live), Value::Null) if !map.is_atomic() && !live.is_empty() => {
            Value::Object(live.clone())
        }
        (Atom::List(list), Value::Array(live), Value::Null) if !list.is_atomic() && !live.is_empty() => {
            Value::Array(live.clone())
        }
        _ => applied.clone(),
    }
}

fn fields(map: MapShape<'_>, live: &Map<String, Value>, applied: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = live.clone();
    for (name, value) in applied {
        match merged.get_mut(name) {
            Some(current) => {
                if let Some(shape) = map.value(name) {
                    *current = merge(shape, current, value);
                }
            }
            None => {
                merged.insert(name.clone(), value.clone());
            }
        }
    }
    merged
}

/// Items keep the order of both lists where they agree; where not, that of the applied one.
fn items(list: ListShape<'_>, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let keyed = |items: &[Value]| -> Vec<(Element, Value)> {
        items.iter().filter_map(|item| Some((element_of(list, item).ok()?, item.clone()))).collect()
    };
    let (left, right) = (keyed(live), keyed(applied));
    let mut live_at: BTreeMap<&Element, Option<usize>> = BTreeMap::new();
    for (index, (element, _)) in left.iter().enumerate() {
        live_at.entry(element).and_modify(|at| *at = None).or_insert(Some(index));
    }
    let wanted: BTreeSet<&Element> = right.iter().map(|(element, _)| element).collect();
    let mut shared: VecDeque<&Element> =
        right.iter().map(|(element, _)| element).filter(|element| live_at.contains_key(element)).collect();
    let mut next = shared.pop_front();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let join = |element: &Element, value: &Value| match live_at.get(element) {
        Some(Some(at)) => merge(list.item(), &left[*at].1, value),
        // What is there twice is not merged with.
        _ => value.clone(),
    };
    let (mut from_left, mut from_right) = (left.iter().peekable(), right.iter().peekable());
    loop {
        if let (Some((element, _)), Some((other, value))) = (from_left.peek(), from_right.peek()) {
            if element == other {
                merged.push(join(other, value));
                done.insert(other);
                from_left.next();
                from_right.next();
                next = shared.pop_front();
                continue;
            }
            // An item of both, but not the one whose turn it is.
            if wanted.contains(element) && next.is_some_and(|next| next != element) {
                from_left.next();
                continue;
            }
        }
        if let Some((element, value)) = from_left.peek() {
            if !wanted.contains(element) {
                merged.push(value.clone());
                from_left.next();
                continue;
            }
            if done.contains(element) {
                from_left.next();
            }
        }
        match from_right.next() {
            Some((element, value)) => {
                merged.push(join(element, value));
                done.insert(element);
                if next == Some(element) {
                    next = shared.pop_front();
                }
            }
            None if from_left.peek().is_none() => return merged,
            None => {}
        }
    }
}
