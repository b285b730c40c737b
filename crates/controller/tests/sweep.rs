//! Installing and uninstalling while things go wrong: every write of the stack manager in turn fails, succeeds without
//! an answer, or is the last thing that the manager ever asks; a new one takes over. The end is always the same.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "cluster/mishap.rs"]
mod mishap;

#[path = "cluster/manager.rs"]
#[allow(dead_code, reason = "scenarios use more of it")]
mod manager;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::conditions::is_deleted;
use manager::{Manager, Shelf, USER, definitions, furnish, installed, stacks, start};
use mishap::{Mishap, Place, fresh, sweep};

/// One life of an install with one mishap; answers whether the mishap came to pass.
async fn life(place: Place) -> Result<bool> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    let shelf = Arc::new(Shelf::default());
    let gate = place.plan(&faults);
    let manager = Manager { shelf: shelf.clone() };
    let story = async {
        let installs = installed(&scene, &manager, &["a"], "").await.context("install")?;
        let roles: Api<ClusterRole> = Api::all(scene.client());
        let made = roles.list(&ListParams::default().labels("app.kubernetes.io/managed-by=stack-manager")).await?;
        ensure!(made.items.len() == 5, "{} roles", made.items.len());
        ensure!(scene.api::<RoleBinding>().list(&ListParams::default()).await?.items.len() == 2);
        scene.api::<ServiceAccount>().get("stack-redis").await?;
        let uid = installs.get("redis").await?.metadata.uid.unwrap_or_default();
        installs.delete("redis", &DeleteParams::default()).await?;
        scene.wait(&installs, "redis", is_deleted(&uid)).await.context("uninstall")?;
        let left = roles.list(&ListParams::default().labels("app.kubernetes.io/managed-by=stack-manager")).await?;
        ensure!(left.items.is_empty(), "{} roles are left", left.items.len());
        ensure!(stacks(&scene).list(&ListParams::default()).await?.items.is_empty());
        let crds = definitions(scene.client());
        let name = format!("redises.{}", scene.group());
        scene
            .wait(&crds, &name, |object: Option<&kube::api::DynamicObject>| object.is_none())
            .await
            .context("its CRD")?;
        Ok(())
    };
    place.lived(&cluster, &gate, || start(&cluster, shelf.clone()), story).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_write_fails_the_end_is_the_same() {
    sweep(USER, "patch", Mishap::Fail, life).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_answer_is_lost_the_end_is_the_same() {
    sweep(USER, "patch", Mishap::LoseAnswer, life).await.unwrap();
    sweep(USER, "delete", Mishap::LoseAnswer, life).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whenever_the_manager_dies_another_goes_on() {
    sweep(USER, "patch", Mishap::Die, life).await.unwrap();
    sweep(USER, "delete", Mishap::Die, life).await.unwrap();
}
