//! The packages in `examples/` on a cluster, with an outside actor that says what other controllers
//! would.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use package::{Files, Package};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::actor::{NEVER, Running, STACK, running};
use crate::manager::{resource, stacks};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn files_of(example: &Path) -> Result<Files> {
    let mut files = Files::default();
    let mut open = vec![example.join(".registry")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(example)?.to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

fn instances_of(example: &Path, namespace: &str) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(example)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "yaml") && !path.ends_with("controllers.yaml")
        {
            let mut object = yaml::parse(&std::fs::read_to_string(&path)?)?;
            object["metadata"]["namespace"] = json!(namespace);
            found.push(object);
        }
    }
    Ok(found)
}

/// How a kind of a package or of every cluster is asked for.
fn resource_of(package: &Package, api_version: &str, kind: &str) -> Option<ApiResource> {
    let gvk = objects::Gvk::of(&json!({ "apiVersion": api_version, "kind": kind }))?;
    if let Some(builtin) = objects::builtin_kind(&gvk) {
        return Some(resource(
            &gvk.group,
            &gvk.version,
            &gvk.kind,
            builtin.plural,
        ));
    }
    let crd = package.crd(&gvk.group, &gvk.kind)?;
    Some(resource(
        &gvk.group,
        &gvk.version,
        &gvk.kind,
        &crd.names.plural,
    ))
}

/// Whether the controllers of a kind are at work: where they are, only pods are played, as a node
/// would.
fn is_at_work(cluster: &Cluster, kind: &str) -> bool {
    cluster.backend().name() == "kubernetes" && ["Deployment", "ReplicaSet", "Job"].contains(&kind)
}

/// Plays the nodes of a cluster whose controllers make pods, until it is dropped.
pub fn nodes(scene: &Scene<'_>) -> tokio::task::JoinSet<()> {
    let mut actors = tokio::task::JoinSet::new();
    let pods = resource("", "v1", "Pod", "pods");
    let config = watcher::Config::default();
    actors.spawn(act(
        scene.client(),
        scene.namespace().to_owned(),
        pods,
        config,
        Arc::default(),
    ));
    actors
}

/// What other controllers have yet to say of an object: of Kubernetes' own kinds that all runs, of
/// others what the example says.
fn said(object: &DynamicObject, rules: &[engine::Rule]) -> Option<Value> {
    let whole = serde_json::to_value(object).ok()?;
    let gvk = objects::Gvk::of(&whole)?;
    if engine::SIMULATED.contains(&(gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str())) {
        return engine::play(&whole, "2026-01-02T03:04:05Z");
    }
    let template = object
        .metadata
        .labels
        .as_ref()?
        .get("stacks.crossplane.io/template")?;
    let rule = rules
        .iter()
        .find(|rule| rule.child == *template && whole["status"].is_null())?;
    Some(rule.status.clone())
}

/// Watches objects of a kind and says what other controllers would, until it is dropped.
async fn act(
    client: Client,
    namespace: String,
    kind: ApiResource,
    config: watcher::Config,
    rules: Arc<Vec<engine::Rule>>,
) {
    let api: Api<DynamicObject> = Api::namespaced_with(client, &namespace, &kind);
    let mut objects = Box::pin(
        watcher(api.clone(), config)
            .default_backoff()
            .applied_objects(),
    );
    while let Ok(Some(mut object)) = objects.try_next().await {
        object.types.get_or_insert_with(|| kube::core::TypeMeta {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
        });
        let Some(status) = said(&object, &rules) else {
            continue;
        };
        let name = object.metadata.name.unwrap_or_default();
        let _ = api
            .patch_status(
                &name,
                &PatchParams::default(),
                &Patch::Merge(json!({ "status": status })),
            )
            .await;
    }
}

/// Waits until all instances are ready, by what the Stack says of them.
async fn settled(scene: &Scene<'_>, package: &Package, least: u64) -> Result<()> {
    let all_ready = move |stack: Option<&DynamicObject>| {
        let counts = stack
            .map(|stack| stack.data["status"]["instances"].clone())
            .unwrap_or_default();
        let sum = |field: &str| -> u64 {
            counts
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(_, one)| one[field].as_u64())
                .sum()
        };
        sum("total") >= least && sum("ready") == sum("total")
    };
    if let Err(error) = scene.wait(&stacks(scene), STACK, all_ready).await {
        let status = stacks(scene).get(STACK).await?.data["status"].clone();
        let mut shown = format!("{} {}", status["instances"], status["diagnostics"]);
        for crd in &package.crds {
            let kind = resource(
                &crd.crd.group,
                &crd.crd.versions[0].name,
                &crd.crd.names.kind,
                &crd.crd.names.plural,
            );
            let api: Api<DynamicObject> =
                Api::namespaced_with(scene.client(), scene.namespace(), &kind);
            for object in api.list(&ListParams::default()).await? {
                shown += &format!(
                    "\n{} {:?} {}",
                    kind.kind, object.metadata.name, object.data["status"]
                );
            }
        }
        return Err(error.context(shown));
    }
    Ok(())
}

async fn converges(cluster: &Cluster, name: &str) -> Result<()> {
    let example = examples().join(name);
    let scene = cluster.scene(name).await?;
    let rules: Vec<engine::Rule> = match std::fs::read_to_string(example.join("controllers.yaml")) {
        Ok(text) => serde_json::from_value(yaml::parse(&text)?)?,
        Err(_) => Vec::new(),
    };
    lives(
        &scene,
        &files_of(&example)?,
        rules,
        instances_of(&example, scene.namespace())?,
    )
    .await
}

/// Runs a package; its instances become ready, and go with all that they made.
pub async fn lives(
    scene: &Scene<'_>,
    files: &Files,
    rules: Vec<engine::Rule>,
    instances: Vec<Value>,
) -> Result<()> {
    let Running { package, .. } = &running(scene, files, NEVER).await?;
    // What the stack itself says of its kinds is not for others to say.
    let templated = |child: &str| {
        package
            .templates
            .values()
            .flat_map(|all| all.iter())
            .any(|(name, source)| {
                name == child
                    && package.crds.iter().any(|crd| {
                        source
                            .text
                            .contains(&format!("kind: {}\n", crd.crd.names.kind))
                            && package.template_status.keys().any(|key| {
                                key.starts_with(&format!("{}.", crd.crd.names.kind.to_lowercase()))
                            })
                    })
            })
    };
    let rules: Arc<Vec<engine::Rule>> = Arc::new(
        rules
            .into_iter()
            .filter(|rule| !templated(&rule.child))
            .collect(),
    );
    let mut actors = nodes(scene);
    let has_kinds = |stack: Option<&DynamicObject>| {
        stack.is_some_and(|stack| stack.data["status"]["renderedKinds"].is_array())
    };
    if !package.templates.is_empty() {
        let stack = scene
            .wait(&stacks(scene), STACK, has_kinds)
            .await?
            .context("it is there")?;
        for kind in stack.data["status"]["renderedKinds"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let text = |field: &str| kind[field].as_str().unwrap_or_default();
            if let Some(kind) = resource_of(package, text("apiVersion"), text("kind"))
                && !is_at_work(scene.cluster(), &kind.kind)
            {
                let ours = watcher::Config::default()
                    .labels(&format!("stacks.crossplane.io/stack={STACK}"));
                actors.spawn(act(
                    scene.client(),
                    scene.namespace().to_owned(),
                    kind,
                    ours,
                    rules.clone(),
                ));
            }
        }
    }
    let mut made = Vec::new();
    for instance in &instances {
        let text = |field: &str| instance[field].as_str().unwrap_or_default();
        let kind = resource_of(package, text("apiVersion"), text("kind"))
            .context("a kind of the package")?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(scene.client(), scene.namespace(), &kind);
        let object = api
            .create(
                &PostParams::default(),
                &serde_json::from_value(instance.clone())?,
            )
            .await?;
        made.push((api, object.metadata.name.unwrap_or_default()));
    }
    settled(scene, package, made.len() as u64).await?;
    for (api, name) in made {
        api.delete(&name, &DeleteParams::default()).await?;
        scene
            .wait(&api, &name, |object: Option<&DynamicObject>| {
                object.is_none()
            })
            .await?;
    }
    // What its instances made goes with them, however deep.
    let stack = stacks(scene).get(STACK).await?;
    for kind in stack.data["status"]["renderedKinds"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let text = |field: &str| kind[field].as_str().unwrap_or_default();
        let Some(kind) = resource_of(package, text("apiVersion"), text("kind")) else {
            continue;
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(scene.client(), scene.namespace(), &kind);
        let ours = ListParams::default().labels(&format!("stacks.crossplane.io/stack={STACK}"));
        for object in api.list(&ours).await? {
            let name = object.metadata.name.unwrap_or_default();
            scene
                .wait(&api, &name, |object: Option<&DynamicObject>| {
                    object.is_none()
                })
                .await?;
        }
    }
    Ok(())
}

pub async fn every_example_converges_and_goes(cluster: Arc<Cluster>) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(examples())? {
        let path = entry?.path();
        if path.is_dir() {
            names.push(
                path.file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
    }
    names.sort();
    ensure!(names.len() >= 11, "{names:?}");
    // Two of them have a kind in common, and so come one after the other.
    let (shared, alone): (Vec<String>, Vec<String>) = names
        .into_iter()
        .partition(|name| ["caching-web-service", "redis"].contains(&name.as_str()));
    let one = |name: String| {
        let cluster = cluster.clone();
        async move {
            converges(&cluster, &name)
                .await
                .with_context(|| format!("examples/{name}"))
        }
    };
    let alone = stream::iter(alone)
        .map(one)
        .buffer_unordered(4)
        .try_collect::<Vec<()>>();
    let shared = stream::iter(shared)
        .map(one)
        .buffered(1)
        .try_collect::<Vec<()>>();
    let (alone, shared) = tokio::join!(alone, shared);
    alone?;
    shared?;
    Ok(())
}

pub async fn plus_one_grows_once_per_resync(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("plus").await?;
    let text = |files: &Files| -> Files {
        // A group of its own, since the example may run at the same time.
        let own = |text: &str| text.replace("crossplane.example.com", scene.group());
        files
            .iter()
            .map(|(path, bytes)| (own(path), own(&String::from_utf8_lossy(bytes)).into_bytes()))
            .collect()
    };
    let files = text(&files_of(&examples().join("plus-one"))?);
    let _running = running(&scene, &files, Duration::from_millis(400)).await?;
    let kind = resource(scene.group(), "v1", "PlusOne", "plusses");
    let api: Api<DynamicObject> = Api::namespaced_with(scene.client(), scene.namespace(), &kind);
    let object = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "PlusOne", "metadata": { "name": "one" },
    });
    let begin = std::time::Instant::now();
    api.create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    let grown = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            object.data["status"]["output"]
                .as_str()
                .unwrap_or_default()
                .matches('+')
                .count()
                >= 4
        })
    };
    let object = scene
        .wait(&api, "one", grown)
        .await?
        .context("it is there")?;
    let count = object.data["status"]["output"]
        .as_str()
        .unwrap_or_default()
        .matches('+')
        .count();
    let most = begin.elapsed().as_millis() / 400 + 1;
    ensure!(
        count as u128 <= most,
        "{count} within {:?}",
        begin.elapsed()
    );
    Ok(())
}
