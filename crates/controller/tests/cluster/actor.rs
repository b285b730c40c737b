//! Stacks with a template stack manager of their own, as the account that the stack manager gave
//! them, and an outside actor that says what other controllers would.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use package::{Files, Package};
use serde_json::{Value, json};
use testkit::{Request, Scene};

use crate::manager::{has, manager, resource, stacks};

/// A stack with its manager.
pub struct Running {
    pub manager: Arc<TemplateStackManager>,
    pub package: Package,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.manager.stop();
    }
}

/// The name of the stack in every scenario.
pub const STACK: &str = "app";

/// How often to look again where nothing happens: longer than any scenario.
pub const NEVER: Duration = Duration::from_secs(3600);

/// A kind of somebody else, whose objects may hold anything.
pub async fn open_kind(scene: &Scene<'_>, kind: &str) -> Result<()> {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    scene.install_crd(&scene.crd(kind, &open)).await?;
    Ok(())
}

/// A stack whose `Web` makes a `Db`, a config map, and what else is told.
pub async fn webs(scene: &Scene<'_>, more: &[(&str, &str)]) -> Result<Running> {
    open_kind(scene, "Db").await?;
    running(scene, &package_of(scene.group(), "", more), NEVER).await
}

/// Puts a package's CRDs and its Stack in place, and runs it.
pub async fn running(scene: &Scene<'_>, files: &Files, resync: Duration) -> Result<Running> {
    manager(scene.cluster()).await?;
    let (package, problems) = package::read(files);
    for crd in &package.crds {
        scene
            .install_crd(&crd.crd.object)
            .await
            .with_context(|| format!("{problems:?}"))?;
    }
    let mut stack = serde_json::to_value(&package.stack)?;
    stack["metadata"] = json!({ "name": STACK, "namespace": scene.namespace() });
    stacks(scene)
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    if let Err(error) = scene
        .wait(&stacks(scene), STACK, has("Ready", "True", ""))
        .await
    {
        let found = stacks(scene).get(STACK).await?;
        return Err(error.context(format!(
            "the Stack gets its account: {}",
            found.data["status"]
        )));
    }
    let manager = start(scene, resync).await?;
    Ok(Running { manager, package })
}

/// A template stack manager with the account of the stack.
pub async fn start(scene: &Scene<'_>, resync: Duration) -> Result<Arc<TemplateStackManager>> {
    start_as(scene, STACK, resync).await
}

/// A template stack manager with the account of a stack of this name.
pub async fn start_as(
    scene: &Scene<'_>,
    stack: &str,
    resync: Duration,
) -> Result<Arc<TemplateStackManager>> {
    let found = stacks(scene).get(stack).await?;
    let account = found.data["status"]["serviceAccount"]
        .as_str()
        .context("the Stack names its account")?
        .to_owned();
    let client = scene
        .cluster()
        .client_for_service_account(scene.namespace(), &account)
        .await?;
    let parts = Parts {
        resync,
        ..Parts::new(client, scene.namespace(), stack)
    };
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

/// A seed as the stack manager leaves it; answers what the Stack says of it.
pub async fn seeded(scene: &Scene<'_>, stack: &str) -> Result<Value> {
    let name = api::names::seed(scene.namespace(), stack);
    let seed = json!({ "metadata": { "name": name }, "stringData": { "seed": "a seed of exactly 32 characters!" } });
    let secrets: Api<k8s_openapi::api::core::v1::Secret> =
        Api::namespaced(scene.client(), "default");
    let made = secrets
        .create(&PostParams::default(), &serde_json::from_value(seed)?)
        .await?;
    let bytes = made
        .data
        .unwrap_or_default()
        .remove("seed")
        .context("it has a seed")?
        .0;
    let said = install::Commitment::to("default", &name, &bytes).to_string();
    Ok(json!({ "stacks.crossplane.io/seed": said }))
}

/// Whether a request is one of the stack's account about objects, and neither a list nor a watch.
/// What is said in the Stack's own status is said once for all instances.
pub fn is_call(scene: &Scene<'_>) -> impl Fn(&Request) -> bool + use<> {
    let user = scene.service_account_user(&format!("stack-{STACK}"));
    move |request| {
        let reads = ["list", "watch"].contains(&request.verb.as_str());
        let seed = request.resource == "secrets" && request.verb == "get";
        request.user == user
            && !request.resource.is_empty()
            && !reads
            && !seed
            && request.resource != "stacks"
    }
}

/// Objects of a kind of the scene's own group.
pub fn own(scene: &Scene<'_>, kind: &str) -> Api<DynamicObject> {
    let plural = format!("{}s", kind.to_lowercase());
    Api::namespaced_with(
        scene.client(),
        scene.namespace(),
        &resource(scene.group(), "v1", kind, &plural),
    )
}

/// An instance of the scene's own kind `Web`.
pub fn web(scene: &Scene<'_>, name: &str, text: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "Web",
        "metadata": { "name": name }, "spec": { "text": text },
    });
    serde_json::from_value(object).unwrap()
}

/// What another controller says of an object once it is there.
pub async fn says(
    scene: &Scene<'_>,
    api: &Api<DynamicObject>,
    name: &str,
    status: Value,
) -> Result<()> {
    scene
        .wait(api, name, |object: Option<&DynamicObject>| object.is_some())
        .await?;
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// A package of the kind `Web`, which makes a `Db`. A config map waits for the address of the `Db`;
/// another does not. `config` is the template of the first.
pub fn package_of(group: &str, config: &str, more: &[(&str, &str)]) -> Files {
    let conditions = "address: {type: string}, conditions: {type: array, items: {type: object, properties: {\
                      type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, \
                      lastTransitionTime: {type: string}, observedGeneration: {type: integer}}}}";
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: webs.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Web, plural: webs, singular: web}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      \
         openAPIV3Schema:\n        type: object\n        properties:\n          \
         spec: {{type: object, properties: {{text: {{type: string}}}}}}\n          \
         status: {{type: object, properties: {{{conditions}}}}}\n"
    );
    let app = format!(
        "title: Web\nversion: 1.0.0\ndependsOn: [{{crd: configmap/v1}}, {{crd: db.{group}/v1}}]\n"
    );
    let mut files = vec![
        ("app.yaml".to_owned(), app),
        ("resources/web.crd.yaml".to_owned(), crd),
    ];
    let db = format!(
        "apiVersion: {group}/v1\nkind: Db\nmetadata: {{name: '{{{{ .metadata.name }}}}'}}\nspec: {{size: 1}}\n"
    );
    let extra = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                 data: {text: '{{ .spec.text }}'}\n";
    let status = "address: {{ .db.status.endpoint }}\n";
    for (name, text) in [
        ("db", db.as_str()),
        ("extra", extra),
        ("config", config),
        ("status", status),
    ]
    .into_iter()
    .chain(more.iter().copied())
    {
        if !text.is_empty() {
            files.push((
                format!("templates/web.{group}/v1/{name}.yaml"),
                text.to_owned(),
            ));
        }
    }
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

/// The usual template of the config map that waits.
pub const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-config'}\n\
                          data: {endpoint: '{{ .db.status.endpoint }}', text: '{{ .spec.text }}'}\n";
