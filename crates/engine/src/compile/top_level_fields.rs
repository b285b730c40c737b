//! The fields at the top of Kubernetes' own kinds. Most slips of indentation put a field there that
//! belongs further in, and the API server refuses an object with a field that it does not know.

use objects::{Gvk, Schema, builtin_kind};
use serde_json::{Map, Value, json};

/// The fields of a kind beside apiVersion, kind and metadata; none if it is not one of Kubernetes'
/// own, or a rare one.
pub(crate) fn fields(gvk: &Gvk) -> Option<&'static [&'static str]> {
    builtin_kind(gvk)?;
    Some(match gvk.kind.as_str() {
        "CronJob"
        | "DaemonSet"
        | "Deployment"
        | "HorizontalPodAutoscaler"
        | "Ingress"
        | "Job"
        | "Namespace"
        | "Node"
        | "PersistentVolume"
        | "PersistentVolumeClaim"
        | "Pod"
        | "PodDisruptionBudget"
        | "ReplicaSet"
        | "ReplicationController"
        | "ResourceQuota"
        | "Service"
        | "StatefulSet" => &["spec", "status"],
        "IngressClass" | "Lease" | "LimitRange" | "NetworkPolicy" => &["spec"],
        "ConfigMap" => &["data", "binaryData", "immutable"],
        "Secret" => &["data", "stringData", "type", "immutable"],
        "ServiceAccount" => &[
            "secrets",
            "imagePullSecrets",
            "automountServiceAccountToken",
        ],
        "Endpoints" => &["subsets"],
        "EndpointSlice" => &["addressType", "endpoints", "ports"],
        "Role" => &["rules"],
        "ClusterRole" => &["rules", "aggregationRule"],
        "RoleBinding" | "ClusterRoleBinding" => &["subjects", "roleRef"],
        "PriorityClass" => &["value", "globalDefault", "description", "preemptionPolicy"],
        _ => return None,
    })
}

/// The same as a schema that says nothing of what is further in.
pub(crate) fn schema(gvk: &Gvk) -> Schema {
    let anything = json!({"x-kubernetes-preserve-unknown-fields": true});
    let known = fields(gvk);
    let properties: Map<String, Value> = known
        .into_iter()
        .flatten()
        .map(|name| ((*name).to_string(), anything.clone()))
        .collect();
    let open = known.is_none();
    Schema::read(&json!({"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": open})).0
}

/// The fields of an object that its kind does not have, as far as this knows.
pub(crate) fn strange<'o>(gvk: &Gvk, object: &'o Value) -> Vec<Vec<&'o str>> {
    let names = |value: &'o Value| {
        value
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
    };
    let common = ["apiVersion", "kind", "metadata"];
    let known = fields(gvk);
    let top = names(object)
        .filter(|name| !common.contains(name) && known.is_some_and(|known| !known.contains(name)));
    let meta = objects::object_meta();
    let inner = object
        .get("metadata")
        .into_iter()
        .flat_map(names)
        .filter(|name| !meta.properties.contains_key(*name));
    top.map(|name| vec![name])
        .chain(inner.map(|name| vec!["metadata", name]))
        .collect()
}

/// What to do about one of them.
pub(crate) const HINT: &str =
    "if it belongs to what stands above it, indent it further (`nindent`)";
