//! More that is refused of single kinds: what would never work, and what does not change once it is
//! there.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use objects::name::NameRule;
use objects::selector::LabelSelector;
use serde_json::{Map, Value, json};

use super::{network_policy, ports, service};
use crate::handlers::status::Cause;

/// Adds what is wrong with an object of a table. `old` is none for a creation.
pub(crate) fn faults(table: &str, old: Option<&Value>, object: &Value, faults: &mut Vec<Cause>) {
    match table {
        "services" => service::faults(&object["spec"], faults),
        "networkpolicies.networking.k8s.io" => network_policy::policy(&object["spec"], faults),
        "poddisruptionbudgets.policy" => disruption(&object["spec"], faults),
        "secrets" => secret(object, faults),
        "ingresses.networking.k8s.io" => ingress(&object["spec"], faults),
        "horizontalpodautoscalers.autoscaling" => scaler(&object["spec"], faults),
        "jobs.batch" => {
            if old.is_none() {
                own_pods(object, faults);
            }
            restart(
                "spec.template.spec",
                &object["spec"]["template"]["spec"],
                faults,
            );
        }
        "persistentvolumeclaims" => claim(&object["spec"], faults),
        "deployments.apps" => strategy(&object["spec"]["strategy"], faults),
        "statefulsets.apps" => order(&object["spec"]["podManagementPolicy"], faults),
        "cronjobs.batch" => {
            schedule(&object["spec"]["schedule"], faults);
            let pod = &object["spec"]["jobTemplate"]["spec"]["template"]["spec"];
            restart("spec.jobTemplate.spec.template.spec", pod, faults);
        }
        _ => {}
    }
    if let Some(old) = old {
        fixed(table, &old["spec"], &object["spec"], faults);
    }
}

/// Secrets of the types that Kubernetes uses itself hold what it looks for.
fn secret(object: &Value, faults: &mut Vec<Cause>) {
    let mut need = |names: &[&str]| {
        for name in names
            .iter()
            .filter(|name| object["data"].get(**name).is_none())
        {
            faults.push(Cause::required(&format!("data[{name}]"), ""));
        }
    };
    match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        "kubernetes.io/service-account-token" => {
            let account = "kubernetes.io/service-account.name";
            if object["metadata"]["annotations"][account]
                .as_str()
                .is_none_or(str::is_empty)
            {
                faults.push(Cause::required(
                    &format!("metadata.annotations[{account}]"),
                    "",
                ));
            }
        }
        "kubernetes.io/ssh-auth" => need(&["ssh-privatekey"]),
        kind @ ("kubernetes.io/dockerconfigjson" | "kubernetes.io/dockercfg") => {
            let name = format!(".{}", kind.trim_start_matches("kubernetes.io/"));
            need(&[&name]);
            let text = object["data"][&name]
                .as_str()
                .and_then(|text| STANDARD.decode(text).ok());
            if let Some(Err(error)) = text.map(|text| crate::pipeline::parse_json(&text)) {
                let message = format!("Invalid value: \"<secret contents redacted>\": {error}");
                faults.push(Cause::new(
                    "FieldValueInvalid",
                    &format!("data[{name}]"),
                    message,
                ));
            }
        }
        _ => {}
    }
}

fn ingress(spec: &Value, faults: &mut Vec<Cause>) {
    let rules = spec["rules"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if rules.is_empty() && !spec["defaultBackend"].is_object() {
        let why = "either `defaultBackend` or `rules` must be specified";
        faults.push(Cause::invalid("spec", &Value::Null, why));
    }
    for (index, rule) in rules.iter().enumerate() {
        host(&format!("spec.rules[{index}].host"), &rule["host"], faults);
        let paths = rule["http"]["paths"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if rule["http"].is_object() && paths.is_empty() {
            faults.push(Cause::required(
                &format!("spec.rules[{index}].http.paths"),
                "",
            ));
        }
        for (at, path) in paths.iter().enumerate() {
            way(
                &format!("spec.rules[{index}].http.paths[{at}]"),
                path,
                faults,
            );
        }
    }
}

fn host(place: &str, host: &Value, faults: &mut Vec<Cause>) {
    let Some(text) = host.as_str().filter(|text| !text.is_empty()) else {
        return;
    };
    if text.parse::<IpAddr>().is_ok() {
        faults.push(Cause::invalid(
            place,
            host,
            "must be a DNS name, not an IP address",
        ));
    }
    if !text.contains('*') {
        faults.extend(
            NameRule::Subdomain
                .errors(text)
                .iter()
                .map(|why| Cause::invalid(place, host, why)),
        );
    } else if !text.strip_prefix("*.").is_some_and(objects::is_subdomain) {
        let why = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must \
                   consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character \
                   (e.g. '*.example.com', regex used for validation is \
                   '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
        faults.push(Cause::invalid(place, host, why));
    }
}

/// A path of an ingress and where it leads to.
fn way(place: &str, path: &Value, faults: &mut Vec<Cause>) {
    const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
    let (given, at) = (
        path["path"].as_str().unwrap_or_default(),
        format!("{place}.path"),
    );
    match path["pathType"].as_str().unwrap_or_default() {
        "" => {
            faults.push(Cause::required(
                &format!("{place}.pathType"),
                "pathType must be specified",
            ));
            return;
        }
        "ImplementationSpecific" if given.is_empty() => {}
        known if TYPES.contains(&known) => {
            if !given.starts_with('/') {
                faults.push(Cause::invalid(
                    &at,
                    &given.into(),
                    "must be an absolute path",
                ));
            }
        }
        _ => faults.push(Cause::unsupported(
            &format!("{place}.pathType"),
            &path["pathType"],
            &TYPES,
        )),
    }
    backend(&format!("{place}.backend"), &path["backend"], faults);
}

/// Where an ingress leads to.
fn backend(place: &str, backend: &Value, faults: &mut Vec<Cause>) {
    let service = &backend["service"];
    if !service.is_object() {
        if !backend["resource"].is_object() {
            faults.push(Cause::invalid(
                place,
                &"".into(),
                "resource or service backend is required",
            ));
        }
        return;
    }
    if backend["resource"].is_object() {
        let why = "cannot set both resource and service backends";
        faults.push(Cause::invalid(place, &"".into(), why));
        return;
    }
    let (name, at) = (
        service["name"].as_str().unwrap_or_default(),
        format!("{place}.service.name"),
    );
    match name {
        "" => faults.push(Cause::required(&at, "")),
        name => {
            let wrong = NameRule::OldLabel.errors(name);
            faults.extend(
                wrong
                    .iter()
                    .map(|why| Cause::invalid(&at, &name.into(), why)),
            );
        }
    }
    let number = service["port"]["number"]
        .as_i64()
        .filter(|number| *number != 0);
    let named = service["port"]["name"]
        .as_str()
        .filter(|name| !name.is_empty());
    match (number, named) {
        (None, None) => faults.push(Cause::required(place, "port name or number is required")),
        (Some(_), Some(_)) => {
            faults.push(Cause::invalid(
                place,
                &"".into(),
                "cannot set both port name & port number",
            ));
        }
        (Some(_), None) => ports::number(
            &format!("{place}.service.port.number"),
            &service["port"]["number"],
            faults,
        ),
        (None, Some(_)) => ports::name(
            &format!("{place}.service.port.name"),
            &service["port"]["name"],
            faults,
        ),
    }
}

/// What is asked of a volume.
fn claim(spec: &Value, faults: &mut Vec<Cause>) {
    const MODES: [&str; 4] = [
        "ReadOnlyMany",
        "ReadWriteMany",
        "ReadWriteOnce",
        "ReadWriteOncePod",
    ];
    let modes = spec["accessModes"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if modes.is_empty() {
        faults.push(Cause::required(
            "spec.accessModes",
            "at least 1 access mode is required",
        ));
    }
    let strange = |mode: &&Value| mode.as_str().is_none_or(|mode| !MODES.contains(&mode));
    faults.extend(
        modes
            .iter()
            .filter(strange)
            .map(|mode| Cause::unsupported("spec.accessModes", mode, &MODES)),
    );
    if spec["resources"]["requests"]["storage"].is_null() {
        faults.push(Cause::required("spec.resources[storage]", ""));
    }
}

/// How a deployment replaces its pods. The real server shows the whole strategy, by the names and
/// in the order of Go.
fn strategy(strategy: &Value, faults: &mut Vec<Cause>) {
    if let Some(kind) = strategy["type"]
        .as_str()
        .filter(|kind| !matches!(*kind, "Recreate" | "RollingUpdate"))
    {
        let shown = format!(
            "{{\"Type\":{kind:?},\"RollingUpdate\":{}}}",
            strategy["rollingUpdate"]
        );
        let message = format!(
            "Unsupported value: {shown}: supported values: \"Recreate\", \"RollingUpdate\""
        );
        faults.push(Cause::new(
            "FieldValueNotSupported",
            "spec.strategy",
            message,
        ));
    }
}

/// In which order a stateful set makes its pods.
fn order(policy: &Value, faults: &mut Vec<Cause>) {
    if policy
        .as_str()
        .is_some_and(|policy| !matches!(policy, "OrderedReady" | "Parallel"))
    {
        faults.push(Cause::invalid(
            "spec.podManagementPolicy",
            policy,
            "must be 'OrderedReady' or 'Parallel'",
        ));
    }
}

/// A job that does not say otherwise selects the pods that it makes itself, by its uid.
fn own_pods(object: &Value, faults: &mut Vec<Cause>) {
    let (spec, labels) = (
        &object["spec"],
        &object["spec"]["template"]["metadata"]["labels"],
    );
    let selector = LabelSelector::from_value(&spec["selector"]).ok().flatten();
    let matches = |labels: &Value| {
        let selector = selector.as_ref();
        selector.is_some_and(|selector| {
            selector.matches(|name| labels.get(name).and_then(Value::as_str))
        })
    };
    if spec["manualSelector"] != true {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let own = json!({
            "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": name,
            "controller-uid": uid, "job-name": name,
        });
        for (label, value) in own
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(label, value)| labels[label.as_str()] != **value)
        {
            let why = format!("must be '{}'", value.as_str().unwrap_or_default());
            faults.push(Cause::invalid(
                &format!("spec.template.metadata.labels[{label}]"),
                labels,
                &why,
            ));
        }
        if !matches(&own) {
            faults.push(Cause::invalid(
                "spec.selector",
                &spec["selector"],
                "`selector` not auto-generated",
            ));
        }
    }
    if !matches(labels) {
        let why = "`selector` does not match template `labels`";
        faults.push(Cause::invalid("spec.template.metadata.labels", labels, why));
    }
}

/// What is scaled, and how far. What does not say how many it wants at most wants none.
fn scaler(spec: &Value, faults: &mut Vec<Cause>) {
    let (least, most) = (
        spec["minReplicas"].as_i64(),
        spec["maxReplicas"].as_i64().unwrap_or_default(),
    );
    if let Some(least) = least.filter(|least| *least < 1) {
        faults.push(Cause::invalid(
            "spec.minReplicas",
            &least.into(),
            "must be greater than or equal to 1",
        ));
    }
    if most < 1 {
        faults.push(Cause::required(
            "spec.maxReplicas",
            "must be set and greater than 0",
        ));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        faults.push(Cause::invalid("spec.maxReplicas", &most.into(), why));
    }
    let (target, version) = (
        &spec["scaleTargetRef"],
        spec["scaleTargetRef"]["apiVersion"]
            .as_str()
            .unwrap_or_default(),
    );
    let why = match version.matches('/').count() {
        0 if target["kind"] != "ReplicationController" => {
            Some("apiVersion must specify API group".to_owned())
        }
        0 | 1 => None,
        _ => Some(format!("unexpected GroupVersion string: {version}")),
    };
    faults.extend(
        why.map(|why| Cause::invalid("spec.scaleTargetRef.apiVersion", &version.into(), &why)),
    );
    for field in ["kind", "name"] {
        if target[field].as_str().is_none_or(str::is_empty) {
            faults.push(Cause::required(&format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let scales_to_none =
        |metric: &Value| matches!(metric["type"].as_str(), Some("Object" | "External"));
    if least == Some(0)
        && !spec["metrics"]
            .as_array()
            .into_iter()
            .flatten()
            .any(scales_to_none)
    {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        faults.push(Cause::forbidden("spec.metrics", why));
    }
}

/// A budget says how many pods stay, or how many go.
fn disruption(spec: &Value, faults: &mut Vec<Cause>) {
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        faults.push(Cause::invalid(
            "spec",
            spec,
            "minAvailable and maxUnavailable cannot be both set",
        ));
    }
}

/// What a job runs comes to an end.
fn restart(path: &str, pod: &Value, faults: &mut Vec<Cause>) {
    if pod["restartPolicy"] == "Always" {
        let why = "valid values: \"OnFailure\", \"Never\"";
        faults.push(Cause::required(&format!("{path}.restartPolicy"), why));
    }
}

fn schedule(schedule: &Value, faults: &mut Vec<Cause>) {
    let text = schedule.as_str().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    if text.is_empty() {
        faults.push(Cause::required("spec.schedule", ""));
    } else if !text.starts_with('@') && !text.contains("TZ") && words.len() != 5 {
        let why = format!(
            "expected exactly 5 fields, found {}: [{}]",
            words.len(),
            words.join(" ")
        );
        faults.push(Cause::invalid("spec.schedule", schedule, &why));
    }
}

/// Parts of a specification that stay, told as the real server does, but for the difference that it
/// shows.
fn fixed(table: &str, old: &Value, new: &Value, faults: &mut Vec<Cause>) {
    match table {
        "statefulsets.apps" => {
            const OPEN: [&str; 7] = [
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ];
            if without(old, &OPEN) != without(new, &OPEN) {
                let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                           'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                           'minReadySeconds' are forbidden";
                faults.push(Cause::forbidden("spec", why));
            }
        }
        // A suspended job may still be changed by who queues it.
        "jobs.batch" if old["suspend"] != true && old["template"] != new["template"] => {
            faults.push(Cause::invalid(
                "spec.template",
                &new["template"],
                "field is immutable",
            ));
        }
        "persistentvolumeclaims" => {
            const OPEN: [&str; 2] = ["resources", "volumeAttributesClassName"];
            let (mut old, mut new) = (without(old, &OPEN), without(new, &OPEN));
            for late in ["volumeName", "storageClassName"] {
                if old.get(late).is_none_or(|value| value == "") {
                    old.remove(late);
                    new.remove(late);
                }
            }
            if old != new {
                let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
                           for bound claims";
                faults.push(Cause::forbidden("spec", why));
            }
        }
        "pods" if pod(old, old) != pod(new, old) => {
            let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                       `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions \
                       to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                       previously negative)";
            faults.push(Cause::forbidden("spec", why));
        }
        _ => {}
    }
}

fn without(spec: &Value, names: &[&str]) -> Map<String, Value> {
    let fields = spec
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !names.contains(&name.as_str()));
    fields
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A pod's specification without what may change, by an update or by its subresources.
fn pod(spec: &Value, old: &Value) -> Map<String, Value> {
    let mut open = vec![
        "activeDeadlineSeconds",
        "ephemeralContainers",
        "resources",
        "schedulingGates",
        "terminationGracePeriodSeconds",
        "tolerations",
    ];
    if old["nodeName"].as_str().is_none_or(str::is_empty) {
        open.push("nodeName");
    }
    let mut rest = without(spec, &open);
    for list in ["containers", "initContainers"] {
        for container in rest
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            if let Some(fields) = container.as_object_mut() {
                fields.remove("image");
                fields.remove("resources");
            }
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(table: &str, old: Option<&Value>, object: &Value) -> Vec<String> {
        let mut found = Vec::new();
        faults(table, old, object, &mut found);
        found.iter().map(|cause| cause.field.clone()).collect()
    }

    #[test]
    fn each_kind_is_held_to_its_rules() {
        let job = |policy: &str| {
            let mut job = json!({
                "metadata": {"name": "a", "uid": "u"}, "spec": {"template": {"spec": {"restartPolicy": policy}}},
            });
            crate::defaults::job(&mut job);
            job
        };
        let backend = |service: Value| {
            let path = json!({"path": "/", "pathType": "Prefix", "backend": {"service": service}});
            json!({"spec": {"rules": [{"http": {"paths": [path]}}]}})
        };
        const BACKEND: &str = "spec.rules[0].http.paths[0].backend";
        let service = format!("{BACKEND}.service");
        let (name, number) = (format!("{service}.name"), format!("{service}.port.number"));
        let table: [(&str, Value, &[&str]); 14] = [
            (
                "ingresses.networking.k8s.io",
                backend(json!({"name": "a", "port": {"number": 80}})),
                &[],
            ),
            (
                "ingresses.networking.k8s.io",
                backend(json!({"name": "a"})),
                &[BACKEND],
            ),
            (
                "ingresses.networking.k8s.io",
                backend(json!({"port": {"number": 0x1_0000}})),
                &[&name, &number],
            ),
            (
                "ingresses.networking.k8s.io",
                json!({"spec": {"rules": [{"http": {"paths": []}}]}}),
                &["spec.rules[0].http.paths"],
            ),
            (
                "horizontalpodautoscalers.autoscaling",
                json!({"spec": {"minReplicas": 0}}),
                &[
                    "spec.minReplicas",
                    "spec.maxReplicas",
                    "spec.scaleTargetRef.apiVersion",
                    "spec.scaleTargetRef.kind",
                    "spec.scaleTargetRef.name",
                    "spec.metrics",
                ],
            ),
            (
                "poddisruptionbudgets.policy",
                json!({"spec": {"minAvailable": 1, "maxUnavailable": "50%"}}),
                &["spec"],
            ),
            (
                "poddisruptionbudgets.policy",
                json!({"spec": {"minAvailable": 1}}),
                &[],
            ),
            (
                "secrets",
                json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}),
                &["data[tls.key]"],
            ),
            ("secrets", json!({"type": "Opaque"}), &[]),
            (
                "ingresses.networking.k8s.io",
                json!({"spec": {}}),
                &["spec"],
            ),
            (
                "horizontalpodautoscalers.autoscaling",
                json!({"spec": {"minReplicas": 2, "maxReplicas": 1, "scaleTargetRef": {"apiVersion": "a/v1", "kind": "K", "name": "n"}}}),
                &["spec.maxReplicas"],
            ),
            (
                "jobs.batch",
                job("Always"),
                &["spec.template.spec.restartPolicy"],
            ),
            ("jobs.batch", job("Never"), &[]),
            (
                "cronjobs.batch",
                json!({"spec": {"schedule": "1 2 3"}}),
                &["spec.schedule"],
            ),
        ];
        for (kind, object, expected) in table {
            assert_eq!(found(kind, None, &object), expected, "{kind} {object}");
        }
    }

    #[test]
    fn what_stays_is_not_changed() {
        let spec = |value: Value| json!({"spec": value});
        let claim = |mode: &str| json!({"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}});
        let mut bound = claim("ReadWriteOnce");
        bound["volumeName"] = json!("v");
        let table: [(&str, Value, Value, bool); 9] = [
            (
                "pods",
                json!({"hostname": "a"}),
                json!({"hostname": "b"}),
                false,
            ),
            (
                "pods",
                json!({"containers": [{"image": "a"}]}),
                json!({"containers": [{"image": "b"}]}),
                true,
            ),
            ("pods", json!({}), json!({"nodeName": "n"}), true),
            (
                "pods",
                json!({"nodeName": "m"}),
                json!({"nodeName": "n"}),
                false,
            ),
            (
                "statefulsets.apps",
                json!({"replicas": 1}),
                json!({"replicas": 2}),
                true,
            ),
            (
                "statefulsets.apps",
                json!({"serviceName": "a"}),
                json!({"serviceName": "b"}),
                false,
            ),
            (
                "persistentvolumeclaims",
                claim("ReadWriteOnce"),
                bound,
                true,
            ),
            (
                "persistentvolumeclaims",
                claim("ReadWriteOnce"),
                claim("ReadWriteMany"),
                false,
            ),
            (
                "jobs.batch",
                json!({"template": {}}),
                json!({"template": {"a": 1}}),
                false,
            ),
        ];
        for (kind, old, new, good) in table {
            let (old, new) = (spec(old), spec(new));
            assert_eq!(
                found(kind, Some(&old), &new).is_empty(),
                good,
                "{kind} {old} {new}"
            );
        }
    }
}
