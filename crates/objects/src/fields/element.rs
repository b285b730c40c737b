//! One step of the way to an owned field, and the order that the API server gives to such steps.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::go;

/// One step of the way to an owned field.
#[derive(Debug, Clone)]
pub enum Element {
    /// A field of a struct, or a key of a map: `f:name`.
    Field(Arc<str>),
    /// The item of a list whose keys have these values: `k:{"name":"web"}`. The names are in the
    /// order of the alphabet.
    Key(Arc<[(Arc<str>, Value)]>),
    /// The item of a set that is this value: `v:"web"`.
    Value(Arc<Value>),
    /// The item at this place of a list: `i:0`.
    Index(i64),
}

impl Element {
    /// The field of this name.
    pub fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// The item with these keys, which may come in any order.
    pub fn key(mut keys: Vec<(Arc<str>, Value)>) -> Self {
        keys.sort_by(|one, other| one.0.cmp(&other.0));
        Self::Key(keys.into())
    }

    /// The name, if it is a field.
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Self::Field(name) => Some(name),
            _ => None,
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(one), Self::Field(other)) => one.cmp(other),
            (Self::Key(one), Self::Key(other)) => {
                for (left, right) in one.iter().zip(other.iter()) {
                    let order = left
                        .0
                        .cmp(&right.0)
                        .then_with(|| go::compare(&left.1, &right.1));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                one.len().cmp(&other.len())
            }
            (Self::Value(one), Self::Value(other)) => go::compare(one, other),
            (Self::Index(one), Self::Index(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl fmt::Display for Element {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(keys) => {
                formatter.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(formatter, "{comma}{name}={}", go::shown(value))?;
                }
                formatter.write_str("]")
            }
            Self::Value(value) => write!(formatter, "[={}]", go::shown(value)),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// The way from an object to an owned field. `Display` writes it as conflicts show it:
/// `.spec.ports[port=80].name`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<Element>);

impl FieldPath {
    /// Fields one inside the other.
    pub fn fields(names: &[&str]) -> Self {
        Self(names.iter().map(|name| Element::field(name)).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|element| write!(formatter, "{element}"))
    }
}
