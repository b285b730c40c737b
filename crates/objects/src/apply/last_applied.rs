//! kubectl's annotation of what it applied before the server could: it owns those fields, whoever
//! they are said to be managed by.

use serde_json::Value;

use super::managed::Managers;
use super::{ApplyError, Change, Conflicts, attempt, fields};
use crate::fields::FieldSet;
use crate::name::ANNOTATIONS_LIMIT;
use crate::typed::{compare, fields_of, validate};

/// The manager that the annotation is of.
pub const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Applies; what kubectl applied itself before is no conflict to it.
pub fn apply<'v>(
    live: &Value,
    config: &Value,
    managers: Managers<'v>,
    change: &Change<'_>,
    force: bool,
) -> Result<(Value, Managers<'v>, bool), ApplyError> {
    if change.manager != KUBECTL {
        return attempt(live, config, managers, change, force).map_err(ApplyError::Conflicts);
    }
    let conflicts = match attempt(live, config, managers.clone(), change, force) {
        Ok(applied) => return Ok(applied),
        Err(conflicts) => conflicts,
    };
    let Some(allowed) = own_fields(live, change) else {
        return Err(ApplyError::Conflicts(conflicts));
    };
    let rest: Vec<_> = conflicts
        .0
        .into_iter()
        .filter(|conflict| !allowed.has(&conflict.path.0))
        .collect();
    if !rest.is_empty() {
        return Err(ApplyError::Conflicts(Conflicts(rest)));
    }
    attempt(live, config, managers, change, true).map_err(ApplyError::Conflicts)
}

/// What the annotation says and the object still has.
fn own_fields(live: &Value, change: &Change<'_>) -> Option<FieldSet> {
    let text = annotation(live)?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion")?.as_str()? != change.version
        || validate(change.shape, &last, false).is_err()
    {
        return None;
    }
    let comparison = compare(change.shape, &last, live);
    let fields = fields_of(change.shape, &last);
    Some(
        fields
            .difference(&comparison.modified)
            .difference(&comparison.added)
            .difference(&comparison.removed),
    )
}

fn annotation(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// Brings the annotation up to date, if there is one.
pub fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut)
        && let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    let Some(annotations) = object.pointer_mut("/metadata/annotations") else {
        return;
    };
    let text = format!("{}\n", crate::go::json(&config));
    let others: usize = fields(annotations)
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != ANNOTATION)
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    let fits = others + ANNOTATION.len() + text.len() <= ANNOTATIONS_LIMIT;
    if let Some(annotations) = annotations.as_object_mut() {
        if fits {
            annotations.insert(ANNOTATION.to_owned(), text.into());
        } else {
            annotations.remove(ANNOTATION);
        }
    }
}
