//! Custom resources from the definition of their kind to the deletion of what they own.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{
        ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
    runtime::{conditions, wait::Condition},
};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

/// A kind with an integer `size` from 1 to 9 that defaults to 3, and a `colour`.
async fn widgets(scene: &Scene<'_>) -> Result<ApiResource> {
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "colour": {"type": "string"},
    }});
    scene.install_crd(&scene.crd("Widget", &spec)).await
}

fn widget(resource: &ApiResource, name: &str, spec: &Value) -> Result<DynamicObject> {
    let (version, kind) = (&resource.api_version, &resource.kind);
    Ok(serde_json::from_value(
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}),
    )?)
}

/// A config map that is the widget's.
async fn owned(
    scene: &Scene<'_>,
    owner: &DynamicObject,
    resource: &ApiResource,
    name: &str,
) -> Result<()> {
    let object: ConfigMap =
        serde_json::from_value(json!({"metadata": {"name": name, "ownerReferences": [{
            "apiVersion": resource.api_version, "kind": resource.kind, "blockOwnerDeletion": true,
            "name": owner.metadata.name, "uid": owner.metadata.uid,
        }]}}))?;
    scene
        .api::<ConfigMap>()
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

async fn await_gone(scene: &Scene<'_>, name: &str, uid: &str) -> Result<()> {
    scene
        .wait(&scene.api::<ConfigMap>(), name, conditions::is_deleted(uid))
        .await
        .map(drop)
}

fn code(error: &kube::Error) -> u16 {
    if let kube::Error::Api(status) = error {
        status.code
    } else {
        0
    }
}

pub async fn live_from_definition_to_cascading_deletion(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("life").await?;
    let resource = widgets(&scene).await?;
    let api = scene.dynamic(scene.client(), &resource);

    // Created, with the default filled in.
    let made = api
        .create(
            &PostParams::default(),
            &widget(&resource, "w", &json!({"colour": "red"}))?,
        )
        .await?;
    ensure!(
        made.data["spec"] == json!({"colour": "red", "size": 3}),
        "defaulted: {}",
        made.data
    );
    let version = made
        .metadata
        .resource_version
        .clone()
        .context("a resource version")?;

    // Applied by another manager: the field it sets is its own, and taking another's is a conflict.
    let mine = PatchParams::apply("painter");
    let applied = api
        .patch(
            "w",
            &mine,
            &Patch::Apply(widget(&resource, "w", &json!({"size": 5}))?),
        )
        .await;
    ensure!(
        applied.as_ref().is_err_and(|error| code(error) == 409),
        "a default belongs to the creator: {applied:?}"
    );
    let spec = json!({"size": 5});
    let applied = api
        .patch(
            "w",
            &mine.clone().force(),
            &Patch::Apply(widget(&resource, "w", &spec)?),
        )
        .await?;
    ensure!(
        applied.data["spec"] == json!({"colour": "red", "size": 5}),
        "merged: {}",
        applied.data
    );
    ensure!(
        applied.metadata.generation == Some(2),
        "a change of the spec is a generation"
    );
    let again = api
        .patch(
            "w",
            &mine.force(),
            &Patch::Apply(widget(&resource, "w", &spec)?),
        )
        .await?;
    ensure!(
        again.metadata.resource_version == applied.metadata.resource_version,
        "nothing changed, nothing written"
    );

    // The status is written through its subresource alone.
    let patch = json!({"spec": {"colour": "blue"}, "status": {"phase": "Ready"}});
    let told = api
        .patch_status("w", &PatchParams::default(), &Patch::Merge(&patch))
        .await?;
    ensure!(
        told.data["status"]["phase"] == "Ready" && told.data["spec"]["colour"] == "red",
        "{}",
        told.data
    );
    ensure!(
        told.metadata.generation == Some(2),
        "a status is no generation"
    );
    let patch = json!({"status": {"phase": "Broken"}});
    let told = api
        .patch("w", &PatchParams::default(), &Patch::Merge(&patch))
        .await?;
    ensure!(
        told.data["status"]["phase"] == "Ready",
        "the main resource does not take a status: {}",
        told.data
    );

    // A watch from the creation on has seen both changes.
    let stream = api
        .watch(&WatchParams::default().fields("metadata.name=w"), &version)
        .await?;
    pin_mut!(stream);
    let seen = scene
        .within("two events", async {
            Ok((stream.try_next().await?, stream.try_next().await?))
        })
        .await?;
    match seen {
        (Some(WatchEvent::Modified(first)), Some(WatchEvent::Modified(second))) => {
            ensure!(
                first.data["spec"]["size"] == 5 && first.data.get("status").is_none(),
                "{}",
                first.data
            );
            ensure!(second.data["status"]["phase"] == "Ready", "{}", second.data);
        }
        other => anyhow::bail!("two modifications expected: {other:?}"),
    }

    // Whoever has no role is denied, by name.
    let stranger = scene.dynamic(scene.service_account("stranger").await?, &resource);
    let denied = stranger.get("w").await;
    let user = scene.service_account_user("stranger");
    ensure!(
        denied
            .as_ref()
            .is_err_and(|e| code(e) == 403 && e.to_string().contains(&user)),
        "denied: {denied:?}"
    );

    // Deleting the owner deletes what it owns, and nothing else.
    owned(&scene, &made, &resource, "mine").await?;
    let free: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "free"}}))?;
    scene
        .api::<ConfigMap>()
        .create(&PostParams::default(), &free)
        .await?;
    let uid = scene
        .api::<ConfigMap>()
        .get("mine")
        .await?
        .metadata
        .uid
        .context("a uid")?;
    api.delete("w", &DeleteParams::background()).await?;
    await_gone(&scene, "mine", &uid).await?;
    let last = scene
        .within("the deletion event", async {
            Ok(stream.next().await.transpose()?)
        })
        .await?;
    ensure!(
        matches!(last, Some(WatchEvent::Deleted(_))),
        "the watch goes on to the end: {last:?}"
    );
    ensure!(
        scene.api::<ConfigMap>().get_opt("free").await?.is_some(),
        "what is not owned stays"
    );
    Ok(())
}

pub async fn a_foreground_deletion_waits_for_the_dependents(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("foreground").await?;
    let resource = widgets(&scene).await?;
    let api = scene.dynamic(scene.client(), &resource);
    let made = api
        .create(&PostParams::default(), &widget(&resource, "w", &json!({}))?)
        .await?;
    owned(&scene, &made, &resource, "mine").await?;
    let uid = made.metadata.uid.context("a uid")?;
    let held = api.delete("w", &DeleteParams::foreground()).await?;
    let held = held
        .left()
        .context("the object is returned, since it is still there")?;
    let finalizers = held.metadata.finalizers.unwrap_or_default();
    ensure!(
        finalizers == ["foregroundDeletion"] && held.metadata.deletion_timestamp.is_some(),
        "{finalizers:?}"
    );
    gone(&scene, &api, "w", conditions::is_deleted(&uid)).await?;
    ensure!(
        scene.api::<ConfigMap>().get_opt("mine").await?.is_none(),
        "the dependent went first"
    );
    Ok(())
}

async fn gone(
    scene: &Scene<'_>,
    api: &Api<DynamicObject>,
    name: &str,
    condition: impl Condition<DynamicObject>,
) -> Result<()> {
    let waiting = kube::runtime::wait::await_condition(api.clone(), name, condition);
    scene
        .within("the owner to go", async { Ok(waiting.await?) })
        .await
        .map(drop)
}

pub async fn what_the_schema_forbids_is_refused(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("schema").await?;
    let resource = widgets(&scene).await?;
    let api = scene.dynamic(scene.client(), &resource);
    for (spec, part) in [
        (json!({"size": 10}), "spec.size: Invalid value: 10"),
        (json!({"size": 0}), "spec.size: Invalid value: 0"),
        (
            json!({"size": "three"}),
            "spec.size: Invalid value: \"string\"",
        ),
        (
            json!({"colour": 1}),
            "spec.colour: Invalid value: \"integer\"",
        ),
    ] {
        let refused = api
            .create(&PostParams::default(), &widget(&resource, "bad", &spec)?)
            .await;
        let said = refused
            .err()
            .with_context(|| format!("{spec} was accepted"))?;
        ensure!(
            code(&said) == 422 && said.to_string().contains(part),
            "{spec}: {said}"
        );
    }
    let pruned = api
        .create(
            &PostParams::default(),
            &widget(&resource, "extra", &json!({"shape": "round"}))?,
        )
        .await?;
    ensure!(
        pruned.data["spec"] == json!({"size": 3}),
        "unknown fields are pruned: {}",
        pruned.data
    );
    Ok(())
}
