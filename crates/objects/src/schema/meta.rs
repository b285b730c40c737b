//! The schema of `metadata`, which every object has and no CRD describes.

use std::sync::LazyLock;

use serde_json::json;

use super::Schema;

static META: LazyLock<Schema> = LazyLock::new(|| {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let texts = json!({ "type": "object", "additionalProperties": text });
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let owner = json!({ "type": "object", "properties": {
        "apiVersion": text,
        "blockOwnerDeletion": { "type": "boolean" },
        "controller": { "type": "boolean" },
        "kind": text,
        "name": text,
        "uid": text,
    } });
    Schema::read(&json!({ "type": "object", "properties": {
        "annotations": texts,
        "creationTimestamp": text,
        "deletionGracePeriodSeconds": number,
        "deletionTimestamp": text,
        "finalizers": { "type": "array", "items": text },
        "generateName": text,
        "generation": number,
        "labels": texts,
        "managedFields": { "type": "array", "items": open },
        "name": text,
        "namespace": text,
        "ownerReferences": { "type": "array", "items": owner },
        "resourceVersion": text,
        "selfLink": text,
        "uid": text,
    } }))
    .0
});

static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema::read(&json!({ "type": "string" })).0);

/// The schema of `metadata`.
pub fn object_meta() -> &'static Schema {
    &META
}

/// The schema of a field that every object has.
pub(super) fn of_every_object(field: &str) -> Option<&'static Schema> {
    match field {
        "apiVersion" | "kind" => Some(&TEXT),
        "metadata" => Some(&META),
        _ => None,
    }
}

/// The fields that every object has.
pub(super) const FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];
