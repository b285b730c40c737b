//! kube-rs as controllers use it, unchanged on every server: watchers, reflectors, controllers,
//! finalizers, leases.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result, ensure};
use futures::{Stream, StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Secret},
    },
    jiff::Timestamp,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::PartialObjectMeta,
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        finalizer::{Event as FinalizerEvent, finalizer},
        predicates, reflector,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;
use testkit::{Cluster, Scene};
use tokio::sync::mpsc;

fn config_map(name: &str) -> Result<ConfigMap> {
    Ok(serde_json::from_value(
        json!({"metadata": {"name": name, "labels": {"of": "test"}}}),
    )?)
}

/// The next events of a watcher, in short: `init`, `+a` (there at first), `done`, `a` (applied),
/// `-a` (deleted).
async fn next(
    scene: &Scene<'_>,
    stream: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin),
    number: usize,
) -> Result<Vec<String>> {
    let events = stream.take(number).map_ok(|event| match event {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("+{}", object.name_any()),
        Event::InitDone => "done".to_owned(),
        Event::Apply(object) => object.name_any(),
        Event::Delete(object) => format!("-{}", object.name_any()),
    });
    scene
        .within("events", async { Ok(events.try_collect().await?) })
        .await
}

async fn watch_with(cluster: &Cluster, config: watcher::Config) -> Result<()> {
    let scene = cluster.scene("watcher").await?;
    let api = scene.api::<ConfigMap>();
    api.create(&PostParams::default(), &config_map("a")?)
        .await?;
    api.create(&PostParams::default(), &config_map("b")?)
        .await?;
    let stream = watcher(api.clone(), config.labels("of=test"));
    pin_mut!(stream);
    let found = next(&scene, &mut stream, 4).await?;
    // A server with a cache may show the newest only after what the cache began with.
    let shown = [["init", "+a", "+b", "done"], ["init", "+a", "done", "b"]];
    ensure!(shown.iter().any(|shown| found == *shown), "{found:?}");
    api.create(&PostParams::default(), &config_map("c")?)
        .await?;
    let label = json!({"metadata": {"labels": {"of": "another"}}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(&label))
        .await?;
    api.delete("b", &DeleteParams::default()).await?;
    let found = next(&scene, &mut stream, 3).await?;
    ensure!(found == ["c", "-a", "-b"], "{found:?}");
    Ok(())
}

pub async fn a_watcher_lists_and_watches(cluster: Arc<Cluster>) -> Result<()> {
    watch_with(&cluster, watcher::Config::default()).await
}

pub async fn a_watcher_lists_in_pages(cluster: Arc<Cluster>) -> Result<()> {
    watch_with(&cluster, watcher::Config::default().page_size(1)).await
}

pub async fn a_watcher_streams_its_list(cluster: Arc<Cluster>) -> Result<()> {
    watch_with(&cluster, watcher::Config::default().streaming_lists()).await
}

pub async fn a_reflector_mirrors_what_there_is(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("reflector").await?;
    let api = scene.api::<ConfigMap>();
    api.create(&PostParams::default(), &config_map("a")?)
        .await?;
    let (store, writer) = reflector::store();
    let stream = watcher(api.clone(), watcher::Config::default().labels("of=test"));
    let stream = reflector(writer, stream).applied_objects();
    pin_mut!(stream);
    let mut seen = async || {
        let next = async { Ok(stream.next().await.context("the stream ended")??.name_any()) };
        scene.within("an object", next).await
    };
    ensure!(seen().await? == "a");
    api.create(&PostParams::default(), &config_map("b")?)
        .await?;
    ensure!(seen().await? == "b");
    let mut names: Vec<String> = store
        .state()
        .iter()
        .map(|object| object.name_any())
        .collect();
    names.sort();
    ensure!(names == ["a", "b"], "{names:?}");
    Ok(())
}

pub async fn a_metadata_watcher_sees_metadata(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("metadata").await?;
    let api = scene.api::<ConfigMap>();
    api.create(&PostParams::default(), &config_map("a")?)
        .await?;
    let metadata: Api<PartialObjectMeta<ConfigMap>> =
        Api::namespaced(scene.client(), scene.namespace());
    let config = watcher::Config::default().labels("of=test");
    let stream = watcher(metadata, config).applied_objects();
    pin_mut!(stream);
    let first = scene
        .within("metadata", async {
            Ok(stream.next().await.context("the stream ended")??)
        })
        .await?;
    ensure!(
        first.name_any() == "a" && first.metadata.uid.is_some(),
        "{first:?}"
    );
    Ok(())
}

/// What a reconciler may touch, and whom it tells.
struct Reach {
    client: kube::Client,
    done: mpsc::UnboundedSender<String>,
}

/// Every config map gets a secret of its own, of the same name.
async fn mirror(object: Arc<ConfigMap>, context: Arc<Reach>) -> Result<Action, kube::Error> {
    let namespace = object.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), &namespace);
    let owners: Vec<_> = object.controller_owner_ref(&()).into_iter().collect();
    let wanted = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": object.name_any(), "ownerReferences": owners},
    });
    secrets
        .patch(
            &object.name_any(),
            &PatchParams::apply("mirror").force(),
            &Patch::Apply(&wanted),
        )
        .await?;
    context.done.send(object.name_any()).ok();
    Ok(Action::await_change())
}

pub async fn a_controller_keeps_what_it_owns(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("controller").await?;
    let (done, mut reconciled) = mpsc::unbounded_channel();
    let context = Arc::new(Reach {
        client: scene.client(),
        done,
    });
    let config = watcher::Config::default().labels("of=test");
    let controller = Controller::new(scene.api::<ConfigMap>(), config)
        .owns(scene.api::<Secret>(), watcher::Config::default())
        .run(
            mirror,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            context,
        )
        .for_each(|_| async {});
    let task = tokio::spawn(controller);
    scene
        .api::<ConfigMap>()
        .create(&PostParams::default(), &config_map("a")?)
        .await?;
    let secrets = scene.api::<Secret>();
    let made = scene
        .wait(&secrets, "a", |secret: Option<&Secret>| secret.is_some())
        .await?;
    let uid = made
        .and_then(|secret| secret.metadata.uid)
        .context("a secret with a uid")?;
    // The second look comes from the watch of what is owned: only now does it see a deletion.
    for _ in 0..2 {
        scene
            .within("a reconciliation", async {
                reconciled.recv().await.context("none")
            })
            .await?;
    }
    // What is deleted by another comes back, as another object.
    secrets.delete("a", &DeleteParams::default()).await?;
    let back = move |secret: Option<&Secret>| {
        secret.is_some_and(|secret| secret.metadata.uid.as_ref() != Some(&uid))
    };
    scene.wait(&secrets, "a", back).await?;
    scene
        .within("a reconciliation", async {
            reconciled.recv().await.context("none")
        })
        .await?;
    // With its owner it goes for good.
    let uid = secrets.get("a").await?.metadata.uid.context("a uid")?;
    scene
        .api::<ConfigMap>()
        .delete("a", &DeleteParams::default())
        .await?;
    scene
        .wait(&secrets, "a", kube::runtime::conditions::is_deleted(&uid))
        .await?;
    task.abort();
    Ok(())
}

pub async fn a_finalizer_lets_go_only_after_cleaning_up(cluster: Arc<Cluster>) -> Result<()> {
    const NAME: &str = "cairn.test/cleanup";
    let scene = cluster.scene("finalizer").await?;
    let api = scene.api::<ConfigMap>();
    let handle = async |object: ConfigMap| {
        let mut happened = "";
        finalizer(&api, NAME, Arc::new(object), |event| {
            happened = match event {
                FinalizerEvent::Apply(_) => "applied",
                FinalizerEvent::Cleanup(_) => "cleaned up",
            };
            async { Ok::<_, std::io::Error>(Action::await_change()) }
        })
        .await?;
        anyhow::Ok(happened)
    };
    let made = api
        .create(&PostParams::default(), &config_map("a")?)
        .await?;
    ensure!(
        handle(made).await?.is_empty(),
        "the first call only adds the finalizer"
    );
    let held = api.get("a").await?;
    ensure!(held.finalizers() == [NAME], "{:?}", held.finalizers());
    ensure!(handle(held).await? == "applied");
    api.delete("a", &DeleteParams::default()).await?;
    let going = api.get("a").await?;
    ensure!(going.metadata.deletion_timestamp.is_some());
    ensure!(handle(going).await? == "cleaned up");
    ensure!(api.get_opt("a").await?.is_none(), "it has gone");
    Ok(())
}

pub async fn predicates_filter_status_changes(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("predicates").await?;
    let schema = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let resource = scene.install_crd(&scene.crd("Thing", &schema)).await?;
    let api = scene.dynamic(scene.client(), &resource);
    let thing = json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"name": "a"}, "spec": {"size": 1},
    });
    api.create(&PostParams::default(), &serde_json::from_value(thing)?)
        .await?;
    let stream = watcher(api.clone(), watcher::Config::default())
        .applied_objects()
        .predicate_filter(predicates::generation, Default::default());
    pin_mut!(stream);
    let mut generation = async || {
        let object = scene
            .within("an event", async {
                Ok(stream.next().await.context("an end")??)
            })
            .await?;
        anyhow::Ok(object.metadata.generation)
    };
    ensure!(generation().await? == Some(1));
    let patch = |value| Patch::Merge(value);
    api.patch_status(
        "a",
        &PatchParams::default(),
        &patch(json!({"status": {"ready": true}})),
    )
    .await?;
    api.patch(
        "a",
        &PatchParams::default(),
        &patch(json!({"spec": {"size": 2}})),
    )
    .await?;
    ensure!(
        generation().await? == Some(2),
        "the status alone is no event"
    );
    Ok(())
}

/// Tries to hold a lease as client-go's election does: by an update that fails if anybody was
/// faster.
async fn acquire(api: &Api<Lease>, holder: &str) -> Result<bool> {
    let now = Timestamp::now();
    let Some(mut lease) = api.get_opt("leader").await? else {
        let lease = serde_json::from_value(json!({"metadata": {"name": "leader"}, "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 0,
            "acquireTime": format!("{now:.6}"), "renewTime": format!("{now:.6}"),
        }}))?;
        return won(api.create(&PostParams::default(), &lease).await);
    };
    let spec = lease.spec.get_or_insert_default();
    if spec
        .holder_identity
        .as_deref()
        .is_some_and(|held| !held.is_empty() && held != holder)
    {
        return Ok(false);
    }
    spec.holder_identity = Some(holder.to_owned());
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default() + 1);
    won(api.replace("leader", &PostParams::default(), &lease).await)
}

fn won(outcome: kube::Result<Lease>) -> Result<bool> {
    match outcome {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub async fn of_many_candidates_one_holds_the_lease(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("lease").await?;
    let api = scene.api::<Lease>();
    let race = async |round: &str| {
        let names: Vec<String> = (0..8).map(|number| format!("{round}-{number}")).collect();
        let attempts = names.iter().map(|name| acquire(&api, name));
        let outcomes: Vec<bool> = futures::future::try_join_all(attempts).await?;
        let winners: Vec<String> = names
            .iter()
            .zip(outcomes)
            .filter(|(_, won)| *won)
            .map(|(n, _)| n.clone())
            .collect();
        anyhow::Ok(winners)
    };
    let winners = race("first").await?;
    ensure!(winners.len() == 1, "{winners:?}");
    ensure!(race("second").await?.is_empty(), "it is held");
    // The holder lets go, and another takes over.
    let mut held = api.get("leader").await?;
    ensure!(
        held.spec
            .as_ref()
            .and_then(|spec| spec.holder_identity.as_ref())
            == winners.first()
    );
    held.spec.get_or_insert_default().holder_identity = Some(String::new());
    api.replace("leader", &PostParams::default(), &held).await?;
    let winners = race("third").await?;
    ensure!(winners.len() == 1, "{winners:?}");
    // Who writes from an old reading is refused.
    let stale = api.replace("leader", &PostParams::default(), &held).await;
    ensure!(
        matches!(&stale, Err(kube::Error::Api(status)) if status.code == 409),
        "{stale:?}"
    );
    Ok(())
}
