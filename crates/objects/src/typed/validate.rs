//! Whether an object may be applied: it has no field that its shape lacks, nothing of a wrong type,
//! and no item twice.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::atom::{Atom, deduce, element_of};
use crate::fields::Element;
use crate::go;
use crate::shape::{ListShape, MapShape, Scalar, Shape};

/// What is wrong with an object, in the API server's words: `.spec.foo: field not declared in
/// schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeErrors(pub Vec<String>);

impl fmt::Display for TypeErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            [one] => formatter.write_str(one),
            many => {
                formatter.write_str("errors:")?;
                many.iter()
                    .try_for_each(|error| write!(formatter, "\n  {error}"))
            }
        }
    }
}

impl std::error::Error for TypeErrors {}

/// Checks an object by its shape. `duplicates` says whether items may be there twice.
pub fn validate(shape: Shape<'_>, value: &Value, duplicates: bool) -> Result<(), TypeErrors> {
    let mut walk = Walk {
        duplicates,
        path: Vec::new(),
        errors: Vec::new(),
    };
    walk.value(shape, value);
    if walk.errors.is_empty() {
        Ok(())
    } else {
        Err(TypeErrors(walk.errors))
    }
}

struct Walk<'v> {
    duplicates: bool,
    path: Vec<Step<'v>>,
    errors: Vec<String>,
}

/// A step that is not made into text unless something is wrong.
enum Step<'v> {
    Name(&'v str),
    Element(Element),
    Index(usize),
}

impl<'v> Walk<'v> {
    fn fail(&mut self, what: &str) {
        let mut text = String::new();
        for step in &self.path {
            match step {
                Step::Name(name) => text.push_str(&format!(".{name}")),
                Step::Element(element) => text.push_str(&element.to_string()),
                Step::Index(index) => text.push_str(&format!("[{index}]")),
            }
        }
        if text.is_empty() {
            text.push_str(what);
        } else {
            text.push_str(": ");
            text.push_str(what);
        }
        self.errors.push(text);
    }

    fn value(&mut self, shape: Shape<'_>, value: &'v Value) {
        match deduce(shape, value) {
            Atom::Map(map) => self.map(map, value),
            Atom::List(list) => self.list(list, value),
            Atom::Scalar(scalar) => {
                if let Some(what) = misfit(scalar, value) {
                    self.fail(&what);
                }
            }
            Atom::Nothing => self.fail("schema error: invalid atom: inlined"),
        }
    }

    fn map(&mut self, map: MapShape<'_>, value: &'v Value) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return,
            other => return self.fail(&format!("expected map, got &{{{}}}", go::plain(other))),
        };
        for (name, value) in fields {
            self.path.push(Step::Name(name));
            match map.value(name) {
                Some(shape) => {
                    self.value(shape, value);
                    self.path.pop();
                }
                None => {
                    self.fail("field not declared in schema");
                    self.path.pop();
                    // The API server looks no further at this level either.
                    return;
                }
            }
        }
    }

    fn list(&mut self, list: ListShape<'_>, value: &'v Value) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            other => return self.fail(&format!("expected list, got &{{{}}}", go::plain(other))),
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if list.is_atomic() {
                self.path.push(Step::Index(index));
            } else {
                let element = match element_of(list, item) {
                    Ok(element) => element,
                    Err(what) => return self.fail(&format!("element {index}: {what}")),
                };
                if !self.duplicates && !seen.insert(element.clone()) {
                    self.fail(&format!("duplicate entries for key {element}"));
                }
                self.path.push(Step::Element(element));
            }
            self.value(list.item(), item);
            self.path.pop();
        }
    }
}

/// Why a value is not such a scalar.
fn misfit(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null) => None,
        (Scalar::Int32 | Scalar::Int64 | Scalar::Number, value) if !value.is_number() => {
            Some(format!(
                "expected numeric (int or float), got {}",
                go::type_name(value)
            ))
        }
        (Scalar::String | Scalar::Bytes, value) if !value.is_string() => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go::syntax(value)
        )),
        (Scalar::Boolean, value) if !value.is_boolean() => {
            Some(format!("expected boolean, got &{{{}}}", go::plain(value)))
        }
        (_, Value::Array(_) | Value::Object(_)) => Some(format!(
            "expected any scalar, got &{{{}}}",
            go::plain(value)
        )),
        _ => None,
    }
}
