//! Instances of a template stack on a cluster: made, kept, changed and taken away.

use std::sync::Arc;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::actor::{
    CONFIG, NEVER, Running, STACK, is_call, open_kind, own, package_of, running, says, start, web,
};
use crate::manager::{has, stacks};

async fn webs(scene: &Scene<'_>) -> Result<Running> {
    open_kind(scene, "Db").await?;
    running(scene, &package_of(scene.group(), CONFIG, &[]), NEVER).await
}

/// Creates a `Web` and plays its database, until it is ready.
async fn ready(scene: &Scene<'_>, name: &str) -> Result<DynamicObject> {
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, name, "hello"))
        .await?;
    scene
        .wait(&own(scene, "Web"), name, has("Ready", "False", "Waiting"))
        .await?;
    says(
        scene,
        &own(scene, "Db"),
        name,
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    Ok(scene
        .wait(&own(scene, "Web"), name, has("Ready", "True", ""))
        .await?
        .unwrap())
}

/// Everything that is to be done is done once a new instance is ready and nobody works.
async fn quiet(scene: &Scene<'_>, running: &Running, name: &str) -> Result<()> {
    ready(scene, name).await?;
    scene
        .within("the manager to have looked", async {
            while !running.manager.is_idle() {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await
}

fn data(map: Option<&ConfigMap>, key: &str) -> Option<String> {
    map.and_then(|map| map.data.as_ref()?.get(key).cloned())
}

fn merge(patch: Value) -> Patch<Value> {
    Patch::Merge(patch)
}

pub async fn an_instance_becomes_ready_with_six_calls_and_stays_so_with_none(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("calls").await?;
    let running = webs(&scene).await?;
    let mark = cluster.mark()?;
    let object = ready(&scene, "one").await?;
    let calls = cluster.requests(mark, is_call(&scene)).await?;
    ensure!(calls.len() <= 6, "{} calls: {calls:#?}", calls.len());
    ensure!(
        object.data["status"]["address"] == "db:1",
        "{:?}",
        object.data
    );
    let owners = object.metadata.owner_references.unwrap_or_default();
    ensure!(
        owners
            .iter()
            .any(|owner| owner.kind == "Stack" && owner.name == STACK)
    );
    let maps: Api<ConfigMap> = scene.api();
    let config = maps.get("one-config").await?;
    ensure!(data(Some(&config), "endpoint").as_deref() == Some("db:1"));
    let labels = config.metadata.labels.unwrap_or_default();
    ensure!(
        labels["stacks.crossplane.io/stack"] == STACK
            && labels["core.crossplane.io/parent-name"] == "one"
    );

    let mark = cluster.mark()?;
    let poke = merge(json!({ "metadata": { "annotations": { "example.org/poke": "1" } } }));
    own(&scene, "Web")
        .patch("one", &PatchParams::default(), &poke)
        .await?;
    own(&scene, "Db")
        .patch("one", &PatchParams::default(), &poke)
        .await?;
    maps.patch(
        "one-extra",
        &PatchParams::default(),
        &Patch::Merge(json!({ "data": { "theirs": "1" } })),
    )
    .await?;
    quiet(&scene, &running, "sentinel").await?;
    let is_call_here = is_call(&scene);
    let calls = cluster
        .requests(mark, move |request| {
            is_call_here(request) && request.name.starts_with("one")
        })
        .await?;
    ensure!(calls.is_empty(), "{calls:#?}");

    running.manager.stop();
    let mark = cluster.mark()?;
    let again = start(&scene, NEVER).await?;
    let next = Running {
        manager: again,
        package: running.package.clone(),
    };
    quiet(&scene, &next, "after").await?;
    let is_call_here = is_call(&scene);
    let calls = cluster
        .requests(mark, move |request| {
            is_call_here(request) && !request.name.starts_with("after")
        })
        .await?;
    ensure!(calls.is_empty(), "a restart: {calls:#?}");
    Ok(())
}

pub async fn a_child_that_drifts_is_put_back_and_what_others_added_stays(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("back").await?;
    let _running = webs(&scene).await?;
    ready(&scene, "one").await?;
    let maps: Api<ConfigMap> = scene.api();
    let foreign = json!({ "metadata": { "labels": { "theirs": "1" } }, "data": { "theirs": "1", "text": "changed" } });
    maps.patch("one-extra", &PatchParams::default(), &Patch::Merge(foreign))
        .await?;
    let restored = scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
            data(map, "text").as_deref() == Some("hello")
        })
        .await?
        .unwrap();
    ensure!(data(Some(&restored), "theirs").as_deref() == Some("1"));
    ensure!(
        restored
            .metadata
            .labels
            .is_some_and(|labels| labels["theirs"] == "1")
    );

    let unlabel = json!({ "metadata": { "labels": { "stacks.crossplane.io/stack": null } } });
    maps.patch("one-extra", &PatchParams::default(), &Patch::Merge(unlabel))
        .await?;
    let labelled = |map: Option<&ConfigMap>| {
        let labels = map
            .and_then(|map| map.metadata.labels.clone())
            .unwrap_or_default();
        labels
            .get("stacks.crossplane.io/stack")
            .is_some_and(|stack| stack == STACK)
    };
    let same = scene.wait(&maps, "one-extra", labelled).await?.unwrap();
    ensure!(
        same.metadata.uid == restored.metadata.uid,
        "it was never made anew"
    );

    maps.delete("one-extra", &DeleteParams::default()).await?;
    let uid = restored.metadata.uid.clone();
    scene
        .wait(&maps, "one-extra", move |map: Option<&ConfigMap>| {
            map.is_some_and(|map| map.metadata.uid != uid)
        })
        .await?;
    Ok(())
}

pub async fn an_object_of_somebody_else_is_never_seized(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("seize").await?;
    let _running = webs(&scene).await?;
    let maps: Api<ConfigMap> = scene.api();
    let theirs = serde_json::from_value(
        json!({ "metadata": { "name": "one-extra" }, "data": { "theirs": "1" } }),
    )?;
    maps.create(&PostParams::default(), &theirs).await?;
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "NotOurs"),
        )
        .await?;
    let untouched = maps.get("one-extra").await?;
    ensure!(untouched.metadata.labels.is_none() && untouched.metadata.owner_references.is_none());
    ensure!(untouched.data.is_some_and(|data| data.len() == 1));

    let adopt = json!({ "metadata": { "annotations": { "stacks.crossplane.io/adopt": "true" } } });
    maps.patch("one-extra", &PatchParams::default(), &Patch::Merge(adopt))
        .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Synced", "True", ""))
        .await?;
    let adopted = maps.get("one-extra").await?;
    ensure!(data(Some(&adopted), "text").as_deref() == Some("hello"));
    ensure!(data(Some(&adopted), "theirs").as_deref() == Some("1"));
    Ok(())
}

pub async fn a_stack_changes_live_and_a_bad_one_changes_nothing(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("live").await?;
    let _running = webs(&scene).await?;
    ready(&scene, "one").await?;
    let maps: Api<ConfigMap> = scene.api();
    let key = format!("web.{}/v1", scene.group());
    let change = |name: &str, text: Option<&str>| {
        merge(json!({ "spec": { "templates": { &key: { name: text } } } }))
    };

    own(&scene, "Web")
        .patch(
            "one",
            &PatchParams::default(),
            &merge(json!({ "spec": { "text": "new" } })),
        )
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
            data(map, "text").as_deref() == Some("new")
        })
        .await?;

    let bad = change("extra", Some("{{ .spec.nonesuch }"));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &bad)
        .await?;
    let told = |stack: Option<&DynamicObject>| {
        let found = stack
            .map(|stack| stack.data["status"]["diagnostics"].clone())
            .unwrap_or_default();
        found
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["template"] == "extra"))
    };
    scene.wait(&stacks(&scene), STACK, told).await?;
    // What was compiled before goes on.
    own(&scene, "Web")
        .patch(
            "one",
            &PatchParams::default(),
            &merge(json!({ "spec": { "text": "newer" } })),
        )
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
            data(map, "text").as_deref() == Some("newer")
        })
        .await?;

    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-more'}\n";
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &change("extra", None))
        .await?;
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &change("more", Some(more)))
        .await?;
    scene
        .wait(&maps, "one-more", |map: Option<&ConfigMap>| map.is_some())
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| map.is_none())
        .await?;
    ensure!(maps.get_opt("one-config").await?.is_some());

    let renamed = more.replace("-more", "-other");
    stacks(&scene)
        .patch(
            STACK,
            &PatchParams::default(),
            &change("more", Some(&renamed)),
        )
        .await?;
    scene
        .wait(&maps, "one-other", |map: Option<&ConfigMap>| map.is_some())
        .await?;
    scene
        .wait(&maps, "one-more", |map: Option<&ConfigMap>| map.is_none())
        .await?;
    scene
        .wait(&stacks(&scene), STACK, |stack: Option<&DynamicObject>| {
            let status = stack
                .map(|stack| stack.data["status"].clone())
                .unwrap_or_default();
            status["diagnostics"].as_array().is_none_or(Vec::is_empty)
                && status["instances"]
                    .as_object()
                    .is_some_and(|all| all.values().any(|one| one["ready"] == 1))
        })
        .await?;
    Ok(())
}

pub async fn an_instance_goes_after_its_children_in_reverse_order(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("order").await?;
    let _running = webs(&scene).await?;
    let object = ready(&scene, "one").await?;
    ensure!(
        object
            .metadata
            .finalizers
            .is_some_and(|all| all.iter().any(|one| one == "stacks.crossplane.io/children"))
    );
    let maps: Api<ConfigMap> = scene.api();
    let hold = |held: Value| Patch::Merge(json!({ "metadata": { "finalizers": held } }));
    maps.patch(
        "one-config",
        &PatchParams::default(),
        &hold(json!(["example.org/hold"])),
    )
    .await?;
    own(&scene, "Web")
        .delete("one", &DeleteParams::default())
        .await?;
    scene
        .wait(&maps, "one-config", |map: Option<&ConfigMap>| {
            map.is_some_and(|map| map.metadata.deletion_timestamp.is_some())
        })
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| map.is_none())
        .await?;
    let db = own(&scene, "Db").get("one").await?;
    ensure!(
        db.metadata.deletion_timestamp.is_none(),
        "the config map that reads it is still there"
    );
    maps.patch("one-config", &PatchParams::default(), &hold(Value::Null))
        .await?;
    scene
        .wait(
            &own(&scene, "Db"),
            "one",
            is_deleted(&db.metadata.uid.unwrap_or_default()),
        )
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    Ok(())
}

pub async fn an_instance_that_no_longer_renders_can_be_deleted(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("stuck").await?;
    let running = webs(&scene).await?;
    ready(&scene, "one").await?;
    let key = format!("web.{}/v1", scene.group());
    let bad = json!({ "spec": { "templates": { key: { "extra": "{{ .spec.nonesuch }" } } } });
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &merge(bad))
        .await?;
    running.manager.stop();
    let again = start(&scene, NEVER).await?;
    own(&scene, "Web")
        .delete("one", &DeleteParams::default())
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    scene
        .wait(
            &own(&scene, "Db"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    again.stop();
    Ok(())
}
