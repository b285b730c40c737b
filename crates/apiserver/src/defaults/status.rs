//! What the status of a new object says before anybody has looked after it.

use serde_json::{Value, json};

use super::pod;

/// Fills in the status of a new object.
pub(super) fn fill(table: &str, object: &mut Value) {
    let status = match table {
        "pods" => json!({"phase": "Pending", "qosClass": pod::quality(object)}),
        "namespaces" => json!({"phase": "Active"}),
        "persistentvolumeclaims" | "persistentvolumes" => json!({"phase": "Pending"}),
        "statefulsets.apps" => json!({"replicas": 0, "availableReplicas": 0}),
        "replicasets.apps" | "replicationcontrollers" => json!({"replicas": 0}),
        "daemonsets.apps" => json!({
            "currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0,
        }),
        "horizontalpodautoscalers.autoscaling" => {
            json!({"currentMetrics": null, "desiredReplicas": 0})
        }
        "services" | "ingresses.networking.k8s.io" => json!({"loadBalancer": {}}),
        "poddisruptionbudgets.policy" => json!({
            "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0,
        }),
        _ => return,
    };
    if object.is_object() {
        object["status"] = status;
    }
}
