//! The attacker: everything that somebody can try who may do everything with installs and Stacks,
//! and with ordinary objects, in one namespace.

use std::net::TcpListener;
use std::time::Duration;

use anyhow::Result;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use package::Files;
use serde_json::{Value, json};
use testkit::Scene;

use crate::registry::Registry;

/// What she tries, in this order.
pub const ATTACKS: [&str; 15] = [
    "takes over the victim's CRD",
    "installs templates that cost too much",
    "names a registry that never answers",
    "deletes a Stack that owns installs",
    "labels objects as the stack manager's",
    "copies the victim's children",
    "plants accounts and seeds",
    "installs a kind that makes two of itself",
    "installs the victim's package under a wrong tag",
    "writes values that add fields",
    "creates many installs and Stacks",
    "asks for a private package by its digest",
    "makes tokens by templates",
    "lists a kind in a Stack by hand and deletes it",
    "names the victim's Stack on her own objects",
];

pub struct Attacker<'s> {
    scene: &'s Scene<'s>,
    client: Client,
    registry: &'s Registry,
    /// Where nobody answers; connections are taken by the kernel.
    silent: TcpListener,
    victim: (String, String),
}

impl<'s> Attacker<'s> {
    /// Somebody with rights in the scene's namespace only.
    pub async fn enter(
        scene: &'s Scene<'s>,
        registry: &'s Registry,
        victim: &Scene<'_>,
    ) -> Result<Self> {
        let user = format!("attacker-{}", scene.namespace());
        let rules = json!([
            { "apiGroups": ["stacks.crossplane.io"], "resources": ["stackinstalls", "stacks"], "verbs": ["*"] },
            { "apiGroups": [""], "resources": ["configmaps", "secrets", "serviceaccounts", "services"], "verbs": ["*"] },
            { "apiGroups": ["*"], "resources": ["notes"], "verbs": ["*"] },
        ]);
        let role = json!({ "metadata": { "name": "attacker" }, "rules": rules });
        scene
            .api::<Role>()
            .create(&PostParams::default(), &serde_json::from_value(role)?)
            .await?;
        let binding = json!({
            "metadata": { "name": "attacker" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attacker" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        });
        scene
            .api::<RoleBinding>()
            .create(&PostParams::default(), &serde_json::from_value(binding)?)
            .await?;
        Ok(Self {
            scene,
            client: scene.cluster().client_for_user(&user, &[])?,
            registry,
            silent: TcpListener::bind("127.0.0.1:0")?,
            victim: (victim.namespace().to_owned(), victim.group().to_owned()),
        })
    }

    fn api(&self, group: &str, version: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        self.scene.dynamic(self.client.clone(), &kind)
    }

    fn ours(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        self.api("stacks.crossplane.io", "v1alpha1", kind, plural)
    }

    /// Whatever the API server says to it: an attack that is refused is no less of one.
    async fn try_create(&self, api: &Api<DynamicObject>, object: Value) {
        if let Ok(object) = serde_json::from_value(object) {
            let _ = api.create(&PostParams::default(), &object).await;
        }
    }

    async fn install(&self, name: &str, package: &str) {
        let installs = self.ours("StackInstall", "stackinstalls");
        let annotations = json!({ "stacks.crossplane.io/allow-breaking-changes": "true" });
        let install = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall",
            "metadata": { "name": name, "annotations": annotations }, "spec": { "package": package },
        });
        self.try_create(&installs, install).await;
    }

    /// Creates an instance of a kind that she installs herself, as soon as it is served.
    async fn instance(&self, group: &str, name: &str, text: &str) -> Result<()> {
        let notes = self.api(group, "v1", "Note", "notes");
        let note = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Note", "metadata": { "name": name }, "spec": { "text": text },
        });
        let note: DynamicObject = serde_json::from_value(note)?;
        let created = async {
            while notes.create(&PostParams::default(), &note).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        self.scene.within("the attacker's own kind", created).await
    }

    async fn package(&self, name: &str, mut files: Files) {
        for (path, text) in &mut files {
            if path.ends_with("app.yaml") {
                *text = String::from_utf8_lossy(text)
                    .replace("1.0.0", "99.0.0")
                    .into();
            }
        }
        self.registry
            .put_anyway(&format!("attacker/{name}"), "99.0.0", &files);
        self.install(
            name,
            &format!("{}/attacker/{name}:99.0.0", self.registry.host),
        )
        .await;
    }

    /// Tries one attack.
    pub async fn attack(&self, attack: &str) -> Result<()> {
        let (namespace, group) = (self.victim.0.as_str(), self.victim.1.as_str());
        match attack {
            "takes over the victim's CRD" => {
                let mut files = super::victim::package(group);
                for (path, text) in &mut files {
                    if path.ends_with("crd.yaml") {
                        *text = String::from_utf8_lossy(text)
                            .replace("type: string", "type: string, enum: [evil]")
                            .into();
                    }
                }
                self.package("notes", files).await;
            }
            "installs templates that cost too much" => {
                let costly = "{{ $s := repeat 10000000 \"a\" }}{{ $n := \"\" }}{{ range until 700 }}\
                              {{ $n = sha256sum $s | trunc 10 }}{{ end }}a: {{ $n }}\n";
                for index in 0..3 {
                    let own = format!("costly-{index}.{}", self.scene.group());
                    let mut files = super::victim::package(&own);
                    files.insert(
                        format!(".registry/templates/note.{own}/v1/costly.yaml"),
                        costly.into(),
                    );
                    self.package(&format!("costly-{index}"), files).await;
                }
            }
            "names a registry that never answers" => {
                let host = self.silent.local_addr()?;
                for index in 0..50 {
                    self.install(&format!("slow-{index}"), &format!("{host}/slow-{index}:1"))
                        .await;
                }
            }
            "deletes a Stack that owns installs" => {
                let stacks = self.ours("Stack", "stacks");
                let owned = ["StackInstall", "Stack"]
                    .map(|kind| json!({ "kind": kind, "apiVersion": api::API_VERSION }));
                let stack = json!({
                    "apiVersion": api::API_VERSION, "kind": "Stack",
                    "metadata": { "name": "taker", "finalizers": ["attacker.example.org/hold"] },
                    "spec": { "customresourcedefinitions": owned },
                });
                self.try_create(&stacks, stack).await;
                let _ = stacks.delete("taker", &DeleteParams::default()).await;
            }
            "labels objects as the stack manager's" => {
                for (kind, plural) in [
                    ("Secret", "secrets"),
                    ("ServiceAccount", "serviceaccounts"),
                    ("ConfigMap", "configmaps"),
                ] {
                    let api = self.api("", "v1", kind, plural);
                    for (index, name) in ["notes", "gone"].into_iter().enumerate() {
                        let labels = json!({
                            "app.kubernetes.io/managed-by": "stack-manager",
                            "core.crossplane.io/parent-group": "stacks.crossplane.io",
                            "core.crossplane.io/parent-version": "v1alpha1",
                            "core.crossplane.io/parent-kind": "Stack",
                            "core.crossplane.io/parent-name": name,
                            "core.crossplane.io/parent-namespace": namespace,
                        });
                        let metadata =
                            json!({ "name": format!("labelled-{index}"), "labels": labels });
                        self.try_create(
                            &api,
                            json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata }),
                        )
                        .await;
                    }
                }
            }
            "copies the victim's children" => {
                // She may not read them: assume that she learned their metadata elsewhere.
                let maps: Api<DynamicObject> = Api::namespaced_with(
                    self.scene.client(),
                    namespace,
                    &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
                );
                for map in maps.list(&ListParams::default()).await?.items {
                    let metadata = json!({ "name": map.metadata.name, "labels": map.metadata.labels,
                        "annotations": map.metadata.annotations, "ownerReferences": map.metadata.owner_references });
                    let copy =
                        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
                    self.try_create(&self.api("", "v1", "ConfigMap", "configmaps"), copy)
                        .await;
                }
            }
            "plants accounts and seeds" => {
                for name in ["stack-notes", "stack-costly-0"] {
                    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name } });
                    self.try_create(
                        &self.api("", "v1", "ServiceAccount", "serviceaccounts"),
                        account,
                    )
                    .await;
                }
                for name in ["notes-seed", "stack-notes-seed", "seed"] {
                    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "data": { "seed": "" } });
                    self.try_create(&self.api("", "v1", "Secret", "secrets"), secret)
                        .await;
                }
                self.install(
                    "notes",
                    &format!("{}/victim/notes:1.0.0", self.registry.host),
                )
                .await;
            }
            "installs a kind that makes two of itself" => {
                let own = format!("grows.{}", self.scene.group());
                let mut files = super::victim::package(&own);
                for side in ["left", "right"] {
                    let template = format!(
                        "{{{{ if .spec.text }}}}apiVersion: {own}/v1\nkind: Note\nmetadata: {{name: '{{{{ .metadata.name }}}}-{side}'}}\n\
                         spec: {{text: x}}\n{{{{ end }}}}"
                    );
                    files.insert(
                        format!(".registry/templates/note.{own}/v1/{side}.yaml"),
                        template.into(),
                    );
                }
                self.package("grows", files).await;
                self.instance(&own, "first", "x").await?;
            }
            "installs the victim's package under a wrong tag" => {
                let files = super::victim::package(group);
                self.registry.put_anyway("victim/notes", "2.0.0", &files);
                self.install(
                    "wrong-tag",
                    &format!("{}/victim/notes:2.0.0", self.registry.host),
                )
                .await;
            }
            "writes values that add fields" => {
                let own = format!("values.{}", self.scene.group());
                self.package("values", super::victim::package(&own)).await;
                let text = "x'}\nmetadata: {name: other, namespace: kube-system}\n#";
                self.instance(&own, "note-0", text).await?;
            }
            "creates many installs and Stacks" => {
                for index in 0..100 {
                    let own = format!("{}/attacker/none-{index}:1", self.registry.host);
                    self.install(&format!("many-{index}"), &own).await;
                    let stack = json!({ "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "name": format!("many-{index}") } });
                    self.try_create(&self.ours("Stack", "stacks"), stack).await;
                }
            }
            "asks for a private package by its digest" => {
                self.registry
                    .put_anyway("private/notes", "1.0.0", &super::victim::package(group));
                self.registry.guard("private/notes", "Basic dXNlcjpwYXNz");
                let digest = self.registry.digest("private/notes", "1.0.0");
                for (index, repository) in ["private/notes", "attacker/notes", "victim/notes"]
                    .iter()
                    .enumerate()
                {
                    let package = format!("{}/{repository}@{digest}", self.registry.host);
                    self.install(&format!("private-{index}"), &package).await;
                }
            }
            "makes tokens by templates" => {
                let own = format!("tokens.{}", self.scene.group());
                let mut files = super::victim::package(&own);
                let token = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: '{{ .metadata.name }}-token'\n  annotations: \
                             {kubernetes.io/service-account.name: stack-notes}\n\
                             type: kubernetes.io/{{ .spec.text }}-token\n";
                files.insert(
                    format!(".registry/templates/note.{own}/v1/token.yaml"),
                    token.into(),
                );
                self.package("tokens", files).await;
            }
            "lists a kind in a Stack by hand and deletes it" => {
                let stacks = self.ours("Stack", "stacks");
                let owned = json!([{ "kind": "Note", "apiVersion": format!("{group}/v1") }]);
                let stack = json!({
                    "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "name": "lister" },
                    "spec": { "customresourcedefinitions": owned },
                });
                self.try_create(&stacks, stack).await;
                let _ = stacks.delete("lister", &DeleteParams::default()).await;
            }
            "names the victim's Stack on her own objects" => {
                let accounts = self.api("", "v1", "ServiceAccount", "serviceaccounts");
                let marks = json!({
                    "stacks.crossplane.io/created-for": format!("Stack/{namespace}/notes"),
                    "stacks.crossplane.io/signature": "00",
                });
                let metadata = json!({ "name": "caller", "annotations": marks,
                    "labels": { "app.kubernetes.io/managed-by": "stack-manager" } });
                let account =
                    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata });
                self.try_create(&accounts, account).await;
                for index in 0..200 {
                    let change = Patch::Merge(
                        json!({ "metadata": { "annotations": { "count": index.to_string() } } }),
                    );
                    let _ = accounts
                        .patch("caller", &PatchParams::default(), &change)
                        .await;
                }
            }
            other => anyhow::bail!("there is no attack {other:?}"),
        }
        Ok(())
    }

    /// Takes back what she made, so that the victim can be measured without her.
    pub async fn withdraw(&self) -> Result<()> {
        for (kind, plural) in [("StackInstall", "stackinstalls"), ("Stack", "stacks")] {
            let api = self.ours(kind, plural);
            for object in api.list(&ListParams::default()).await?.items {
                let name = object.metadata.name.unwrap_or_default();
                let _ = api.delete(&name, &DeleteParams::default()).await;
            }
        }
        Ok(())
    }
}
