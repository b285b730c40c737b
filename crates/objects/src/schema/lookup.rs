//! Finds what a schema says of a place in an object.

use std::fmt;

use super::{Additional, Schema, Type, meta};
use crate::path::{Path, Step};
use crate::suggest::nearest;

/// What a schema says of a place in an object.
#[derive(Debug)]
pub enum Lookup<'s> {
    /// Described by this schema.
    Known(&'s Schema),
    /// Anything may be there: nothing describes it.
    Open,
    /// No object has anything there.
    Missing(Missing),
}

/// Why no object has anything at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Which step of the path leads nowhere, counted from zero.
    pub step: usize,
    /// What is wrong with it.
    pub what: String,
    /// The field that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl Schema {
    /// What the schema of a whole object says of the place at `path`.
    pub fn lookup<'s>(&'s self, path: &Path) -> Lookup<'s> {
        let mut schema = self;
        for (index, step) in path.steps().iter().enumerate() {
            let whole = index == 0 || schema.embedded;
            match schema.step(step, whole) {
                Way::To(next) => schema = next,
                Way::Open => return Lookup::Open,
                Way::Nowhere => return Lookup::Missing(schema.missing(path, index, whole)),
            }
        }
        Lookup::Known(schema)
    }

    fn step(&self, step: &Step, whole: bool) -> Way<'_> {
        match step {
            Step::Field(name) => {
                if let Some(described) = self.properties.get(&**name) {
                    // The API server sees to it that metadata is metadata, whatever little the CRD
                    // says of it.
                    return match meta::of_every_object(name) {
                        Some(common) if whole => Way::To(common),
                        _ => Way::To(described),
                    };
                }
                match meta::of_every_object(name) {
                    Some(common) if whole => Way::To(common),
                    _ => self.other(),
                }
            }
            Step::Index(_) => self.item(),
            Step::Each if self.kind == Some(Type::Array) => self.item(),
            // All fields at once have no common schema.
            Step::Each if !self.properties.is_empty() => Way::Open,
            Step::Each => self.other(),
        }
    }

    /// A field that is not named.
    fn other(&self) -> Way<'_> {
        match &self.additional {
            Additional::Values(values) => Way::To(values),
            Additional::Anything => Way::Open,
            Additional::Unsaid | Additional::Nothing if self.is_open(Type::Object) => Way::Open,
            Additional::Unsaid | Additional::Nothing => Way::Nowhere,
        }
    }

    fn item(&self) -> Way<'_> {
        match &self.items {
            Some(items) => Way::To(items),
            None if self.is_open(Type::Array) => Way::Open,
            None => Way::Nowhere,
        }
    }

    /// Whether anything goes where a `kind` would have parts.
    fn is_open(&self, kind: Type) -> bool {
        let fits = self.kind.is_none_or(|own| own == kind) && !self.int_or_string;
        fits && (self.preserve_unknown || self.kind.is_none())
    }

    fn missing(&self, path: &Path, step: usize, whole: bool) -> Missing {
        let here: Path = path.steps()[..step].iter().cloned().collect();
        let here = if here.is_root() {
            "the object".to_owned()
        } else {
            format!("`{here}`")
        };
        let kind = if self.int_or_string {
            "integer or string"
        } else {
            self.kind.map_or("value", Type::as_str)
        };
        let mut suggestion = None;
        let what = match (&path.steps()[step], self.kind) {
            (Step::Field(name), Some(Type::Object)) => {
                let common = meta::FIELDS.into_iter().filter(|_| whole);
                let known = self.properties.keys().map(String::as_str).chain(common);
                suggestion = nearest(name, known).map(str::to_owned);
                format!("{here} has no field `{name}`")
            }
            (Step::Field(name), Some(Type::Array)) => {
                format!("{here} is a list and has no field `{name}`")
            }
            (Step::Field(name), _) => format!("{here} is of type {kind} and has no field `{name}`"),
            (Step::Index(_) | Step::Each, _) => {
                format!("{here} is of type {kind} and has no items")
            }
        };
        Missing {
            step,
            what,
            suggestion,
        }
    }
}

enum Way<'s> {
    To(&'s Schema),
    Open,
    Nowhere,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Lookup, Schema, Step};
    use crate::path::Path;

    #[test]
    fn a_place_is_known_open_or_missing_with_the_name_that_was_meant() {
        let (schema, flaws) = Schema::read(&json!({ "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "replicas": { "type": "integer" },
                "ports": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" } } } },
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "any": { "x-kubernetes-preserve-unknown-fields": true },
                "loose": { "type": "object", "additionalProperties": true },
                "port": { "x-kubernetes-int-or-string": true },
                "pod": { "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "spec": { "type": "object" } } },
            } },
            "metadata": { "type": "object" },
        } }));
        assert_eq!(flaws, []);
        let each = Step::Each;
        for (steps, expected) in [
            (vec![], "object"),
            (vec!["spec".into(), "replicas".into()], "integer"),
            (
                vec!["spec".into(), "replcas".into()],
                "1 `spec` has no field `replcas` (replicas)",
            ),
            (
                vec!["spce".into(), "replicas".into()],
                "0 the object has no field `spce` (spec)",
            ),
            (
                vec!["spec".into(), "zzz".into()],
                "1 `spec` has no field `zzz` ()",
            ),
            (
                vec!["status".into()],
                "0 the object has no field `status` ()",
            ),
            (
                vec!["spec".into(), "replicas".into(), "x".into()],
                "2 `spec.replicas` is of type integer and has no field `x` ()",
            ),
            (
                vec!["spec".into(), "replicas".into(), 0.into()],
                "2 `spec.replicas` is of type integer and has no items ()",
            ),
            (
                vec!["spec".into(), "ports".into(), 3.into(), "name".into()],
                "string",
            ),
            (
                vec!["spec".into(), "ports".into(), each.clone(), "nme".into()],
                "3 `spec.ports[*]` has no field `nme` (name)",
            ),
            (
                vec!["spec".into(), "ports".into(), "name".into()],
                "2 `spec.ports` is a list and has no field `name` ()",
            ),
            (
                vec!["spec".into(), "labels".into(), "a.b/c".into()],
                "string",
            ),
            (vec!["spec".into(), "labels".into(), each.clone()], "string"),
            (vec!["spec".into(), each.clone()], "open"),
            (
                vec!["spec".into(), "free".into(), "a".into(), "b".into()],
                "open",
            ),
            (
                vec!["spec".into(), "free".into(), 0.into()],
                "2 `spec.free` is of type object and has no items ()",
            ),
            (vec!["spec".into(), "any".into(), 0.into()], "open"),
            (vec!["spec".into(), "loose".into(), "a".into()], "open"),
            (
                vec!["spec".into(), "port".into(), "a".into()],
                "2 `spec.port` is of type integer or string and has no field `a` ()",
            ),
            (
                vec![
                    "spec".into(),
                    "pod".into(),
                    "metadata".into(),
                    "name".into(),
                ],
                "string",
            ),
            (
                vec!["metadata".into(), "nmae".into()],
                "1 `metadata` has no field `nmae` (name)",
            ),
            (
                vec!["metadata".into(), "labels".into(), "app".into()],
                "string",
            ),
            (vec!["kind".into()], "string"),
            (
                vec!["kidn".into()],
                "0 the object has no field `kidn` (kind)",
            ),
        ] {
            let path = Path::from(steps);
            let found = match schema.lookup(&path) {
                Lookup::Known(known) => known.kind.map_or("any", super::Type::as_str).to_owned(),
                Lookup::Open => "open".to_owned(),
                Lookup::Missing(no) => format!(
                    "{} {no} ({})",
                    no.step,
                    no.suggestion.as_deref().unwrap_or_default()
                ),
            };
            assert_eq!(found, expected, "{path}");
        }
    }
}
