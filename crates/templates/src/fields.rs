//! The fields that a template and its parameters have; any other is a mistake, with the one that
//! was probably meant.

use objects::{Path, Step};
use serde_json::{Map, Value};

use crate::problem::Problem;

/// The fields of a template.
const TEMPLATE: [&str; 8] = [
    "apiVersion",
    "kind",
    "metadata",
    "message",
    "objects",
    "parameters",
    api::template::LABELS,
    api::template::OBJECT_LABELS,
];

/// The fields of a parameter.
const PARAMETER: [&str; 8] = [
    "name",
    "displayName",
    "description",
    "value",
    "required",
    "type",
    "generate",
    "from",
];

/// What other systems call the fields of a parameter.
const ELSEWHERE: [(&str, &str); 6] = [
    ("default", "value"),
    ("defaultValue", "value"),
    ("pattern", "from"),
    ("regex", "from"),
    ("title", "displayName"),
    ("kind", "type"),
];

/// The fields of any object's metadata.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Fields that a template does not have, at its root and in its metadata.
pub(crate) fn unknown(fields: &Map<String, Value>) -> Vec<Problem> {
    let mut problems = others(fields, &TEMPLATE, &[], "a template", &Path::root());
    if let Some(Value::Object(metadata)) = fields.get("metadata") {
        problems.extend(others(
            metadata,
            &METADATA,
            &[],
            "metadata",
            &Path::fields(&["metadata"]),
        ));
    }
    problems
}

/// Fields that a parameter does not have.
pub(crate) fn unknown_of_parameter(fields: &Map<String, Value>, path: &Path) -> Vec<Problem> {
    others(fields, &PARAMETER, &ELSEWHERE, "a parameter", path)
}

fn others(
    fields: &Map<String, Value>,
    known: &[&'static str],
    elsewhere: &[(&str, &'static str)],
    whose: &str,
    path: &Path,
) -> Vec<Problem> {
    let unknown = fields
        .keys()
        .filter(|field| !known.contains(&field.as_str()));
    let problem = |field: &String| {
        let problem = Problem::at(
            path.child(field.as_str()),
            format!("{whose} has no field `{field}`"),
        )
        .key();
        let meant = elsewhere
            .iter()
            .find(|(other, _)| other == field)
            .map(|(_, own)| *own);
        match meant.or_else(|| objects::nearest(field, known.iter().copied())) {
            Some(meant) => problem.hint(format!("did you mean `{meant}`?")),
            None => problem.hint(format!("it has {}", known.join(", "))),
        }
    };
    unknown.map(problem).collect()
}

/// Gives the labels the name that all else knows them by; says whether they had the proposal's.
pub(crate) fn settle_labels(value: &mut Value) -> bool {
    let Value::Object(fields) = value else {
        return false;
    };
    let Some(labels) = fields.remove(api::template::OBJECT_LABELS) else {
        return false;
    };
    fields.insert(api::template::LABELS.to_owned(), labels);
    true
}

/// A problem with the labels at the place where they were written.
pub(crate) fn at_alias(problem: Problem) -> Problem {
    match problem.path.steps().split_first() {
        Some((Step::Field(first), rest)) if **first == *api::template::LABELS => {
            let start = std::iter::once(Step::from(api::template::OBJECT_LABELS));
            let path = start.chain(rest.iter().cloned()).collect();
            Problem { path, ..problem }
        }
        _ => problem,
    }
}
