//! What is filled into pods and the templates of pods.

use serde_json::{Value, json};

use super::table::set;

const SPEC: [(&str, &str); 17] = [
    ("dnsPolicy", "\"ClusterFirst\""),
    ("restartPolicy", "\"Always\""),
    ("schedulerName", "\"default-scheduler\""),
    ("securityContext", "{}"),
    ("terminationGracePeriodSeconds", "30"),
    ("volumes[].configMap?.defaultMode", "420"),
    ("volumes[].downwardAPI?.defaultMode", "420"),
    (
        "volumes[].downwardAPI?.items[].fieldRef?.apiVersion",
        "\"v1\"",
    ),
    ("volumes[].hostPath?.type", "\"\""),
    ("volumes[].projected?.defaultMode", "420"),
    (
        "volumes[].projected?.sources[].serviceAccountToken?.expirationSeconds",
        "3600",
    ),
    (
        "volumes[].projected?.sources[].downwardAPI?.items[].fieldRef?.apiVersion",
        "\"v1\"",
    ),
    ("volumes[].secret?.defaultMode", "420"),
    ("volumes[].iscsi?.iscsiInterface", "\"default\""),
    ("volumes[].azureDisk?.cachingMode", "\"ReadWrite\""),
    ("volumes[].rbd?.pool", "\"rbd\""),
    ("volumes[].scaleIO?.storageMode", "\"ThinProvisioned\""),
];

const CONTAINER: [(&str, &str); 6] = [
    ("terminationMessagePath", "\"/dev/termination-log\""),
    ("terminationMessagePolicy", "\"File\""),
    ("resources", "{}"),
    ("ports[].protocol", "\"TCP\""),
    ("env[].valueFrom?.fieldRef?.apiVersion", "\"v1\""),
    ("env[].valueFrom?.resourceFieldRef?.divisor", "\"0\""),
];

const PROBE: [(&str, &str); 7] = [
    ("timeoutSeconds", "1"),
    ("periodSeconds", "10"),
    ("successThreshold", "1"),
    ("failureThreshold", "3"),
    ("httpGet?.path", "\"/\""),
    ("httpGet?.scheme", "\"HTTP\""),
    ("grpc?.service", "\"\""),
];

/// Fills in the spec of a pod, or of a template of pods.
pub(super) fn spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    for (path, value) in SPEC {
        set(spec, path, value);
    }
    let host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for item in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            container(item, host);
        }
    }
    for volume in spec
        .get_mut("volumes")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(fields) = volume.as_object_mut()
            && fields.keys().all(|name| name == "name")
        {
            fields.insert("emptyDir".to_owned(), json!({}));
        }
    }
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    // The old name of the field follows the new one, and the other way round.
    let account = fields
        .get("serviceAccountName")
        .or_else(|| fields.get("serviceAccount"))
        .cloned();
    if let Some(account) = account.filter(Value::is_string) {
        fields.insert("serviceAccount".to_owned(), account.clone());
        fields.insert("serviceAccountName".to_owned(), account);
    }
}

fn container(container: &mut Value, host: bool) {
    if !container.is_object() {
        return;
    }
    for (path, value) in CONTAINER {
        set(container, path, value);
    }
    let image = container
        .get("image")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let policy = if is_latest(image) {
        "\"Always\""
    } else {
        "\"IfNotPresent\""
    };
    set(container, "imagePullPolicy", policy);
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe) {
            for (path, value) in PROBE {
                set(probe, path, value);
            }
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(get) = container.pointer_mut(&format!("/lifecycle/{hook}/httpGet")) {
            set(get, "path", "\"/\"");
            set(get, "scheme", "\"HTTP\"");
        }
    }
    if host {
        for port in container
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let own = port
                .get("containerPort")
                .cloned()
                .unwrap_or_default()
                .to_string();
            set(port, "hostPort", &own);
        }
    }
}

/// What is limited and not requested is requested as far as it is limited. Templates of pods stay
/// as they are.
pub(super) fn requests(spec: &mut Value) {
    for list in ["initContainers", "containers"] {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let Some(limits) = container
                .pointer("/resources/limits")
                .and_then(Value::as_object)
                .cloned()
            else {
                continue;
            };
            set(container, "resources.requests", "{}");
            if let Some(requests) = container
                .pointer_mut("/resources/requests")
                .and_then(Value::as_object_mut)
            {
                for (name, limit) in limits {
                    requests.entry(name).or_insert(limit);
                }
            }
        }
    }
}

/// Whether an image has no tag but `latest`.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

/// What admission adds to a new pod: an account, a priority, and patience with nodes that are away
/// for a while.
pub(super) fn admit(pod: &mut Value) {
    let spec = &mut pod["spec"];
    if !spec.is_object() {
        return;
    }
    for (path, value) in [
        ("serviceAccountName", "\"default\""),
        ("serviceAccount", "\"default\""),
        ("priority", "0"),
        ("preemptionPolicy", "\"PreemptLowerPriority\""),
    ] {
        set(spec, path, value);
    }
    let mut tolerations = spec
        .get("tolerations")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerated = tolerations.iter().any(|it| {
            (it["key"] == key || it.get("key").is_none())
                && (it["effect"] == "NoExecute" || it.get("effect").is_none())
        });
        if !tolerated {
            tolerations
                .push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
    spec["tolerations"] = tolerations.into();
}

/// How a pod is treated when memory is short, by what its containers ask for.
pub(super) fn quality(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"].map(|list| pod["spec"][list].as_array());
    let containers: Vec<&Value> = lists.into_iter().flatten().flatten().collect();
    let amount = |container: &Value, kind: &str, name: &str| {
        container["resources"][kind][name]
            .as_str()
            .map(str::to_owned)
    };
    let says = |container: &&&Value| {
        ["requests", "limits"].iter().any(|kind| {
            ["cpu", "memory"]
                .iter()
                .any(|name| amount(container, kind, name).is_some())
        })
    };
    if !containers.iter().any(|container| says(&container)) {
        return "BestEffort";
    }
    let guaranteed = containers.iter().all(|container| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = amount(container, "limits", name);
            limit.is_some() && limit == amount(container, "requests", name)
        })
    });
    if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_tag_is_pulled_always() {
        for (image, latest) in [
            ("i", true),
            ("i:latest", true),
            ("i:1", false),
            ("host:5000/i", true),
            ("host:5000/i:2", false),
            ("i@sha256:0", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn what_containers_ask_for_makes_the_quality() {
        let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        let both = json!({"cpu": "1", "memory": "1Gi"});
        for (resources, expected) in [
            (json!({}), "BestEffort"),
            (json!({"requests": {"cpu": "1"}}), "Burstable"),
            (json!({"requests": both, "limits": both}), "Guaranteed"),
            (json!({"limits": both}), "Burstable"),
        ] {
            assert_eq!(quality(&pod(resources)), expected);
        }
    }
}
