//! Field sets that were written when the schema was another one: what has become one whole since is
//! owned as a whole.

use super::atom::{Atom, Choice, atom};
use crate::fields::{Element, Entry, FieldSet};
use crate::shape::{MapShape, Shape};

/// The set as the shape of today has it; none if nothing changes.
pub fn follow_schema(shape: Shape<'_>, fields: &FieldSet) -> Option<FieldSet> {
    outdated(shape, fields).then(|| follow(shape, fields))
}

fn outdated(shape: Shape<'_>, fields: &FieldSet) -> bool {
    fields.entries().iter().any(|entry| {
        !entry.below.is_empty()
            && below(shape, &entry.element)
                .is_some_and(|shape| is_whole(shape) || outdated(shape, &entry.below))
    })
}

fn follow(shape: Shape<'_>, fields: &FieldSet) -> FieldSet {
    let mut followed = FieldSet::new();
    for Entry {
        element,
        member,
        below: inner,
    } in fields.entries()
    {
        match below(shape, element).filter(|_| !inner.is_empty()) {
            Some(shape) if is_whole(shape) => followed.put(element.clone(), true, FieldSet::new()),
            Some(shape) => followed.put(element.clone(), *member, follow(shape, inner)),
            None => followed.put(element.clone(), *member, inner.clone()),
        }
    }
    followed
}

/// The shape that an element of a set leads to, unless nothing is known of it.
fn below<'s>(shape: Shape<'s>, element: &Element) -> Option<Shape<'s>> {
    match (atom(shape, Choice::All), element) {
        (Atom::Map(map), _) if map.is_deduced() => None,
        (Atom::Map(map), Element::Field(name)) => map.value(name),
        (Atom::Map(map), _) => map.element(),
        (Atom::List(list), _) => Some(list.item()),
        (Atom::Scalar(_) | Atom::Nothing, _) => None,
    }
}

fn is_whole(shape: Shape<'_>) -> bool {
    match atom(shape, Choice::All) {
        Atom::Map(map) => map.is_atomic() && !MapShape::is_deduced(map),
        Atom::List(list) => list.is_atomic(),
        Atom::Scalar(_) | Atom::Nothing => false,
    }
}
