//! Attacks around cluster-scoped stacks: the namespaces that they live in, and those that they act
//! in.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::{Value, json};
use testkit::{Cluster, Scene, variants};

use crate::attacks_identity::{API, bare, each};
use crate::installs::code;
use crate::manager::{Manager, has, manager, package, resource};

pub fn cluster_installs(scene: &Scene<'_>) -> Api<DynamicObject> {
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "ClusterStackInstall",
        "clusterstackinstalls",
    );
    Api::all_with(scene.client(), &kind)
}

/// Creates a ClusterStackInstall of a package whose kind has a group of its own.
pub async fn wide(scene: &Scene<'_>, manager: &Manager, name: &str, more: &Value) -> Result<()> {
    let repository = format!("{}/{name}", scene.namespace());
    let group = format!("{}.{}", &name[..name.len().min(20)], scene.group());
    let app = "permissionScope: Cluster\ndependsOn: [{crd: configmap/v1}]\n";
    manager
        .shelf
        .put(&repository, "1.0.0", package(&group, "1.0.0", &["a"], app));
    let mut spec = json!({ "package": format!("{repository}:1.0.0") });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let install = json!({ "apiVersion": API, "kind": "ClusterStackInstall", "metadata": { "name": name }, "spec": spec });
    cluster_installs(scene)
        .create(&PostParams::default(), &serde_json::from_value(install)?)
        .await?;
    Ok(())
}

pub async fn a_cluster_stack_has_a_namespace_of_its_own_and_seizes_none(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("home").await?;
    let namespaces: Api<Namespace> = Api::all(scene.client());
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, manager, namespaces) = (&scene, &manager, namespaces.clone());
        async move {
            let longest = *choices.pick(&[4, 40, 120]);
            let name = format!("{}-{index}{}", scene.namespace(), choices.name("x", longest));
            let usual = api::names::cluster_stack("cairn-stacks", &name);
            let taken = choices.toss();
            if taken {
                let mut theirs = json!({ "metadata": { "name": usual } });
                if choices.toss() {
                    theirs["metadata"]["labels"] = json!({ "app.kubernetes.io/managed-by": "stack-manager" });
                    theirs["metadata"]["annotations"] = json!({
                        "stacks.crossplane.io/created-for": format!("ClusterStackInstall/{name}"),
                        "stacks.crossplane.io/signature": choices.name("", 64),
                    });
                }
                namespaces.create(&PostParams::default(), &serde_json::from_value(theirs)?).await?;
            }
            wide(scene, manager, &name, &json!({})).await?;
            let all = cluster_installs(scene);
            scene.wait(&all, &name, has("Ready", "True", "")).await.with_context(|| format!("variant {index}"))?;
            let found = all.get(&name).await?;
            let place = found.data["status"]["namespace"].as_str().unwrap_or_default().to_owned();
            ensure!((place == usual) != taken, "variant {index}: {place}");
            ensure!(place.starts_with("cairn-stacks-") && place.len() <= 63, "variant {index}: {place}");
            // Nobody else installs anything there.
            let kind = resource("stacks.crossplane.io", "v1alpha1", "StackInstall", "stackinstalls");
            let inside: Api<DynamicObject> = Api::namespaced_with(scene.client(), &place, &kind);
            let install = json!({
                "apiVersion": API, "kind": "StackInstall", "metadata": { "name": "intruder" }, "spec": { "package": "a/b:1" },
            });
            inside.create(&PostParams::default(), &serde_json::from_value(install)?).await?;
            scene.wait(&inside, "intruder", has("Ready", "False", "NamespaceReserved")).await?;
            let kind = resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks");
            let inside: Api<DynamicObject> = Api::namespaced_with(scene.client(), &place, &kind);
            inside.create(&PostParams::default(), &bare(scene, "intruder", &json!({}))).await?;
            scene.wait(&inside, "intruder", has("Ready", "False", "NotAllowed")).await?;
            all.delete(&name, &DeleteParams::default()).await?;
            scene.wait(&all, &name, is_deleted(&found.metadata.uid.unwrap_or_default())).await?;
            ensure!(namespaces.get_opt(&place).await?.is_none(), "variant {index}: {place} stays");
            if taken {
                let theirs = namespaces.get(&usual).await?;
                ensure!(theirs.metadata.deletion_timestamp.is_none(), "variant {index}: {usual} was deleted");
                namespaces.delete(&usual, &DeleteParams::default()).await?;
            }
            Ok(())
        }
    });
    each(attempts).await?;
    Ok(())
}

pub async fn a_cluster_stack_that_is_limited_to_namespaces_acts_in_those_alone(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("m10").await?;
    let other = cluster.scene("m10-other").await?;
    let name = scene.namespace().to_owned();
    wide(
        &scene,
        &manager,
        &name,
        &json!({ "namespaces": [scene.namespace()] }),
    )
    .await?;
    let all = cluster_installs(&scene);
    let ready = scene.wait(&all, &name, has("Ready", "True", "")).await;
    let found = all.get(&name).await?;
    ready.with_context(|| found.data["status"].to_string())?;
    let place = found.data["status"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let system = format!("stack:{place}:{name}:system");
    ensure!(
        Api::<ClusterRoleBinding>::all(scene.client())
            .get_opt(&system)
            .await?
            .is_none()
    );
    let client = cluster
        .client_for_service_account(&place, &format!("stack-{name}"))
        .await?;
    let maps = |namespace: &str| Api::<ConfigMap>::namespaced(client.clone(), namespace);
    maps(scene.namespace()).list(&ListParams::default()).await?;
    for elsewhere in [other.namespace(), "default", "cairn", &place] {
        ensure!(
            code(&maps(elsewhere).list(&ListParams::default()).await) == 403,
            "{elsewhere}"
        );
    }
    ensure!(
        code(
            &Api::<ConfigMap>::all(client.clone())
                .list(&ListParams::default())
                .await
        ) == 403
    );
    // Its controller watches and serves the namespaces that it has, and no others.
    let parts = controller::template_stack_manager::Parts::new(client.clone(), &place, &name);
    let running = controller::template_stack_manager::TemplateStackManager::start(parts).await;
    let worker = running.clone();
    tokio::spawn(async move { worker.run().await });
    let group = format!("{}.{}", &name[..name.len().min(20)], scene.group());
    let redis = json!({ "apiVersion": format!("{group}/v1"), "kind": "Redis", "metadata": { "name": "one" }, "spec": {} });
    for scene in [&other, &scene] {
        let instances = scene.dynamic(scene.client(), &resource(&group, "v1", "Redis", "redises"));
        instances
            .create(
                &PostParams::default(),
                &serde_json::from_value(redis.clone())?,
            )
            .await?;
    }
    scene
        .wait(
            &scene.api::<ConfigMap>(),
            "one",
            |map: Option<&ConfigMap>| map.is_some(),
        )
        .await?;
    ensure!(
        other.api::<ConfigMap>().get_opt("one").await?.is_none(),
        "it acts elsewhere"
    );
    running.stop();
    // More namespaces come, and go.
    for (namespaces, expected) in [
        (vec![scene.namespace(), other.namespace()], 200),
        (vec![scene.namespace()], 403),
    ] {
        let patch = Patch::Merge(json!({ "spec": { "namespaces": namespaces } }));
        all.patch(&name, &PatchParams::default(), &patch).await?;
        let bindings: Api<RoleBinding> = other.api();
        let there = expected == 200;
        scene
            .wait(&bindings, &system, move |found: Option<&RoleBinding>| {
                found.is_some() == there
            })
            .await?;
        ensure!(
            code(&maps(other.namespace()).list(&ListParams::default()).await) == expected,
            "{namespaces:?}"
        );
    }
    all.delete(&name, &DeleteParams::default()).await?;
    scene
        .wait(
            &all,
            &name,
            is_deleted(&found.metadata.uid.unwrap_or_default()),
        )
        .await?;
    let left = other
        .dynamic(other.client(), &resource(&group, "v1", "Redis", "redises"))
        .get_opt("one")
        .await;
    ensure!(
        left.is_ok_and(|left| left.is_some()),
        "what it did not serve goes with it"
    );
    Ok(())
}
