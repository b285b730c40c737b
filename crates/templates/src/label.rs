//! The labels of a template on its objects and, together or not at all, on their selectors and the
//! pods that these select.

use std::collections::BTreeMap;

use objects::Path;
use serde_json::{Map, Value};

use crate::pods::{Selector, Shape};
use crate::problem::Problem;
use crate::template::what;

/// The labels, as a template has them in the end.
pub(crate) type Labels = BTreeMap<String, String>;

/// What the API server would refuse of labels.
pub(crate) fn check(labels: &Labels) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (key, value) in labels {
        let path = Path::fields(&["labels", key]);
        for error in objects::name::label_key_errors(key) {
            problems.push(
                Problem::at(
                    path.clone(),
                    format!("`{key}` cannot be the key of a label: {error}"),
                )
                .key(),
            );
        }
        for error in objects::name::label_value_errors(value) {
            problems.push(Problem::at(
                path.clone(),
                format!("`{value}` cannot be the value of a label: {error}"),
            ));
        }
    }
    problems
}

/// Labels an object itself; equal keys are overwritten.
pub(crate) fn label_object(
    object: &mut Value,
    labels: &Labels,
    path: &Path,
) -> Result<(), Problem> {
    let Value::Object(fields) = object else {
        return Ok(());
    };
    label_metadata(fields, labels, &path.child("metadata"))
}

fn label_metadata(
    fields: &mut Map<String, Value>,
    labels: &Labels,
    path: &Path,
) -> Result<(), Problem> {
    let metadata = mapping(fields, "metadata", path)?;
    add(mapping(metadata, "labels", &path.child("labels"))?, labels);
    Ok(())
}

/// The mapping of a field; made if nothing is there.
fn mapping<'v>(
    fields: &'v mut Map<String, Value>,
    field: &str,
    path: &Path,
) -> Result<&'v mut Map<String, Value>, Problem> {
    let value = fields.entry(field).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => Ok(fields),
        other => {
            let what = format!(
                "the template's labels cannot be put here: `{field}` is a mapping, and this is {}",
                what(other)
            );
            Err(Problem::at(path.clone(), what))
        }
    }
}

fn add(fields: &mut Map<String, Value>, labels: &Labels) {
    for (key, value) in labels {
        fields.insert(key.clone(), Value::String(value.clone()));
    }
}

/// Labels the pods and the selectors of an object, whose selectors then still fit its pods. Says
/// whether it has any.
pub(crate) fn label_pods(
    object: &mut Value,
    shape: &Shape,
    labels: &Labels,
    path: &Path,
) -> Result<bool, Problem> {
    let at = |fields: &[&str]| path.join(&Path::fields(fields));
    let selects = shape
        .selector
        .is_some_and(|(way, selector)| is_labelable(find(object, way), selector));
    if let Some((way, _)) = shape.selector
        && let Some(other) =
            find(object, way).filter(|found| !found.is_null() && !found.is_object())
    {
        return Err(Problem::at(
            at(way),
            format!("a selector is a mapping, and this is {}", what(other)),
        ));
    }
    if let Some(way) = shape.template {
        let Some(template) = find_mut(object, way) else {
            return Ok(false);
        };
        let Value::Object(fields) = template else {
            return if template.is_null() {
                Ok(false)
            } else {
                Err(Problem::at(
                    at(way),
                    format!(
                        "the template of pods is a mapping, and this is {}",
                        what(template)
                    ),
                ))
            };
        };
        label_metadata(fields, labels, &at(way).child("metadata"))?;
    }
    if let Some((way, selector)) = shape.selector.filter(|_| selects)
        && let Some(Value::Object(fields)) = find_mut(object, way)
    {
        match selector {
            Selector::Plain => add(fields, labels),
            Selector::Labels => add(
                mapping(fields, "matchLabels", &at(way).child("matchLabels"))?,
                labels,
            ),
        }
    }
    Ok(selects || shape.template.is_some())
}

/// Whether a selector is there and selects something less than everything: none is ever made.
fn is_labelable(selector: Option<&Value>, kind: Selector) -> bool {
    let Some(Value::Object(fields)) = selector else {
        return false;
    };
    match kind {
        Selector::Plain => !fields.is_empty(),
        Selector::Labels => {
            ["matchLabels", "matchExpressions"]
                .iter()
                .any(|part| match fields.get(*part) {
                    Some(Value::Object(labels)) => !labels.is_empty(),
                    Some(Value::Array(rules)) => !rules.is_empty(),
                    _ => false,
                })
        }
    }
}

fn find<'v>(object: &'v Value, way: &[&str]) -> Option<&'v Value> {
    way.iter().try_fold(object, |value, field| value.get(field))
}

fn find_mut<'v>(object: &'v mut Value, way: &[&str]) -> Option<&'v mut Value> {
    way.iter()
        .try_fold(object, |value, field| value.get_mut(field))
}
