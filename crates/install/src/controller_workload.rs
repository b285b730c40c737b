//! The Deployments that run the controllers of a stack: ours for its templates, and the one that
//! its package brings, tied to the stack's own account and kept from rising above it.

use api::names;
use serde_json::{Map, Value, json};

use crate::{Grants, Identity};
use package::image::Reference;

/// Where the images of a package's controller come from.
#[derive(Debug, Clone, Default)]
pub struct Images<'s> {
    /// The image of the package, for containers that name none.
    pub package: &'s str,
    /// The registry for images that name none.
    pub source: &'s str,
    /// When to pull them; empty leaves it to the package.
    pub pull_policy: &'s str,
    /// The names of Secrets with credentials.
    pub pull_secrets: Vec<&'s str>,
}

/// Fills in the images of a Deployment's spec as an install says, or tells which cannot be.
pub fn fill_images(spec: &mut Value, images: &Images<'_>) -> Result<(), Vec<String>> {
    let Some(pod) = spec
        .pointer_mut("/template/spec")
        .and_then(Value::as_object_mut)
    else {
        return Ok(());
    };
    let mut wrong = Vec::new();
    for container in containers(pod) {
        let name = container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let image = match container
            .get("image")
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" => images.package.to_owned(),
            image => match Reference::resolve(image, images.source) {
                // The author's own spelling, unless a registry was put before it.
                Ok(reference) if !images.source.is_empty() => reference.to_string(),
                Ok(_) => image.to_owned(),
                Err(bad) => {
                    wrong.push(format!("the container `{name}` has no image: {bad}"));
                    continue;
                }
            },
        };
        container.insert("image".to_owned(), json!(image));
        if !images.pull_policy.is_empty() {
            container.insert("imagePullPolicy".to_owned(), json!(images.pull_policy));
        }
    }
    if !images.pull_secrets.is_empty() {
        let slot = pod.entry("imagePullSecrets").or_insert_with(|| json!([]));
        for secret in images
            .pull_secrets
            .iter()
            .map(|name| json!({ "name": name }))
        {
            if let Some(all) = slot.as_array_mut().filter(|all| !all.contains(&secret)) {
                all.push(secret);
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The Deployment that renders a stack's templates with the image that this program runs from.
pub fn templates(identity: &Identity, own_image: &str) -> Value {
    let container = json!({
        "name": "template-stack-manager",
        "image": own_image,
        "args": [
            "template-stack-manager", "--stack", identity.name, "--namespace", identity.namespace,
            "--listen", "0.0.0.0:8080",
        ],
        "ports": [{ "name": "metrics", "containerPort": 8080 }],
        "livenessProbe": { "httpGet": { "path": "/healthz", "port": 8080 } },
        "readinessProbe": { "httpGet": { "path": "/readyz", "port": 8080 } },
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
    });
    let spec = json!({ "replicas": 1, "template": { "spec": { "containers": [container] } } });
    // What we wrote ourselves asks for nothing that is not granted.
    deployment(
        identity,
        &Grants::default(),
        &names::templates(&identity.name),
        &spec,
    )
    .unwrap_or_default()
}

/// The Deployment that the package brings, or why it cannot run here.
pub fn brought(identity: &Identity, grants: &Grants, spec: &Value) -> Result<Value, Vec<String>> {
    deployment(identity, grants, &names::controller(&identity.name), spec)
}

fn deployment(
    identity: &Identity,
    grants: &Grants,
    name: &str,
    spec: &Value,
) -> Result<Value, Vec<String>> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    let mut template = take(&mut spec, "template");
    let mut metadata = take(&mut template, "metadata");
    let mut labels = take(&mut metadata, "labels");
    labels.extend(identity.labels());
    labels.insert("app".to_owned(), json!(name));
    let annotations = take(&mut metadata, "annotations");
    let mut refused = marked(&labels, &annotations);
    // A finalizer or an owner would outlive the stack.
    let metadata = json!({ "labels": labels, "annotations": annotations });
    let mut pod = take(&mut template, "spec");
    refused.extend(confine(&mut pod, identity, grants));
    if !refused.is_empty() {
        return Err(refused);
    }
    template.insert("metadata".to_owned(), metadata);
    template.insert("spec".to_owned(), Value::Object(pod));
    spec.insert("template".to_owned(), Value::Object(template));
    spec.insert(
        "selector".to_owned(),
        json!({ "matchLabels": { "app": name } }),
    );
    // Two controllers of one stack at once would write against each other.
    spec.insert("strategy".to_owned(), json!({ "type": "Recreate" }));
    Ok(
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": identity.inside(name), "spec": spec }),
    )
}

/// Annotations that a package's pod may have beside those without a domain, which are the author's
/// own: an entire name, or a domain up to its `/`. All others may mean something to the kubelet, an
/// admission webhook or a network plugin, such as an AppArmor profile, a container that is injected
/// or an identity in a cloud.
const ANNOTATIONS: [&str; 5] = [
    "app.kubernetes.io/",
    "checksum/",
    "kubectl.kubernetes.io/default-container",
    "kubectl.kubernetes.io/restartedAt",
    "prometheus.io/",
];

/// Labels and annotations that a package may not give its pods.
fn marked(labels: &Map<String, Value>, annotations: &Map<String, Value>) -> Vec<String> {
    let allowed = |name: &str| {
        let known = |own: &&str| {
            if own.ends_with('/') {
                name.starts_with(*own)
            } else {
                name == *own
            }
        };
        !name.contains('/') || ANNOTATIONS.iter().any(known)
    };
    // Labels select, and mean more only to who injects containers and to Kubernetes itself.
    let harmless = |name: &str| {
        let (domain, rest) = name.split_once('/').unwrap_or(("", name));
        let of = |owner: &str| {
            domain
                .strip_suffix(owner)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        domain == "app.kubernetes.io"
            || !(rest.contains("inject") || of("kubernetes.io") || of("k8s.io"))
    };
    let mut refused = Vec::new();
    for name in annotations.keys().filter(|name| !allowed(name)) {
        refused.push(format!(
            "the pod asks for the annotation `{name}`, which a package may not use"
        ));
    }
    for name in labels.keys().filter(|name| !harmless(name)) {
        refused.push(format!(
            "the pod asks for the label `{name}`, which a package may not use"
        ));
    }
    refused
}

/// What the pod of a package may say. All else is refused: it reaches for the node, for other pods
/// or for a place in the cluster that an administrator gives. The account and the security context
/// are ours.
const POD: [&str; 21] = [
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostname",
    "imagePullSecrets",
    "initContainers",
    "nodeSelector",
    "readinessGates",
    "restartPolicy",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "topologySpreadConstraints",
    "volumes",
];
/// What a container of a package may say.
const CONTAINER: [&str; 21] = [
    "args",
    "command",
    "env",
    "envFrom",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "name",
    "ports",
    "readinessProbe",
    "resources",
    "restartPolicy",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "volumeMounts",
    "workingDir",
];
/// What a port of a package's container may say.
const PORT: [&str; 3] = ["containerPort", "name", "protocol"];
/// Where the volumes of a package may come from, and the resource that the stack must depend on for
/// it.
const VOLUMES: [(&str, &str); 6] = [
    ("configMap", "configmaps"),
    ("downwardAPI", ""),
    ("emptyDir", ""),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("projected", ""),
    ("secret", "secrets"),
];

/// Binds a pod to the stack's account, without a way to more. Answers what it asks for and cannot
/// have.
fn confine(pod: &mut Map<String, Value>, identity: &Identity, grants: &Grants) -> Vec<String> {
    let mut refused = Vec::new();
    keep_only(pod, &POD, |field| {
        refused.push(format!("the pod asks for `{field}`"));
    });
    for volume in pod
        .get("volumes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        refused.extend(
            outside(volume, grants).map(|why| format!("the volume {} {why}", volume["name"])),
        );
    }
    pod.remove("serviceAccount");
    pod.insert("serviceAccountName".to_owned(), json!(identity.account));
    let group = pod
        .get("securityContext")
        .and_then(|context| context.get("fsGroup"))
        .cloned();
    let mut context =
        json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
    if let Some(group) = group {
        context["fsGroup"] = group;
    }
    pod.insert("securityContext".to_owned(), context);
    let mut count = 0;
    for container in containers(pod) {
        count += 1;
        let context = json!({
            "allowPrivilegeEscalation": false,
            "privileged": false,
            "runAsNonRoot": true,
            "capabilities": { "drop": ["ALL"] },
        });
        container.insert("securityContext".to_owned(), context);
        let name = container
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        refused.extend(
            contain(container, grants)
                .into_iter()
                .map(|why| format!("the container `{name}` {why}")),
        );
        if container
            .get("image")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            refused.push(format!("the container `{name}` has no image"));
        }
    }
    if count == 0 {
        refused.push("its Deployment has no container".to_owned());
    }
    refused
}

/// Leaves only known fields. What says nothing goes without a word; all else is told.
fn keep_only(map: &mut Map<String, Value>, known: &[&str], mut tell: impl FnMut(&str)) {
    map.retain(|field, value| {
        let is_known = known.contains(&field.as_str());
        let says_nothing = match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Bool(true) => false,
        };
        if !is_known && !says_nothing {
            tell(field);
        }
        is_known
    });
}

/// Leaves of a container what it may say; answers what it asks for and cannot have.
fn contain(container: &mut Map<String, Value>, grants: &Grants) -> Vec<String> {
    let mut refused = Vec::new();
    keep_only(container, &CONTAINER, |field| {
        refused.push(format!("asks for `{field}`"));
    });
    for port in container
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(port) = port.as_object_mut() {
            keep_only(port, &PORT, |field| {
                refused.push(format!("asks for `{field}`"));
            });
        }
    }
    // A probe of another host is a request in the name of the node.
    for probe in [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ] {
        if container.get(probe).is_some_and(has_host) {
            refused.push(format!("asks for another `host` in `{probe}`"));
        }
    }
    let sources = container
        .get("env")
        .into_iter()
        .chain(container.get("envFrom"));
    for source in sources.filter_map(Value::as_array).flatten() {
        let from = source.get("valueFrom").unwrap_or(source);
        for (field, resource) in [
            ("secretKeyRef", "secrets"),
            ("secretRef", "secrets"),
            ("configMapKeyRef", "configmaps"),
            ("configMapRef", "configmaps"),
        ] {
            if from.get(field).is_some() && !depends(grants, resource) {
                refused.push(format!(
                    "asks for `{field}`, but the package does not depend on {resource}"
                ));
            }
        }
    }
    refused
}

fn has_host(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            (key == "host" && value.as_str().is_some_and(|host| !host.is_empty()))
                || has_host(value)
        }),
        _ => false,
    }
}

fn depends(grants: &Grants, resource: &str) -> bool {
    grants
        .depends_on
        .iter()
        .any(|grant| grant.group.is_empty() && grant.resource == resource)
}

/// Why a volume, or a source of a projected one, leads out of what the stack may have.
fn outside(volume: &Value, grants: &Grants) -> Option<String> {
    for (source, content) in volume.as_object()?.iter().filter(|(key, _)| *key != "name") {
        let Some((_, resource)) = VOLUMES.iter().find(|(known, _)| known == source) else {
            return Some(match source.as_str() {
                "hostPath" => "is a directory of the node".to_owned(),
                other => format!("is of the kind `{other}`, which a package may not use"),
            });
        };
        if !resource.is_empty() && !depends(grants, resource) {
            return Some(format!(
                "is of the kind `{source}`, but the package does not depend on {resource}"
            ));
        }
        let sources = content["sources"].as_array().into_iter().flatten();
        for part in sources.filter_map(Value::as_object).flatten() {
            let why = match part.0.as_str() {
                "serviceAccountToken" | "downwardAPI" => None,
                "configMap" | "secret" => outside(&json!({ part.0: {} }), grants),
                other => Some(format!(
                    "is of the kind `{other}`, which a package may not use"
                )),
            };
            if why.is_some() {
                return why;
            }
        }
    }
    None
}

fn containers(pod: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let lists = pod
        .iter_mut()
        .filter(|(key, _)| ["initContainers", "containers"].contains(&key.as_str()));
    lists
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
}

fn take(map: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match map.remove(key) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use api::PermissionScope;
    use serde_json::{Value, json};

    use super::{Images, brought, fill_images, templates};
    use crate::{Grant, Grants, Identity};

    fn identity() -> Identity {
        Identity {
            namespace: "team".into(),
            name: "redis".into(),
            uid: "u".into(),
            scope: PermissionScope::Namespaced,
            namespaces: Vec::new(),
            account: "stack-redis".into(),
            manager: "cairn".into(),
        }
    }

    fn depending(resources: &[&str]) -> Grants {
        let grant = |resource: &&str| Grant {
            group: String::new(),
            resource: (*resource).to_owned(),
            status: false,
            scale: false,
        };
        Grants {
            owned: Vec::new(),
            depends_on: resources.iter().map(grant).collect(),
        }
    }

    #[test]
    fn the_seeds_deployment_runs_as_the_stack_and_not_as_root() {
        let mut spec = json!({
            "selector": { "matchLabels": { "core.crossplane.io/name": "redis" } },
            "replicas": 1,
            "template": {
                "metadata": { "name": "redis-controller", "labels": { "core.crossplane.io/name": "redis" } },
                "spec": {
                    "serviceAccountName": "cluster-admin",
                    "securityContext": { "runAsUser": 0, "fsGroup": 7 },
                    "initContainers": [{ "name": "first", "image": "", "securityContext": { "privileged": true } }],
                    "containers": [{
                        "name": "main", "image": "team/controller:2.0.9", "imagePullPolicy": "Always",
                        "env": [{ "name": "POD_NAME", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
                    }],
                },
            },
        });
        let images = Images {
            package: "registry.example.org/team/redis:1",
            source: "registry.example.org",
            pull_secrets: vec!["key"],
            ..Images::default()
        };
        fill_images(&mut spec, &images).unwrap();
        let once = spec.clone();
        fill_images(&mut spec, &images).unwrap();
        assert_eq!(spec, once);
        let made = brought(&identity(), &Grants::default(), &spec).unwrap();
        assert_eq!(made["metadata"]["name"], "redis-controller");
        assert_eq!(made["spec"]["strategy"], json!({ "type": "Recreate" }));
        let template = &made["spec"]["template"];
        assert_eq!(
            made["spec"]["selector"]["matchLabels"],
            json!({ "app": "redis-controller" })
        );
        assert_eq!(template["metadata"]["labels"]["app"], "redis-controller");
        assert_eq!(
            template["metadata"]["labels"]["core.crossplane.io/name"],
            "redis"
        );
        let pod = &template["spec"];
        assert_eq!(pod["serviceAccountName"], "stack-redis");
        let context = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" }, "fsGroup": 7 });
        assert_eq!(pod["securityContext"], context);
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "key" }]));
        assert_eq!(
            pod["initContainers"][0]["image"],
            "registry.example.org/team/redis:1"
        );
        assert_eq!(
            pod["initContainers"][0]["securityContext"]["privileged"],
            false
        );
        assert_eq!(
            pod["containers"][0]["image"],
            "registry.example.org/team/controller:2.0.9"
        );
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always");
        assert_eq!(pod["containers"][0]["env"][0]["name"], "POD_NAME");
    }

    #[test]
    fn a_way_out_of_the_pod_is_refused() {
        let spec = |pod: Value| json!({ "template": { "spec": pod } });
        let sound = json!([{ "name": "c", "image": "a" }]);
        for (pod, expected) in [
            (
                json!({ "hostNetwork": true, "hostPID": false, "containers": sound }),
                "the pod asks for `hostNetwork`",
            ),
            (
                json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }], "containers": sound }),
                "the volume \"v\" is a directory of the node",
            ),
            (
                json!({ "containers": [{ "name": "c" }] }),
                "the container `c` has no image",
            ),
            (json!({}), "its Deployment has no container"),
        ] {
            let refused = brought(&identity(), &Grants::default(), &spec(pod)).unwrap_err();
            assert_eq!(refused, [expected]);
        }
        let mut bad = spec(json!({ "containers": [{ "name": "c", "image": "No Image" }] }));
        let wrong = fill_images(&mut bad, &Images::default()).unwrap_err();
        assert_eq!(
            wrong,
            ["the container `c` has no image: `No Image` is no name of an image"]
        );
    }

    #[test]
    fn a_pod_says_only_what_is_known_to_be_harmless() {
        let sound = json!([{ "name": "c", "image": "a" }]);
        for (field, value) in [
            ("nodeName", json!("master")),
            ("tolerations", json!([{ "operator": "Exists" }])),
            ("priorityClassName", json!("system-node-critical")),
            ("priority", json!(2_000_000_000)),
            ("runtimeClassName", json!("weak")),
            ("schedulerName", json!("other")),
            (
                "hostAliases",
                json!([{ "ip": "1.2.3.4", "hostnames": ["registry"] }]),
            ),
            ("hostUsers", json!(true)),
            ("ephemeralContainers", json!([{ "name": "e" }])),
            ("whateverComesNext", json!({ "a": 1 })),
        ] {
            let spec = json!({ "template": { "spec": { "containers": sound, field: value } } });
            let refused = brought(&identity(), &Grants::default(), &spec).unwrap_err();
            assert_eq!(refused, [format!("the pod asks for `{field}`")]);
        }
        let spec = json!({ "template": { "spec": { "containers": sound, "tolerations": [], "hostPID": false } } });
        let made = brought(&identity(), &Grants::default(), &spec).unwrap();
        let pod = made["spec"]["template"]["spec"].as_object().unwrap();
        assert!(
            !pod.contains_key("tolerations") && !pod.contains_key("hostPID"),
            "{pod:?}"
        );
    }

    #[test]
    fn a_pod_has_no_annotation_or_label_that_means_something_to_the_cluster() {
        let made = |metadata: &Value| {
            let pod = json!({ "containers": [{ "name": "c", "image": "a" }] });
            brought(
                &identity(),
                &Grants::default(),
                &json!({ "template": { "metadata": metadata, "spec": pod } }),
            )
        };
        let refused = [
            (
                "annotations",
                "container.apparmor.security.beta.kubernetes.io/c",
                "unconfined",
            ),
            (
                "annotations",
                "seccomp.security.alpha.kubernetes.io/pod",
                "unconfined",
            ),
            ("annotations", "sidecar.istio.io/inject", "true"),
            ("annotations", "vault.hashicorp.com/agent-inject", "true"),
            ("annotations", "k8s.v1.cni.cncf.io/networks", "host"),
            ("annotations", "iam.amazonaws.com/role", "admin"),
            (
                "annotations",
                "cluster-autoscaler.kubernetes.io/safe-to-evict",
                "false",
            ),
            (
                "annotations",
                "kubectl.kubernetes.io/default-containers",
                "x",
            ),
            ("annotations", "app.kubernetes.io.evil/x", "x"),
            ("labels", "sidecar.istio.io/inject", "true"),
            ("labels", "sidecar-injector", "on"),
            ("labels", "pod-security.kubernetes.io/enforce", "privileged"),
            ("labels", "node-role.kubernetes.io/master", ""),
            ("labels", "kubernetes.io/x", ""),
        ];
        for (field, name, value) in refused {
            let what = field.trim_end_matches('s');
            let expected =
                format!("the pod asks for the {what} `{name}`, which a package may not use");
            assert_eq!(
                made(&json!({ field: { name: value } })).unwrap_err(),
                [expected]
            );
        }
        let fine = json!({
            "annotations": {
                "note": "x", "checksum/config": "1", "prometheus.io/scrape": "true",
                "kubectl.kubernetes.io/default-container": "c", "app.kubernetes.io/part-of": "x",
            },
            "labels": { "control-plane": "x", "core.crossplane.io/name": "x", "app.kubernetes.io/name": "x", "mykubernetes.io/x": "" },
            "finalizers": ["example.org/stay"], "ownerReferences": [{ "uid": "1" }], "name": "n", "generateName": "n",
        });
        let made = made(&fine).unwrap();
        let metadata = made["spec"]["template"]["metadata"].as_object().unwrap();
        assert_eq!(metadata["annotations"], fine["annotations"]);
        assert_eq!(metadata["labels"]["control-plane"], "x");
        assert_eq!(
            metadata.keys().collect::<Vec<_>>(),
            ["annotations", "labels"]
        );
    }

    #[test]
    fn a_container_and_its_volumes_reach_only_what_the_package_depends_on() {
        let all = ["secrets", "configmaps", "persistentvolumeclaims"];
        for (pod, needs) in [
            (
                json!({ "volumes": [{ "name": "v", "csi": { "driver": "d" } }] }),
                None,
            ),
            (
                json!({ "volumes": [{ "name": "v", "nfs": { "server": "s" } }] }),
                None,
            ),
            (json!({ "volumes": [{ "name": "v", "iscsi": {} }] }), None),
            (
                json!({ "volumes": [{ "name": "v", "flexVolume": {} }] }),
                None,
            ),
            (json!({ "volumes": [{ "name": "v", "gitRepo": {} }] }), None),
            (
                json!({ "volumes": [{ "name": "v", "ephemeral": {} }] }),
                None,
            ),
            (
                json!({ "volumes": [{ "name": "v", "emptyDir": {}, "hostPath": {} }] }),
                None,
            ),
            (
                json!({ "volumes": [{ "name": "v", "projected": { "sources": [{ "clusterTrustBundle": {} }] } }] }),
                None,
            ),
            (
                json!({ "volumes": [{ "name": "v", "secret": { "secretName": "s" } }] }),
                Some("secrets"),
            ),
            (
                json!({ "volumes": [{ "name": "v", "projected": { "sources": [{ "secret": {} }] } }] }),
                Some("secrets"),
            ),
            (
                json!({ "volumes": [{ "name": "v", "configMap": {} }] }),
                Some("configmaps"),
            ),
            (
                json!({ "volumes": [{ "name": "v", "persistentVolumeClaim": {} }] }),
                Some("persistentvolumeclaims"),
            ),
            (
                json!({ "containers": [{ "ports": [{ "containerPort": 1, "hostPort": 80 }] }] }),
                None,
            ),
            (
                json!({ "containers": [{ "ports": [{ "containerPort": 1, "hostIP": "0.0.0.0" }] }] }),
                None,
            ),
            (
                json!({ "containers": [{ "volumeDevices": [{ "name": "d" }] }] }),
                None,
            ),
            (
                json!({ "containers": [{ "livenessProbe": { "httpGet": { "host": "169.254.169.254" } } }] }),
                None,
            ),
            (
                json!({ "initContainers": [{ "name": "i", "image": "a", "tty": true }] }),
                None,
            ),
            (
                json!({ "containers": [{ "env": [{ "name": "E", "valueFrom": { "secretKeyRef": {} } }] }] }),
                Some("secrets"),
            ),
            (
                json!({ "containers": [{ "envFrom": [{ "secretRef": {} }] }] }),
                Some("secrets"),
            ),
            (
                json!({ "containers": [{ "envFrom": [{ "configMapRef": {} }] }] }),
                Some("configmaps"),
            ),
        ] {
            let mut full = pod.clone();
            let mut container = pod["containers"][0].clone();
            container["name"] = json!("c");
            container["image"] = json!("a");
            full["containers"] = json!([container]);
            let spec = json!({ "template": { "spec": full } });
            assert_eq!(
                brought(&identity(), &Grants::default(), &spec)
                    .unwrap_err()
                    .len(),
                1,
                "{pod}"
            );
            assert_eq!(
                brought(&identity(), &depending(&all), &spec).is_ok(),
                needs.is_some(),
                "{pod}"
            );
            let others: Vec<&str> = all
                .into_iter()
                .filter(|other| Some(*other) != needs)
                .collect();
            assert!(
                brought(&identity(), &depending(&others), &spec).is_err(),
                "{pod}"
            );
        }
        let spec = json!({ "template": { "spec": {
            "volumes": [
                { "name": "a", "emptyDir": {} }, { "name": "b", "downwardAPI": {} },
                { "name": "c", "projected": { "sources": [{ "serviceAccountToken": { "path": "t" } }] } },
            ],
            "containers": [{ "name": "c", "image": "a", "livenessProbe": { "httpGet": { "path": "/", "port": 1 } } }],
        } } });
        assert!(brought(&identity(), &Grants::default(), &spec).is_ok());
    }

    #[test]
    fn a_stack_of_templates_runs_this_program_with_its_name() {
        let made = templates(&identity(), "example.org/cairn:1");
        assert_eq!(made["metadata"]["name"], "redis-templates");
        let container = &made["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "example.org/cairn:1");
        let args = json!([
            "template-stack-manager",
            "--stack",
            "redis",
            "--namespace",
            "team",
            "--listen",
            "0.0.0.0:8080"
        ]);
        assert_eq!(container["args"], args);
    }
}
