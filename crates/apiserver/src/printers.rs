//! Objects as rows of a table, as `kubectl get` shows them: the columns as recorded, a cell for
//! each of them.

mod batch;
mod cluster;
mod custom;
mod format;
mod jsonpath;
mod network;
mod pods;
mod simple;
mod storage;
mod workloads;

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::handlers::respond;
use crate::handlers::status::ApiError;
use crate::recorded;
use crate::registry::Served;

/// The columns of the built-in resources, by path and resource.
static COLUMNS: LazyLock<Value> = LazyLock::new(|| recorded::value("columns").unwrap_or_default());

/// How much of each object goes with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    Nothing,
}

impl Include {
    /// Reads the parameter of a request.
    pub(crate) fn read(asked: Option<&str>) -> Result<Self, ApiError> {
        match asked {
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("Object") => Ok(Self::Object),
            Some("None") => Ok(Self::Nothing),
            Some(other) => Err(ApiError::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// A table of objects.
pub(crate) fn table(served: &Served, objects: &[Value], meta: &Value, include: Include) -> Value {
    let columns = columns(served);
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let with = match include {
                Include::Nothing => Value::Null,
                Include::Object => object.clone(),
                Include::Metadata => respond::metadata(object),
            };
            json!({"cells": cells(served, &columns, object), "object": with})
        })
        .collect();
    let mut metadata = json!({"resourceVersion": meta["resourceVersion"]});
    for field in ["continue", "remainingItemCount"] {
        if let Some(value) = meta.get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows,
    })
}

fn columns(served: &Served) -> Value {
    if let Some(definition) = &served.custom {
        return custom::columns(definition);
    }
    let group = if served.group.is_empty() {
        "api".to_owned()
    } else {
        format!("apis/{}", served.group)
    };
    let known = COLUMNS.get(format!("{group}/{}/{}", served.version, served.plural));
    known.cloned().unwrap_or_else(custom::default_columns)
}

fn cells(served: &Served, columns: &Value, object: &Value) -> Vec<Value> {
    if let Some(definition) = &served.custom {
        return custom::cells(definition, object);
    }
    let names = columns
        .as_array()
        .into_iter()
        .flatten()
        .map(|column| column["name"].as_str().unwrap_or_default());
    names
        .map(|column| cell(&served.plural, column, object))
        .collect()
}

/// A cell of a built-in kind: what the kind has of its own, else what is just a field or what all
/// have.
fn cell(plural: &str, column: &str, object: &Value) -> Value {
    let own = match plural {
        "pods" => pods::cell(column, object),
        "deployments"
        | "replicasets"
        | "statefulsets"
        | "daemonsets"
        | "replicationcontrollers"
        | "controllerrevisions"
        | "podtemplates" => workloads::cell(plural, column, object),
        "jobs" | "cronjobs" | "horizontalpodautoscalers" => batch::cell(plural, column, object),
        "services" | "ingresses" | "endpoints" | "endpointslices" | "networkpolicies"
        | "ingressclasses" => network::cell(plural, column, object),
        "persistentvolumes" | "persistentvolumeclaims" | "storageclasses" | "csidrivers" => {
            storage::cell(plural, column, object)
        }
        _ => cluster::cell(plural, column, object),
    };
    own.or_else(|| simple::cell(plural, column, object))
        .unwrap_or_else(|| "<none>".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_what_the_real_server_shows() {
        let at = "2026-01-01T00:00:00Z";
        let table = [
            (
                "configmaps",
                "Data",
                json!({"data": {"a": "b"}, "binaryData": {"c": "AA=="}}),
                json!(2),
            ),
            ("secrets", "Data", json!({}), json!(0)),
            (
                "deployments",
                "Ready",
                json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 1}}),
                json!("1/3"),
            ),
            (
                "services",
                "Port(s)",
                json!({"spec": {"ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]}}),
                json!("80:30080/TCP"),
            ),
            (
                "services",
                "Selector",
                json!({"spec": {"selector": {"b": "c", "a": "b"}}}),
                json!("a=b,b=c"),
            ),
            (
                "roles",
                "Created At",
                json!({"metadata": {"creationTimestamp": at}}),
                json!(at),
            ),
            (
                "pods",
                "Status",
                json!({"metadata": {"deletionTimestamp": at}, "status": {"phase": "Running"}}),
                json!("Terminating"),
            ),
            (
                "nodes",
                "Status",
                json!({"spec": {"unschedulable": true}}),
                json!("Unknown,SchedulingDisabled"),
            ),
            ("no-such-kind", "Whatever", json!({}), json!("<none>")),
        ];
        for (plural, column, object, expected) in table {
            assert_eq!(cell(plural, column, &object), expected, "{plural} {column}");
        }
    }

    #[test]
    fn every_column_of_the_real_server_has_a_cell_whatever_the_object() {
        let columns = COLUMNS.as_object().unwrap();
        assert!(columns.len() > 50);
        for (path, columns) in columns {
            let plural = path.rsplit('/').next().unwrap_or_default();
            for column in columns.as_array().unwrap() {
                for object in [
                    json!({}),
                    json!({"metadata": 1, "spec": [], "status": "x"}),
                    Value::Null,
                ] {
                    cell(plural, column["name"].as_str().unwrap(), &object);
                }
            }
        }
    }

    #[test]
    fn what_to_include_is_checked() {
        assert_eq!(Include::read(None).ok(), Some(Include::Metadata));
        assert_eq!(Include::read(Some("None")).ok(), Some(Include::Nothing));
        assert!(Include::read(Some("Some")).is_err());
    }
}
