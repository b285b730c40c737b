//! Which fields a CRD itself has: one that it does not have was probably meant to be another.

use objects::{Path, nearest};
use serde_json::{Map, Value};

use super::{CrdProblem, Severity};

const SPEC: &[&str] = &[
    "group",
    "names",
    "scope",
    "versions",
    "conversion",
    "preserveUnknownFields",
];
/// What only v1beta1 has beside the versions.
const SPEC_BETA: &[&str] = &[
    "version",
    "validation",
    "subresources",
    "additionalPrinterColumns",
];
const NAMES: &[&str] = &[
    "kind",
    "plural",
    "singular",
    "shortNames",
    "listKind",
    "categories",
];
const VERSION: &[&str] = &[
    "name",
    "served",
    "storage",
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
    "deprecated",
    "deprecationWarning",
];

/// Fields that no CRD has, and flags of versions that every CRD has.
pub(super) fn check(document: &Value, beta: bool, problems: &mut Vec<CrdProblem>) {
    let spec = Path::fields(&["spec"]);
    let known: Vec<&str> = SPEC
        .iter()
        .chain(SPEC_BETA.iter().filter(|_| beta))
        .copied()
        .collect();
    unknown(document.get("spec"), &spec, &known, problems);
    unknown(
        document.pointer("/spec/names"),
        &spec.child("names"),
        NAMES,
        problems,
    );
    let versions = document.pointer("/spec/versions").and_then(Value::as_array);
    for (index, version) in versions.into_iter().flatten().enumerate() {
        let here = spec.child("versions").child(index);
        unknown(Some(version), &here, VERSION, problems);
        for flag in ["served", "storage"] {
            if !version.get(flag).is_some_and(Value::is_boolean) {
                let what = format!(
                    "the version does not say whether it is {}",
                    if flag == "served" { flag } else { "stored" }
                );
                let hint = Some(format!("write `{flag}: true` or `{flag}: false`"));
                problems.push(CrdProblem {
                    severity: Severity::Error,
                    path: here.child(flag),
                    what,
                    hint,
                });
            }
        }
    }
}

fn unknown(value: Option<&Value>, path: &Path, known: &[&str], problems: &mut Vec<CrdProblem>) {
    let fields = value
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys);
    for name in fields.filter(|name| !known.contains(&name.as_str())) {
        let hint =
            nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let what = format!("a CRD has no field `{name}` here");
        problems.push(CrdProblem {
            severity: Severity::Warning,
            path: path.child(name.as_str()),
            what,
            hint,
        });
    }
}
