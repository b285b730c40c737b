//! Fields of built-in kinds that take one of a few values.

use serde_json::Value;

use crate::handlers::status::Cause;

/// A table, a field (`[]` for each of a list), and the values in the order in which the real server
/// tells them.
const CHOICES: [(&str, &str, &[&str]); 11] = [
    ("services", "spec.ports[].protocol", &["SCTP", "TCP", "UDP"]),
    (
        "services",
        "spec.type",
        &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"],
    ),
    ("services", "spec.sessionAffinity", &["ClientIP", "None"]),
    (
        "services",
        "spec.externalTrafficPolicy",
        &["Cluster", "Local"],
    ),
    (
        "services",
        "spec.internalTrafficPolicy",
        &["Cluster", "Local"],
    ),
    (
        "deployments.apps",
        "spec.template.spec.restartPolicy",
        &["Always"],
    ),
    (
        "replicasets.apps",
        "spec.template.spec.restartPolicy",
        &["Always"],
    ),
    (
        "statefulsets.apps",
        "spec.template.spec.restartPolicy",
        &["Always"],
    ),
    (
        "daemonsets.apps",
        "spec.template.spec.restartPolicy",
        &["Always"],
    ),
    (
        "cronjobs.batch",
        "spec.concurrencyPolicy",
        &["Allow", "Forbid", "Replace"],
    ),
    (
        "persistentvolumeclaims",
        "spec.volumeMode",
        &["Block", "Filesystem"],
    ),
];

/// The same of everything with pods, below their specification.
const POD_CHOICES: [(&str, &[&str]); 3] = [
    ("containers[].ports[].protocol", &["SCTP", "TCP", "UDP"]),
    (
        "containers[].imagePullPolicy",
        &["Always", "IfNotPresent", "Never"],
    ),
    (
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    ),
];

/// Adds what is not among the values of its field.
pub(crate) fn faults(table: &str, object: &Value, faults: &mut Vec<Cause>) {
    for (_, path, values) in CHOICES.iter().filter(|(of, ..)| *of == table) {
        check(object, path, "", values, faults);
    }
}

/// The same for the specification of a pod at a path.
pub(crate) fn pod_faults(path: &str, spec: &Value, faults: &mut Vec<Cause>) {
    for (field, values) in POD_CHOICES {
        check(spec, field, path, values, faults);
    }
}

fn check(value: &Value, path: &str, at: &str, values: &[&str], faults: &mut Vec<Cause>) {
    let (head, rest) = path
        .split_once('.')
        .map_or((path, None), |(head, rest)| (head, Some(rest)));
    let name = head.trim_end_matches("[]");
    let place = if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    };
    let Some(found) = value.get(name) else { return };
    match (rest, found) {
        (Some(rest), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                check(item, rest, &format!("{place}[{index}]"), values, faults);
            }
        }
        (Some(rest), _) => check(found, rest, &place, values, faults),
        (None, Value::String(text)) if !values.contains(&text.as_str()) => {
            faults.push(Cause::unsupported(&place, found, values));
        }
        (None, _) => {}
    }
}
