//! What a value is taken for at a place that may hold several kinds of values, and which item of a
//! list it is.

use std::sync::Arc;

use serde_json::Value;

use crate::fields::Element;
use crate::shape::{ListKind, ListShape, MapShape, Scalar, Shape};

/// What a value is taken for.
#[derive(Clone, Copy)]
pub enum Atom<'s> {
    Map(MapShape<'s>),
    Scalar(Scalar),
    List(ListShape<'s>),
    /// The shape says nothing at all.
    Nothing,
}

/// What is left of the possibilities of a place, given a value: one, if the value fits one; all of
/// them otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Map,
    Scalar,
    List,
    All,
}

/// The choice that a value makes. Null makes none.
pub fn choice(shape: Shape<'_>, value: &Value) -> Choice {
    let all = only(shape);
    match value {
        Value::Null => all,
        Value::Bool(_) | Value::Number(_) | Value::String(_) if shape.scalar().is_some() => {
            Choice::Scalar
        }
        Value::Array(_) if shape.list().is_some() => Choice::List,
        Value::Object(_) if shape.map().is_some() => Choice::Map,
        _ => all,
    }
}

/// The only possibility of a place, if there is but one.
fn only(shape: Shape<'_>) -> Choice {
    match (
        shape.map().is_some(),
        shape.scalar().is_some(),
        shape.list().is_some(),
    ) {
        (true, false, false) => Choice::Map,
        (false, true, false) => Choice::Scalar,
        (false, false, true) => Choice::List,
        _ => Choice::All,
    }
}

/// What is there by a choice; of all possibilities maps come first, then scalars.
pub fn atom(shape: Shape<'_>, choice: Choice) -> Atom<'_> {
    let map = || shape.map().map(Atom::Map);
    let scalar = || shape.scalar().map(Atom::Scalar);
    let list = || shape.list().map(Atom::List);
    match choice {
        Choice::Map => map(),
        Choice::Scalar => scalar(),
        Choice::List => list(),
        Choice::All => map().or_else(scalar).or_else(list),
    }
    .unwrap_or(Atom::Nothing)
}

/// What a value is taken for.
pub fn deduce<'s>(shape: Shape<'s>, value: &Value) -> Atom<'s> {
    atom(shape, choice(shape, value))
}

/// Which item of a set or of a list with keys a value is.
pub fn element_of(list: ListShape<'_>, item: &Value) -> Result<Element, String> {
    if list.kind() == ListKind::Set {
        return match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => {
                Err("not supported: associative list with lists as elements".to_owned())
            }
            Value::Null => Err(
                "associative list without keys has an element that's an explicit null".to_owned(),
            ),
            scalar => Ok(Element::Value(Arc::new(scalar.clone()))),
        };
    }
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let keys: Vec<(Arc<str>, Value)> = list
        .keys()
        .iter()
        .filter_map(|key| {
            let value = fields.get(&**key).or_else(|| list.key_default(key))?;
            Some((key.clone(), value.clone()))
        })
        .collect();
    if keys.is_empty() {
        let names: Vec<String> = list
            .keys()
            .iter()
            .map(|key| crate::go::quoted(key))
            .collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Element::key(keys))
}
