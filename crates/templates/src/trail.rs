//! The way from a template to where a walk is now, kept on the stack: it costs nothing until there
//! is something to tell.

use objects::{Path, Step};
use serde_json::Value;

/// No walk goes deeper: neither YAML nor JSON that was read does.
pub(crate) const DEEPEST: usize = 600;

/// One step and those before it.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'t> {
    before: Option<&'t Trail<'t>>,
    step: Leg<'t>,
    pub depth: usize,
}

/// A step that borrows its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leg<'t> {
    Key(&'t str),
    Index(usize),
}

impl<'t> Trail<'t> {
    pub fn start(field: &'t str) -> Self {
        Self {
            before: None,
            step: Leg::Key(field),
            depth: 1,
        }
    }

    pub fn key(&'t self, key: &'t str) -> Trail<'t> {
        Trail {
            before: Some(self),
            step: Leg::Key(key),
            depth: self.depth + 1,
        }
    }

    pub fn index(&'t self, index: usize) -> Trail<'t> {
        Trail {
            before: Some(self),
            step: Leg::Index(index),
            depth: self.depth + 1,
        }
    }

    /// All steps from the start.
    pub fn legs(&self) -> Vec<Leg<'t>> {
        let mut legs: Vec<Leg<'t>> = std::iter::successors(Some(self), |trail| trail.before)
            .map(|trail| trail.step)
            .collect();
        legs.reverse();
        legs
    }

    pub fn path(&self) -> Path {
        let step = |leg: Leg<'_>| match leg {
            Leg::Key(key) => Step::from(key),
            Leg::Index(index) => Step::from(index),
        };
        self.legs().into_iter().map(step).collect()
    }
}

/// Shows every key and every text below a value, keys first.
pub(crate) fn texts<'v>(
    value: &'v Value,
    trail: &Trail<'_>,
    see: &mut dyn FnMut(&Trail<'_>, &'v str, bool),
) {
    if trail.depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => see(trail, text, false),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &trail.index(index), see);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let trail = trail.key(key);
                see(&trail, key, true);
                texts(field, &trail, see);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
