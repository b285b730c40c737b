//! The tables being filled: which keys exist, which only by implication, and which may still be
//! extended.

use std::collections::{BTreeMap, BTreeSet};

use super::{Table, Value, join_key};

/// Something a key stands for.
enum Node {
    Leaf(Value),
    Table(Tables),
    /// An array of tables, of which the last can be extended.
    Array(Vec<Tables>),
}

type Tables = BTreeMap<Vec<u8>, Node>;

/// Parts of a key.
pub(crate) type Key = Vec<Vec<u8>>;

/// Levels of nesting that are still accepted.
const MAX_DEPTH: usize = 200;

#[derive(Default)]
pub(crate) struct Tree {
    root: Tables,
    /// Keys of tables that were never written themselves.
    implied: BTreeSet<Vec<u8>>,
    /// Keys of arrays in brackets.
    arrays: BTreeSet<Vec<u8>>,
    /// The table that keys go to.
    pub(crate) context: Key,
}

fn show(key: &[Vec<u8>]) -> String {
    String::from_utf8_lossy(&join_key(key)).into_owned()
}

impl Tree {
    /// Makes `key` the context and creates what it needs; `array` adds a table to an array of them.
    pub(crate) fn enter(&mut self, key: &[Vec<u8>], array: bool) -> Result<(), String> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        if key.len() > MAX_DEPTH {
            return Err("tables nest too deeply".to_owned());
        }
        let mut here = &mut self.root;
        for (index, part) in parents.iter().enumerate() {
            let walked = &parents[..=index];
            if !here.contains_key(part) {
                self.implied.insert(join_key(walked));
            }
            here = match here
                .entry(part.clone())
                .or_insert_with(|| Node::Table(Tables::new()))
            {
                Node::Table(table) => table,
                Node::Array(tables) => {
                    if tables.is_empty() {
                        tables.push(Tables::new());
                    }
                    let last = tables.len() - 1;
                    &mut tables[last]
                }
                Node::Leaf(_) => {
                    return Err(format!(
                        "Key '{}' was already created as a hash.",
                        show(walked)
                    ));
                }
            };
        }
        self.context = parents.to_vec();
        if array {
            match here
                .entry(last.clone())
                .or_insert_with(|| Node::Array(Vec::new()))
            {
                Node::Array(tables) => tables.push(Tables::new()),
                _ => {
                    return Err(format!(
                        "Key '{}' was already created and cannot be used as an array.",
                        show(key)
                    ));
                }
            }
        } else {
            self.set_node(last, Node::Table(Tables::new()))?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    /// Enters the part of a dotted key.
    pub(crate) fn enter_part(&mut self, part: &[u8]) -> Result<(), String> {
        let mut key = self.context.clone();
        key.push(part.to_vec());
        self.imply(&key);
        self.enter(&key, false)
    }

    /// Notes that a table was not written itself, so that it may be yet.
    pub(crate) fn imply(&mut self, key: &[Vec<u8>]) {
        self.implied.insert(join_key(key));
    }

    /// Notes what kind of value a key of the context has; none is for the context itself.
    pub(crate) fn note(&mut self, key: &[u8], is_array: bool) {
        let mut full = self.context.clone();
        if !key.is_empty() || full.is_empty() {
            full.push(key.to_vec());
        }
        let full = join_key(&full);
        if is_array {
            self.arrays.insert(full);
        } else {
            self.arrays.remove(&full);
        }
    }

    /// Sets a key of the context.
    pub(crate) fn set(&mut self, key: &[u8], value: Value) -> Result<(), String> {
        self.set_node(key, Node::Leaf(value))
    }

    fn set_node(&mut self, key: &[u8], node: Node) -> Result<(), String> {
        let mut here = &mut self.root;
        for (index, part) in self.context.iter().enumerate() {
            let defined = || {
                format!(
                    "Key '{}' has already been defined.",
                    show(&self.context[..=index])
                )
            };
            here = match here.get_mut(part) {
                Some(Node::Table(table)) => table,
                Some(Node::Array(tables)) => tables.last_mut().ok_or_else(defined)?,
                _ => return Err(defined()),
            };
        }
        let mut full = self.context.clone();
        full.push(key.to_vec());
        if here.contains_key(key) {
            // What exists by implication only may be written once.
            let name = join_key(&full);
            if !self.implied.remove(&name) {
                return Err(format!("Key '{}' has already been defined.", show(&full)));
            }
            if !self.arrays.contains(&name) {
                return Ok(());
            }
        }
        here.insert(key.to_vec(), node);
        Ok(())
    }

    /// Everything that was set.
    pub(crate) fn finish(self) -> Table {
        table(self.root)
    }
}

fn table(tables: Tables) -> Table {
    tables
        .into_iter()
        .map(|(key, node)| {
            let value = match node {
                Node::Leaf(value) => value,
                Node::Table(fields) => Value::Table(table(fields)),
                Node::Array(tables) => Value::Array(
                    tables
                        .into_iter()
                        .map(|fields| Value::Table(table(fields)))
                        .collect(),
                ),
            };
            (key, value)
        })
        .collect()
}
