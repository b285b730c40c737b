//! Installing, upgrading and uninstalling while things go wrong: every request of the stack manager
//! in turn fails, succeeds without an answer, is answered late, or is the last thing that the
//! manager ever asks; a new one takes over. The end is always the same.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "cluster/mishap.rs"]
#[allow(dead_code, reason = "scenarios use more of it")]
mod mishap;

#[path = "cluster/manager.rs"]
#[allow(dead_code, reason = "scenarios use more of it")]
mod manager;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, ResourceExt};
use manager::{
    Manager, Shelf, USER, definitions, furnish, has, installed, package, resource, stacks, start,
};
use mishap::{Mishap, Place, fresh, sweep};
use serde_json::json;
use testkit::Scene;

/// One life of an install with one mishap; answers whether the mishap came to pass.
async fn life(place: Place) -> Result<bool> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    let shelf = Arc::new(Shelf::default());
    let gate = place.plan(&faults);
    let manager = Manager {
        shelf: shelf.clone(),
    };
    place
        .lived(
            &cluster,
            &gate,
            || start(&cluster, shelf.clone()),
            story(&scene, &manager),
        )
        .await
}

/// Installed, upgraded to what cannot be and to what can, used, and taken away.
async fn story(scene: &Scene<'_>, manager: &Manager) -> Result<()> {
    let installs = installed(scene, manager, &["a"], "")
        .await
        .context("install")?;
    is_in_place(scene, "1.0.0").await.context("installed")?;
    let repository = format!("{}/redis", scene.namespace());
    let wish = |version: &str| {
        Patch::Merge(json!({ "spec": { "package": format!("{repository}:{version}") } }))
    };
    manager.shelf.put(
        &repository,
        "2.0.0",
        package(scene.group(), "2.0.0", &["b"], ""),
    );
    installs
        .patch("redis", &PatchParams::default(), &wish("2.0.0"))
        .await?;
    let refused = has("CRDsEstablished", "False", "CRDConflict");
    scene
        .wait(&installs, "redis", refused)
        .await
        .context("bad upgrade")?;
    is_in_place(scene, "1.0.0")
        .await
        .context("after a bad upgrade")?;
    manager.shelf.put(
        &repository,
        "1.1.0",
        package(scene.group(), "1.1.0", &["a", "c"], ""),
    );
    installs
        .patch("redis", &PatchParams::default(), &wish("1.1.0"))
        .await?;
    let upgraded = |install: Option<&DynamicObject>| {
        let version = install.is_some_and(|install| install.data["status"]["version"] == "1.1.0");
        version && has("Ready", "True", "Available")(install)
    };
    scene
        .wait(&installs, "redis", upgraded)
        .await
        .context("good upgrade")?;
    is_in_place(scene, "1.1.0")
        .await
        .context("after a good upgrade")?;

    let redis = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "Redis", "metadata": { "name": "one" }, "spec": {},
    });
    let instances: Api<DynamicObject> = scene.dynamic(
        scene.client(),
        &resource(scene.group(), "v1", "Redis", "redises"),
    );
    instances
        .create(&PostParams::default(), &serde_json::from_value(redis)?)
        .await?;
    let uid = installs
        .get("redis")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    installs.delete("redis", &DeleteParams::default()).await?;
    scene
        .wait(&installs, "redis", is_deleted(&uid))
        .await
        .context("uninstall")?;
    none_is_left(scene, &Api::<ClusterRole>::all(scene.client()))
        .await
        .context("its roles")?;
    none_is_left(scene, &scene.api::<RoleBinding>())
        .await
        .context("its bindings")?;
    none_is_left(scene, &scene.api::<ServiceAccount>())
        .await
        .context("its account")?;
    let seed = api::names::seed(scene.namespace(), "redis");
    scene
        .wait(&seeds(scene), &seed, |found: Option<&Secret>| {
            found.is_none()
        })
        .await
        .context("its seed")?;
    none_is_left(
        scene,
        &Api::<RoleBinding>::namespaced(scene.client(), "cairn"),
    )
    .await
    .context("its seed's binding")?;
    none_is_left(scene, &scene.api::<Deployment>())
        .await
        .context("its controller")?;
    ensure!(
        stacks(scene)
            .list(&ListParams::default())
            .await?
            .items
            .is_empty()
    );
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    if let Err(error) = scene
        .wait(&crds, &name, |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await
    {
        let left = instances.list(&ListParams::default()).await?.items;
        return Err(error.context(format!(
            "its CRD: {:?}, with {left:?}",
            crds.get(&name).await?.metadata
        )));
    }
    Ok(())
}

fn seeds(scene: &Scene<'_>) -> Api<Secret> {
    Api::namespaced(scene.client(), "cairn")
}

/// Waits until nothing of a kind is left that was made. Who saw it late takes it away late.
async fn none_is_left<K>(scene: &Scene<'_>, api: &Api<K>) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + ResourceExt,
{
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=stack-manager");
    let left = std::sync::Mutex::new(Vec::new());
    let gone = scene.within("all to be gone", async {
        loop {
            let items = api.list(&ours).await?.items;
            if items.is_empty() {
                return Ok(());
            }
            *left.lock().unwrap() = items.iter().map(ResourceExt::name_any).collect();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    gone.await
        .with_context(|| format!("left: {:?}", left.lock().unwrap()))
}

/// Whether all of a version is there, and nothing of another.
async fn is_in_place(scene: &Scene<'_>, version: &str) -> Result<()> {
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=stack-manager");
    let roles = Api::<ClusterRole>::all(scene.client()).list(&ours).await?;
    ensure!(roles.items.len() == 5, "{} roles", roles.items.len());
    ensure!(scene.api::<RoleBinding>().list(&ours).await?.items.len() == 2);
    ensure!(scene.api::<Deployment>().list(&ours).await?.items.len() == 1);
    scene.api::<ServiceAccount>().get("stack-redis").await?;
    seeds(scene)
        .get(&api::names::seed(scene.namespace(), "redis"))
        .await?;
    let stack = stacks(scene).get("redis").await?;
    ensure!(
        stack.data["spec"]["version"] == version,
        "{}",
        stack.data["spec"]["version"]
    );
    let crd = definitions(scene.client())
        .get(&format!("redises.{}", scene.group()))
        .await?;
    let owner = crd.metadata.annotations.unwrap_or_default();
    ensure!(
        owner
            .get("stacks.crossplane.io/spec-version")
            .is_some_and(|found| found == version),
        "{owner:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_request_fails_the_end_is_the_same() {
    for verb in ["patch", "update", "delete", "get", "create"] {
        sweep(USER, verb, Mishap::Fail, life).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_answer_is_lost_the_end_is_the_same() {
    for verb in ["patch", "update", "delete", "create"] {
        sweep(USER, verb, Mishap::LoseAnswer, life).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whenever_the_manager_dies_another_goes_on() {
    for verb in ["patch", "update", "delete", "create"] {
        sweep(USER, verb, Mishap::Die, life).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn however_old_what_it_sees_is_the_end_is_the_same() {
    sweep(USER, "watch", Mishap::Late, life).await.unwrap();
}
