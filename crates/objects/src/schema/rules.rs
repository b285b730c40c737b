//! The CEL rules of a schema (`x-kubernetes-validations`): compiled once, and what an object breaks
//! of them.

mod cost;
mod depth;
mod fault;
mod limit;
mod size;
mod types;

use std::fmt;

pub use fault::RuleFault;
use kube_cel::{CompiledSchema, ErrorKind, ValidationError, compile_schema, validate_compiled};
use serde_json::Value;

use super::Invalid;
use crate::path::{Path, Step};

/// The rules of a whole schema.
pub struct Rules(CompiledSchema);

impl fmt::Debug for Rules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Rules")
    }
}

/// A rule that an object does not keep to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// The field, as the API server writes it: `spec.list[0].name`, or nothing for the whole.
    pub field: String,
    /// The reason that the rule names, or the usual one.
    pub reason: String,
    /// What is wrong, without the field.
    pub what: String,
    /// Whether the rule says no, or fails as it does in the API server. Else it may fail here
    /// alone.
    pub certain: bool,
}

impl Rules {
    /// The rules of a schema; none if it has none.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        has_rules(schema)
            .then(|| depth::on_a_large_stack(|| Self(compile_schema(&depth::parsable(schema)))))
    }

    /// Which rules an object breaks. `old` is what it was before, for rules about changes.
    pub fn broken(&self, object: &Value, old: Option<&Value>) -> Vec<BrokenRule> {
        self.evaluation(object, old).broken()
    }

    /// The same in two steps, for callers that have to know first whether it takes long.
    pub fn evaluation<'r>(&'r self, object: &'r Value, old: Option<&'r Value>) -> Evaluation<'r> {
        let cost = depth::on_enough_stack(|| limit::spent(&self.0, object, old));
        Evaluation {
            rules: self,
            object,
            old,
            cost,
        }
    }

    /// Those rules that a new object is certain to be refused for.
    pub(super) fn refusals(&self, object: &Value) -> Vec<Invalid> {
        let certain = self
            .broken(object, None)
            .into_iter()
            .filter(|rule| rule.certain);
        certain
            .map(|rule| Invalid {
                path: path(&rule.field),
                what: rule.what,
            })
            .collect()
    }
}

/// The rules of a schema, about to be evaluated for an object.
pub struct Evaluation<'r> {
    rules: &'r Rules,
    object: &'r Value,
    old: Option<&'r Value>,
    cost: Result<u64, BrokenRule>,
}

impl Evaluation<'_> {
    /// Whether it may take more than a few milliseconds. It never takes much more than a second.
    pub fn is_long(&self) -> bool {
        self.cost.as_ref().is_ok_and(|cost| *cost > limit::SHORT)
    }

    /// Which rules the object breaks. If evaluating them would cost too much, none is, and that is
    /// what is said.
    pub fn broken(self) -> Vec<BrokenRule> {
        if let Err(over) = self.cost {
            return vec![over];
        }
        let evaluate = || validate_compiled(&self.rules.0, self.object, self.old);
        let errors = depth::on_enough_stack(evaluate)
            .err()
            .map(Vec::from_iter)
            .unwrap_or_default();
        // A rule that cannot be evaluated here holds nobody up.
        let evaluated = |error: &&ValidationError| {
            !matches!(
                error.kind,
                ErrorKind::CompilationFailure | ErrorKind::UnsupportedReference
            )
        };
        let mut found: Vec<BrokenRule> = errors
            .iter()
            .filter(evaluated)
            .map(|error| broken(self.object, error))
            .collect();
        // Properties come in any order.
        found.sort_by(|one, other| one.field.cmp(&other.field));
        found
    }
}

/// Whether there is a rule anywhere in a schema.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules)
        }
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

fn broken(object: &Value, error: &ValidationError) -> BrokenRule {
    let reason = error.reason.as_deref().unwrap_or("FieldValueInvalid");
    let shown = match at(object, &path(&error.field_path)) {
        Some(Value::Object(_) | Value::Array(_)) | None => String::new(),
        Some(value) => format!("{value}: "),
    };
    let why = &error.message;
    let what = match reason {
        "FieldValueForbidden" => format!("Forbidden: {why}"),
        "FieldValueRequired" => format!("Required value: {why}"),
        "FieldValueDuplicate" => format!("Duplicate value: {}", shown.trim_end_matches(": ")),
        _ => format!("Invalid value: {shown}{why}"),
    };
    let certain = match error.kind {
        ErrorKind::ValidationFailure => true,
        // A field that is not there, a division by zero: not what only this evaluator lacks.
        ErrorKind::EvaluationError => ["No such key", "by zero"]
            .iter()
            .any(|words| why.contains(words)),
        _ => false,
    };
    BrokenRule {
        field: error.field_path.clone(),
        reason: reason.to_owned(),
        what,
        certain,
    }
}

/// A path such as `spec.list[0].name`.
fn path(text: &str) -> Path {
    let mut steps: Vec<Step> = Vec::new();
    for part in text.split('.').filter(|part| !part.is_empty()) {
        let (name, rest) = part
            .split_once('[')
            .map_or((part, None), |(name, rest)| (name, Some(rest)));
        if !name.is_empty() {
            steps.push(name.into());
        }
        for index in rest.into_iter().flat_map(|rest| rest.split('[')) {
            let index = index.trim_end_matches(']');
            steps.push(match index.parse::<usize>() {
                Ok(number) => number.into(),
                Err(_) => index.trim_matches(['"', '\'']).into(),
            });
        }
    }
    steps.into()
}

fn at<'a>(object: &'a Value, path: &Path) -> Option<&'a Value> {
    path.steps()
        .iter()
        .try_fold(object, |value, step| match step {
            Step::Field(name) => value.get(&**name),
            Step::Index(index) => value.get(*index),
            Step::Each => None,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::Schema;

    #[test]
    fn a_broken_rule_is_told_with_its_place_reason_and_value() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "shrinks"}]},
            "odd": {"type": "integer"},
        }, "x-kubernetes-validations": [{"rule": "self.size < 9"}, {"rule": "!has(self.odd) || self.odd > 1", "reason": "FieldValueForbidden", "fieldPath": ".odd"}]}}});
        let (schema, flaws) = Schema::read(&schema);
        assert_eq!(flaws, []);
        let rules = schema.rules().unwrap();
        let thing = |size: i64| json!({"spec": {"size": size}});
        let told = |new, old: Option<Value>| {
            rules
                .broken(&new, old.as_ref())
                .into_iter()
                .map(|it| (it.field, it.what))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(thing(5), None), []);
        assert_eq!(
            told(thing(4), Some(thing(5))),
            [(
                "spec.size".to_owned(),
                "Invalid value: 4: shrinks".to_owned()
            )]
        );
        let large = (
            "spec".to_owned(),
            "Invalid value: failed rule: self.size < 9".to_owned(),
        );
        assert_eq!(told(thing(10), None), [large]);
        let odd = told(json!({"spec": {"size": 1, "odd": 0}}), None);
        assert_eq!(
            odd,
            [(
                "spec.odd".to_owned(),
                "Forbidden: failed rule: !has(self.odd) || self.odd > 1".to_owned()
            )]
        );
        assert!(Schema::read(&json!({"type": "object"})).0.rules().is_none());
    }

    #[test]
    fn rules_are_held_to_once_the_rest_fits_and_after_defaults() {
        let (schema, _) = Schema::read(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "greeting": {"type": "string", "default": "hello"},
            "size": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "no x"}]}},
        }, "x-kubernetes-validations": [{"rule": "self.greeting != 'bye'", "message": "say hello"}]}}}),
        );
        for (spec, expected) in [
            (json!({}), vec![]),
            (
                json!({"greeting": "bye"}),
                vec!["spec: Invalid value: say hello"],
            ),
            (
                json!({"greeting": "bye", "list": ["a", "x"]}),
                vec![
                    "spec: Invalid value: say hello",
                    "spec.list[1]: Invalid value: \"x\": no x",
                ],
            ),
            (
                json!({"greeting": "bye", "size": "a"}),
                vec![
                    "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
                ],
            ),
        ] {
            let mut object = json!({"apiVersion": "a/v1", "kind": "Thing", "spec": spec});
            let found: Vec<String> = schema
                .admit(&mut object)
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(found, expected, "{spec}");
        }
    }
}
