//! The Deployments that run the controllers of a stack: ours for its templates, and the one that its package brings,
//! tied to the stack's own account and kept from rising above it.

use api::names;
use serde_json::{Map, Value, json};

use super::{Identity, Reference};

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
    let Some(pod) = spec.pointer_mut("/template/spec").and_then(Value::as_object_mut) else { return Ok(()) };
    let mut wrong = Vec::new();
    for container in containers(pod) {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let image = match container.get("image").and_then(Value::as_str).unwrap_or_default() {
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
        for secret in images.pull_secrets.iter().map(|name| json!({ "name": name })) {
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
    deployment(identity, &names::templates(&identity.name), &spec).unwrap_or_default()
}

/// The Deployment that the package brings, or why it cannot run here.
pub fn brought(identity: &Identity, spec: &Value) -> Result<Value, Vec<String>> {
    deployment(identity, &names::controller(&identity.name), spec)
}

fn deployment(identity: &Identity, name: &str, spec: &Value) -> Result<Value, Vec<String>> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    let mut template = take(&mut spec, "template");
    let mut metadata = take(&mut template, "metadata");
    let mut labels = take(&mut metadata, "labels");
    labels.extend(identity.labels());
    labels.insert("app".to_owned(), json!(name));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    metadata.remove("name");
    let mut pod = take(&mut template, "spec");
    let refused = confine(&mut pod, identity);
    if !refused.is_empty() {
        return Err(refused);
    }
    template.insert("metadata".to_owned(), Value::Object(metadata));
    template.insert("spec".to_owned(), Value::Object(pod));
    spec.insert("template".to_owned(), Value::Object(template));
    spec.insert("selector".to_owned(), json!({ "matchLabels": { "app": name } }));
    // Two controllers of one stack at once would write against each other.
    spec.insert("strategy".to_owned(), json!({ "type": "Recreate" }));
    Ok(json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": identity.inside(name), "spec": spec }))
}

/// Binds a pod to the stack's account, without a way to more. Answers what it asks for and cannot have.
fn confine(pod: &mut Map<String, Value>, identity: &Identity) -> Vec<String> {
    let mut refused = Vec::new();
    for flag in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod.remove(flag) == Some(Value::Bool(true)) {
            refused.push(format!("the pod asks for `{flag}`"));
        }
    }
    for volume in pod.get("volumes").and_then(Value::as_array).into_iter().flatten() {
        if volume.get("hostPath").is_some() {
            refused.push(format!("the volume {} is a directory of the node", volume["name"]));
        }
    }
    pod.remove("serviceAccount");
    pod.insert("serviceAccountName".to_owned(), json!(identity.account()));
    let group = pod.get("securityContext").and_then(|context| context.get("fsGroup")).cloned();
    let mut context = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } });
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
        if container.get("image").and_then(Value::as_str).unwrap_or_default().is_empty() {
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            refused.push(format!("the container `{name}` has no image"));
        }
    }
    if count == 0 {
        refused.push("its Deployment has no container".to_owned());
    }
    refused
}

fn containers(pod: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let lists = pod.iter_mut().filter(|(key, _)| ["initContainers", "containers"].contains(&key.as_str()));
    lists.filter_map(|(_, list)| list.as_array_mut()).flatten().filter_map(Value::as_object_mut)
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
    use crate::manage::Identity;

    fn identity() -> Identity {
        let scope = PermissionScope::Namespaced;
        Identity { namespace: "team".into(), name: "redis".into(), uid: "u".into(), scope }
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
        let made = brought(&identity(), &spec).unwrap();
        assert_eq!(made["metadata"]["name"], "redis-controller");
        assert_eq!(made["spec"]["strategy"], json!({ "type": "Recreate" }));
        let template = &made["spec"]["template"];
        assert_eq!(made["spec"]["selector"]["matchLabels"], json!({ "app": "redis-controller" }));
        assert_eq!(template["metadata"]["labels"]["app"], "redis-controller");
        assert_eq!(template["metadata"]["labels"]["core.crossplane.io/name"], "redis");
        let pod = &template["spec"];
        assert_eq!(pod["serviceAccountName"], "stack-redis");
        let context = json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" }, "fsGroup": 7 });
        assert_eq!(pod["securityContext"], context);
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "key" }]));
        assert_eq!(pod["initContainers"][0]["image"], "registry.example.org/team/redis:1");
        assert_eq!(pod["initContainers"][0]["securityContext"]["privileged"], false);
        assert_eq!(pod["containers"][0]["image"], "registry.example.org/team/controller:2.0.9");
        assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always");
        assert_eq!(pod["containers"][0]["env"][0]["name"], "POD_NAME");
    }

    #[test]
    fn a_way_out_of_the_pod_is_refused() {
        let spec = |pod: Value| json!({ "template": { "spec": pod } });
        let sound = json!([{ "name": "c", "image": "a" }]);
        for (pod, expected) in [
            (json!({ "hostNetwork": true, "hostPID": false, "containers": sound }), "the pod asks for `hostNetwork`"),
            (
                json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }], "containers": sound }),
                "the volume \"v\" is a directory of the node",
            ),
            (json!({ "containers": [{ "name": "c" }] }), "the container `c` has no image"),
            (json!({}), "its Deployment has no container"),
        ] {
            let refused = brought(&identity(), &spec(pod)).unwrap_err();
            assert_eq!(refused, [expected]);
        }
        let mut bad = spec(json!({ "containers": [{ "name": "c", "image": "No Image" }] }));
        let wrong = fill_images(&mut bad, &Images::default()).unwrap_err();
        assert_eq!(wrong, ["the container `c` has no image: `No Image` is no name of an image"]);
    }

    #[test]
    fn a_stack_of_templates_runs_this_program_with_its_name() {
        let made = templates(&identity(), "example.org/cairn:1");
        assert_eq!(made["metadata"]["name"], "redis-templates");
        let container = &made["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "example.org/cairn:1");
        let args =
            json!(["template-stack-manager", "--stack", "redis", "--namespace", "team", "--listen", "0.0.0.0:8080"]);
        assert_eq!(container["args"], args);
    }
}
