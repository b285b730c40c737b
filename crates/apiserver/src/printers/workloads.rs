//! Deployments and the other owners of pods, as rows.

use serde_json::{Value, json};

use super::format::{items, labels, number, selector, text};

/// The cell, if the kind has one of its own there.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    let status = |field: &str| json!(number(object, &format!("/status/{field}")));
    Some(match (plural, column) {
        ("deployments" | "statefulsets", "Ready") => format!(
            "{}/{}",
            number(object, "/status/readyReplicas"),
            number(object, "/spec/replicas")
        )
        .into(),
        ("deployments", "Up-to-date") => status("updatedReplicas"),
        ("deployments", "Available") => status("availableReplicas"),
        ("replicasets" | "replicationcontrollers", "Desired") => {
            json!(number(object, "/spec/replicas"))
        }
        ("replicasets" | "replicationcontrollers", "Current") => status("replicas"),
        ("replicasets" | "replicationcontrollers", "Ready") => status("readyReplicas"),
        ("replicationcontrollers", "Selector") => labels(object, "/spec/selector"),
        ("daemonsets", "Desired") => status("desiredNumberScheduled"),
        ("daemonsets", "Current") => status("currentNumberScheduled"),
        ("daemonsets", "Ready") => status("numberReady"),
        ("daemonsets", "Up-to-date") => status("updatedNumberScheduled"),
        ("daemonsets", "Available") => status("numberAvailable"),
        ("daemonsets", "Node Selector") => labels(object, "/spec/template/spec/nodeSelector"),
        ("controllerrevisions", "Controller") => owner(object),
        ("controllerrevisions", "Revision") => json!(number(object, "/revision")),
        ("podtemplates", "Containers") => {
            super::format::joined(items(object, "/template/spec/containers"), "name")
        }
        ("podtemplates", "Images") => {
            super::format::joined(items(object, "/template/spec/containers"), "image")
        }
        ("podtemplates", "Pod Labels") => labels(object, "/template/metadata/labels"),
        (_, "Selector") => selector(object, "/spec/selector"),
        _ => return None,
    })
}

/// The owner that controls: `deployment.apps/web`.
fn owner(object: &Value) -> Value {
    let owners = items(object, "/metadata/ownerReferences");
    let Some(owner) = owners.iter().find(|owner| owner["controller"] == true) else {
        return "<none>".into();
    };
    let kind = text(owner, "/kind").to_lowercase();
    let group = text(owner, "/apiVersion")
        .split_once('/')
        .map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{kind}{group}/{}", text(owner, "/name")).into()
}
