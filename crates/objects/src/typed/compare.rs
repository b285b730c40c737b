//! How two objects differ, as sets of fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::atom::{Atom, atom, choice, element_of};
use crate::fields::{Element, FieldSet};
use crate::go;
use crate::shape::{ListShape, MapShape, Shape};

/// How one object differs from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What the second lacks.
    pub removed: FieldSet,
    /// What is in both but not the same.
    pub modified: FieldSet,
    /// What the first lacks.
    pub added: FieldSet,
}

impl Comparison {
    /// Whether there is no difference.
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Forgets differences in some fields and below them.
    #[must_use]
    pub fn without(mut self, fields: &FieldSet) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            set.subtract_below(fields);
        }
        self
    }
}

/// Compares two objects of one shape.
pub fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    walk(shape, Some(old), Some(new)).below
}

/// What was found at a place and below it.
#[derive(Default)]
struct Found {
    removed: bool,
    modified: bool,
    added: bool,
    below: Comparison,
}

impl Comparison {
    fn put(&mut self, element: Element, found: Found) {
        self.removed
            .put(element.clone(), found.removed, found.below.removed);
        self.modified
            .put(element.clone(), found.modified, found.below.modified);
        self.added.put(element, found.added, found.below.added);
    }
}

fn walk(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
    match (old, new) {
        (None, None) => Found::default(),
        (Some(old), Some(new)) if old == new => Found::default(),
        (Some(one), None) | (None, Some(one)) => step(atom(shape, choice(shape, one)), old, new),
        (Some(left), Some(right)) => {
            let (before, after) = (choice(shape, left), choice(shape, right));
            let found = step(atom(shape, after), old, new);
            if before == after {
                return found;
            }
            // It was another kind of value before: both ways of looking count.
            let other = step(atom(shape, before), old, new);
            Found {
                removed: found.removed || other.removed,
                modified: found.modified || other.modified,
                added: found.added || other.added,
                below: Comparison {
                    removed: found.below.removed.union(&other.below.removed),
                    modified: found.below.modified.union(&other.below.modified),
                    added: found.below.added.union(&other.below.added),
                },
            }
        }
    }
}

fn step(atom: Atom<'_>, old: Option<&Value>, new: Option<&Value>) -> Found {
    let below = match atom {
        Atom::Map(map) if !map.is_atomic() => {
            let (left, right) = (
                old.and_then(Value::as_object),
                new.and_then(Value::as_object),
            );
            let empty = |fields: Option<&Map<String, Value>>| fields.is_none_or(Map::is_empty);
            if empty(left) && empty(right) {
                return leaf(old, new);
            }
            fields(map, left, right)
        }
        Atom::List(list) if !list.is_atomic() => {
            if array(old).is_empty() && array(new).is_empty() {
                return leaf(old, new);
            }
            elements(list, old, new)
        }
        _ => return leaf(old, new),
    };
    Found {
        removed: new.is_none(),
        added: old.is_none(),
        modified: false,
        below,
    }
}

/// Leaves are compared as a whole.
fn leaf(old: Option<&Value>, new: Option<&Value>) -> Found {
    let modified = old.zip(new).is_some_and(|(old, new)| !go::same(old, new));
    Found {
        removed: new.is_none(),
        added: old.is_none(),
        modified,
        below: Comparison::default(),
    }
}

fn fields(
    map: MapShape<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut visit = |name: &str, old: Option<&Value>, new: Option<&Value>| {
        if old.is_some() && old == new {
            return;
        }
        let named = map.find(name);
        let Some(shape) = named.map(|field| map.at(field)).or_else(|| map.element()) else {
            return;
        };
        let element = named.map_or_else(
            || Element::field(name),
            |field| Element::Field(field.name().clone()),
        );
        comparison.put(element, walk(shape, old, new));
    };
    for (name, value) in old.into_iter().flatten() {
        visit(name, Some(value), new.and_then(|new| new.get(name)));
    }
    for (name, value) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(name)) {
            visit(name, None, Some(value));
        }
    }
    comparison
}

fn elements(list: ListShape<'_>, old: Option<&Value>, new: Option<&Value>) -> Comparison {
    let mut items: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in array(old) {
        if let Ok(element) = element_of(list, item) {
            items.entry(element).or_default().0.push(item);
        }
    }
    for item in array(new) {
        if let Ok(element) = element_of(list, item) {
            items.entry(element).or_default().1.push(item);
        }
    }
    let mut comparison = Comparison::default();
    for (element, (left, right)) in items {
        let found = match (&*left, &*right) {
            ([] | [_], [] | [_]) => {
                walk(list.item(), left.first().copied(), right.first().copied())
            }
            ([_, _, ..], [_, _, ..]) => {
                let same = left.len() == right.len()
                    && left
                        .iter()
                        .zip(&right)
                        .all(|(left, right)| go::same(left, right));
                Found {
                    modified: !same,
                    ..Found::default()
                }
            }
            // What was there twice had no fields of its own.
            ([_, _, ..], _) => {
                let found = walk(list.item(), None, right.first().copied());
                Found {
                    removed: true,
                    ..found
                }
            }
            (_, _) => {
                let found = walk(list.item(), left.first().copied(), None);
                Found {
                    added: true,
                    ..found
                }
            }
        };
        comparison.put(element, found);
    }
    comparison
}

fn array(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}
