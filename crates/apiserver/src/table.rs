//! Objects as rows of a table, as `kubectl get` shows them.

use serde_json::{Value, json};

use crate::{kinds::Served, respond};

/// A table of objects. `include` says how much of each object goes with its row.
pub(crate) fn table(served: &Served, objects: &[Value], meta: &Value, include: Option<&str>) -> Value {
    let _ = served;
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let with = match include {
                Some("None") => Value::Null,
                Some("Object") => object.clone(),
                _ => respond::metadata(object),
            };
            json!({"cells": [object["metadata"]["name"], object["metadata"]["creationTimestamp"]], "object": with})
        })
        .collect();
    let columns = json!([
        {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
        {"name": "Created At", "type": "date", "format": "", "description": "", "priority": 0},
    ]);
    let metadata = json!({"resourceVersion": meta["resourceVersion"]});
    json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows})
}
