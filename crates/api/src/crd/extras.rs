//! What a version of a CRD has beside its schema, columns and the scale subresource, and what the
//! API server refuses it for, in its words.

use objects::Path;
use serde_json::Value;

use super::{CrdProblem, Severity};

/// What a column can hold.
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];

/// Says what is wrong with the columns and the scale subresource of a version.
pub(super) fn check(version: &Value, here: &Path, problems: &mut Vec<CrdProblem>) {
    let mut refuse = |path: Path, what: String, hint: Option<String>| {
        let what = format!("the API server would refuse this CRD: {what}");
        problems.push(CrdProblem {
            severity: Severity::Error,
            path,
            what,
            hint,
        });
    };
    let columns = version
        .get("additionalPrinterColumns")
        .and_then(Value::as_array);
    for (index, column) in columns.into_iter().flatten().enumerate() {
        let place = here.child("additionalPrinterColumns").child(index);
        let text = |field: &str| {
            column
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        if text("name").is_empty() {
            refuse(
                place.child("name"),
                "a column needs a name".to_owned(),
                Some("write `name: ...`".to_owned()),
            );
        }
        let kind = text("type");
        if !COLUMN_TYPES.contains(&kind) {
            let words = COLUMN_TYPES.join(",");
            let found = if kind.is_empty() {
                "Required value".to_owned()
            } else {
                format!("Invalid value: {kind:?}")
            };
            let meant = objects::nearest(kind, COLUMN_TYPES)
                .or(kind.starts_with("str").then_some("string"));
            let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
            refuse(
                place.child("type"),
                format!("type: {found}: must be one of {words}"),
                hint,
            );
        }
        match text("jsonPath") {
            "" => refuse(
                place.child("jsonPath"),
                "jsonPath: Required value".to_owned(),
                Some("write the path of a field: `.spec.replicas`".to_owned()),
            ),
            path if !path.starts_with('.') => refuse(
                place.child("jsonPath"),
                format!(
                    "jsonPath: Invalid value: {path:?}: must be a simple json path starting with ."
                ),
                Some(format!(
                    "write `.{}`",
                    path.trim_start_matches(['$', '{', '.'])
                        .trim_end_matches('}')
                )),
            ),
            _ => {}
        }
    }
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|scale| scale.is_object())
    else {
        return;
    };
    for (field, below) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let place = here.child("subresources").child("scale").child(field);
        match scale.get(field).and_then(Value::as_str).unwrap_or_default() {
            "" => refuse(
                place,
                format!("{field}: Required value"),
                Some(format!(
                    "write the path of the number of replicas: `{below}replicas`"
                )),
            ),
            path if !path.starts_with(below) => {
                let under = below.trim_end_matches('.');
                let what = format!(
                    "{field}: Invalid value: {path:?}: should be a json path under {under}"
                );
                refuse(
                    place,
                    what,
                    Some(format!("write `{below}replicas`, or where the number is")),
                );
            }
            _ => {}
        }
    }
}
