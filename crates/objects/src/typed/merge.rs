//! Merges an applied object into a live one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use super::atom::{Atom, deduce, element_of};
use crate::fields::Element;
use crate::shape::{ListShape, MapShape, Shape};

/// The live object with all that was applied.
pub fn merge(shape: Shape<'_>, live: Value, applied: &Value) -> Value {
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
        (Atom::Map(map), Value::Object(live), Value::Null)
            if !map.is_atomic() && !live.is_empty() =>
        {
            Value::Object(live)
        }
        (Atom::List(list), Value::Array(live), Value::Null)
            if !list.is_atomic() && !live.is_empty() =>
        {
            Value::Array(live)
        }
        _ => applied.clone(),
    }
}

fn fields(
    map: MapShape<'_>,
    mut live: Map<String, Value>,
    applied: &Map<String, Value>,
) -> Map<String, Value> {
    for (name, value) in applied {
        match live.get_mut(name) {
            Some(current) => {
                if let Some(shape) = map.value(name) {
                    *current = merge(shape, std::mem::take(current), value);
                }
            }
            None => {
                live.insert(name.clone(), value.clone());
            }
        }
    }
    live
}

/// Items keep the order of both lists where they agree; where not, that of the applied one.
fn items(list: ListShape<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let left: Vec<(Element, Value)> = live
        .into_iter()
        .filter_map(|item| Some((element_of(list, &item).ok()?, item)))
        .collect();
    let right: Vec<(Element, &Value)> = applied
        .iter()
        .filter_map(|item| Some((element_of(list, item).ok()?, item)))
        .collect();
    let (left_elements, mut left): (Vec<Element>, Vec<Value>) = left.into_iter().unzip();
    let mut live_at: BTreeMap<&Element, Option<usize>> = BTreeMap::new();
    for (index, element) in left_elements.iter().enumerate() {
        live_at
            .entry(element)
            .and_modify(|at| *at = None)
            .or_insert(Some(index));
    }
    let wanted: BTreeSet<&Element> = right.iter().map(|(element, _)| element).collect();
    let mut shared: VecDeque<&Element> = right
        .iter()
        .map(|(element, _)| element)
        .filter(|element| live_at.contains_key(element))
        .collect();
    let mut next = shared.pop_front();
    let mut done: BTreeSet<&Element> = BTreeSet::new();
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    let join = |left: &mut [Value], element: &Element, value: &Value| match live_at.get(element) {
        Some(Some(at)) => merge(list.item(), std::mem::take(&mut left[*at]), value),
        // What is there twice is not merged with.
        _ => value.clone(),
    };
    let (mut from_left, mut from_right) = (
        left_elements.iter().enumerate().peekable(),
        right.iter().peekable(),
    );
    loop {
        if let (Some((_, element)), Some((other, value))) = (from_left.peek(), from_right.peek()) {
            if *element == other {
                merged.push(join(&mut left, other, value));
                done.insert(other);
                from_left.next();
                from_right.next();
                next = shared.pop_front();
                continue;
            }
            // An item of both, but not the one whose turn it is.
            if wanted.contains(element) && next.is_some_and(|next| next != *element) {
                from_left.next();
                continue;
            }
        }
        if let Some((index, element)) = from_left.peek() {
            if !wanted.contains(element) {
                merged.push(std::mem::take(&mut left[*index]));
                from_left.next();
                continue;
            }
            if done.contains(element) {
                from_left.next();
            }
        }
        match from_right.next() {
            Some((element, value)) => {
                merged.push(join(&mut left, element, value));
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
