//! The victim: a stack with twenty instances of three children each, under steady change.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role, RoleBinding};
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Resource};
use package::Files;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testkit::{Mark, Scene};

use crate::processes::{has, ours};
use crate::registry::Registry;

/// How many instances she has.
pub const INSTANCES: usize = 20;

/// Her package: the kind `Note` becomes a ConfigMap, a Secret with a generated password, and a
/// Service.
pub fn package(group: &str) -> Files {
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: notes.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Note, plural: notes, singular: note}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      \
         openAPIV3Schema:\n        type: object\n        properties:\n          \
         spec: {{type: object, properties: {{text: {{type: string}}}}}}\n          \
         status: {{type: object, properties: {{said: {{type: string}}}}}}\n"
    );
    let children = [
        (
            "map",
            "v1",
            "ConfigMap",
            "data: {text: '{{ .spec.text }}'}\n",
        ),
        (
            "secret",
            "v1",
            "Secret",
            "stringData: {password: '{{ randAlphaNum 20 }}'}\n",
        ),
        (
            "service",
            "v1",
            "Service",
            "spec: {ports: [{port: 80}], selector: {app: '{{ .metadata.name }}'}}\n",
        ),
    ];
    let app = "title: Notes\nversion: 1.0.0\ndependsOn: [{crd: configmap/v1}, {crd: secret/v1}, {crd: service/v1}]\n";
    let mut files = vec![
        ("app.yaml".to_owned(), app.to_owned()),
        ("resources/note.crd.yaml".to_owned(), crd),
        (
            format!("templates/note.{group}/v1/status.yaml"),
            "said: '{{ .map.data.text }}'\n".to_owned(),
        ),
    ];
    for (name, version, kind, rest) in children {
        let text = format!(
            "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: '{{{{ .metadata.name }}}}'}}\n{rest}"
        );
        files.push((format!("templates/note.{group}/v1/{name}.yaml"), text));
    }
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

pub struct Victim<'s> {
    pub scene: &'s Scene<'s>,
    kind: ApiResource,
    /// When she began, in the list of requests.
    since: Mark,
    text: usize,
}

impl<'s> Victim<'s> {
    /// Installs her package and creates her instances.
    pub async fn start(scene: &'s Scene<'s>, registry: &Registry) -> Result<Self> {
        registry.put("victim/notes", "1.0.0", &package(scene.group()));
        let since = scene.cluster().mark()?;
        let installs = ours(scene, "StackInstall", "stackinstalls");
        let install = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": "notes" },
            "spec": { "package": format!("{}/victim/notes:1.0.0", registry.host) },
        });
        installs
            .create(&PostParams::default(), &serde_json::from_value(install)?)
            .await?;
        scene
            .wait(&installs, "notes", |object: Option<&DynamicObject>| {
                has(object, "Ready", "True", "")
            })
            .await?;
        let kind = ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(scene.group(), "v1", "Note"),
            "notes",
        );
        let mut victim = Self {
            scene,
            kind,
            since,
            text: 0,
        };
        for index in 0..INSTANCES {
            let note = json!({
                "apiVersion": victim.kind.api_version, "kind": "Note",
                "metadata": { "name": name(index) }, "spec": { "text": "0" },
            });
            victim
                .notes()
                .create(&PostParams::default(), &serde_json::from_value(note)?)
                .await?;
        }
        victim.settle().await?;
        victim.change().await?;
        Ok(victim)
    }

    fn notes(&self) -> Api<DynamicObject> {
        self.scene.dynamic(self.scene.client(), &self.kind)
    }

    /// Changes every instance, and waits until every child and every status shows it.
    pub async fn change(&mut self) -> Result<()> {
        self.text += 1;
        let change = Patch::Merge(json!({ "spec": { "text": self.text.to_string() } }));
        for index in 0..INSTANCES {
            self.notes()
                .patch(&name(index), &PatchParams::default(), &change)
                .await?;
        }
        self.settle().await
    }

    async fn settle(&self) -> Result<()> {
        let text = self.text.to_string();
        for index in 0..INSTANCES {
            let said = |note: Option<&DynamicObject>| {
                note.is_some_and(|note| note.data["status"]["said"] == text.as_str())
            };
            self.scene.wait(&self.notes(), &name(index), said).await?;
        }
        Ok(())
    }

    /// The process that runs her templates.
    pub async fn process(&self) -> Result<u32> {
        let stack = ours(self.scene, "Stack", "stacks").get("notes").await?;
        let conditions = stack.data["status"]["conditions"]
            .as_array()
            .context("no conditions")?
            .clone();
        let available = conditions
            .iter()
            .find(|one| one["type"] == "ControllerAvailable")
            .context("not available")?;
        let message = available["message"].as_str().unwrap_or_default();
        message
            .rsplit(' ')
            .next()
            .and_then(|id| id.parse().ok())
            .with_context(|| format!("no process in {message:?}"))
    }

    /// Removes a binding of her stack, and says how long it took to come back.
    pub async fn repair(&self) -> Result<std::time::Duration> {
        let bindings: Api<RoleBinding> = self.scene.api();
        let all = bindings.list(&ListParams::default()).await?.items;
        let name = all
            .iter()
            .filter_map(|binding| binding.metadata.name.clone())
            .find(|name| name.ends_with(":system"));
        let name = name.context("her stack has a binding")?;
        let begin = std::time::Instant::now();
        let old = bindings.get(&name).await?.metadata.uid;
        bindings
            .delete(&name, &kube::api::DeleteParams::default())
            .await?;
        let back = move |binding: Option<&RoleBinding>| {
            binding.is_some_and(|binding| binding.metadata.uid != old)
        };
        self.scene.wait(&bindings, &name, back).await?;
        Ok(begin.elapsed())
    }

    /// All that is hers, without what differs between any two namespaces.
    pub async fn belongings(&self) -> Result<BTreeMap<String, Value>> {
        let scene = self.scene;
        let mut all = BTreeMap::new();
        self.gather(&mut all, "ConfigMap", &scene.api::<ConfigMap>())
            .await?;
        self.gather(&mut all, "Secret", &scene.api::<Secret>())
            .await?;
        self.gather(&mut all, "Service", &scene.api::<Service>())
            .await?;
        self.gather(&mut all, "ServiceAccount", &scene.api::<ServiceAccount>())
            .await?;
        self.gather(&mut all, "Role", &scene.api::<Role>()).await?;
        self.gather(&mut all, "RoleBinding", &scene.api::<RoleBinding>())
            .await?;
        self.gather(&mut all, "Note", &self.notes()).await?;
        self.gather(&mut all, "Stack", &ours(scene, "Stack", "stacks"))
            .await?;
        self.gather(
            &mut all,
            "StackInstall",
            &ours(scene, "StackInstall", "stackinstalls"),
        )
        .await?;
        self.gather(
            &mut all,
            "ClusterRole",
            &Api::<ClusterRole>::all(scene.client()),
        )
        .await?;
        let crds = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        self.gather(
            &mut all,
            "CRD",
            &Api::<DynamicObject>::all_with(scene.client(), &ApiResource::from_gvk(&crds)),
        )
        .await?;
        Ok(all)
    }

    async fn gather<K>(
        &self,
        all: &mut BTreeMap<String, Value>,
        kind: &str,
        api: &Api<K>,
    ) -> Result<()>
    where
        K: Clone + std::fmt::Debug + DeserializeOwned + Serialize + Resource,
    {
        let (namespace, group) = (self.scene.namespace(), self.scene.group());
        for object in api.list(&ListParams::default()).await?.items {
            let object = serde_json::to_value(&object)?;
            let text = object.to_string();
            // Objects of the whole cluster are hers if they are called after her.
            if object["metadata"]["namespace"].is_null()
                && !object["metadata"]["name"].to_string().contains(namespace)
            {
                continue;
            }
            let mut object: Value = serde_json::from_str(&without_uids(
                &text.replace(group, "GROUP").replace(namespace, "NAMESPACE"),
            ))?;
            plain(&mut object);
            let name = object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            all.insert(format!("{kind} {name}"), object);
        }
        Ok(())
    }

    /// Whatever was deleted in her namespace since she began; what she deleted herself is not
    /// counted.
    pub async fn deletions(&self) -> Result<Vec<String>> {
        let namespace = self.scene.namespace().to_owned();
        let taken = move |request: &testkit::Request| {
            // Cluster-scoped objects and the manager's Secrets for her have her namespace in their
            // names.
            let hers = request.namespace == namespace || request.name.contains(&namespace);
            hers && request.verb.starts_with("delete") && request.resource != "rolebindings"
        };
        let requests = self.scene.cluster().requests(self.since, taken).await?;
        Ok(requests
            .iter()
            .map(|request| format!("{} {} {}", request.user, request.resource, request.name))
            .collect())
    }
}

fn name(index: usize) -> String {
    format!("note-{index}")
}

/// The text with one word for every uid: keys of managed fields and annotations have them inside.
fn without_uids(text: &str) -> String {
    const LENGTH: usize = 36;
    let is_uid = |part: &str| {
        part.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    };
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        if rest.get(..LENGTH).is_some_and(is_uid) {
            plain.push_str("UID");
            rest = &rest[LENGTH..];
        } else {
            plain.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    plain
}

/// Takes off what no two objects have in common, and what a value generated for each is.
fn plain(object: &mut Value) {
    match object {
        Value::Object(fields) => {
            for key in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "time",
                "lastTransitionTime",
                "clusterIP",
                "clusterIPs",
            ] {
                fields.remove(key);
            }
            // The number of a process, a digest or signature of what contains the names, a
            // generated value.
            for (key, value) in fields.iter_mut() {
                let varies = [
                    "hash",
                    "Hash",
                    "digest",
                    "seed",
                    "signature",
                    "/record",
                    "package-image",
                ]
                .iter()
                .any(|part| key.contains(part));
                if varies || ["message", "password", "package"].contains(&key.as_str()) {
                    *value = json!("VARIES");
                }
                plain(value);
                // They are in the order of their times, which is that of seconds.
                if let (true, Value::Array(entries)) = (key == "managedFields", value) {
                    entries.sort_by_key(Value::to_string);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Says where two sets of belongings differ.
pub fn same(quiet: &BTreeMap<String, Value>, attacked: &BTreeMap<String, Value>) -> Result<()> {
    let names = |all: &BTreeMap<String, Value>| all.keys().cloned().collect::<Vec<_>>();
    ensure!(
        names(quiet) == names(attacked),
        "she has {:#?} instead of {:#?}",
        names(attacked),
        names(quiet)
    );
    for (name, object) in quiet {
        ensure!(
            attacked.get(name) == Some(object),
            "{name} is {:#} instead of {object:#}",
            attacked[name]
        );
    }
    Ok(())
}
