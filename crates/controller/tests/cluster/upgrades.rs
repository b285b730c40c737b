//! Upgrades on a cluster: good and bad ones, tags that move, and types that are dropped.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::Cluster;

use crate::installs::{redis, redises};
use crate::manager::{definitions, has, installed, manager, package, stacks};

pub async fn a_bad_upgrade_changes_nothing_and_a_good_one_all(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("upgrade").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let repository = format!("{}/redis", scene.namespace());
    let change = |version: &str| {
        Patch::Merge(json!({ "spec": { "package": format!("{repository}:{version}") } }))
    };
    manager.shelf.put(
        &repository,
        "2.0.0",
        package(scene.group(), "2.0.0", &["b"], ""),
    );
    let stack_before = stacks(&scene).get("redis").await?.data["spec"].clone();
    installs
        .patch("redis", &PatchParams::default(), &change("2.0.0"))
        .await?;
    scene
        .wait(
            &installs,
            "redis",
            has("CRDsEstablished", "False", "CRDConflict"),
        )
        .await?;
    let object = installs.get("redis").await?;
    ensure!(
        has("Ready", "True", "CRDConflict")(Some(&object)),
        "what runs goes on: {}",
        object.data["status"]
    );
    ensure!(
        has("UpToDate", "False", "CRDConflict")(Some(&object)),
        "but it is not what was asked for"
    );
    ensure!(stacks(&scene).get("redis").await?.data["spec"] == stack_before);
    manager.shelf.put(
        &repository,
        "1.1.0",
        package(scene.group(), "1.1.0", &["a", "b"], ""),
    );
    installs
        .patch("redis", &PatchParams::default(), &change("1.1.0"))
        .await?;
    let upgraded = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["version"] == "1.1.0")
    };
    scene.wait(&installs, "redis", upgraded).await?;
    scene
        .wait(&installs, "redis", has("CRDsEstablished", "True", ""))
        .await?;
    scene
        .wait(&installs, "redis", has("UpToDate", "True", "Installed"))
        .await?;
    ensure!(stacks(&scene).get("redis").await?.data["spec"]["version"] == "1.1.0");
    Ok(())
}

pub async fn a_type_that_the_server_refuses_is_told_and_changes_nothing(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("refused").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let before = installs.get("redis").await?.data["status"]["digest"].clone();
    let repository = format!("{}/redis", scene.namespace());
    let mut files = package(scene.group(), "1.1.0", &["a", "b"], "");
    let definition = files
        .get_mut(".registry/resources/crd.yaml")
        .context("it has a CRD")?;
    let text = String::from_utf8(definition.clone())?;
    // A rule that is no CEL, with a backtick: names in backticks only the API server reads.
    let rule = "b: {x-kubernetes-validations: [{rule: 'self.`'}], ";
    *definition = text.replace("b: {", rule).into_bytes();
    manager.shelf.put(&repository, "1.1.0", files);
    let change = |version: &str| {
        Patch::Merge(json!({ "spec": { "package": format!("{repository}:{version}") } }))
    };
    installs
        .patch("redis", &PatchParams::default(), &change("1.1.0"))
        .await?;
    scene
        .wait(
            &installs,
            "redis",
            has("CRDsEstablished", "False", "Refused"),
        )
        .await?;
    let object = installs.get("redis").await?;
    let status = &object.data["status"];
    ensure!(
        has("Ready", "True", "Refused")(Some(&object))
            && has("UpToDate", "False", "Refused")(Some(&object))
    );
    ensure!(
        status["version"] == "1.0.0" && status["digest"] == before,
        "what is in place is told: {status}"
    );
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let told = conditions
        .iter()
        .find(|condition| condition["type"] == "CRDsEstablished")
        .cloned()
        .unwrap_or_default();
    ensure!(
        told["observedGeneration"] == json!(object.metadata.generation),
        "{told}"
    );
    ensure!(
        told["message"]
            .as_str()
            .is_some_and(|message| message.contains("x-kubernetes-validations")),
        "{told}"
    );
    manager.shelf.put(
        &repository,
        "1.2.0",
        package(scene.group(), "1.2.0", &["a", "b"], ""),
    );
    installs
        .patch("redis", &PatchParams::default(), &change("1.2.0"))
        .await?;
    scene
        .wait(&installs, "redis", has("UpToDate", "True", "Installed"))
        .await?;
    ensure!(installs.get("redis").await?.data["status"]["version"] == "1.2.0");
    Ok(())
}

pub async fn what_a_package_no_longer_says_of_its_type_is_gone_in_the_same_version_too(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("less").await?;
    let installs = installed(&scene, &manager, &["a", "b"], "").await?;
    let repository = format!("{}/redis", scene.namespace());
    let less = manager.shelf.put(
        &repository,
        "1.0.0",
        package(scene.group(), "1.0.0", &["a"], ""),
    );
    let change =
        Patch::Merge(json!({ "spec": { "package": format!("{repository}:1.0.0@{less}") } }));
    installs
        .patch("redis", &PatchParams::default(), &change)
        .await?;
    scene
        .wait(
            &installs,
            "redis",
            has("CRDsEstablished", "False", "CRDConflict"),
        )
        .await?;
    let allow = |allowed: Option<&str>| {
        let annotations = json!({ "stacks.crossplane.io/allow-breaking-changes": allowed });
        Patch::Merge(json!({ "metadata": { "annotations": annotations } }))
    };
    installs
        .patch("redis", &PatchParams::default(), &allow(Some("true")))
        .await?;
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    let without = |crd: Option<&DynamicObject>| crd.is_some_and(|crd| !has_b(crd));
    scene.wait(&crds, &name, without).await?;
    scene
        .wait(&installs, "redis", has("CRDsEstablished", "True", ""))
        .await?;
    // Once it is done, nothing has to be allowed any more.
    installs
        .patch("redis", &PatchParams::default(), &allow(None))
        .await?;
    manager.shelf.put(
        &repository,
        "1.1.0",
        package(scene.group(), "1.1.0", &["a", "c"], ""),
    );
    let next = Patch::Merge(json!({ "spec": { "package": format!("{repository}:1.1.0") } }));
    installs
        .patch("redis", &PatchParams::default(), &next)
        .await?;
    let upgraded = |install: Option<&DynamicObject>| {
        install.is_some_and(|install| install.data["status"]["version"] == "1.1.0")
    };
    scene.wait(&installs, "redis", upgraded).await?;
    Ok(())
}

fn has_b(crd: &DynamicObject) -> bool {
    crd.data["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        ["b"]
        .is_object()
}

pub async fn a_tag_that_moved_is_told_and_not_followed(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("moved").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let old = installs.get("redis").await?.data["status"]["digest"].clone();
    let repository = format!("{}/redis", scene.namespace());
    let new = manager.shelf.put(
        &repository,
        "1.0.0",
        package(scene.group(), "1.0.0", &["a", "b"], ""),
    );
    let told = scene
        .wait(
            &installs,
            "redis",
            has("PackageCurrent", "False", "TagMoved"),
        )
        .await?;
    let conditions = told
        .map(|told| told.data["status"]["conditions"].to_string())
        .unwrap_or_default();
    ensure!(
        conditions.contains(&new) && old.as_str().is_some_and(|old| conditions.contains(old)),
        "{conditions}"
    );
    let install = installs.get("redis").await?;
    ensure!(has("Ready", "True", "")(Some(&install)) && install.data["status"]["digest"] == old);
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    ensure!(!has_b(&crds.get(&name).await?), "nothing follows by itself");
    let pinned =
        Patch::Merge(json!({ "spec": { "package": format!("{repository}:1.0.0@{new}") } }));
    installs
        .patch("redis", &PatchParams::default(), &pinned)
        .await?;
    scene
        .wait(&crds, &name, move |crd: Option<&DynamicObject>| {
            crd.is_some_and(has_b)
        })
        .await?;
    scene
        .wait(&installs, "redis", has("PackageCurrent", "True", "Current"))
        .await?;
    Ok(())
}

pub async fn an_upgrade_that_drops_a_type_waits_for_its_objects_or_leaves_them_behind(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("dropped").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let instances = redises(&scene, scene.client());
    instances
        .create(&PostParams::default(), &redis(&scene, "kept"))
        .await?;
    let repository = format!("{}/redis", scene.namespace());
    let group = format!("next.{}", scene.group());
    manager
        .shelf
        .put(&repository, "1.1.0", package(&group, "1.1.0", &["a"], ""));
    let change = Patch::Merge(json!({ "spec": { "package": format!("{repository}:1.1.0") } }));
    installs
        .patch("redis", &PatchParams::default(), &change)
        .await?;
    scene
        .wait(&installs, "redis", has("CRDsEstablished", "False", "InUse"))
        .await?;
    let install = installs.get("redis").await?;
    ensure!(
        install.data["status"]["version"] == "1.0.0",
        "what is there goes on serving"
    );
    let meant = json!({ "metadata": { "annotations": { "stacks.crossplane.io/allow-breaking-changes": "true" } } });
    installs
        .patch("redis", &PatchParams::default(), &Patch::Merge(meant))
        .await?;
    scene
        .wait(&installs, "redis", has("DroppedCRDsGone", "False", "InUse"))
        .await?;
    scene
        .wait(&installs, "redis", has("Ready", "True", ""))
        .await?;
    ensure!(
        instances.list(&ListParams::default()).await?.items.len() == 1,
        "no object is lost"
    );
    let crds = definitions(scene.client());
    ensure!(
        crds.get_opt(&format!("redises.{group}")).await?.is_some(),
        "the new type is there, too"
    );

    // Nobody serves it any more who would see it off.
    let held = json!({ "metadata": { "finalizers": ["stacks.crossplane.io/children"] } });
    instances
        .patch("kept", &PatchParams::default(), &Patch::Merge(held))
        .await?;
    instances.delete("kept", &DeleteParams::default()).await?;
    let poke = Patch::Merge(json!({ "metadata": { "annotations": { "poke": "1" } } }));
    installs
        .patch("redis", &PatchParams::default(), &poke)
        .await?;
    let name = format!("redises.{}", scene.group());
    scene
        .wait(&crds, &name, |crd: Option<&DynamicObject>| crd.is_none())
        .await?;
    scene
        .wait(&installs, "redis", has("DroppedCRDsGone", "True", "Gone"))
        .await?;
    Ok(())
}
