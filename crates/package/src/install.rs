//! Reads `install.yaml`: the Deployment of the controller that a package brings.

use objects::{Gvk, Path};
use serde_json::{Value, json};

use crate::document::documents;
use crate::problem::Problems;

/// `name` and `spec` of the Deployment.
pub(crate) fn read(file: &str, bytes: &[u8], problems: &mut Problems) -> Option<Value> {
    let documents = documents(file, bytes, problems);
    let document = documents.first()?;
    if let Some(second) = documents.get(1) {
        let what = "`install.yaml` holds more than one object";
        second.error(
            &Path::root(),
            what,
            Some("it may hold one Deployment".into()),
            problems,
        );
    }
    if Gvk::of(&document.value) != Some(Gvk::new("apps", "v1", "Deployment")) {
        let hint = Some("write `apiVersion: apps/v1` and `kind: Deployment`".to_owned());
        document.error(
            &Path::fields(&["kind"]),
            "this is no Deployment of `apps/v1`",
            hint,
            problems,
        );
        return None;
    }
    let Some(spec) = document.value.get("spec").filter(|spec| spec.is_object()) else {
        document.error(
            &Path::fields(&["spec"]),
            "the Deployment has no spec",
            None,
            problems,
        );
        return None;
    };
    let name = document
        .value
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Some(json!({ "name": name, "spec": spec }))
}
