//! The types of the metadata that every object has, for CRDs, whose schemas do not say them.

use serde_json::{Value, json};

/// `ObjectMeta` and what it refers to, as OpenAPI definitions.
pub fn definitions() -> Value {
    let text = json!({"type": "string"});
    let said = json!({"type": "string", "default": ""});
    let time = json!({"type": "string", "format": "date-time"});
    let whole = json!({"type": "integer", "format": "int64"});
    let texts = json!({"type": "object", "additionalProperties": said});
    json!({
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {
            "annotations": texts,
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": whole,
            "deletionTimestamp": time,
            "finalizers": {
                "type": "array",
                "items": said,
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "generateName": text,
            "generation": whole,
            "labels": texts,
            "managedFields": {
                "type": "array",
                "items": {"$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry"},
                "x-kubernetes-list-type": "atomic",
            },
            "name": text,
            "namespace": text,
            "ownerReferences": {
                "type": "array",
                "items": {"$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"},
                "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-list-type": "map",
                "x-kubernetes-patch-merge-key": "uid",
                "x-kubernetes-patch-strategy": "merge",
            },
            "resourceVersion": text,
            "selfLink": text,
            "uid": text,
        }},
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {
            "type": "object",
            "required": ["apiVersion", "kind", "name", "uid"],
            "properties": {
                "apiVersion": said,
                "blockOwnerDeletion": {"type": "boolean"},
                "controller": {"type": "boolean"},
                "kind": said,
                "name": said,
                "uid": said,
            },
            "x-kubernetes-map-type": "atomic",
        },
        "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": {"type": "object", "properties": {
            "apiVersion": text,
            "fieldsType": text,
            "fieldsV1": {"type": "object"},
            "manager": text,
            "operation": text,
            "subresource": text,
            "time": time,
        }},
    })
}
