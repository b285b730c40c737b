//! Live objects without what a cluster wrote into them, so that they can be made again elsewhere.
//! What a cluster writes is known for built-in kinds; of others only what every object has.

use api::labels::{MANAGED_BY, MANAGED_BY_STACK_MANAGER};
use serde_json::{Map, Value, json};

/// What becomes of a live object.
#[derive(Clone, Debug, PartialEq)]
pub enum Cleaned {
    /// The object, without what the cluster wrote.
    Kept(Box<Value>),
    /// It is made by the cluster or by another object: the reason.
    Left(&'static str),
}

const METADATA: [&str; 11] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
    "managedFields",
    "ownerReferences",
    "finalizers",
    "namespace",
];
const ANNOTATIONS: [&str; 8] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "deployment.kubernetes.io/revision",
    "deprecated.daemonset.template.generation",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
];

/// Whether an object is one by which packages are installed, or that the stack manager made for
/// one: it says how a cluster works, not what somebody runs on it.
pub fn is_machinery(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    object["metadata"]["labels"][MANAGED_BY] == MANAGED_BY_STACK_MANAGER
        || version
            .split_once('/')
            .is_some_and(|(group, _)| group == api::GROUP)
}

/// Cleans a live object.
pub fn clean(mut object: Value) -> Cleaned {
    let group = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
        .map_or("", |(group, _)| group);
    let kind = match (group, object["kind"].as_str().unwrap_or_default()) {
        // Old spellings of kinds that have moved.
        ("extensions", kind) => ("apps".to_owned(), kind.to_owned()),
        (group, kind) => (group.to_owned(), kind.to_owned()),
    };
    let kind = (kind.0.as_str(), kind.1.as_str());
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let owners = object["metadata"]["ownerReferences"].as_array();
    if owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true)) {
        return Cleaned::Left("another object makes it");
    }
    let left = match kind {
        ("" | "events.k8s.io", "Event") => Some("events only tell what happened"),
        ("", "Endpoints") | ("discovery.k8s.io", "EndpointSlice") => {
            Some("the cluster makes it for a Service")
        }
        ("coordination.k8s.io", "Lease") => Some("it belongs to a running program"),
        ("apps", "ControllerRevision") => Some("the cluster keeps it as history"),
        ("", "ConfigMap") if name == "kube-root-ca.crt" => Some("every namespace has one"),
        ("", "ServiceAccount") if name == "default" => Some("every namespace has one"),
        ("", "Secret") if object["type"] == "kubernetes.io/service-account-token" => {
            Some("it is the token of an account")
        }
        ("metrics.k8s.io", _) => Some("it only tells what was measured"),
        (api::template::GROUP, api::template::KIND) => {
            Some("a template inside of a template would be filled in too")
        }
        _ => None,
    };
    if let Some(reason) = left {
        return Cleaned::Left(reason);
    }
    clean_metadata(&mut object);
    if let Value::Object(fields) = &mut object {
        fields.remove("status");
    }
    clean_kind(&mut object, kind);
    Cleaned::Kept(Box::new(object))
}

fn clean_metadata(object: &mut Value) {
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    for field in METADATA {
        metadata.remove(field);
    }
    if metadata.contains_key("generateName") {
        metadata.remove("name");
    }
    without(metadata, "annotations", &ANNOTATIONS);
    without(
        metadata,
        "labels",
        &[
            api::template::INSTANCE,
            api::template::INSTANCE_NAMESPACE,
            api::template::TEMPLATE,
        ],
    );
}

/// Takes keys out of a mapping in a field, and the field if nothing is left.
fn without(fields: &mut Map<String, Value>, field: &str, keys: &[&str]) {
    let Some(Value::Object(inner)) = fields.get_mut(field) else {
        return;
    };
    for key in keys {
        inner.remove(*key);
    }
    if inner.is_empty() {
        fields.remove(field);
    }
}

fn clean_kind(object: &mut Value, kind: (&str, &str)) {
    match kind {
        ("", "Service") => clean_service(object),
        ("", "PersistentVolumeClaim") => remove(object, &["spec"], &["volumeName"]),
        ("", "Pod") => object.get_mut("spec").map_or((), clean_pod),
        ("", "ServiceAccount") => remove(object, &[], &["secrets"]),
        // A selector that somebody chose stays, with the labels it selects.
        ("batch", "Job") if object["spec"]["manualSelector"] != true => clean_job(object),
        _ => {}
    }
    // What the kinds with pods are given by the server and nobody writes.
    for way in [
        &["spec", "template"][..],
        &["spec", "jobTemplate", "spec", "template"],
        &["spec", "jobTemplate"],
    ] {
        remove(
            object,
            &[way, &["metadata"]].concat(),
            &["creationTimestamp"],
        );
    }
}

fn clean_job(object: &mut Value) {
    const MADE: [&str; 4] = [
        "controller-uid",
        "job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
    ];
    remove(object, &["spec"], &["selector"]);
    for way in [&["metadata"][..], &["spec", "template", "metadata"]] {
        if let Some(Value::Object(metadata)) = way
            .iter()
            .try_fold(&mut *object, |value, field| value.get_mut(field))
        {
            without(metadata, "labels", &MADE);
        }
    }
}

fn remove(object: &mut Value, way: &[&str], fields: &[&str]) {
    if let Some(Value::Object(found)) = way
        .iter()
        .try_fold(object, |value, field| value.get_mut(field))
    {
        for field in fields {
            found.remove(*field);
        }
    }
}

fn clean_service(object: &mut Value) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else {
        return;
    };
    if spec.get("clusterIP").and_then(Value::as_str) != Some("None") {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    for field in ["ipFamilies", "healthCheckNodePort"] {
        spec.remove(field);
    }
    if spec.get("ipFamilyPolicy").and_then(Value::as_str) == Some("SingleStack") {
        spec.remove("ipFamilyPolicy");
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Value::Object(port) = port {
            port.remove("nodePort");
        }
    }
}

fn clean_pod(spec: &mut Value) {
    let Value::Object(spec) = spec else { return };
    spec.remove("nodeName");
    let is_token = |name: &Value| {
        name.as_str()
            .is_some_and(|name| name.starts_with("kube-api-access-"))
    };
    if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
        volumes.retain(|volume| !is_token(&volume["name"]));
    }
    for list in crate::pods::CONTAINERS {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(Value::Array(mounts)) = container.get_mut("volumeMounts") {
                mounts.retain(|mount| !is_token(&mount["name"]));
            }
        }
    }
}

/// Puts objects into a template. They are ordered as they have to be made, and then by name.
pub fn wrap(name: &str, mut objects: Vec<Value>) -> Value {
    objects.sort_by_cached_key(|object| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&object["kind"]);
        let rank = match kind.as_str() {
            "ServiceAccount" => 0,
            "Role" | "RoleBinding" => 1,
            "Secret" | "ConfigMap" => 2,
            "PersistentVolumeClaim" => 3,
            "Service" => 4,
            _ => 5,
        };
        (rank, kind, text(&object["metadata"]["name"]))
    });
    json!({
        "apiVersion": api::template::API_VERSION,
        "kind": api::template::KIND,
        "metadata": { "name": name },
        "objects": objects,
        "parameters": [],
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Cleaned, clean, is_machinery};

    #[test]
    fn what_a_cluster_wrote_goes_and_the_rest_stays() {
        let metadata = json!({
            "name": "web", "namespace": "a", "uid": "u", "resourceVersion": "1", "generation": 2, "managedFields": [],
            "creationTimestamp": "2020-01-01T00:00:00Z", "labels": {"app": "web"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        });
        let kept = json!({"name": "web", "labels": {"app": "web"}});
        for (live, expected) in [
            (
                json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "status": {"loadBalancer": {}},
                    "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
                        "ipFamilyPolicy": "SingleStack", "type": "NodePort", "ports": [{"port": 80, "nodePort": 30000}]}}),
                json!({"apiVersion": "v1", "kind": "Service", "metadata": kept,
                    "spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
            ),
            (
                json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata,
                    "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
                json!({"apiVersion": "v1", "kind": "Service", "metadata": kept,
                    "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}),
            ),
            (
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "status": {},
                    "spec": {"volumeName": "pv-1", "storageClassName": "fast"}}),
                json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept,
                    "spec": {"storageClassName": "fast"}}),
            ),
            (
                json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
                    "spec": {"selector": {"matchLabels": {"controller-uid": "u"}}, "template": {"metadata":
                        {"creationTimestamp": null, "labels": {"job-name": "web", "controller-uid": "u"}}}}}),
                json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": kept, "spec": {"template": {"metadata": {}}}}),
            ),
            (
                json!({"apiVersion": "example.org/v1", "kind": "Database", "metadata": metadata, "spec": {"a": 1},
                    "status": {"ready": true}}),
                json!({"apiVersion": "example.org/v1", "kind": "Database", "metadata": kept, "spec": {"a": 1}}),
            ),
        ] {
            assert_eq!(
                clean(live.clone()),
                Cleaned::Kept(Box::new(expected)),
                "{live}"
            );
        }
    }

    #[test]
    fn what_the_cluster_makes_by_itself_is_left() {
        for live in [
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"ownerReferences": [{"controller": true}]}}),
            json!({"apiVersion": "v1", "kind": "Event"}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt"}}),
            json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}),
        ] {
            assert!(matches!(clean(live.clone()), Cleaned::Left(_)), "{live}");
        }
    }

    #[test]
    fn what_installs_packages_is_told_from_what_somebody_runs() {
        let managed = |by: &str| json!({"labels": {"app.kubernetes.io/managed-by": by}});
        for (version, kind, metadata, expected) in [
            ("v1", "ServiceAccount", managed("stack-manager"), true),
            (
                "rbac.authorization.k8s.io/v1",
                "Role",
                managed("stack-manager"),
                true,
            ),
            ("stacks.crossplane.io/v1alpha1", "Stack", json!({}), true),
            (
                "stacks.crossplane.io/v1alpha1",
                "StackInstall",
                json!({}),
                true,
            ),
            ("v1", "ServiceAccount", managed("Helm"), false),
            ("v1", "ConfigMap", json!({}), false),
            ("shop.example.org/v1", "Shop", json!({}), false),
        ] {
            let live = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
            assert_eq!(is_machinery(&live), expected, "{live}");
        }
    }
}
