//! The Deployments that run the controllers of a stack: ours for its templates, and the one that its package brings,
//! tied to the stack's own account and kept from rising above it.

use api::names;
use serde_json::{Map, Value, json};

use super::{Identity, Reference};

/// What the Deployments of a stack depend on, beside the stack.
#[derive(Debug, Clone, Default)]
pub struct Surroundings<'s> {
    /// The image that this program runs from, for stacks with templates.
    pub own_image: &'s str,
    /// The image of the package, for controllers that name none.
    pub package_image: &'s str,
    /// The registry for images that name none.
    pub source: &'s str,
    /// When to pull images; empty leaves it to the package.
    pub pull_policy: &'s str,
    /// The names of Secrets with credentials.
    pub pull_secrets: Vec<&'s str>,
}

/// The Deployment that renders a stack's templates.
pub fn templates(identity: &Identity, around: &Surroundings<'_>) -> Value {
    let name = names::templates(&identity.name);
    let container = json!({
        "name": "template-stack-manager",
        "image": around.own_image,
        "args": ["template-stack-manager", "--stack", identity.name, "--namespace", identity.namespace],
        "ports": [{ "name": "metrics", "containerPort": 8080 }],
        "livenessProbe": { "httpGet": { "path": "/healthz", "port": 8080 } },
        "readinessProbe": { "httpGet": { "path": "/readyz", "port": 8080 } },
        "resources": { "requests": { "cpu": "10m", "memory": "32Mi" } },
    });
    let spec = json!({ "replicas": 1, "template": { "spec": { "containers": [container] } } });
    // What we wrote ourselves asks for nothing that is not granted.
    deployment(identity, &name, &spec, around).unwrap_or_default()
}

/// The Deployment that the package brings, or why it cannot run here.
pub fn brought(identity: &Identity, spec: &Value, around: &Surroundings<'_>) -> Result<Value, Vec<String>> {
    deployment(identity, &names::controller(&identity.name), spec, around)
}

fn deployment(identity: &Identity, name: &str, spec: &Value, around: &Surroundings<'_>) -> Result<Value, Vec<String>> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    let mut template = take(&mut spec, "template");
    let mut metadata = take(&mut template, "metadata");
    let mut labels = take(&mut metadata, "labels");
    labels.extend(identity.labels());
    labels.insert("app".to_owned(), json!(name));
    metadata.insert("labels".to_owned(), Value::Object(labels));
    metadata.remove("name");
    let mut pod = take(&mut template, "spec");
    let refused = confine(&mut pod, identity, around);
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
fn confine(pod: &mut Map<String, Value>, identity: &Identity, around: &Surroundings<'_>) -> Vec<String> {
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
    if !around.pull_secrets.is_empty() {
        let own = pod.get("imagePullSecrets").and_then(Value::as_array).cloned().unwrap_or_default();
        let more = around.pull_secrets.iter().map(|name| json!({ "name": name }));
        let mut all: Vec<Value> = own;
        for secret in more {
            if !all.contains(&secret) {
                all.push(secret);
            }
        }
        pod.insert("imagePullSecrets".to_owned(), Value::Array(all));
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Value::Object(container) = container else { continue };
            refused.extend(confine_container(container, around));
        }
    }
    refused
}

fn confine_container(container: &mut Map<String, Value>, around: &Surroundings<'_>) -> Vec<String> {
    let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let image = match image {
        "" => around.package_image.to_owned(),
        image if image == around.own_image => image.to_owned(),
        image => match Reference::resolve(image, around.source) {
            // The author's own spelling, unless a registry was put before it.
            Ok(reference) if !around.source.is_empty() => reference.to_string(),
            Ok(_) => image.to_owned(),
            Err(bad) => return vec![format!("the container `{name}` has no image: {bad}")],
        },
    };
    container.insert("image".to_owned(), json!(image));
    if !around.pull_policy.is_empty() {
        container.insert("imagePullPolicy".to_owned(), json!(around.pull_policy));
    }
    let context = json!({
        "allowPrivilegeEscalation": false,
        "privileged": false,
        "runAsNonRoot": true,
        "capabilities": { "drop": ["ALL"] },
    });
    container.insert("securityContext".to_owned(), context);
    Vec::new()
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

    use super::{Surroundings, brought, templates};
    use crate::manage::Identity;

    fn identity() -> Identity {
        let scope = PermissionScope::Namespaced;
        Identity { namespace: "team".into(), name: "redis".into(), uid: "u".into(), scope }
    }

    #[test]
    fn the_seeds_deployment_runs_as_the_stack_and_not_as_root() {
        let spec = json!({
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
        let around = Surroundings {
            package_image: "registry.example.org/team/redis:1",
            source: "registry.example.org",
            pull_secrets: vec!["key"],
            ..Surroundings::default()
        };
        let made = brought(&identity(), &spec, &around).unwrap();
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
        for (pod, expected) in [
            (json!({ "hostNetwork": true, "hostPID": false }), "the pod asks for `hostNetwork`"),
            (
                json!({ "volumes": [{ "name": "v", "hostPath": { "path": "/" } }] }),
                "the volume \"v\" is a directory of the node",
            ),
            (
                json!({ "containers": [{ "name": "c", "image": "No Image" }] }),
                "the container `c` has no image: `No Image` is no name of an image",
            ),
        ] {
            let refused = brought(&identity(), &spec(pod), &Surroundings::default()).unwrap_err();
            assert_eq!(refused, [expected]);
        }
    }

    #[test]
    fn a_stack_of_templates_runs_this_program_with_its_name() {
        let around =
            Surroundings { own_image: "example.org/cairn:1", source: "mirror.example.org", ..Surroundings::default() };
        let made = templates(&identity(), &around);
        assert_eq!(made["metadata"]["name"], "redis-templates");
        let container = &made["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "example.org/cairn:1");
        let args = json!(["template-stack-manager", "--stack", "redis", "--namespace", "team"]);
        assert_eq!(container["args"], args);
    }
}
