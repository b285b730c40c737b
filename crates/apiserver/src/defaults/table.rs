//! Values that are filled in where nothing is said, as a table.

use serde_json::Value;

/// A table, a path, and the value it gets as JSON. In a path, `[]` is every item of a list and `?`
/// is only there if what is before it is; other objects on the way are made.
type Default = (&'static str, &'static str, &'static str);

const DEFAULTS: &[Default] = &[
    ("cronjobs.batch", "spec.concurrencyPolicy", "\"Allow\""),
    ("cronjobs.batch", "spec.suspend", "false"),
    ("cronjobs.batch", "spec.successfulJobsHistoryLimit", "3"),
    ("cronjobs.batch", "spec.failedJobsHistoryLimit", "1"),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        "spec.conversion.strategy",
        "\"None\"",
    ),
    (
        "daemonsets.apps",
        "spec.updateStrategy.type",
        "\"RollingUpdate\"",
    ),
    ("daemonsets.apps", "spec.revisionHistoryLimit", "10"),
    ("deployments.apps", "spec.replicas", "1"),
    (
        "deployments.apps",
        "spec.strategy.type",
        "\"RollingUpdate\"",
    ),
    ("deployments.apps", "spec.revisionHistoryLimit", "10"),
    ("deployments.apps", "spec.progressDeadlineSeconds", "600"),
    ("endpoints", "subsets[].ports[].protocol", "\"TCP\""),
    ("endpointslices.discovery.k8s.io", "ports[].name", "\"\""),
    (
        "endpointslices.discovery.k8s.io",
        "ports[].protocol",
        "\"TCP\"",
    ),
    ("clusterroles.rbac.authorization.k8s.io", "rules", "null"),
    ("events", "eventTime", "null"),
    ("events", "firstTimestamp", "null"),
    ("events", "lastTimestamp", "null"),
    ("events", "reportingComponent", "\"\""),
    ("events", "reportingInstance", "\"\""),
    ("roles.rbac.authorization.k8s.io", "rules", "null"),
    (
        "horizontalpodautoscalers.autoscaling",
        "spec.minReplicas",
        "1",
    ),
    (
        "ingressclasses.networking.k8s.io",
        "spec.parameters?.scope",
        "\"Cluster\"",
    ),
    ("jobs.batch", "spec.backoffLimit", "6"),
    ("jobs.batch", "spec.completionMode", "\"NonIndexed\""),
    ("jobs.batch", "spec.suspend", "false"),
    ("jobs.batch", "spec.manualSelector", "false"),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].failurePolicy",
        "\"Fail\"",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].matchPolicy",
        "\"Equivalent\"",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].namespaceSelector",
        "{}",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].objectSelector",
        "{}",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].timeoutSeconds",
        "10",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].reinvocationPolicy",
        "\"Never\"",
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].rules[].scope",
        "\"*\"",
    ),
    ("namespaces", "spec.finalizers", "[\"kubernetes\"]"),
    (
        "networkpolicies.networking.k8s.io",
        "spec.ingress[].ports[].protocol",
        "\"TCP\"",
    ),
    (
        "networkpolicies.networking.k8s.io",
        "spec.egress[].ports[].protocol",
        "\"TCP\"",
    ),
    (
        "persistentvolumeclaims",
        "spec.volumeMode",
        "\"Filesystem\"",
    ),
    ("persistentvolumes", "spec.volumeMode", "\"Filesystem\""),
    (
        "persistentvolumes",
        "spec.persistentVolumeReclaimPolicy",
        "\"Retain\"",
    ),
    ("pods", "spec.enableServiceLinks", "true"),
    (
        "priorityclasses.scheduling.k8s.io",
        "preemptionPolicy",
        "\"PreemptLowerPriority\"",
    ),
    ("replicasets.apps", "spec.replicas", "1"),
    ("replicationcontrollers", "spec.replicas", "1"),
    ("secrets", "type", "\"Opaque\""),
    ("services", "spec.type", "\"ClusterIP\""),
    ("services", "spec.sessionAffinity", "\"None\""),
    ("services", "spec.ports[].protocol", "\"TCP\""),
    ("statefulsets.apps", "spec.replicas", "1"),
    (
        "statefulsets.apps",
        "spec.podManagementPolicy",
        "\"OrderedReady\"",
    ),
    ("statefulsets.apps", "spec.revisionHistoryLimit", "10"),
    (
        "statefulsets.apps",
        "spec.updateStrategy.type",
        "\"RollingUpdate\"",
    ),
    (
        "statefulsets.apps",
        "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
        "\"Retain\"",
    ),
    (
        "statefulsets.apps",
        "spec.persistentVolumeClaimRetentionPolicy.whenScaled",
        "\"Retain\"",
    ),
    (
        "statefulsets.apps",
        "spec.volumeClaimTemplates[].apiVersion",
        "\"v1\"",
    ),
    (
        "statefulsets.apps",
        "spec.volumeClaimTemplates[].kind",
        "\"PersistentVolumeClaim\"",
    ),
    (
        "statefulsets.apps",
        "spec.volumeClaimTemplates[].spec.volumeMode",
        "\"Filesystem\"",
    ),
    (
        "statefulsets.apps",
        "spec.volumeClaimTemplates[].status.phase",
        "\"Pending\"",
    ),
    (
        "storageclasses.storage.k8s.io",
        "reclaimPolicy",
        "\"Delete\"",
    ),
    (
        "storageclasses.storage.k8s.io",
        "volumeBindingMode",
        "\"Immediate\"",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].failurePolicy",
        "\"Fail\"",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].matchPolicy",
        "\"Equivalent\"",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].namespaceSelector",
        "{}",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].objectSelector",
        "{}",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].timeoutSeconds",
        "10",
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "webhooks[].rules[].scope",
        "\"*\"",
    ),
];

/// Those that hang on another value: a table, a path, the value that has to be there, and what is
/// filled in then.
const DEPENDENT: &[(&str, &str, &str, &str, &str)] = &[
    (
        "daemonsets.apps",
        "spec.updateStrategy.type",
        "RollingUpdate",
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        "1",
    ),
    (
        "daemonsets.apps",
        "spec.updateStrategy.type",
        "RollingUpdate",
        "spec.updateStrategy.rollingUpdate.maxSurge",
        "0",
    ),
    (
        "deployments.apps",
        "spec.strategy.type",
        "RollingUpdate",
        "spec.strategy.rollingUpdate.maxUnavailable",
        "\"25%\"",
    ),
    (
        "deployments.apps",
        "spec.strategy.type",
        "RollingUpdate",
        "spec.strategy.rollingUpdate.maxSurge",
        "\"25%\"",
    ),
    (
        "services",
        "spec.sessionAffinity",
        "ClientIP",
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        "10800",
    ),
    (
        "services",
        "spec.type",
        "NodePort",
        "spec.externalTrafficPolicy",
        "\"Cluster\"",
    ),
    (
        "services",
        "spec.type",
        "LoadBalancer",
        "spec.externalTrafficPolicy",
        "\"Cluster\"",
    ),
    (
        "services",
        "spec.type",
        "LoadBalancer",
        "spec.allocateLoadBalancerNodePorts",
        "true",
    ),
    (
        "services",
        "spec.type",
        "ClusterIP",
        "spec.internalTrafficPolicy",
        "\"Cluster\"",
    ),
    (
        "services",
        "spec.type",
        "NodePort",
        "spec.internalTrafficPolicy",
        "\"Cluster\"",
    ),
    (
        "services",
        "spec.type",
        "LoadBalancer",
        "spec.internalTrafficPolicy",
        "\"Cluster\"",
    ),
    (
        "statefulsets.apps",
        "spec.updateStrategy.type",
        "RollingUpdate",
        "spec.updateStrategy.rollingUpdate.partition",
        "0",
    ),
];

/// Fills in what a table's objects get.
pub(super) fn fill(table: &str, object: &mut Value) {
    for (_, path, value) in DEFAULTS.iter().filter(|(of, ..)| *of == table) {
        set(object, path, value);
    }
    for (_, path, wanted, target, value) in DEPENDENT.iter().filter(|(of, ..)| *of == table) {
        let is = path
            .split('.')
            .try_fold(&*object, |place, name| place.get(name));
        if is.and_then(Value::as_str) == Some(wanted) {
            set(object, target, value);
        }
    }
    match table {
        "horizontalpodautoscalers.autoscaling" => autoscaler(object),
        "jobs.batch" => job(&mut object["spec"]),
        "networkpolicies.networking.k8s.io" => network_policy(&mut object["spec"]),
        "replicationcontrollers" => controller(&mut object["spec"]),
        "services" => service(&mut object["spec"]),
        _ => {}
    }
}

/// Sets a value where there is none.
pub(super) fn set(object: &mut Value, path: &str, json: &str) {
    let (head, rest) = path
        .split_once('.')
        .map_or((path, None), |(head, rest)| (head, Some(rest)));
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    if let Some(list) = head.strip_suffix("[]") {
        let items = fields.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            set(item, rest.unwrap_or_default(), json);
        }
    } else if let Some(optional) = head.strip_suffix('?') {
        if let (Some(inner), Some(rest)) = (fields.get_mut(optional), rest) {
            set(inner, rest, json);
        }
    } else {
        let place = fields.entry(head).or_insert(Value::Null);
        match rest {
            Some(rest) => {
                if place.is_null() {
                    *place = Value::Object(serde_json::Map::new());
                }
                set(place, rest, json);
            }
            None if place.is_null() => *place = serde_json::from_str(json).unwrap_or_default(),
            None => {}
        }
    }
}

fn autoscaler(object: &mut Value) {
    let spec = &mut object["spec"];
    if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        spec["metrics"] = serde_json::json!([{
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }]);
    }
}

fn job(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        set(spec, "completions", "1");
    }
    set(spec, "parallelism", "1");
    let policy = if spec["podFailurePolicy"].is_object() {
        "\"Failed\""
    } else {
        "\"TerminatingOrFailed\""
    };
    set(spec, "podReplacementPolicy", policy);
    // Looking at what is not there has left nulls behind.
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

fn network_policy(spec: &mut Value) {
    if spec.is_object() && spec["policyTypes"].as_array().is_none_or(Vec::is_empty) {
        let egress = spec["egress"]
            .as_array()
            .is_some_and(|rules| !rules.is_empty());
        spec["policyTypes"] = if egress {
            serde_json::json!(["Ingress", "Egress"])
        } else {
            serde_json::json!(["Ingress"])
        };
        if let Some(fields) = spec.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
    }
}

/// Without affinity there are no settings of one.
fn service(spec: &mut Value) {
    if let Some(fields) = spec.as_object_mut()
        && fields
            .get("sessionAffinity")
            .is_some_and(|affinity| affinity == "None")
    {
        fields.remove("sessionAffinityConfig");
    }
}

fn controller(spec: &mut Value) {
    let labels = spec["template"]["metadata"]["labels"].clone();
    if spec.is_object() && labels.is_object() && spec.get("selector").is_none_or(Value::is_null) {
        spec["selector"] = labels;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_set_where_there_is_none() {
        for (mut object, path, value, expected) in [
            (json!({}), "a.b", "1", json!({"a": {"b": 1}})),
            (json!({"a": {"b": 0}}), "a.b", "1", json!({"a": {"b": 0}})),
            (
                json!({"a": {"b": null}}),
                "a.b",
                "1",
                json!({"a": {"b": 1}}),
            ),
            (json!({}), "a?.b", "1", json!({})),
            (json!({"a": {}}), "a?.b", "1", json!({"a": {"b": 1}})),
            (
                json!({"l": [{}, {"x": 2}]}),
                "l[].x",
                "1",
                json!({"l": [{"x": 1}, {"x": 2}]}),
            ),
            (json!({}), "l[].x", "1", json!({})),
            (json!([]), "a", "1", json!([])),
        ] {
            set(&mut object, path, value);
            assert_eq!(object, expected, "{path}");
        }
    }

    #[test]
    fn every_default_is_json() {
        for (_, path, value) in DEFAULTS {
            assert!(serde_json::from_str::<Value>(value).is_ok(), "{path}");
        }
        for (.., path, value) in DEPENDENT {
            assert!(serde_json::from_str::<Value>(value).is_ok(), "{path}");
        }
    }
}
