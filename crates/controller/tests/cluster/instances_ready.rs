//! When an instance says that it is ready: once its workloads have, and in as few words however
//! many replicas they have.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::{Cluster, Scene};
use tokio::task::JoinSet;

use crate::actor::{NEVER, Running, is_call, open_kind, own, package_of, running, web};
use crate::instances_examples::nodes;
use crate::manager::has;

const APP: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .metadata.name }}-app'}\n\
                   spec:\n  replicas: 5\n  selector: {matchLabels: {app: '{{ .metadata.name }}'}}\n  template:\n    \
                   metadata: {labels: {app: '{{ .metadata.name }}'}}\n    \
                   spec: {containers: [{name: app, image: '{{ .spec.text }}'}]}\n";

/// A stack whose `Web` makes a Deployment with five replicas too.
async fn webs(scene: &Scene<'_>) -> Result<Running> {
    open_kind(scene, "Db").await?;
    let mut files = package_of(scene.group(), "", &[("app", APP)]);
    let app = files
        .get_mut(".registry/app.yaml")
        .context("what the package is")?;
    *app = String::from_utf8_lossy(app)
        .replace(
            "[{crd: configmap/v1}",
            "[{crd: configmap/v1}, {crd: deployment.apps/v1}",
        )
        .into();
    running(scene, &files, NEVER).await
}

/// The message of its `Ready` condition.
fn message(object: &DynamicObject) -> String {
    let conditions = object.data["status"]["conditions"].as_array();
    let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
    ready
        .and_then(|one| one["message"].as_str())
        .unwrap_or_default()
        .to_owned()
}

/// A rollout of the Deployment, replica by replica: by its own controller, for which nodes are
/// played, or as it would be.
async fn rolls_out(scene: &Scene<'_>, generation: i64) -> Result<Option<JoinSet<()>>> {
    if scene.cluster().backend().name() == "kubernetes" {
        return Ok(Some(nodes(scene)));
    }
    for ready in 0..=5 {
        let status = json!({
            "observedGeneration": generation, "replicas": 5, "updatedReplicas": 5, "readyReplicas": ready,
        });
        let patch = Patch::Merge(json!({ "status": status }));
        scene
            .api::<Deployment>()
            .patch_status("one-app", &PatchParams::default(), &patch)
            .await?;
    }
    Ok(None)
}

pub async fn an_instance_is_ready_once_its_workload_is_and_replicas_cost_no_writes(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("rollout").await?;
    let _running = webs(&scene).await?;
    let webs = own(&scene, "Web");
    let waits = "app: its 5 replicas are not all ready and up to date";
    let mark = cluster.mark()?;
    webs.create(&PostParams::default(), &web(&scene, "one", "nginx:1"))
        .await?;
    let object = scene
        .wait(&webs, "one", has("Ready", "False", "ChildNotReady"))
        .await?
        .context("it is there")?;
    ensure!(message(&object) == waits, "{}", message(&object));
    let nodes = rolls_out(&scene, 1).await?;
    scene.wait(&webs, "one", has("Ready", "True", "")).await?;
    let is_call = is_call(&scene);
    let calls = cluster
        .requests(mark, move |request| {
            is_call(request) && request.name.starts_with("one")
        })
        .await?;
    let written = calls
        .iter()
        .filter(|call| call.subresource == "status")
        .count();
    ensure!(calls.len() <= 6 && written == 2, "{calls:#?}");

    // What ran before is ready, but not what is wanted now.
    drop(nodes);
    webs.patch(
        "one",
        &PatchParams::default(),
        &Patch::Merge(json!({ "spec": { "text": "nginx:2" } })),
    )
    .await?;
    let object = scene
        .wait(&webs, "one", has("Ready", "False", "ChildNotReady"))
        .await?
        .context("it is there")?;
    ensure!(message(&object) == waits, "{}", message(&object));
    let _nodes = rolls_out(&scene, 2).await?;
    scene.wait(&webs, "one", has("Ready", "True", "")).await?;
    Ok(())
}
