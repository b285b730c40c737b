//! What is filled into definitions of custom resources.

use serde_json::{Value, json};

/// Fills in names, and notes in the status which versions have been stored.
pub(super) fn fill(old: Option<&Value>, definition: &mut Value) {
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let stored = definition["spec"]["versions"].as_array().into_iter().flatten();
    let stored = stored.clone().find(|version| version["storage"] == true).map(|version| version["name"].clone());
    if let Some(names) = definition["spec"]["names"].as_object_mut()
        && !kind.is_empty()
    {
        let missing = |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
        if missing(names.get("singular")) {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if missing(names.get("listKind")) {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if old.is_none() {
        definition["status"] = json!({
            "acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": [],
        });
    }
    if let Some(stored) = stored {
        let versions = &mut definition["status"]["storedVersions"];
        if versions.is_null() {
            *versions = json!([]);
        }
        if let Some(versions) = versions.as_array_mut().filter(|versions| !versions.contains(&stored)) {
            versions.push(stored);
        }
    }
}
