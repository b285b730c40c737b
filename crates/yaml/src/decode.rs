//! Turns the nodes of a document into a JSON value, the straight way. Whatever Go treats specially
//! (keys that are not text, numbers that JSON has not, keys given twice when that is forbidden) is
//! left to [`crate::exact`].

use serde_json::{Map, Value};

use crate::error::Error;
use crate::exact;
use crate::limits::Limits;
use crate::number::{self, Number};
use crate::resolve::{self, Meaning, replace_invalid};
use crate::tree::{Node, Shape, Tree};

/// Why the straight way ended.
pub(crate) enum Stop {
    Failed(Error),
    /// Something needs Go's own types to be told right.
    Special,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The JSON value of a document. `strict` forbids the same key twice in one mapping.
pub(crate) fn decode(tree: &Tree<'_>, limits: &Limits, strict: bool) -> Result<Value, Error> {
    if tree.nodes.is_empty() {
        return Ok(Value::Null);
    }
    let mut decoder = Decoder {
        tree,
        strict,
        budget: Budget::new(limits),
    };
    match decoder.value(0) {
        Ok(value) => Ok(value),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Special) => exact::decode(tree, limits, strict),
    }
}

/// What a decode has cost so far, by go-yaml's rules against aliases that multiply, and by our own
/// limits.
pub(crate) struct Budget<'l> {
    limits: &'l Limits,
    decoded: usize,
    through_aliases: usize,
    repeated_bytes: usize,
    depth: usize,
    /// The aliases that are being followed.
    following: Vec<u32>,
}

impl<'l> Budget<'l> {
    pub(crate) fn new(limits: &'l Limits) -> Self {
        // Go counts the document itself as well.
        Self {
            limits,
            decoded: 1,
            through_aliases: 0,
            repeated_bytes: 0,
            depth: 0,
            following: Vec::new(),
        }
    }

    /// Counts one node.
    #[inline]
    pub(crate) fn count(&mut self, node: &Node<'_>) -> Result<(), Error> {
        self.decoded += 1;
        if !self.following.is_empty() {
            self.through_aliases += 1;
            self.repeated_bytes += node.value.len();
            if self.repeated_bytes > self.limits.expansion {
                return Err(Error::placed(
                    "document contains excessive aliasing",
                    node.mark,
                ));
            }
        }
        if self.through_aliases > 100
            && self.decoded > 1000
            && self.through_aliases as f64 / self.decoded as f64 > allowed_ratio(self.decoded)
        {
            return Err(Error::placed(
                "document contains excessive aliasing",
                node.mark,
            ));
        }
        Ok(())
    }

    /// Goes into a collection.
    pub(crate) fn enter(&mut self, node: &Node<'_>) -> Result<(), Error> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            return Err(Error::scanner(
                format_args!("exceeded max depth of {}", self.limits.depth),
                node.mark,
            ));
        }
        Ok(())
    }

    /// Comes out of a collection.
    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Begins to follow the alias at `at`.
    pub(crate) fn follow(&mut self, at: u32, node: &Node<'_>) -> Result<(), Error> {
        if self.following.contains(&at) {
            return Err(Error::placed(
                format_args!("anchor '{}' value contains itself", node.value),
                node.mark,
            ));
        }
        self.following.push(at);
        Ok(())
    }

    /// Ends following the last alias.
    pub(crate) fn unfollow(&mut self) {
        self.following.pop();
    }
}

/// The share of a document that may come from aliases: nearly all of a small one, a tenth of a very
/// large one.
fn allowed_ratio(decoded: usize) -> f64 {
    const LOW: usize = 400_000;
    const HIGH: usize = 4_000_000;
    match decoded {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

struct Decoder<'t, 'a, 'l> {
    tree: &'t Tree<'a>,
    strict: bool,
    budget: Budget<'l>,
}

impl<'t, 'a> Decoder<'t, 'a, '_> {
    fn node(&self, at: u32) -> &'t Node<'a> {
        &self.tree.nodes[at as usize]
    }

    fn value(&mut self, at: u32) -> Result<Value, Stop> {
        let node = self.node(at);
        self.budget.count(node)?;
        match node.shape {
            Shape::Scalar { .. } => self.scalar(node),
            Shape::Sequence => {
                self.budget.enter(node)?;
                let mut items = Vec::new();
                let mut child = at + 1;
                while child < node.next {
                    items.push(self.value(child)?);
                    child = self.node(child).next;
                }
                self.budget.leave();
                Ok(Value::Array(items))
            }
            Shape::Mapping => {
                let mut map = Map::new();
                self.mapping(at, &mut map)?;
                Ok(Value::Object(map))
            }
            Shape::Alias(target) => {
                self.budget.follow(at, node)?;
                let value = self.value(target)?;
                self.budget.unfollow();
                Ok(value)
            }
        }
    }

    fn mapping(&mut self, at: u32, map: &mut Map<String, Value>) -> Result<(), Stop> {
        let node = self.node(at);
        self.budget.enter(node)?;
        let mut child = at + 1;
        while child < node.next {
            let key = self.node(child);
            let value = key.next;
            child = self.node(value).next;
            if is_merge(self.tree, key) {
                self.merge(value, map)?;
                continue;
            }
            let key = self.key(key)?;
            let value = self.value(value)?;
            if map.insert(key, value).is_some() && self.strict {
                return Err(Stop::Special);
            }
        }
        self.budget.leave();
        Ok(())
    }

    /// A key that is text as it stands.
    fn key(&mut self, node: &Node<'_>) -> Result<String, Stop> {
        let Shape::Scalar { plain } = node.shape else {
            return Err(Stop::Special);
        };
        self.budget.count(node)?;
        let meaning = match node.tag {
            0 if plain => resolve::plain(&node.value),
            0 => Meaning::Text,
            _ => resolve::tagged(self.tree.tag(node), &node.value)
                .map_err(|error| error.at(node.mark))?,
        };
        match meaning {
            Meaning::Text => Ok(node.value.as_ref().to_owned()),
            Meaning::Decoded(bytes) => Ok(replace_invalid(&bytes)),
            Meaning::Bool(value) => Ok(value.to_string()),
            Meaning::Number(Number::Int(value)) => Ok(value.to_string()),
            Meaning::Number(_) | Meaning::Null => Err(Stop::Special),
        }
    }

    fn scalar(&self, node: &Node<'_>) -> Result<Value, Stop> {
        let meaning = match (node.tag, node.shape) {
            (0, Shape::Scalar { plain: true }) => resolve::plain(&node.value),
            (0, _) => Meaning::Text,
            _ => resolve::tagged(self.tree.tag(node), &node.value)
                .map_err(|error| error.at(node.mark))?,
        };
        Ok(match meaning {
            Meaning::Null => Value::Null,
            Meaning::Bool(value) => Value::Bool(value),
            Meaning::Number(number) => json_number(number).ok_or(Stop::Special)?,
            Meaning::Text => Value::String(node.value.as_ref().to_owned()),
            Meaning::Decoded(bytes) => Value::String(replace_invalid(&bytes)),
        })
    }

    /// Copies the keys of other mappings into this one; what is there already is overwritten, as
    /// go-yaml does.
    fn merge(&mut self, at: u32, map: &mut Map<String, Value>) -> Result<(), Stop> {
        let node = self.node(at);
        if node.shape == Shape::Sequence {
            // The first mapping wins, so the last is copied first.
            for item in children(self.tree, at).into_iter().rev() {
                self.merge_one(item, map)?;
            }
            return Ok(());
        }
        self.merge_one(at, map)
    }

    fn merge_one(&mut self, at: u32, map: &mut Map<String, Value>) -> Result<(), Stop> {
        if !can_merge(self.tree, at) {
            return Err(wants_mapping(self.node(at)).into());
        }
        let node = self.node(at);
        self.budget.count(node)?;
        if let Shape::Alias(target) = node.shape {
            self.budget.follow(at, node)?;
            self.budget.count(self.node(target))?;
            // A key that the merged mapping repeats is an error of its own when strict.
            self.mapping(target, map)?;
            self.budget.unfollow();
            return Ok(());
        }
        self.mapping(at, map)
    }
}

/// The JSON number for what a scalar means; none when JSON has no such number.
pub(crate) fn json_number(number: Number) -> Option<Value> {
    match number {
        Number::Int(value) => Some(value.into()),
        Number::Uint(value) => Some(value.into()),
        Number::Float(value) => match number::from_json_float(value) {
            Number::Int(value) => Some(value.into()),
            Number::Uint(value) => Some(value.into()),
            Number::Float(value) => serde_json::Number::from_f64(value).map(Value::Number),
        },
    }
}

/// Whether the key asks for other mappings to be merged in.
pub(crate) fn is_merge(tree: &Tree<'_>, node: &Node<'_>) -> bool {
    match node.shape {
        Shape::Scalar { plain } => {
            node.value == "<<"
                && (plain || tree.tag(node).strip_prefix("tag:yaml.org,2002:") == Some("merge"))
        }
        _ => false,
    }
}

/// Whether the node is a mapping or an alias of one.
pub(crate) fn can_merge(tree: &Tree<'_>, at: u32) -> bool {
    match tree.nodes[at as usize].shape {
        Shape::Mapping => true,
        Shape::Alias(target) => tree.nodes[target as usize].shape == Shape::Mapping,
        _ => false,
    }
}

pub(crate) fn wants_mapping(node: &Node<'_>) -> Error {
    Error::placed(
        "map merge requires map or sequence of maps as the value",
        node.mark,
    )
}

/// The places of a collection's children.
pub(crate) fn children(tree: &Tree<'_>, at: u32) -> Vec<u32> {
    let end = tree.nodes[at as usize].next;
    let mut found = Vec::new();
    let mut child = at + 1;
    while child < end {
        found.push(child);
        child = tree.nodes[child as usize].next;
    }
    found
}
