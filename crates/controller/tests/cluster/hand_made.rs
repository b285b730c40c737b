//! Stacks that somebody writes by hand: they work as installed ones do, and claim in vain to be
//! more.

use std::sync::Arc;

use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::installs::{code, redis, redises};
use crate::manager::{definitions, has, manager, package, resource, stacks};

/// A Stack of the kind `Redis` with templates, and more in its spec.
fn stack(scene: &Scene<'_>, more: &Value) -> DynamicObject {
    let (package, _) = package::read(&package(scene.group(), "1.0.0", &["a"], ""));
    let mut stack = serde_json::to_value(&package.stack).unwrap();
    stack["metadata"] = json!({ "name": "hand", "namespace": scene.namespace() });
    for (key, value) in more.as_object().into_iter().flatten() {
        stack["spec"][key] = value.clone();
    }
    serde_json::from_value(stack).unwrap()
}

async fn defined(scene: &Scene<'_>) -> Result<()> {
    let (package, _) = package::read(&package(scene.group(), "1.0.0", &["a"], ""));
    let mut crd = package.crds[0].crd.object.clone();
    crd["metadata"]["labels"] = json!({});
    scene.install_crd(&crd).await?;
    Ok(())
}

pub async fn a_stack_by_hand_waits_for_its_type_runs_and_goes(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("hand").await?;
    let stacks = stacks(&scene);
    stacks
        .create(&PostParams::default(), &stack(&scene, &json!({})))
        .await?;
    scene
        .wait(
            &stacks,
            "hand",
            has("DependenciesSatisfied", "False", "Waiting"),
        )
        .await?;
    scene
        .wait(&stacks, "hand", has("Ready", "False", "Waiting"))
        .await?;
    ensure!(
        scene
            .api::<ServiceAccount>()
            .get_opt("stack-hand")
            .await?
            .is_none(),
        "nobody gets rights for nothing"
    );
    defined(&scene).await?;
    for kind in ["DependenciesSatisfied", "ControllerAvailable", "Ready"] {
        scene.wait(&stacks, "hand", has(kind, "True", "")).await?;
    }
    let found = stacks.get("hand").await?;
    ensure!(
        found.data["status"]["serviceAccount"] == "stack-hand",
        "{}",
        found.data["status"]
    );
    ensure!(
        found.data["status"]["controllerRef"]["name"] == "hand-templates",
        "{}",
        found.data["status"]
    );
    ensure!(
        found.data["status"]["rules"]
            .as_array()
            .is_some_and(|rules| !rules.is_empty())
    );

    let client = cluster
        .client_for_service_account(scene.namespace(), "stack-hand")
        .await?;
    // Its controller makes the Stack an owner of what it runs.
    let mut mine = redis(&scene, "mine");
    mine.metadata.owner_references = Some(vec![serde_json::from_value(json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "name": "hand", "uid": found.metadata.uid,
    }))?]);
    redises(&scene, client.clone())
        .create(&PostParams::default(), &mine)
        .await?;
    redises(&scene, client.clone())
        .create(&PostParams::default(), &redis(&scene, "theirs"))
        .await?;
    Api::<ConfigMap>::namespaced(client.clone(), scene.namespace())
        .list(&ListParams::default())
        .await?;
    let elsewhere: Api<DynamicObject> = Api::namespaced_with(
        client,
        "default",
        &resource(scene.group(), "v1", "Redis", "redises"),
    );
    ensure!(code(&elsewhere.list(&ListParams::default()).await) == 403);

    stacks.delete("hand", &DeleteParams::default()).await?;
    scene
        .wait(&stacks, "hand", |stack: Option<&DynamicObject>| {
            stack.is_none()
        })
        .await?;
    ensure!(
        scene
            .api::<ServiceAccount>()
            .get_opt("stack-hand")
            .await?
            .is_none()
    );
    ensure!(
        redises(&scene, scene.client())
            .get_opt("mine")
            .await?
            .is_none(),
        "its instances go first"
    );
    ensure!(
        redises(&scene, scene.client())
            .get_opt("theirs")
            .await?
            .is_some(),
        "what it never ran stays"
    );
    let system = format!("stack:{}:hand:system", scene.namespace());
    ensure!(
        Api::<ClusterRole>::all(scene.client())
            .get_opt(&system)
            .await?
            .is_none()
    );
    let crd = definitions(scene.client())
        .get(&format!("redises.{}", scene.group()))
        .await?;
    let labels = crd.metadata.labels.unwrap_or_default();
    ensure!(
        !labels.contains_key("app.kubernetes.io/managed-by"),
        "what others made is left alone: {labels:?}"
    );
    Ok(())
}

pub async fn a_stack_that_is_refused_what_it_runs_by_says_so_and_heals(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("hand-refused").await?;
    defined(&scene).await?;
    let deployments: Api<Deployment> = scene.api();
    let pod = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let theirs = serde_json::from_value(json!({
        "metadata": { "name": "hand-templates" }, "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": pod },
    }))?;
    deployments.create(&PostParams::default(), &theirs).await?;
    let stacks = stacks(&scene);
    stacks
        .create(&PostParams::default(), &stack(&scene, &json!({})))
        .await?;
    let told = scene
        .wait(
            &stacks,
            "hand",
            has("ControllerAvailable", "False", "Refused"),
        )
        .await?;
    let said = told
        .map(|stack| stack.data["status"]["conditions"].to_string())
        .unwrap_or_default();
    ensure!(
        said.contains("/hand-templates already exists and the stack manager did not create it"),
        "{said}"
    );
    deployments
        .delete("hand-templates", &DeleteParams::default())
        .await?;
    scene
        .wait(&stacks, "hand", has("Ready", "True", ""))
        .await?;
    Ok(())
}

pub async fn a_stack_by_hand_gets_nothing_by_claiming_it(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("claims").await?;
    defined(&scene).await?;
    let stacks = stacks(&scene);
    stacks
        .create(
            &PostParams::default(),
            &stack(&scene, &json!({ "permissionScope": "Cluster" })),
        )
        .await?;
    let ready = scene
        .wait(&stacks, "hand", has("Ready", "True", ""))
        .await?;
    let said = ready
        .map(|stack| stack.data["status"]["conditions"].to_string())
        .unwrap_or_default();
    ensure!(
        said.contains("counts only for stacks that a ClusterStackInstall made"),
        "{said}"
    );
    let system = format!("stack:{}:hand:system", scene.namespace());
    ensure!(
        Api::<ClusterRoleBinding>::all(scene.client())
            .get_opt(&system)
            .await?
            .is_none()
    );
    let client = cluster
        .client_for_service_account(scene.namespace(), "stack-hand")
        .await?;
    let everywhere: Api<DynamicObject> =
        Api::all_with(client, &resource(scene.group(), "v1", "Redis", "redises"));
    ensure!(code(&everywhere.list(&ListParams::default()).await) == 403);

    for wish in [
        "clusterrole.rbac.authorization.k8s.io/v1",
        "stack.stacks.crossplane.io/v1alpha1",
        "node/v1",
    ] {
        let patch = Patch::Merge(json!({ "spec": { "dependsOn": [{ "crd": wish }] } }));
        stacks
            .patch("hand", &PatchParams::default(), &patch)
            .await?;
        scene
            .wait(&stacks, "hand", has("Ready", "False", "NotAllowed"))
            .await
            .map_err(|error| error.context(wish))?;
        let patch = Patch::Merge(json!({ "spec": { "dependsOn": [] } }));
        stacks
            .patch("hand", &PatchParams::default(), &patch)
            .await?;
        scene
            .wait(&stacks, "hand", has("Ready", "True", ""))
            .await
            .map_err(|error| error.context(wish))?;
    }
    Ok(())
}
