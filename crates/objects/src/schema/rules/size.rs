//! How large values are that rules work on: the largest that a schema lets pass, or those of an
//! object.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use crate::schema::{Additional, Schema, Type};

/// The largest request that the API server takes, from which it guesses what has no limit of its
/// own.
const REQUEST: u64 = 3 << 20;
/// What Go's longest texts for a duration and a time take in JSON.
const DURATION: u64 = 32;

/// How large a value may be. Of several values that may stand for each other it is the largest in
/// every respect.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    /// Items of a list, entries of a map, or bytes of a text.
    pub len: u64,
    /// What it costs to copy: about one for each value in it.
    pub weight: u64,
    /// The largest absolute value of a number; none if it is unknown.
    pub number: Option<u64>,
    /// Of a list its items.
    pub each: Option<Rc<Size>>,
    /// Of an object its fields.
    pub fields: BTreeMap<String, Rc<Size>>,
    /// Of a map or an object the bytes of its longest key.
    pub key: Option<u64>,
    /// A text that the rule itself has.
    pub text: Option<Rc<str>>,
}

impl Size {
    /// What is neither text, list nor map, or what nothing is known of.
    pub fn scalar() -> Self {
        Self {
            weight: 1,
            ..Self::default()
        }
    }

    pub fn number(number: u64) -> Self {
        Self {
            number: Some(number),
            ..Self::scalar()
        }
    }

    pub fn text(len: u64) -> Self {
        Self {
            len,
            weight: 1 + len / 32,
            ..Self::default()
        }
    }

    pub fn list(len: u64, each: Rc<Self>) -> Self {
        let weight = len.saturating_mul(each.weight.max(1)).saturating_add(1);
        Self {
            len,
            weight,
            each: Some(each),
            ..Self::default()
        }
    }

    /// A value of an object that is being written.
    pub fn of(value: &Value) -> Self {
        let mut size = Self::default();
        size.absorb(value);
        size
    }

    /// Makes this at least as large as a value, and answers the weight of that.
    fn absorb(&mut self, value: &Value) -> u64 {
        let weight = match value {
            Value::Null | Value::Bool(_) => 1,
            Value::Number(number) => {
                let size = number
                    .as_i64()
                    .map(i64::unsigned_abs)
                    .or_else(|| number.as_u64());
                self.number = self.number.max(Some(size.unwrap_or(u64::MAX)));
                1
            }
            Value::String(text) => {
                self.len = self.len.max(text.len() as u64);
                1 + text.len() as u64 / 32
            }
            Value::Array(items) => {
                self.len = self.len.max(items.len() as u64);
                let each = Rc::make_mut(self.each.get_or_insert_default());
                1 + items.iter().map(|item| each.absorb(item)).sum::<u64>()
            }
            Value::Object(fields) => {
                self.len = self.len.max(fields.len() as u64);
                let mut weight = 1;
                for (name, value) in fields {
                    if !self.fields.contains_key(name) {
                        self.fields.insert(name.clone(), Rc::default());
                    }
                    if let Some(field) = self.fields.get_mut(name) {
                        self.key = self.key.max(Some(name.len() as u64));
                        weight += 1 + name.len() as u64 / 32 + Rc::make_mut(field).absorb(value);
                    }
                }
                weight
            }
        };
        self.weight = self.weight.max(weight);
        weight
    }

    /// The largest that a schema lets pass, as the API server guesses it.
    pub fn allowed(schema: &Schema) -> Self {
        let bounds = &schema.bounds;
        let text = || {
            let longest =
                |values: &[Value]| values.iter().filter_map(Value::as_str).map(str::len).max();
            let listed = schema
                .one_of_values
                .as_deref()
                .and_then(longest)
                .map(|len| len as u64);
            let guess = match schema.format.as_deref() {
                Some("date" | "date-time" | "duration") => DURATION,
                _ => REQUEST - 2,
            };
            Self::text(bounds.max_length.or(listed).unwrap_or(guess))
        };
        if schema.int_or_string {
            return text();
        }
        match schema.kind {
            Some(Type::String) => text(),
            Some(Type::Array) => {
                let each = schema
                    .items
                    .as_deref()
                    .map(Self::allowed)
                    .unwrap_or_default();
                let least = schema.items.as_deref().map_or(1, smallest);
                Self::list(
                    bounds.max_items.unwrap_or((REQUEST - 2) / (least + 1)),
                    Rc::new(each),
                )
            }
            Some(Type::Object) => match &schema.additional {
                Additional::Values(values) => {
                    let most = bounds
                        .max_properties
                        .unwrap_or((REQUEST - 2) / (smallest(values) + 6));
                    Self {
                        key: Some(0),
                        ..Self::list(most, Rc::new(Self::allowed(values)))
                    }
                }
                _ => {
                    let field = |(name, field): (&String, &Schema)| {
                        (name.clone(), Rc::new(Self::allowed(field)))
                    };
                    let fields = schema.properties.iter().map(field).collect();
                    Self {
                        fields,
                        ..Self::scalar()
                    }
                }
            },
            _ => Self::scalar(),
        }
    }

    /// The larger of two in every respect.
    pub fn or(&self, other: &Self) -> Self {
        let each = match (&self.each, &other.each) {
            (Some(one), Some(two)) => Some(Rc::new(one.or(two))),
            (one, two) => one.clone().or_else(|| two.clone()),
        };
        let mut fields = self.fields.clone();
        for (name, field) in &other.fields {
            let both = fields.get(name).map(|own| Rc::new(own.or(field)));
            fields.insert(name.clone(), both.unwrap_or_else(|| field.clone()));
        }
        Self {
            len: self.len.max(other.len),
            weight: self.weight.max(other.weight),
            number: self.number.zip(other.number).map(|(one, two)| one.max(two)),
            each,
            fields,
            key: self.key.max(other.key),
            text: None,
        }
    }

    /// Items of a list, or values of a map.
    pub fn inner(&self) -> Rc<Self> {
        match (&self.each, self.fields.is_empty()) {
            (Some(each), true) => each.clone(),
            (None, true) => Rc::new(Self::scalar()),
            (each, false) => {
                let start = each.as_deref().cloned().unwrap_or_default();
                Rc::new(self.fields.values().fold(start, |all, field| all.or(field)))
            }
        }
    }

    /// A field, whose name may be written as rules have to write it: `a__dash__b`.
    pub fn field(&self, name: &str) -> Option<&Rc<Self>> {
        self.fields
            .get(name)
            .or_else(|| self.fields.get(&unescaped(name)))
    }
}

fn unescaped(name: &str) -> String {
    let plain = name
        .replace("__dash__", "-")
        .replace("__dot__", ".")
        .replace("__slash__", "/");
    match plain
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("__"))
    {
        Some(keyword) if !keyword.contains("__") => keyword.to_owned(),
        _ => plain.replace("__underscores__", "__"),
    }
}

/// The fewest bytes that a value takes in JSON.
pub(super) fn smallest(schema: &Schema) -> u64 {
    match schema.kind {
        _ if schema.int_or_string => 1,
        Some(Type::Boolean) => 4,
        Some(Type::String | Type::Array) => 2,
        Some(Type::Object) => {
            let given = |name: &&String| {
                schema
                    .properties
                    .get(*name)
                    .filter(|field| field.default.is_none())
            };
            let field = |name: &String| {
                schema
                    .properties
                    .get(name)
                    .map_or(0, |field| name.len() as u64 + smallest(field) + 4)
            };
            2 + schema
                .required
                .iter()
                .filter(|name| given(name).is_some())
                .map(field)
                .sum::<u64>()
        }
        Some(Type::Integer | Type::Number) | None => 1,
    }
}

/// How often a value can be in a request whose lists and maps have no limit.
pub(super) fn most_in_a_request(schema: &Schema) -> u64 {
    REQUEST / (smallest(schema) + 1)
}
