//! What a cluster's own controllers would report of built-in objects if everything they ask for
//! ran. A control plane without nodes runs nothing; whoever wants its instances to become ready all
//! the same writes these statuses.

use objects::Gvk;
use serde_json::{Map, Value, json};

use crate::at::at;

/// The kinds that are reported on, as group, version and kind.
pub const SIMULATED: [(&str, &str, &str); 10] = [
    ("apps", "v1", "DaemonSet"),
    ("apps", "v1", "Deployment"),
    ("apps", "v1", "ReplicaSet"),
    ("apps", "v1", "StatefulSet"),
    ("batch", "v1", "Job"),
    ("networking.k8s.io", "v1", "Ingress"),
    ("", "v1", "PersistentVolumeClaim"),
    ("", "v1", "Pod"),
    ("", "v1", "ReplicationController"),
    ("", "v1", "Service"),
];

/// The address of whatever is reached from outside: one that is kept for examples, so that it leads
/// nowhere.
const OUTSIDE: &str = "192.0.2.1";

/// The merge patch of an object's status after which it says that all it asks for runs; none if it
/// says so already, or if its kind is not reported on.
pub fn play(object: &Value, now: &str) -> Option<Value> {
    let gvk = Gvk::of(object)?;
    let known = (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str());
    if !SIMULATED.contains(&known) || !object["metadata"]["deletionTimestamp"].is_null() {
        return None;
    }
    let wanted = match gvk.kind.as_str() {
        "Deployment" => deployment(object),
        "StatefulSet" => stateful_set(object),
        "ReplicaSet" | "ReplicationController" => replica_set(object),
        "DaemonSet" => daemon_set(object),
        "Job" => job(object, now),
        "Pod" => pod(object, now),
        "Ingress" => outside(),
        "PersistentVolumeClaim" => claim(object),
        "Service" if object["spec"]["type"] == "LoadBalancer" => outside(),
        _ => return None,
    };
    difference(&object["status"], wanted, now)
}

/// What is left to write, with times for what changes.
fn difference(live: &Value, wanted: Value, now: &str) -> Option<Value> {
    let Value::Object(wanted) = wanted else {
        return None;
    };
    let mut patch = Map::new();
    for (name, value) in wanted {
        let now_said = match (&live[&name], value) {
            (live, Value::Array(conditions)) if name == "conditions" => {
                let said = live.as_array().map(Vec::as_slice).unwrap_or_default();
                let same = |condition: &Value| {
                    said.iter().any(|own| {
                        own["type"] == condition["type"] && own["status"] == condition["status"]
                    })
                };
                if conditions.iter().all(same) {
                    continue;
                }
                let timed = conditions.into_iter().map(|mut condition| {
                    condition["lastTransitionTime"] = json!(now);
                    condition
                });
                timed.collect()
            }
            // Kubernetes leaves out what is zero.
            (live, value) if *live == value || (live.is_null() && is_zero(&value)) => continue,
            (_, value) if is_zero(&value) => Value::Null,
            // When something began or ended is said once.
            (live, _) if name.ends_with("Time") && live.is_string() => continue,
            (_, value) => value,
        };
        patch.insert(name, now_said);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

fn is_zero(value: &Value) -> bool {
    value.as_i64() == Some(0)
}

fn count(object: &Value, pointer: &str) -> i64 {
    at(object, pointer).and_then(Value::as_i64).unwrap_or(1)
}

fn condition(kind: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": "True", "reason": reason, "message": message })
}

fn deployment(object: &Value) -> Value {
    let replicas = count(object, "/spec/replicas");
    json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [
            condition("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            condition("Progressing", "NewReplicaSetAvailable", "All of its replicas are up to date."),
        ],
    })
}

fn stateful_set(object: &Value) -> Value {
    let replicas = count(object, "/spec/replicas");
    json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": replicas, "currentReplicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
    })
}

fn replica_set(object: &Value) -> Value {
    let replicas = count(object, "/spec/replicas");
    json!({
        "observedGeneration": object["metadata"]["generation"],
        "replicas": replicas, "fullyLabeledReplicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas,
    })
}

/// As if there were one node.
fn daemon_set(object: &Value) -> Value {
    json!({
        "observedGeneration": object["metadata"]["generation"],
        "desiredNumberScheduled": 1, "currentNumberScheduled": 1, "updatedNumberScheduled": 1,
        "numberReady": 1, "numberAvailable": 1,
    })
}

fn job(object: &Value, now: &str) -> Value {
    if object["spec"]["suspend"] == true {
        return Value::Null;
    }
    json!({
        "startTime": now, "completionTime": now, "succeeded": count(object, "/spec/completions"),
        "conditions": [
            condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"),
            condition("Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
        ],
    })
}

/// A pod that has ended stays so.
fn pod(object: &Value, now: &str) -> Value {
    if ["Succeeded", "Failed"]
        .iter()
        .any(|phase| object["status"]["phase"] == *phase)
    {
        return Value::Null;
    }
    let kinds = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];
    let conditions: Vec<Value> = kinds
        .iter()
        .map(|kind| json!({ "type": kind, "status": "True" }))
        .collect();
    json!({ "phase": "Running", "startTime": now, "conditions": conditions })
}

fn claim(object: &Value) -> Value {
    let spec = &object["spec"];
    json!({ "phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"] })
}

fn outside() -> Value {
    json!({ "loadBalancer": { "ingress": [{ "ip": OUTSIDE }] } })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SIMULATED, play};

    /// A merge patch of the plain fields of a status.
    fn patched(mut object: Value, patch: &Value) -> Value {
        if object["status"].is_null() {
            object["status"] = json!({});
        }
        for (name, value) in patch.as_object().unwrap() {
            if value.is_null() {
                object["status"].as_object_mut().unwrap().remove(name);
            } else {
                object["status"][name] = value.clone();
            }
        }
        object
    }

    fn object(group: &str, version: &str, kind: &str, spec: &Value) -> Value {
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "x", "generation": 3 }, "spec": spec })
    }

    #[test]
    fn what_is_said_once_is_not_said_again() {
        let spec =
            json!({ "type": "LoadBalancer", "resources": { "requests": { "storage": "1Gi" } } });
        for (group, version, kind) in SIMULATED {
            let before = object(group, version, kind, &spec);
            let patch = play(&before, "t0").unwrap_or_else(|| panic!("{kind} is reported on"));
            assert_eq!(play(&patched(before, &patch), "t1"), None, "{kind}");
        }
    }

    #[test]
    fn a_deployment_has_the_replicas_that_it_asks_for_now() {
        let before = object("apps", "v1", "Deployment", &json!({ "replicas": 2 }));
        let patch = play(&before, "t0").unwrap();
        assert_eq!(
            (&patch["readyReplicas"], &patch["observedGeneration"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(patch["conditions"][0]["lastTransitionTime"], "t0");
        let mut scaled = patched(before, &patch);
        scaled["spec"]["replicas"] = json!(0);
        scaled["metadata"]["generation"] = json!(4);
        let patch = play(&scaled, "t1").unwrap();
        assert_eq!(
            (&patch["readyReplicas"], &patch["observedGeneration"]),
            (&Value::Null, &json!(4))
        );
        assert_eq!(patch.get("conditions"), None);
    }

    #[test]
    fn what_goes_what_is_suspended_and_what_nobody_here_knows_is_left_alone() {
        let mut going = object("apps", "v1", "Deployment", &json!({}));
        going["metadata"]["deletionTimestamp"] = json!("t");
        for object in [
            going,
            object("batch", "v1", "Job", &json!({ "suspend": true })),
            object("", "v1", "Service", &json!({ "type": "ClusterIP" })),
            object("example.org", "v1", "Deployment", &json!({})),
            json!({ "kind": "Deployment" }),
            json!(null),
        ] {
            assert_eq!(play(&object, "t"), None, "{object}");
        }
    }
}
