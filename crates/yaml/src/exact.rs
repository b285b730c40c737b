//! Turns the nodes of a document into a JSON value by way of the values a Go program would hold,
//! for documents where the difference shows: in error texts that quote Go values, and in which keys
//! count as the same.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::decode::{Budget, can_merge, children, is_merge, json_number, wants_mapping};
use crate::error::{Error, Mark};
use crate::gosyntax;
use crate::limits::Limits;
use crate::number::{Number, format_float32};
use crate::resolve::{self, Meaning, replace_invalid};
use crate::tree::{Node, Shape, Tree};

/// A value as Go holds it in an `interface{}`.
#[derive(Debug, Clone)]
pub(crate) enum GoValue {
    Nil,
    Bool(bool),
    Number(Number),
    Text(String),
    /// A Go string that is not UTF-8.
    Bytes(Vec<u8>),
    Slice(Vec<GoValue>),
    Map(GoMap),
}

/// A `map[interface{}]interface{}`, in the order in which the keys were first set.
#[derive(Debug, Clone, Default)]
pub(crate) struct GoMap {
    pub entries: Vec<(GoValue, GoValue)>,
    places: HashMap<Identity, usize>,
}

/// What makes two keys the same in Go: their type and value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Identity {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(u64),
    Text(String),
    Bytes(Vec<u8>),
    /// Not a number is not even the same as itself.
    Unique(usize),
}

impl GoMap {
    fn identity(&self, key: &GoValue) -> Identity {
        match key {
            GoValue::Bool(value) => Identity::Bool(*value),
            GoValue::Number(Number::Int(value)) => Identity::Int(*value),
            GoValue::Number(Number::Uint(value)) => Identity::Uint(*value),
            GoValue::Number(Number::Float(value)) if value.is_nan() => {
                Identity::Unique(self.entries.len())
            }
            // Adding zero makes one of both zeros.
            GoValue::Number(Number::Float(value)) => Identity::Float((value + 0.0).to_bits()),
            GoValue::Text(text) => Identity::Text(text.clone()),
            GoValue::Bytes(bytes) => Identity::Bytes(bytes.clone()),
            GoValue::Nil | GoValue::Slice(_) | GoValue::Map(_) => Identity::Nil,
        }
    }
}

/// The JSON value of a document, as Go would come to it.
pub(crate) fn decode(tree: &Tree<'_>, limits: &Limits, strict: bool) -> Result<Value, Error> {
    let mut decoder = Decoder {
        tree,
        strict,
        budget: Budget::new(limits),
        repeated: Vec::new(),
    };
    let value = decoder.value(0)?;
    if let Some((_, mark)) = decoder.repeated.first() {
        let lines: Vec<&str> = decoder
            .repeated
            .iter()
            .map(|(line, _)| line.as_str())
            .collect();
        return Err(Error::placed(
            format_args!("unmarshal errors:\n  {}", lines.join("\n  ")),
            *mark,
        ));
    }
    check_keys(&value)?;
    to_json(value)
}

struct Decoder<'t, 'a, 'l> {
    tree: &'t Tree<'a>,
    strict: bool,
    budget: Budget<'l>,
    /// What is said of keys given twice, and where they are.
    repeated: Vec<(String, Mark)>,
}

impl<'t, 'a> Decoder<'t, 'a, '_> {
    fn node(&self, at: u32) -> &'t Node<'a> {
        &self.tree.nodes[at as usize]
    }

    fn value(&mut self, at: u32) -> Result<GoValue, Error> {
        let node = self.node(at);
        self.budget.count(node)?;
        Ok(match node.shape {
            Shape::Scalar { plain } => {
                let meaning = match node.tag {
                    0 if plain => resolve::plain(&node.value),
                    0 => Meaning::Text,
                    _ => resolve::tagged(self.tree.tag(node), &node.value)
                        .map_err(|error| error.at(node.mark))?,
                };
                match meaning {
                    Meaning::Null => GoValue::Nil,
                    Meaning::Bool(value) => GoValue::Bool(value),
                    Meaning::Number(value) => GoValue::Number(value),
                    Meaning::Text => GoValue::Text(node.value.as_ref().to_owned()),
                    Meaning::Decoded(bytes) => match String::from_utf8(bytes) {
                        Ok(text) => GoValue::Text(text),
                        Err(error) => GoValue::Bytes(error.into_bytes()),
                    },
                }
            }
            Shape::Sequence => {
                self.budget.enter(node)?;
                let items: Result<_, _> = children(self.tree, at)
                    .into_iter()
                    .map(|child| self.value(child))
                    .collect();
                self.budget.leave();
                GoValue::Slice(items?)
            }
            Shape::Mapping => {
                let mut map = GoMap::default();
                self.mapping(at, &mut map)?;
                GoValue::Map(map)
            }
            Shape::Alias(target) => {
                self.budget.follow(at, node)?;
                let value = self.value(target)?;
                self.budget.unfollow();
                value
            }
        })
    }

    fn mapping(&mut self, at: u32, map: &mut GoMap) -> Result<(), Error> {
        self.budget.enter(self.node(at))?;
        for pair in children(self.tree, at).chunks_exact(2) {
            let (key_node, value_node) = (self.node(pair[0]), self.node(pair[1]));
            if is_merge(self.tree, key_node) {
                self.merge(pair[1], map)?;
                continue;
            }
            let key = self.value(pair[0])?;
            if matches!(key, GoValue::Slice(_) | GoValue::Map(_)) {
                let text = format!("invalid map key: {}", gosyntax::print(&key));
                return Err(Error::placed(text, key_node.mark));
            }
            let value = self.value(pair[1])?;
            let identity = map.identity(&key);
            match map.places.get(&identity) {
                Some(_) if self.strict => {
                    let (line, key) = (value_node.mark.line + 1, gosyntax::print(&key));
                    self.repeated.push((
                        format!("line {line}: key {key} already set in map"),
                        key_node.mark,
                    ));
                }
                // Go replaces the key as well, which shows for the two zeros.
                Some(place) => map.entries[*place] = (key, value),
                None => {
                    map.places.insert(identity, map.entries.len());
                    map.entries.push((key, value));
                }
            }
        }
        self.budget.leave();
        Ok(())
    }

    fn merge(&mut self, at: u32, map: &mut GoMap) -> Result<(), Error> {
        if self.node(at).shape == Shape::Sequence {
            for item in children(self.tree, at).into_iter().rev() {
                self.merge_one(item, map)?;
            }
            return Ok(());
        }
        self.merge_one(at, map)
    }

    fn merge_one(&mut self, at: u32, map: &mut GoMap) -> Result<(), Error> {
        let node = self.node(at);
        if !can_merge(self.tree, at) {
            return Err(wants_mapping(node));
        }
        self.budget.count(node)?;
        if let Shape::Alias(target) = node.shape {
            self.budget.follow(at, node)?;
            self.budget.count(self.node(target))?;
            self.mapping(target, map)?;
            self.budget.unfollow();
            return Ok(());
        }
        self.mapping(at, map)
    }
}

/// Refuses keys that JSON cannot have even as text.
fn check_keys(value: &GoValue) -> Result<(), Error> {
    match value {
        GoValue::Slice(items) => items.iter().try_for_each(check_keys),
        GoValue::Map(map) => map.entries.iter().try_for_each(|(key, value)| {
            let kind = match key {
                GoValue::Nil => "%!s(<nil>)",
                GoValue::Number(Number::Uint(_)) => "uint64",
                _ => return check_keys(value),
            };
            Err(Error::bare(format!(
                "unsupported map key of type: {kind}, key: {}, value: {}",
                gosyntax::print(key),
                gosyntax::print(value)
            )))
        }),
        _ => Ok(()),
    }
}

/// Writes the value as JSON, keys in order as Go does, so that of several impossible numbers the
/// same one is named.
fn to_json(value: GoValue) -> Result<Value, Error> {
    Ok(match value {
        GoValue::Nil => Value::Null,
        GoValue::Bool(value) => Value::Bool(value),
        GoValue::Text(text) => Value::String(text),
        GoValue::Bytes(bytes) => Value::String(replace_invalid(&bytes)),
        GoValue::Number(number) => json_number(number).ok_or_else(|| unsupported(number))?,
        GoValue::Slice(items) => {
            Value::Array(items.into_iter().map(to_json).collect::<Result<_, _>>()?)
        }
        GoValue::Map(map) => {
            let sorted: BTreeMap<String, GoValue> = map
                .entries
                .into_iter()
                .map(|(key, value)| (key_text(&key), value))
                .collect();
            let mut object = Map::new();
            for (key, value) in sorted {
                object.insert(key, to_json(value)?);
            }
            Value::Object(object)
        }
    })
}

fn unsupported(number: Number) -> Error {
    let name = match number {
        Number::Float(value) if value == f64::INFINITY => "+Inf",
        Number::Float(value) if value == f64::NEG_INFINITY => "-Inf",
        _ => "NaN",
    };
    Error::bare(format!("json: unsupported value: {name}"))
}

/// A key as text.
pub(crate) fn key_text(key: &GoValue) -> String {
    match key {
        GoValue::Text(text) => text.clone(),
        GoValue::Bytes(bytes) => replace_invalid(bytes),
        GoValue::Bool(value) => value.to_string(),
        GoValue::Number(Number::Int(value)) => value.to_string(),
        GoValue::Number(Number::Uint(value)) => value.to_string(),
        GoValue::Number(Number::Float(value)) => format_float32(*value),
        GoValue::Nil | GoValue::Slice(_) | GoValue::Map(_) => String::new(),
    }
}
