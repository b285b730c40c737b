//! The CEL rules of a definition's schema, compiled once.

use std::{cell::RefCell, fmt};

use kube_cel::{CompiledSchema, ValidationError, Validator, compile_schema};
use serde_json::Value;

use crate::status::Cause;

thread_local! {
    // It can be sent to another thread, but not shared.
    static VALIDATOR: RefCell<Validator> = RefCell::new(Validator::new());
}

/// Rules that objects have to keep to.
pub struct Rules(CompiledSchema);

impl fmt::Debug for Rules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rules")
    }
}

impl Rules {
    /// The rules of a schema; none if it has none.
    pub fn read(schema: &Value) -> Option<Self> {
        has_rules(schema).then(|| Self(compile_schema(schema)))
    }

    /// Rules that cannot be compiled: what is wrong with them.
    pub fn faults(&self) -> Vec<String> {
        self.0.compilation_errors().iter().map(ToString::to_string).collect()
    }

    /// Which rules an object breaks. `old` is what it was before, for rules about changes.
    pub fn broken(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let found = VALIDATOR.with_borrow(|validator| validator.validate_compiled(&self.0, object, old));
        found.err().map(|errors| errors.iter().map(|error| cause(object, error)).collect()).unwrap_or_default()
    }
}

/// Whether there is a rule anywhere in a schema.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

fn cause(object: &Value, error: &ValidationError) -> Cause {
    let path = if error.field_path.is_empty() { "<nil>" } else { &error.field_path };
    let reason = error.reason.as_deref().unwrap_or("FieldValueInvalid");
    let shown = match at(object, &error.field_path) {
        Some(Value::Object(_) | Value::Array(_)) | None => String::new(),
        Some(value) => format!("{value}: "),
    };
    let why = &error.message;
    let message = match reason {
        "FieldValueForbidden" => format!("Forbidden: {why}"),
        "FieldValueRequired" => format!("Required value: {why}"),
        "FieldValueDuplicate" => format!("Duplicate value: {}", shown.trim_end_matches(": ")),
        _ => format!("Invalid value: {shown}{why}"),
    };
    Cause::new(reason, path, message)
}

/// The value at a path such as `spec.list[0].name`.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let (name, rest) = part.split_once('[').map_or((part, None), |(name, rest)| (name, Some(rest)));
        if !name.is_empty() {
            value = value.get(name)?;
        }
        for index in rest.into_iter().flat_map(|rest| rest.split('[')) {
            let index = index.trim_end_matches(']');
            value = match index.parse::<usize>() {
                Ok(number) => value.get(number)?,
                Err(_) => value.get(index.trim_matches('"'))?,
            };
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_rule_is_told_with_its_place_reason_and_value() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "shrinks"}]},
        }, "x-kubernetes-validations": [{"rule": "self.size < 9"}]}}});
        let rules = Rules::read(&schema).unwrap();
        assert!(rules.faults().is_empty());
        let thing = |size: i64| json!({"spec": {"size": size}});
        assert!(rules.broken(&thing(5), None).is_empty());
        let told = |causes: Vec<Cause>| causes.into_iter().map(|it| (it.field, it.message)).collect::<Vec<_>>();
        let shrunk = told(rules.broken(&thing(4), Some(&thing(5))));
        assert_eq!(shrunk, [("spec.size".to_owned(), "Invalid value: 4: shrinks".to_owned())]);
        let large = told(rules.broken(&thing(10), None));
        assert_eq!(large, [("spec".to_owned(), "Invalid value: failed rule: self.size < 9".to_owned())]);
        assert!(Rules::read(&json!({"type": "object"})).is_none());
    }
}
