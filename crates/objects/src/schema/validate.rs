//! Says why the API server would refuse an object, in its words. CEL rules are for `rules`.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Number, Value};

use super::{Additional, Schema, Type, format};
use crate::check;
use crate::path::Path;

/// Why the API server would refuse an object. `Display` is its text for the field: `spec.replicas:
/// Required value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Where.
    pub path: Path,
    /// What is wrong, without the place.
    pub what: String,
}

impl Invalid {
    /// An object that would be too large with its defaults ([`Schema::fill`]).
    pub fn too_large() -> Self {
        let what =
            "Invalid value: \"\": the defaults of the schema make the object too large".to_owned();
        Self {
            path: Path::root(),
            what,
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_root() {
            return write!(formatter, "<nil>: {}", self.what);
        }
        write!(formatter, "{}: {}", self.path, self.what)
    }
}

impl Schema {
    /// Everything for which the API server would refuse the value; unknown fields are no fault.
    pub fn validate(&self, value: &Value) -> Vec<Invalid> {
        let mut validator = Validator {
            path: Path::root(),
            found: Vec::new(),
            left: STEPS,
        };
        validator.value(self, value);
        if validator.left == 0 {
            let what =
                "Invalid value: \"\": validating the object against its schema exceeds the cost limit".to_owned();
            return vec![Invalid {
                path: Path::root(),
                what,
            }];
        }
        // What several schemas of a combination ask for is missing once.
        let mut seen = BTreeSet::new();
        validator
            .found
            .retain(|fault| seen.insert(fault.to_string()));
        validator.found
    }
}

/// The most steps that validating a value may take: the schema is applied to each value, and a
/// schema of many parts to an object of many values would be the product of both. Objects that
/// people write take some thousands.
const STEPS: u64 = 20_000_000;

struct Validator {
    path: Path,
    found: Vec<Invalid>,
    /// The steps that are left; with none left the rest is not looked at.
    left: u64,
}

impl Validator {
    fn spend(&mut self, steps: usize) -> bool {
        self.left = self.left.saturating_sub(steps as u64);
        self.left > 0
    }

    fn add(&mut self, what: String) {
        // What is said of each item of a list is more than the list: that counts, too.
        self.spend(what.len());
        self.found.push(Invalid {
            path: self.path.clone(),
            what,
        });
    }

    /// The sentence that names the field once more.
    fn invalid(&mut self, value: &str, fault: &str) {
        let what = format!("Invalid value: {value}: {} in body {fault}", self.path);
        self.add(what);
    }

    /// Everything is checked that applies to such a value, even if its type is wrong: so does the
    /// API server.
    fn value(&mut self, schema: &Schema, value: &Value) {
        let listed = schema.one_of_values.as_ref().map_or(0, Vec::len);
        if !self.spend(1 + listed + schema.required.len() + schema.list_map_keys.len()) {
            return;
        }
        if let Some((expected, actual)) = wrong_type(schema, value) {
            self.invalid(
                &format!("{actual:?}"),
                &format!("must be of type {expected}: {actual:?}"),
            );
        }
        if !value.is_null() {
            self.combined(schema, value);
        }
        if let Some(why) = schema
            .scalar
            .and_then(|scalar| check::undecodable(scalar, value))
        {
            self.add(format!("Invalid value: {}: {why}", shown(value)));
        }
        match value {
            Value::String(text) => self.string(schema, text),
            Value::Number(number) => self.number(schema, number),
            Value::Array(items) => self.array(schema, items),
            Value::Object(fields) => self.object(schema, fields),
            Value::Null | Value::Bool(_) => {}
        }
        if let Some(allowed) = schema
            .one_of_values
            .as_ref()
            .filter(|allowed| !allowed.is_empty())
            && !allowed.iter().any(|other| same(other, value))
        {
            let mut shown_values = Vec::new();
            for value in allowed {
                let text = format!("{:?}", plain(value));
                if !self.spend(text.len()) {
                    return;
                }
                shown_values.push(text);
            }
            let allowed = shown_values;
            self.add(format!(
                "Unsupported value: {}: supported values: {}",
                shown(value),
                allowed.join(", ")
            ));
        }
    }

    fn combined(&mut self, schema: &Schema, value: &Value) {
        // Each part counts from what the ones before it left.
        let left = Cell::new(self.left);
        let faults = |part: &Schema| {
            let mut inner = Self {
                path: self.path.clone(),
                found: Vec::new(),
                left: left.get(),
            };
            inner.value(part, value);
            left.set(inner.left);
            inner.found
        };
        let each = |parts: &[Schema]| parts.iter().map(faults).collect::<Vec<_>>();
        // The API server puts these at no field.
        let say = |what: &str| Invalid {
            path: Path::root(),
            what: format!("Invalid value: \"\": \"{}\" {what}", self.path),
        };
        let mut found = Vec::new();
        let any = each(&schema.any_of);
        if !any.is_empty() && any.iter().all(|faults| !faults.is_empty()) {
            found.push(say("must validate at least one schema (anyOf)"));
            found.extend(any.into_iter().min_by_key(Vec::len).unwrap_or_default());
        }
        let one = each(&schema.one_of);
        let only_one = "must validate one and only one schema (oneOf).";
        match one.iter().filter(|faults| faults.is_empty()).count() {
            0 if one.is_empty() => {}
            0 => {
                found.push(say(&format!("{only_one} Found none valid")));
                found.extend(one.into_iter().min_by_key(Vec::len).unwrap_or_default());
            }
            1 => {}
            many => found.push(say(&format!("{only_one} Found {many} valid alternatives"))),
        }
        let all = each(&schema.all_of);
        let failed = all.iter().filter(|faults| !faults.is_empty()).count();
        if failed > 0 {
            let none = if failed == all.len() {
                ". None validated"
            } else {
                ""
            };
            found.extend(all.into_iter().flatten());
            found.push(say(&format!("must validate all the schemas (allOf){none}")));
        }
        if schema
            .not
            .as_deref()
            .is_some_and(|not| faults(not).is_empty())
        {
            found.push(say("must not validate the schema (not)"));
        }
        self.left = left.get();
        self.found.append(&mut found);
    }

    fn string(&mut self, schema: &Schema, text: &str) {
        if !self.spend(
            schema
                .pattern
                .as_ref()
                .map_or(0, |pattern| pattern.cost(text)),
        ) {
            return;
        }
        let quoted = format!("{text:?}");
        let length = text.chars().count() as u64;
        // One of these faults is enough for the API server.
        if let Some(most) = schema.bounds.max_length.filter(|most| length > *most) {
            let unit = if most == 1 { "byte" } else { "bytes" };
            self.add(format!("Too long: may not be more than {most} {unit}"));
        } else if let Some(least) = schema.bounds.min_length.filter(|least| length < *least) {
            self.invalid(&quoted, &format!("should be at least {least} chars long"));
        } else if let Some(pattern) = schema
            .pattern
            .as_ref()
            .filter(|pattern| !pattern.matches(text))
        {
            self.invalid(&quoted, &format!("should match '{}'", pattern.text));
        }
        if let Some(format) = format::effective(schema).filter(|format| !format::fits(format, text))
        {
            self.invalid(&quoted, &format!("must be of type {format}: {quoted}"));
        }
    }

    fn number(&mut self, schema: &Schema, number: &Number) {
        let Some(float) = number.as_f64() else { return };
        let bounds = &schema.bounds;
        let shown = format::number(number);
        self.range(schema, "Checked", number);
        if let Some(factor) = bounds.multiple_of {
            // A whole number is measured with a whole factor, whatever else was written.
            let native = !self.range(schema, "MultipleOf", &limit(factor)) && !number.is_f64();
            let factor = if native { factor.trunc() } else { factor };
            let times = if factor < 1.0 {
                1.0 / factor * float
            } else {
                float / factor
            };
            if factor <= 0.0 {
                let what = format!(
                    "Invalid value: {0}: factor MultipleOf declared for {1} must be positive: {0}",
                    go(factor),
                    self.path
                );
                self.add(what);
            } else if times.fract() != 0.0 {
                self.invalid(&shown, &format!("should be a multiple of {}", go(factor)));
            }
        }
        let bound = |own: &mut Self, prefix: &str, value: f64| {
            let native = !own.range(schema, prefix, &limit(value)) && !number.is_f64();
            if native { value.trunc() } else { value }
        };
        if let Some(least) = bounds.minimum {
            let least = bound(self, "Minimum boundary", least);
            if bounds.exclusive_minimum && float <= least {
                self.invalid(&shown, &format!("should be greater than {}", go(least)));
            } else if float < least {
                self.invalid(
                    &shown,
                    &format!("should be greater than or equal to {}", go(least)),
                );
            }
        }
        if let Some(most) = bounds.maximum {
            let most = bound(self, "Maximum boundary", most);
            if bounds.exclusive_maximum && float >= most {
                self.invalid(&shown, &format!("should be less than {}", go(most)));
            } else if float > most {
                self.invalid(
                    &shown,
                    &format!("should be less than or equal to {}", go(most)),
                );
            }
        }
    }

    /// Whether a number, the value itself or a bound, is out of the range of the schema's type and
    /// format.
    fn range(&mut self, schema: &Schema, prefix: &str, number: &Number) -> bool {
        let Some(kind) = schema.kind.filter(|_| !schema.int_or_string) else {
            return false;
        };
        let format =
            format::effective(schema).filter(|_| matches!(kind, Type::Integer | Type::Number));
        if format::in_range(kind, format, number) {
            return false;
        }
        let detail = format.map_or_else(
            || "(default format)".to_owned(),
            |format| format!("with format {format}"),
        );
        let what = format!(
            "Invalid value: \"\": {prefix} value must be of type {kind} {detail} in {}",
            self.path
        );
        self.found.push(Invalid {
            path: Path::root(),
            what,
        });
        true
    }

    fn array(&mut self, schema: &Schema, items: &[Value]) {
        let count = items.len() as u64;
        if let Some(least) = schema.bounds.min_items.filter(|least| count < *least) {
            self.invalid(
                &count.to_string(),
                &format!("should have at least {least} items"),
            );
        }
        self.too_many(count, schema.bounds.max_items);
        match schema.list_type.as_deref() {
            Some("set") => self.duplicates(items, Clone::clone),
            Some("map") => self.map(schema, items),
            _ => {}
        }
        if let Some(inner) = &schema.items {
            for (index, item) in items.iter().enumerate() {
                self.path.push(index);
                self.value(inner, item);
                self.path.pop();
            }
        }
    }

    fn map(&mut self, schema: &Schema, items: &[Value]) {
        if let Some(index) = items
            .iter()
            .position(|item| !item.is_object() && !item.is_null())
        {
            self.path.push(index);
            self.add(format!(
                "Invalid value: {}: must be an object for an array of list-type map",
                shown(&items[index])
            ));
            self.path.pop();
            return;
        }
        self.duplicates(items, |item| {
            let key = |name: &String| Some((name.clone(), item.get(name)?.clone()));
            schema
                .list_map_keys
                .iter()
                .filter_map(key)
                .collect::<Map<_, _>>()
                .into()
        });
    }

    /// Each key that is there more than once is reported where it is found the second time.
    fn duplicates(&mut self, items: &[Value], key: impl Fn(&Value) -> Value) {
        let (mut seen, mut reported) = (BTreeSet::new(), BTreeSet::new());
        for (index, item) in items.iter().enumerate() {
            let key = key(item);
            let text = key.to_string();
            if !seen.insert(text.clone()) && reported.insert(text) {
                self.path.push(index);
                self.add(format!("Duplicate value: {}", shown(&key)));
                self.path.pop();
            }
        }
    }

    fn too_many(&mut self, count: u64, most: Option<u64>) {
        if let Some(most) = most.filter(|most| count > *most) {
            let unit = if most == 1 { "item" } else { "items" };
            self.add(format!(
                "Too many: {count}: must have at most {most} {unit}"
            ));
        }
    }

    fn object(&mut self, schema: &Schema, fields: &Map<String, Value>) {
        let count = fields.len() as u64;
        if let Some(least) = schema.bounds.min_properties.filter(|least| count < *least) {
            self.invalid(
                &count.to_string(),
                &format!("should have at least {least} properties"),
            );
        }
        self.too_many(count, schema.bounds.max_properties);
        for (name, value) in fields {
            let inner = match (schema.properties.get(name), &schema.additional) {
                (Some(inner), _) => inner,
                (None, Additional::Values(values)) => values,
                (None, Additional::Nothing) => {
                    let what = format!(
                        "Invalid value: {name:?}: {}.{name} in body is a forbidden property",
                        self.path
                    );
                    self.add(what);
                    continue;
                }
                (None, Additional::Unsaid | Additional::Anything) => continue,
            };
            self.path.push(name.as_str());
            self.value(inner, value);
            self.path.pop();
        }
        for name in schema
            .required
            .iter()
            .filter(|name| !fields.contains_key(*name))
        {
            self.path.push(name.as_str());
            self.add("Required value".to_owned());
            self.path.pop();
        }
    }
}

/// The type that was expected and the one that was found, unless they fit.
fn wrong_type<'s>(schema: &'s Schema, value: &Value) -> Option<(&'s str, &'static str)> {
    if schema.int_or_string {
        let fits = value.is_string() || is_whole(value) || (value.is_null() && schema.nullable);
        return (!fits).then(|| ("integer,string", type_name(value)));
    }
    let kind = schema.kind?;
    let fits = match (kind, value) {
        (_, Value::Null) => schema.nullable,
        (Type::Array, Value::Array(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_))
        | (Type::Object, Value::Object(_))
        | (Type::String, Value::String(_)) => true,
        (Type::Integer, Value::Number(_)) => is_whole(value),
        _ => false,
    };
    if fits {
        return None;
    }
    match (format::effective(schema), value) {
        // Where there is a format, the API server lets lists pass for strings, and compares the
        // formats of others.
        (Some(_), Value::Array(_)) if kind == Type::String => None,
        (Some(format), Value::Number(number)) => {
            Some((format, if number.is_f64() { "float64" } else { "int64" }))
        }
        (Some(format), Value::Bool(_) | Value::Object(_)) => Some((format, "")),
        _ => Some((kind.as_str(), type_name(value))),
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether two values are the same; 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        _ => one == other,
    }
}

/// A bound as the number it is.
fn limit(bound: f64) -> Number {
    Number::from_f64(bound).unwrap_or_else(|| 0.into())
}

/// A float as Go writes it.
fn go(float: f64) -> String {
    format::number(&limit(float))
}

/// A value as errors show it.
fn shown(value: &Value) -> String {
    value
        .as_number()
        .map_or_else(|| value.to_string(), format::number)
}

/// A string as it is, anything else as JSON.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
