//! The structural schema of a version of a CRD, read once into a form that is quick to follow.

mod default;
mod format;
mod lookup;
mod meta;
mod openapi;
mod pattern;
mod prune;
mod read;
mod rules;
mod validate;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use lookup::{Lookup, Missing};
pub use meta::object_meta;
pub use openapi::openapi_schema;
pub use pattern::Pattern;
pub use rules::{BrokenRule, Evaluation, RuleFault, Rules};
use serde_json::Value;
pub use validate::Invalid;

use crate::path::Path;
use crate::shape::Scalar;

/// What values may be at one place of an object.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// The type; none where any is allowed, and where [`Self::int_or_string`] says more.
    pub kind: Option<Type>,
    /// A word or two for people.
    pub title: Option<Box<str>>,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// What a string or number looks like beyond its type.
    pub format: Option<Box<str>>,
    /// Whether null is a value here; elsewhere null is as good as absent.
    pub nullable: bool,
    /// The fields of an object.
    pub properties: BTreeMap<String, Schema>,
    /// What an object may have beside [`Self::properties`].
    pub additional: Additional,
    /// The items of a list.
    pub items: Option<Box<Schema>>,
    /// Fields that have to be there.
    pub required: Vec<String>,
    /// The value where none was given.
    pub default: Option<Value>,
    /// The only values that may be here; none is no restriction.
    pub one_of_values: Option<Vec<Value>>,
    /// How large, long or many.
    pub bounds: Bounds,
    /// What a string has to match.
    pub pattern: Option<Pattern>,
    /// Schemas that all have to hold.
    pub all_of: Vec<Schema>,
    /// Schemas of which at least one has to hold.
    pub any_of: Vec<Schema>,
    /// Schemas of which exactly one has to hold.
    pub one_of: Vec<Schema>,
    /// A schema that must not hold.
    pub not: Option<Box<Schema>>,
    /// `x-kubernetes-preserve-unknown-fields`: what is not described stays.
    pub preserve_unknown: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-embedded-resource`: a whole object, with apiVersion, kind and metadata.
    pub embedded: bool,
    /// `x-kubernetes-list-type`: `atomic`, `set` or `map`.
    pub list_type: Option<Box<str>>,
    /// `x-kubernetes-list-map-keys`: the fields that tell the items of a `map` list apart.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type`: `atomic` or `granular`.
    pub map_type: Option<Box<str>>,
    /// `x-kubernetes-validations`: CEL rules, as they were written.
    pub rules: Vec<Value>,
    /// The rules of the whole, compiled; at its root alone, and none if there is no rule anywhere.
    compiled: Option<Arc<Rules>>,
    /// What the decoder of a built-in kind reads here, where that is more than the type says: a
    /// quantity, or bytes.
    pub scalar: Option<Scalar>,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// A list.
    Array,
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Fields, or keys and values.
    Object,
    /// Text.
    String,
}

impl Type {
    /// Reads the word that schemas use.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// The word that schemas use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }

    const ALL: [Self; 6] = [
        Self::Array,
        Self::Boolean,
        Self::Integer,
        Self::Number,
        Self::Object,
        Self::String,
    ];
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// What an object may have beside its named fields.
#[derive(Debug, Clone, Default)]
pub enum Additional {
    /// Nothing was said: other fields are dropped.
    #[default]
    Unsaid,
    /// `additionalProperties: true`.
    Anything,
    /// `additionalProperties: false`.
    Nothing,
    /// Keys of any name, all with such values.
    Values(Box<Schema>),
}

/// How large, long or many a value may be.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// The largest number.
    pub maximum: Option<f64>,
    /// Whether the largest number itself is out of bounds.
    pub exclusive_maximum: bool,
    /// The smallest number.
    pub minimum: Option<f64>,
    /// Whether the smallest number itself is out of bounds.
    pub exclusive_minimum: bool,
    /// What a number has to be a multiple of.
    pub multiple_of: Option<f64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// The most items.
    pub max_items: Option<u64>,
    /// The fewest items.
    pub min_items: Option<u64>,
    /// The most fields.
    pub max_properties: Option<u64>,
    /// The fewest fields.
    pub min_properties: Option<u64>,
}

/// What is wrong with a schema itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Where, from the root of the schema: `properties.spec.type`.
    pub path: Path,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Flaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

impl Schema {
    /// Reads an `openAPIV3Schema`, with everything that is wrong with it. What could not be read is
    /// left out.
    pub fn read(schema: &Value) -> (Self, Vec<Flaw>) {
        read::read(schema)
    }

    /// Does to an object what the API server does when it is created: drops unknown fields, fills
    /// in defaults, and says why it would be refused, by the schema or else by a rule.
    pub fn admit(&self, object: &mut Value) -> Vec<Invalid> {
        self.prune(object);
        if !self.fill(object) {
            return vec![Invalid::too_large()];
        }
        let found = self.validate(object);
        match &self.compiled {
            // Rules make little sense of what does not fit.
            Some(rules) if found.is_empty() => rules.refusals(object),
            _ => found,
        }
    }

    /// The CEL rules of a whole schema.
    pub fn rules(&self) -> Option<&Rules> {
        self.compiled.as_deref()
    }
}
