//! Whatever was made for an install is put back when it is deleted, changed, or loses its labels.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ApiResource;
use kube::runtime::wait::conditions::is_deleted;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::manager::{USER, definitions, has, installed, manager, resource, stacks};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The kinds that are made for stacks and namespaces, and how many of each here.
fn made() -> Vec<(ApiResource, bool, usize)> {
    vec![
        (resource("apps", "v1", "Deployment", "deployments"), true, 1),
        (
            resource("", "v1", "ServiceAccount", "serviceaccounts"),
            true,
            1,
        ),
        (resource("", "v1", "Secret", "secrets"), true, 1),
        (resource(RBAC, "v1", "RoleBinding", "rolebindings"), true, 2),
        (
            resource(RBAC, "v1", "ClusterRole", "clusterroles"),
            false,
            8,
        ),
    ]
}

fn api(scene: &Scene<'_>, kind: &ApiResource, namespaced: bool) -> Api<DynamicObject> {
    match kind.kind.as_str() {
        // Seeds are where only the stack manager can list them.
        "Secret" => Api::namespaced_with(scene.client(), "cairn", kind),
        _ if namespaced => scene.dynamic(scene.client(), kind),
        _ => Api::all_with(scene.client(), kind),
    }
}

/// What was made for the scene's stack and namespace.
async fn found(scene: &Scene<'_>, api: &Api<DynamicObject>) -> Result<Vec<DynamicObject>> {
    let all = api
        .list(&ListParams::default().labels("app.kubernetes.io/managed-by=stack-manager"))
        .await?;
    let namespace = scene.namespace();
    let ours = |object: &DynamicObject| {
        let labels = object.metadata.labels.clone().unwrap_or_default();
        let of = |key: &str| {
            labels
                .get(&format!("core.crossplane.io/parent-{key}"))
                .cloned()
                .unwrap_or_default()
        };
        of("namespace") == namespace || (of("kind") == "Namespace" && of("name") == namespace)
    };
    Ok(all.items.into_iter().filter(ours).collect())
}

/// All that matters of an object: what the API server says of it aside.
fn content(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap();
    value["metadata"] = json!({ "labels": value["metadata"]["labels"], "owners": value["metadata"]["ownerReferences"] });
    // What lists leave out, or others say.
    if let Some(value) = value.as_object_mut() {
        value.retain(|key, _| !["apiVersion", "kind", "status", "secrets"].contains(&key.as_str()));
    }
    if value["aggregationRule"].is_object() {
        value["rules"] = Value::Null;
    }
    value
}

pub async fn every_object_that_was_made_is_put_back(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("drift").await?;
    let namespaces: Api<Namespace> = Api::all(scene.client());
    let wish = json!({ "metadata": { "labels": { "rbac.crossplane.io/managed-roles": "true" } } });
    namespaces
        .patch(
            scene.namespace(),
            &PatchParams::default(),
            &Patch::Merge(wish),
        )
        .await?;
    installed(&scene, &manager, &["a"], "").await?;
    for (kind, namespaced, count) in made() {
        let api = api(&scene, &kind, namespaced);
        let all = scene
            .within("all to be made", async {
                loop {
                    let all = found(&scene, &api).await?;
                    if all.len() == count {
                        return Ok(all);
                    }
                    tokio::task::yield_now().await;
                }
            })
            .await?;
        for object in all {
            let name = object.metadata.name.clone().unwrap_or_default();
            // Deleted.
            api.delete(&name, &DeleteParams::background()).await?;
            is_back(&scene, &api, &object, true)
                .await
                .with_context(|| format!("{} {name} deleted", kind.kind))?;
            // Out of sight of whoever looks for its labels.
            let bare = json!({ "metadata": { "labels": null } });
            api.patch(&name, &PatchParams::default(), &Patch::Merge(bare))
                .await?;
            is_back(&scene, &api, &object, false)
                .await
                .with_context(|| format!("{} {name} bare", kind.kind))?;
            // With other content.
            if let Some(change) = change(&kind.kind, &object) {
                api.patch(&name, &PatchParams::default(), &Patch::Merge(change))
                    .await?;
                is_back(&scene, &api, &object, false)
                    .await
                    .with_context(|| format!("{} {name} changed", kind.kind))?;
            }
        }
    }
    what_is_the_installs_own_is_put_back(&scene).await
}

/// Waits until an object is as it was, or another that is like it.
async fn is_back(
    scene: &Scene<'_>,
    api: &Api<DynamicObject>,
    before: &DynamicObject,
    another: bool,
) -> Result<()> {
    let name = before.metadata.name.clone().unwrap_or_default();
    let (wanted, uid) = (content(before), before.metadata.uid.clone());
    let is_back = move |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            let is_new = !another || object.metadata.uid != uid;
            is_new && object.metadata.deletion_timestamp.is_none() && content(object) == wanted
        })
    };
    if let Err(error) = scene.wait(api, &name, is_back).await {
        let now = api.get_opt(&name).await?.map(|object| content(&object));
        return Err(error.context(format!("{now:?} is not {}", content(before))));
    }
    Ok(())
}

/// A change to what an object is there for.
fn change(kind: &str, object: &DynamicObject) -> Option<Value> {
    match kind {
        "Deployment" => {
            Some(json!({ "spec": { "template": { "spec": { "serviceAccountName": "default" } } } }))
        }
        "RoleBinding" => Some(json!({ "subjects": [] })),
        "ClusterRole" if object.data["aggregationRule"].is_object() => Some(
            json!({ "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] } }),
        ),
        "ClusterRole" => {
            Some(json!({ "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] }))
        }
        _ => None,
    }
}

async fn what_is_the_installs_own_is_put_back(scene: &Scene<'_>) -> Result<()> {
    let stacks = stacks(scene);
    stacks
        .patch(
            "redis",
            &PatchParams::default(),
            &Patch::Merge(json!({ "spec": { "title": "Forged" } })),
        )
        .await?;
    let titled = |stack: Option<&DynamicObject>| {
        stack.is_some_and(|stack| stack.data["spec"]["title"] == "Redis")
    };
    scene.wait(&stacks, "redis", titled).await?;
    let uid = stacks.get("redis").await?.metadata.uid;
    stacks.delete("redis", &DeleteParams::default()).await?;
    let anew =
        move |stack: Option<&DynamicObject>| stack.is_some_and(|stack| stack.metadata.uid != uid);
    scene.wait(&stacks, "redis", anew).await?;

    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    let before = crds.get(&name).await?;
    let labels = before.metadata.labels.clone();
    ensure!(
        labels.as_ref().is_some_and(|labels| labels.len() >= 3),
        "{labels:?}"
    );
    let bare = json!({
        "metadata": { "annotations": { "stacks.crossplane.io/spec-version": "0.0.1" } },
        "spec": { "names": { "shortNames": ["forged"] } },
    });
    crds.patch(&name, &PatchParams::default(), &Patch::Merge(bare))
        .await?;
    // A short name is nobody's: the package does not say what it should be.
    let back = move |crd: Option<&DynamicObject>| {
        crd.is_some_and(|crd| {
            let annotations = crd.metadata.annotations.clone().unwrap_or_default();
            annotations
                .get("stacks.crossplane.io/spec-version")
                .is_some_and(|version| version == "1.0.0")
        })
    };
    scene.wait(&crds, &name, back).await?;
    let other = json!({ "spec": { "versions": [{
        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
    }] } });
    crds.patch(&name, &PatchParams::default(), &Patch::Merge(other))
        .await?;
    let whole = before.data["spec"]["versions"].clone();
    let back = move |crd: Option<&DynamicObject>| {
        crd.is_some_and(|crd| crd.data["spec"]["versions"] == whole)
    };
    scene.wait(&crds, &name, back).await?;
    Ok(())
}

pub async fn a_type_changed_by_hand_is_put_back(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("drift-type").await?;
    installed(&scene, &manager, &["a"], "").await?;
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let before = serde_json::to_value(crds.get(&name).await?)?
        .pointer(fields)
        .cloned()
        .context("it has fields")?;
    for (what, change) in [
        (
            "a limit",
            json!({ "a": { "type": "string", "maxLength": 3 } }),
        ),
        (
            "a field more",
            json!({ "a": { "type": "string" }, "b": { "type": "string" } }),
        ),
        ("a field less", json!({})),
    ] {
        let mut changed = serde_json::to_value(crds.get(&name).await?)?;
        *changed.pointer_mut(fields).context("it has fields")? = change;
        let versions = json!({ "spec": { "versions": changed["spec"]["versions"] } });
        crds.patch(&name, &PatchParams::default(), &Patch::Merge(versions))
            .await?;
        let expected = before.clone();
        let restored = move |crd: Option<&DynamicObject>| {
            crd.is_some_and(|crd| {
                serde_json::to_value(crd).is_ok_and(|crd| crd.pointer(fields) == Some(&expected))
            })
        };
        scene.wait(&crds, &name, restored).await.context(what)?;
    }
    // It is put back once: what is as it should be is not written again when everything is looked
    // at anew.
    let mark = cluster.mark()?;
    let stacks = stacks(&scene);
    let before = stacks.get("redis").await?.metadata.uid;
    stacks.delete("redis", &DeleteParams::default()).await?;
    let anew = move |stack: Option<&DynamicObject>| {
        stack.is_some_and(|stack| stack.metadata.uid != before) && has("Ready", "True", "")(stack)
    };
    scene.wait(&stacks, "redis", anew).await?;
    let defines = move |request: &testkit::Request| {
        request.user == USER && request.verb == "patch" && request.uri.contains(&format!("/{name}"))
    };
    let written = cluster.requests(mark, defines).await?;
    ensure!(written.is_empty(), "nobody writes it any more: {written:?}");
    Ok(())
}

pub async fn a_type_that_somebody_made_their_own_holds_up_no_uninstall(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("drift-own").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    let own =
        Patch::Merge(json!({ "metadata": { "labels": { "app.kubernetes.io/managed-by": null } } }));
    crds.patch(&name, &PatchParams::default(), &own).await?;
    let uid = installs
        .get("redis")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    installs.delete("redis", &DeleteParams::default()).await?;
    scene.wait(&installs, "redis", is_deleted(&uid)).await?;
    ensure!(
        crds.get(&name).await?.metadata.deletion_timestamp.is_none(),
        "what is not ours is left alone"
    );
    Ok(())
}
