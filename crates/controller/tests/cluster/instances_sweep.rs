//! The life of an instance while things go wrong: every request of its manager in turn fails,
//! succeeds without an answer, shows the past, or is the last thing that the manager ever asks; a
//! new one takes over. The end is always the same.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::faults::{Fault, Filter, Trouble};
use testkit::{Cluster, Scene};
use tokio::task::JoinHandle;

use crate::actor::{CONFIG, NEVER, STACK, open_kind, own, package_of, says, seeded, web};
use crate::manager::{furnish, has, stacks};
use crate::mishap::{Mishap, Place, fresh, sweep};

pub const USER: &str = "tsm";

/// Runs a manager that may do everything.
pub async fn work(scene: &Scene<'_>) -> Result<JoinHandle<()>> {
    let client = scene.cluster().client_for_user(USER, &["system:masters"])?;
    let parts = Parts {
        resync: NEVER,
        ..Parts::new(client, scene.namespace(), STACK)
    };
    let manager = TemplateStackManager::start(parts).await;
    Ok(tokio::spawn(async move { manager.run().await }))
}

/// Puts a Stack in place as the stack manager would, with its types and its seed.
pub async fn furnished(scene: &Scene<'_>) -> Result<()> {
    open_kind(scene, "Db").await?;
    let (package, _) = package::read(&package_of(scene.group(), CONFIG, &[]));
    for crd in &package.crds {
        scene.install_crd(&crd.crd.object).await?;
    }
    let annotations = seeded(scene, STACK).await?;
    let mut stack = serde_json::to_value(&package.stack)?;
    stack["metadata"] =
        json!({ "name": STACK, "namespace": scene.namespace(), "annotations": annotations });
    stacks(scene)
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    Ok(())
}

/// Made, changed, its template changed, one pruned, and taken away. After each step, `pause` is
/// told its number.
async fn story<F: Future<Output = Result<()>>>(
    scene: &Scene<'_>,
    pause: impl Fn(usize) -> F,
) -> Result<()> {
    let webs = own(scene, "Web");
    let maps: Api<ConfigMap> = scene.api();
    let text =
        |map: Option<&ConfigMap>| map.and_then(|map| map.data.as_ref()?.get("text").cloned());
    webs.create(&PostParams::default(), &web(scene, "one", "a"))
        .await?;
    pause(1).await?;
    says(
        scene,
        &own(scene, "Db"),
        "one",
        json!({ "endpoint": "db:1" }),
    )
    .await
    .context("the database")?;
    scene
        .wait(&webs, "one", has("Ready", "True", ""))
        .await
        .context("ready")?;
    let uids =
        |list: Vec<ConfigMap>| -> Vec<_> { list.into_iter().map(|map| map.metadata.uid).collect() };
    let ours = ListParams::default().labels("stacks.crossplane.io/stack=app");
    let before = uids(maps.list(&ours).await?.items);
    pause(2).await?;

    let change = Patch::Merge(json!({ "spec": { "text": "b" } }));
    webs.patch("one", &PatchParams::default(), &change).await?;
    pause(3).await?;
    for name in ["one-config", "one-extra"] {
        scene
            .wait(&maps, name, move |map: Option<&ConfigMap>| {
                text(map).as_deref() == Some("b")
            })
            .await
            .context(name)?;
    }
    ensure!(
        uids(maps.list(&ours).await?.items) == before,
        "nothing was made anew"
    );

    let key = format!("web.{}/v1", scene.group());
    let config = CONFIG.replace("text: '{{ .spec.text }}'", "text: '{{ .spec.text }}!'");
    let edit = Patch::Merge(json!({ "spec": { "templates": { &key: { "config": config } } } }));
    stacks(scene)
        .patch(STACK, &PatchParams::default(), &edit)
        .await?;
    pause(4).await?;
    let edited = move |map: Option<&ConfigMap>| text(map).as_deref() == Some("b!");
    scene
        .wait(&maps, "one-config", edited)
        .await
        .context("the new template")?;
    ensure!(
        uids(maps.list(&ours).await?.items) == before,
        "nothing was made anew"
    );

    let prune = Patch::Merge(json!({ "spec": { "templates": { key: { "extra": null } } } }));
    stacks(scene)
        .patch(STACK, &PatchParams::default(), &prune)
        .await?;
    pause(5).await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| map.is_none())
        .await
        .context("pruned")?;
    ensure!(
        maps.get_opt("one-config").await?.is_some(),
        "the other stays"
    );

    webs.delete("one", &DeleteParams::default()).await?;
    pause(6).await?;
    scene
        .wait(&webs, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await
        .context("gone")?;
    // A manager that sees the past may not know of a child; then the garbage collector takes it
    // away, a little later.
    let databases = own(scene, "Db");
    scene
        .within("every child to be gone", async {
            while !maps.list(&ours).await?.items.is_empty()
                || !databases
                    .list(&ListParams::default())
                    .await?
                    .items
                    .is_empty()
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        })
        .await
}

/// One life with one mishap; answers whether the mishap came to pass.
async fn life(place: Place) -> Result<bool> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    furnished(&scene).await?;
    let gate = place.plan(&faults);
    place
        .lived(
            &cluster,
            &gate,
            || work(&scene),
            story(&scene, |_| async { Ok(()) }),
        )
        .await
}

/// How far the store is.
async fn revision(scene: &Scene<'_>) -> Result<u64> {
    let list = scene
        .api::<ConfigMap>()
        .list(&ListParams::default().limit(1))
        .await?;
    list.metadata
        .resource_version
        .unwrap_or_default()
        .parse()
        .context("a revision is a number")
}

/// A life in which every read of a verb shows the store as it was when nothing had been made yet.
async fn in_the_past(place: Place) -> Result<bool> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    furnished(&scene).await?;
    let place = Place {
        mishap: Mishap::Stale(revision(&scene).await?),
        ..place
    };
    let gate = place.plan(&faults);
    place
        .lived(
            &cluster,
            &gate,
            || work(&scene),
            story(&scene, |_| async { Ok(()) }),
        )
        .await
}

/// A life in which the manager dies after a step, and the next one first sees the store as it was
/// before the step `past`.
async fn behind(step: usize, past: usize) -> Result<()> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("sweep").await?;
    furnished(&scene).await?;
    let begin = revision(&scene).await?;
    let seen = std::sync::Mutex::new(vec![begin]);
    let task = tokio::sync::Mutex::new(work(&scene).await?);
    let pause = |number: usize| {
        let (seen, task, scene, faults) = (&seen, &task, &scene, &faults);
        async move {
            let now = revision(scene).await?;
            seen.lock().unwrap().push(now);
            if number == step {
                let old = seen.lock().unwrap()[past];
                let mut task = task.lock().await;
                task.abort();
                let _ = (&mut *task).await;
                let filter = Filter {
                    verb: Some("list".into()),
                    user: Some(USER.into()),
                    ..Filter::default()
                };
                faults.add(Fault {
                    filter,
                    at: 0,
                    trouble: Trouble::Stale(old),
                });
                *task = work(scene).await?;
            }
            Ok(())
        }
    };
    let outcome = story(&scene, pause).await;
    task.lock().await.abort();
    outcome.with_context(|| {
        format!(
            "a new manager after step {step} that sees the store as before step {}",
            past + 1
        )
    })
}

pub async fn whatever_read_is_stale_an_instance_ends_the_same(_: Arc<Cluster>) -> Result<()> {
    sweep(USER, "get", Mishap::Stale(0), in_the_past).await?;
    for step in 1..=6 {
        let pasts = (0..step).map(|past| behind(step, past));
        futures::future::try_join_all(pasts).await?;
    }
    Ok(())
}

async fn sweep_all(mishap: Mishap) -> Result<()> {
    for verb in ["patch", "delete", "get"] {
        sweep(USER, verb, mishap, life).await?;
    }
    Ok(())
}

pub async fn whatever_write_fails_an_instance_ends_the_same(_: Arc<Cluster>) -> Result<()> {
    sweep_all(Mishap::Fail).await
}

pub async fn whatever_answer_is_lost_an_instance_ends_the_same(_: Arc<Cluster>) -> Result<()> {
    sweep_all(Mishap::LoseAnswer).await
}

pub async fn wherever_its_manager_dies_an_instance_ends_the_same(_: Arc<Cluster>) -> Result<()> {
    sweep_all(Mishap::Die).await
}
