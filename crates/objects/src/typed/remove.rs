//! Takes fields out of an object, or takes all but them.

use serde_json::{Map, Value};

use super::atom::{Atom, deduce, element_of};
use crate::fields::{Element, FieldSet};
use crate::shape::{ListShape, MapShape, Shape};

/// The object without some fields. What loses all it had becomes null.
pub fn remove(shape: Shape<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (deduce(shape, value), value) {
        (Atom::Scalar(_), _) => value.clone(),
        (Atom::List(list), Value::Array(items)) if !list.is_atomic() => {
            remaining_items(list, items, fields)
        }
        (Atom::Map(map), Value::Object(entries)) if !map.is_atomic() => {
            remaining_fields(map, entries, fields)
        }
        _ => Value::Null,
    }
}

fn remaining_items(list: ListShape<'_>, items: &[Value], fields: &FieldSet) -> Value {
    let remaining: Vec<Value> = items
        .iter()
        .filter_map(|item| {
            let entry = element_of(list, item)
                .ok()
                .and_then(|element| fields.get(&element));
            match entry {
                Some(entry) if entry.member => None,
                Some(entry) => Some(remove(list.item(), item, &entry.below)),
                None => Some(item.clone()),
            }
        })
        .collect();
    if remaining.is_empty() {
        Value::Null
    } else {
        Value::Array(remaining)
    }
}

fn remaining_fields(map: MapShape<'_>, entries: &Map<String, Value>, fields: &FieldSet) -> Value {
    let mut remaining = Map::new();
    for (name, value) in entries {
        let kept = match fields.get(&Element::field(name)) {
            Some(entry) if entry.member => continue,
            Some(entry) => map
                .value(name)
                .map_or(Value::Null, |shape| remove(shape, value, &entry.below)),
            None => value.clone(),
        };
        remaining.insert(name.clone(), kept);
    }
    if remaining.is_empty() {
        Value::Null
    } else {
        Value::Object(remaining)
    }
}

/// The object with nothing but some fields; null if it has none of them. The keys of items come
/// with the items.
pub fn extract(shape: Shape<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (deduce(shape, value), value) {
        (Atom::List(list), Value::Array(items)) if !list.is_atomic() => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| {
                    let entry = fields.get(&element_of(list, item).ok()?)?;
                    if entry.below.is_empty() || !item.is_object() {
                        return Some(item.clone());
                    }
                    let mut kept = extract(list.item(), item, &entry.below);
                    for key in list.keys() {
                        if let (Some(kept), Some(value)) = (kept.as_object_mut(), item.get(&**key))
                        {
                            kept.insert(key.to_string(), value.clone());
                        }
                    }
                    Some(kept)
                })
                .collect();
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Atom::Map(map), Value::Object(entries)) if !map.is_atomic() => {
            let mut kept = Map::new();
            for (name, value) in entries {
                let Some(entry) = fields.get(&Element::field(name)) else {
                    continue;
                };
                let part = match map.value(name) {
                    Some(shape) if !entry.below.is_empty() => extract(shape, value, &entry.below),
                    _ => value.clone(),
                };
                kept.insert(name.clone(), part);
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        _ => value.clone(),
    }
}

/// The set with every named field that something below is in: to take away all its fields is to
/// take it away.
pub fn name_fields(shape: Option<Shape<'_>>, fields: &FieldSet) -> FieldSet {
    let mut named = FieldSet::new();
    for entry in fields.entries() {
        let map = shape.and_then(Shape::map);
        let (shape, declared) = match &entry.element {
            Element::Field(name) => (
                map.and_then(|map| map.value(name)),
                map.is_some_and(|map| map.find(name).is_some()),
            ),
            Element::Key(_) => (shape.and_then(Shape::item), false),
            Element::Value(_) | Element::Index(_) => (None, false),
        };
        let member = entry.member || (declared && !entry.below.is_empty());
        named.put(
            entry.element.clone(),
            member,
            name_fields(shape, &entry.below),
        );
    }
    named
}
