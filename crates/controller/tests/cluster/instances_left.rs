//! Instances that are deleted with `--cascade=orphan`: what they made stays, wherever it is.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::TemplateStackManager;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams, PropagationPolicy};
use kube::core::PartialObjectMeta;
use serde_json::json;
use testkit::{Cluster, Scene};

use crate::actor::{CONFIG, STACK, open_kind, own, package_of, says, web};
use crate::instances_ways::{by_hand, manage};
use crate::manager::{has, resource};

pub fn zones(scene: &Scene<'_>) -> Api<DynamicObject> {
    Api::all_with(
        scene.client(),
        &resource(scene.group(), "v1", "Zone", "zones"),
    )
}

/// A stack whose `Web` makes a `Db`, a config map that reads it, and a `Zone`, which is in no
/// namespace.
pub async fn with_a_zone(scene: &Scene<'_>) -> Result<Arc<TemplateStackManager>> {
    open_kind(scene, "Db").await?;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut crd = scene.crd("Zone", &open);
    crd["spec"]["scope"] = json!("Cluster");
    scene.install_crd(&crd).await?;
    let name = "{{ .metadata.namespace }}-{{ .metadata.name }}";
    let zone = format!(
        "apiVersion: {}/v1\nkind: Zone\nmetadata: {{name: '{name}'}}\n",
        scene.group()
    );
    let (package, _) = package::read(&package_of(scene.group(), CONFIG, &[("zone", &zone)]));
    for crd in &package.crds {
        scene.install_crd(&crd.crd.object).await?;
    }
    let mut spec = serde_json::to_value(&package.stack.spec)?;
    // What is in no namespace is for a stack of the whole cluster.
    spec["permissionScope"] = json!("Cluster");
    let group = scene.group();
    spec["dependsOn"] = json!([{ "crd": "configmap/v1" }, { "crd": format!("db.{group}/v1") }, { "crd": format!("zone.{group}/v1") }]);
    by_hand(scene, STACK, &spec).await
}

pub async fn ready(scene: &Scene<'_>) -> Result<()> {
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, "one", "hello"))
        .await?;
    says(
        scene,
        &own(scene, "Db"),
        "one",
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    scene
        .wait(&own(scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    Ok(())
}

/// The uids of everything that the instance made; none of it is being deleted.
async fn made(scene: &Scene<'_>) -> Result<Vec<String>> {
    let zone = format!("{}-one", scene.namespace());
    let maps: Api<ConfigMap> = scene.api();
    let mut all: Vec<PartialObjectMeta<ConfigMap>> = Vec::new();
    for name in ["one-extra", "one-config"] {
        all.push(maps.get_metadata(name).await?);
    }
    let mut metadata: Vec<_> = all.into_iter().map(|one| one.metadata).collect();
    metadata.push(own(scene, "Db").get("one").await?.metadata);
    metadata.push(zones(scene).get(&zone).await?.metadata);
    ensure!(
        metadata.iter().all(|one| one.deletion_timestamp.is_none()),
        "{metadata:?}"
    );
    Ok(metadata.into_iter().filter_map(|one| one.uid).collect())
}

fn left_alone() -> DeleteParams {
    DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    }
}

pub async fn an_instance_deleted_without_its_children_leaves_them_and_a_new_one_takes_them_up(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("left").await?;
    let manager = with_a_zone(&scene).await?;
    let (webs, maps) = (own(&scene, "Web"), scene.api::<ConfigMap>());
    ready(&scene).await?;
    let before = made(&scene).await?;
    webs.delete("one", &left_alone()).await?;
    scene
        .wait(&webs, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    ensure!(made(&scene).await? == before, "everything is as it was");
    ensure!(
        maps.get("one-extra")
            .await?
            .metadata
            .owner_references
            .unwrap_or_default()
            .is_empty()
    );

    webs.create(&PostParams::default(), &web(&scene, "one", "again"))
        .await?;
    scene.wait(&webs, "one", has("Ready", "True", "")).await?;
    ensure!(made(&scene).await? == before, "what is there is taken up");
    ensure!(
        maps.get("one-extra")
            .await?
            .data
            .is_some_and(|data| data["text"] == "again")
    );
    webs.delete("one", &DeleteParams::default()).await?;
    scene
        .wait(&webs, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    let zone = format!("{}-one", scene.namespace());
    ensure!(
        maps.get_opt("one-extra").await?.is_none() && zones(&scene).get_opt(&zone).await?.is_none()
    );
    manager.stop();
    Ok(())
}

pub async fn children_let_go_while_nobody_looked_stay(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("unseenleft").await?;
    let manager = with_a_zone(&scene).await?;
    let webs = own(&scene, "Web");
    ready(&scene).await?;
    let before = made(&scene).await.context("before")?;
    manager.stop();
    webs.delete("one", &left_alone()).await?;
    let is_let_go = |object: Option<&DynamicObject>| {
        object.is_some_and(|one| {
            let finalizers = one.metadata.finalizers.clone().unwrap_or_default();
            one.metadata.deletion_timestamp.is_some()
                && !finalizers.iter().any(|own| own == "orphan")
        })
    };
    scene.wait(&webs, "one", is_let_go).await?;
    let again = manage(&scene, STACK).await?;
    scene
        .wait(&webs, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    ensure!(made(&scene).await? == before, "everything is as it was");
    again.stop();
    Ok(())
}
