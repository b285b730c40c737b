//! The fields that an object has: what its applier comes to own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::atom::{Atom, deduce, element_of};
use crate::fields::{Element, FieldSet};
use crate::shape::{ListShape, MapShape, Shape};

/// The fields of an object, down to what is merged as a whole.
pub fn fields_of(shape: Shape<'_>, value: &Value) -> FieldSet {
    walk(shape, value).1
}

/// Whether the place itself is owned, and what below it.
fn walk(shape: Shape<'_>, value: &Value) -> (bool, FieldSet) {
    match deduce(shape, value) {
        Atom::Scalar(_) => (true, FieldSet::new()),
        Atom::List(list) if list.is_atomic() => (true, FieldSet::new()),
        Atom::Map(map) if map.is_atomic() => (true, FieldSet::new()),
        Atom::List(list) => (false, items(list, value)),
        Atom::Map(map) => (false, fields(map, value)),
        Atom::Nothing => (false, FieldSet::new()),
    }
}

fn items(list: ListShape<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    let Value::Array(items) = value else {
        return set;
    };
    let mut elements: BTreeMap<Element, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = element_of(list, item) {
            // Of what is there twice only that it is there can be owned.
            elements
                .entry(element)
                .and_modify(|item| *item = None)
                .or_insert(Some(item));
        }
    }
    for (element, item) in elements {
        let below = item.map_or_else(FieldSet::new, |item| walk(list.item(), item).1);
        set.put(element, true, below);
    }
    set
}

fn fields(map: MapShape<'_>, value: &Value) -> FieldSet {
    let mut set = FieldSet::new();
    let Value::Object(fields) = value else {
        return set;
    };
    for (name, value) in fields {
        let named = map.find(name);
        let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        let shape = named.map(|field| map.at(field)).or_else(|| map.element());
        let (member, below) = shape.map_or_else(Default::default, |shape| walk(shape, value));
        let element = named.map_or_else(
            || Element::field(name),
            |field| Element::Field(field.name().clone()),
        );
        set.put(element, member || empty || named.is_none(), below);
    }
    set
}
