//! Installing and uninstalling while things go wrong: every write of the stack manager in turn fails, succeeds without
//! an answer, or is the last thing that the manager ever asks; a new one takes over. The end is always the same.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may panic, and tells what led there"
)]

#[path = "cluster/manager.rs"]
#[allow(dead_code, reason = "scenarios use more of it")]
mod manager;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use kube::runtime::wait::conditions::is_deleted;
use manager::{Manager, Shelf, USER, definitions, furnish, installed, stacks, start};
use testkit::faults::{ApiError, Fault, Filter, Gate, Options, Trouble};
use testkit::{Cluster, Embedded};

#[derive(Debug, Clone, Copy)]
enum Mishap {
    Fail,
    LoseAnswer,
    Die,
}

/// One life of an install with one mishap; answers whether the mishap came to pass.
async fn life(verb: &'static str, at: usize, mishap: Mishap) -> Result<bool> {
    let embedded = Embedded::start(Options::default()).await?;
    let server = embedded.server().clone();
    let cluster = Cluster::of(embedded);
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    let shelf = Arc::new(Shelf::default());
    let mut task = start(&cluster, shelf.clone()).await?;
    let gate = Gate::new();
    let trouble = match mishap {
        Mishap::Fail => Trouble::Fail(ApiError::internal("a mishap")),
        Mishap::LoseAnswer => Trouble::LoseAnswer,
        Mishap::Die => Trouble::Wait(gate.clone()),
    };
    let filter = Filter { verb: Some(verb.to_owned()), user: Some(USER.to_owned()), ..Filter::default() };
    server.faults().add(Fault { filter, at, trouble });

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
    let death = async {
        if !matches!(mishap, Mishap::Die) {
            return std::future::pending().await;
        }
        gate.reached(1).await;
    };
    tokio::pin!(story);
    let outcome = tokio::select! {
        outcome = &mut story => outcome,
        () = death => {
            task.abort();
            let _ = (&mut task).await;
            gate.release();
            task = start(&cluster, shelf).await?;
            story.await
        }
    };
    task.abort();
    if outcome.is_err() {
        let installs = manager::installs(&scene).list(&ListParams::default()).await?;
        println!("{}", serde_json::to_string_pretty(&installs.items)?);
        for request in cluster.backend().requests(0)?.iter().filter(|request| request.user == USER) {
            println!("{} {} {:?}", request.verb, request.uri, request.code);
        }
    }
    outcome.with_context(|| format!("{mishap:?} at the {at}. {verb}"))?;
    let requests = cluster.backend().requests(0)?;
    let asked = requests.iter().filter(|request| request.user == USER && request.verb == verb).count();
    Ok(asked >= at)
}

async fn sweep(verb: &'static str, mishap: Mishap) {
    // The first position that is never reached ends the sweep; a few beyond it are tried at once.
    let mut next = 1;
    loop {
        let batch: Vec<Result<bool>> =
            stream::iter(next..next + 4).map(|at| life(verb, at, mishap)).buffered(4).collect().await;
        let mut reached = true;
        for outcome in batch {
            reached &= outcome.unwrap_or_else(|error| panic!("{error:#}"));
        }
        if !reached {
            break;
        }
        next += 4;
    }
    assert!(next > 1, "there are not even four {verb} requests to go wrong");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_write_fails_the_end_is_the_same() {
    sweep("patch", Mishap::Fail).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whatever_answer_is_lost_the_end_is_the_same() {
    sweep("patch", Mishap::LoseAnswer).await;
    sweep("delete", Mishap::LoseAnswer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn whenever_the_manager_dies_another_goes_on() {
    sweep("patch", Mishap::Die).await;
    sweep("delete", Mishap::Die).await;
}
