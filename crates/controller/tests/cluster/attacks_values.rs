//! Attacks through values: a user who may write instances and nothing else tries to add to the
//! objects that are made of them, and to read generated values in what is said of them.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DynamicObject, ListParams, PostParams};
use package::Files;
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Scene, variants};

use crate::actor::{NEVER, STACK, open_kind, own, package_of, running, web};
use crate::manager::{has, resource, stacks};

/// The stack of `Web`, with templates of kinds that every cluster has.
fn package(scene: &Scene<'_>, templates: &[(&str, &str)]) -> Files {
    let mut files = package_of(scene.group(), "", templates);
    let kinds = "[{crd: configmap/v1}, {crd: secret/v1}, {crd: deployment.apps/v1}";
    let app = format!(
        "title: Web\nversion: 1.0.0\ndependsOn: {kinds}, {{crd: db.{}/v1}}]\n",
        scene.group()
    );
    files.insert(".registry/app.yaml".to_owned(), app.into_bytes());
    files
}

/// Objects of the scene's own kind `Web`, as a user who may write them, read what is told of them,
/// and nothing else.
async fn attacker(scene: &Scene<'_>) -> Result<Api<DynamicObject>> {
    let client = scene.service_account("attacker").await?;
    let role = json!({ "metadata": { "name": "attacker" }, "rules": [
        { "apiGroups": [scene.group()], "resources": ["webs"], "verbs": ["create", "get", "list", "watch", "update"] },
        { "apiGroups": [""], "resources": ["events"], "verbs": ["list"] },
        { "apiGroups": ["stacks.crossplane.io"], "resources": ["stacks"], "verbs": ["get", "list"] },
    ] });
    let binding = json!({
        "metadata": { "name": "attacker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attacker" },
        "subjects": [{ "kind": "ServiceAccount", "name": "attacker", "namespace": scene.namespace() }],
    });
    scene
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    Ok(scene.dynamic(client, &resource(scene.group(), "v1", "Web", "webs")))
}

/// A Deployment with `.spec.text` for its image, printed in a way of its own.
fn deployment(name: &str, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: '{{{{ .metadata.name }}}}-{name}'}}\nspec:\n  replicas: 0\n  \
         selector: {{matchLabels: {{app: '{{{{ .metadata.name }}}}'}}}}\n  template:\n    \
         metadata: {{labels: {{app: '{{{{ .metadata.name }}}}'}}}}\n    spec:\n      containers:\n      - name: main\n        \
         image: {image}\n"
    )
}

/// A value that is an image, and more.
fn payload(choices: &mut Choices) -> String {
    let image = choices
        .pick(&[
            "nginx",
            "nginx:1.25",
            "registry.example.org:5000/a/b@sha256:00",
            "x",
        ])
        .to_string();
    let quote = *choices.pick(&["", "", "", "\"", "'"]);
    let line = *choices.pick(&["\n", "\n", "\r\n", "\n\n", " # x\n"]);
    let more: Vec<(usize, &str)> = vec![
        (8, "securityContext: {privileged: true}"),
        (8, "\"securityContext\":\n          privileged: true"),
        (6, "hostPID: true"),
        (6, "'hostNetwork': true"),
        (6, "? hostIPC\n      : true"),
        (6, "volumes: [{name: root, hostPath: {path: /}}]"),
        (6, "- {name: second, image: evil}"),
        (6, "serviceAccountName: default"),
        (
            0,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: evil}",
        ),
    ];
    let count = 1 + choices.below(3);
    let chosen: Vec<String> = choices
        .shuffled(more)
        .into_iter()
        .take(count)
        .map(|(indent, text)| format!("{line}{}{text}", " ".repeat(indent)))
        .collect();
    format!("{image}{quote}{}", chosen.concat())
}

pub async fn a_value_of_an_instance_adds_nothing_to_the_objects_made_of_it(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("values").await?;
    open_kind(&scene, "Db").await?;
    let ways = [
        ("plain", "{{ .spec.text }}"),
        ("double", "\"{{ .spec.text }}\""),
        ("single", "'{{ .spec.text }}'"),
        ("printed", "{{ printf \"%s\" .spec.text }}"),
        (
            "looped",
            "{{ range $key, $value := dict .spec.text 1 }}{{ $key }}{{ end }}",
        ),
        ("decoded", "{{ .spec.text | b64enc | b64dec }}"),
    ];
    let mut templates: Vec<(&str, String)> = ways
        .iter()
        .map(|(name, image)| (*name, deployment(name, image)))
        .collect();
    templates.push(("extra", String::new()));
    let templates: Vec<(&str, &str)> = templates
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let mut files = package(&scene, &templates);
    files.retain(|path, _| !path.ends_with("/extra.yaml"));
    let _running = running(&scene, &files, NEVER).await?;
    let webs = attacker(&scene).await?;
    let mut created = Vec::new();
    for (index, mut choices) in variants() {
        let (name, text) = (
            format!("v{index}-{}", choices.name("a", 12)),
            payload(&mut choices),
        );
        webs.create(&PostParams::default(), &web(&scene, &name, &text))
            .await
            .with_context(|| format!("{index}"))?;
        created.push((index, name, text));
    }
    for (index, name, text) in &created {
        let refused = scene
            .wait(&webs, name, has("Synced", "False", "RenderFailed"))
            .await;
        let refused = refused
            .with_context(|| format!("variant {index}: {text:?}"))?
            .context("it is there")?;
        let told = refused.data["status"]["conditions"].to_string();
        ensure!(
            told.contains(".spec.text") || told.contains("is not YAML"),
            "variant {index}: {told}"
        );
    }
    // What was made in spite of it, by templates that print the value safely for what it is, has a
    // pod as written.
    let ours = ListParams::default().labels("stacks.crossplane.io/template");
    for made in scene.api::<Deployment>().list(&ours).await?.items {
        let made = serde_json::to_value(&made)?;
        let (pod, name) = (&made["spec"]["template"]["spec"], &made["metadata"]["name"]);
        let container = &pod["containers"][0];
        ensure!(
            pod["containers"].as_array().map(Vec::len) == Some(1),
            "{name}: {pod}"
        );
        for field in [
            "hostPID",
            "hostNetwork",
            "hostIPC",
            "volumes",
            "serviceAccountName",
        ] {
            ensure!(pod[field].is_null(), "{name}: {pod}");
        }
        ensure!(container["securityContext"].is_null(), "{name}: {pod}");
    }
    ensure!(
        scene
            .api::<k8s_openapi::api::core::v1::ConfigMap>()
            .get_opt("evil")
            .await?
            .is_none()
    );

    webs.create(&PostParams::default(), &web(&scene, "honest", "nginx:1.25"))
        .await?;
    for (name, _) in ways {
        let there = |made: Option<&Deployment>| made.is_some();
        scene
            .wait(&scene.api::<Deployment>(), &format!("honest-{name}"), there)
            .await
            .context("honest")?;
    }
    Ok(())
}

const KEYS: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .metadata.name }}-keys'}\n\
                    stringData:\n  p: {{ generated \"pw\" \"randAlphaNum\" 24 | quote }}\n";

/// What becomes of `$p`, by the end of `.spec.text`.
const TURN: &str = "{{- if hasSuffix \"upper\" .spec.text }}{{ $p = upper $p }}\
                    {{- else if hasSuffix \"b64\" .spec.text }}{{ $p = b64enc $p }}\
                    {{- else if hasSuffix \"part\" .spec.text }}{{ $p = substr 4 15 $p }}\
                    {{- else if hasSuffix \"joined\" .spec.text }}{{ $p = list \"a\" $p \"b\" | join \"-\" }}\
                    {{- else if hasSuffix \"nested\" .spec.text }}{{ $p = (dict \"k\" $p | toJson | fromJson).k }}{{ end }}";

/// What is done before that, by `.spec.text`: more than is rendered on the spot.
const COST: &str = "{{- if hasPrefix \"label-costly\" .spec.text }}{{ $l := until 1000 }}\
                    {{- range until 300 }}{{ if has -1 $l }}x{{ end }}{{ end }}{{ end }}\
                    {{- if hasPrefix \"label-hashed\" .spec.text }}{{ $_ := htpasswd \"u\" \"x\" }}{{ end }}";

pub async fn generated_values_are_in_nothing_that_is_said(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("said").await?;
    open_kind(&scene, "Db").await?;
    let label = format!(
        "{COST}{{{{- $p := generated \"pw\" \"randAlphaNum\" 24 }}}}{TURN}\n\
         {{{{- if hasPrefix \"label\" .spec.text }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  \
         name: '{{{{ .metadata.name }}}}-label'\n  labels:\n    p: {{{{ print $p \"!\" | quote }}}}\n{{{{- end }}}}\n"
    );
    let fails = format!(
        "{{{{- $p := .keys.data.p | b64dec }}}}{TURN}\n\
         {{{{- if hasPrefix \"fail\" .spec.text }}}}{{{{ fail (printf \"the password %s is bad\" $p) }}}}{{{{ end }}}}\n\
         {{{{- if hasPrefix \"number\" .spec.text }}}}{{{{ $x := mustToDate \"2006\" $p }}}}{{{{ end }}}}\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{{{{ .metadata.name }}}}-fails'}}\ndata: {{a: b}}\n"
    );
    let status = "address: {{ .errors | toJson | quote }}\n";
    let templates = [
        ("keys", KEYS),
        ("label", &label),
        ("fails", &fails),
        ("status", status),
    ];
    let _running = running(&scene, &package(&scene, &templates), NEVER).await?;
    let webs = attacker(&scene).await?;
    let mut created = Vec::new();
    for (index, mut choices) in variants() {
        let how = *choices.pick(&["label", "fail", "number"]);
        let turn = *choices.pick(&["plain", "upper", "b64", "part", "joined", "nested"]);
        let cost = *choices.pick(&["cheap", "cheap", "costly", "costly", "costly", "hashed"]);
        let name = format!("v{index}-{}", choices.name("a", 12));
        webs.create(
            &PostParams::default(),
            &web(&scene, &name, &format!("{how}-{cost}-{turn}")),
        )
        .await?;
        created.push((index, name, how));
    }
    let mut said = Vec::new();
    let mut passwords = Vec::new();
    for (index, name, how) in &created {
        let reason = if *how == "label" {
            "ApplyFailed"
        } else {
            "RenderFailed"
        };
        let refused = scene
            .wait(&webs, name, has("Synced", "False", reason))
            .await;
        let refused = refused
            .with_context(|| format!("variant {index}: {how}"))?
            .context("it is there")?;
        let status = refused.data["status"].to_string();
        ensure!(
            status.contains("(hidden)") || *how == "number",
            "variant {index}: {status}"
        );
        said.push(status);
        let keys = scene.api::<Secret>().get(&format!("{name}-keys")).await?;
        let password = keys
            .data
            .and_then(|mut data| data.remove("p"))
            .context("it is there")?;
        passwords.push(String::from_utf8(password.0)?);
    }
    let attention = |stack: Option<&DynamicObject>| {
        stack.is_some_and(|stack| {
            stack.data["status"]["attention"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        })
    };
    let stack = scene
        .wait(&stacks(&scene), STACK, attention)
        .await?
        .context("it is there")?;
    said.push(stack.data["status"].to_string());
    let events = scene
        .api::<Event>()
        .list(&ListParams::default())
        .await?
        .items;
    ensure!(!events.is_empty(), "events are told");
    said.extend(events.into_iter().filter_map(|event| event.message));
    let said = said.join("\n");
    for password in &passwords {
        let encoded = json!(k8s_openapi::ByteString(password.clone().into_bytes()));
        let encoded = encoded.as_str().unwrap_or_default();
        for shape in [password.as_str(), &password.to_uppercase(), encoded] {
            let part = shape
                .as_bytes()
                .windows(6)
                .filter_map(|part| std::str::from_utf8(part).ok());
            let leaked: Vec<&str> = part.filter(|part| said.contains(part)).collect();
            ensure!(leaked.is_empty(), "{leaked:?} of {shape} in {said}");
        }
    }
    let names: Vec<Value> = own(&scene, "Web")
        .list(&ListParams::default())
        .await?
        .items
        .iter()
        .map(|web| json!(web.metadata.name))
        .collect();
    ensure!(names.len() == created.len());
    Ok(())
}
