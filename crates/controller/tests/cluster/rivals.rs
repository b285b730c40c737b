//! Stacks that want to serve the same kind in the same place: that of a cluster install does, else
//! whoever came first, and nothing is lost when that goes.

use std::sync::Arc;

use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::actor::{NEVER, own, start_as};
use crate::installs::{redis, redises};
use crate::manager::{definitions, has, install, installed, manager, package, resource, stacks};

/// An instance that a Stack owns, as its controller would have it.
async fn owned(scene: &Scene<'_>, name: &str, stack: &str) -> Result<Api<DynamicObject>> {
    let instances = redises(scene, scene.client());
    let uid = stacks(scene).get(stack).await?.metadata.uid;
    let mut instance = redis(scene, name);
    instance.metadata.owner_references = Some(vec![serde_json::from_value(json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "name": stack, "uid": uid,
        "blockOwnerDeletion": false,
    }))?]);
    instances.create(&PostParams::default(), &instance).await?;
    Ok(instances)
}

fn said(object: &DynamicObject, kind: &str) -> String {
    let conditions = object.data["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind);
    found
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or_default()
        .to_owned()
}

pub async fn a_second_install_of_a_kind_waits_and_takes_over_what_the_first_leaves(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("rivals").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let mut second = install(&scene, "1.0.0");
    second["metadata"]["name"] = json!("renamed");
    installs
        .create(&PostParams::default(), &serde_json::from_value(second)?)
        .await?;
    let refused = scene
        .wait(
            &installs,
            "renamed",
            has("DependenciesSatisfied", "False", "KindTaken"),
        )
        .await?;
    let why = refused
        .map(|refused| said(&refused, "DependenciesSatisfied"))
        .unwrap_or_default();
    ensure!(
        why.contains("by the install redis") && why.contains("keep-crds"),
        "{why}"
    );
    scene
        .wait(&installs, "renamed", has("UpToDate", "False", "KindTaken"))
        .await?;
    ensure!(
        stacks(&scene).get_opt("renamed").await?.is_none(),
        "nothing of it is put in place"
    );
    let crds = definitions(scene.client());
    let name = format!("redises.{}", scene.group());
    let labels = crds.get(&name).await?.metadata.labels.unwrap_or_default();
    ensure!(
        !labels.keys().any(|key| key.contains("renamed")),
        "{labels:?}"
    );

    // The first goes and leaves its instances: they are the other's then, and the garbage collector
    // spares them.
    let instances = owned(&scene, "kept", "redis").await?;
    let before = instances.get("kept").await?.metadata.uid;
    let keep =
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/keep-crds": "true" } } });
    installs
        .patch("redis", &PatchParams::default(), &Patch::Merge(keep))
        .await?;
    let uid = installs
        .get("redis")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    installs.delete("redis", &DeleteParams::default()).await?;
    scene.wait(&installs, "redis", is_deleted(&uid)).await?;
    scene
        .wait(&installs, "renamed", has("Ready", "True", ""))
        .await?;
    scene
        .wait(&installs, "renamed", has("UpToDate", "True", ""))
        .await?;
    let kept = instances.get("kept").await?;
    ensure!(
        kept.metadata.uid == before
            && kept
                .metadata
                .owner_references
                .unwrap_or_default()
                .is_empty()
    );
    ensure!(kept.metadata.deletion_timestamp.is_none());
    let labels = crds.get(&name).await?.metadata.labels.unwrap_or_default();
    ensure!(
        labels.keys().any(|key| key.contains("renamed")),
        "{labels:?}"
    );
    Ok(())
}

pub async fn what_another_stack_serves_is_not_deleted_with_a_stack(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("rival-hands").await?;
    installed(&scene, &manager, &["a"], "").await?;
    let instances = owned(&scene, "kept", "redis").await?;
    // A Stack that somebody writes for the same kind does not run, nor goes on running.
    let (package, _) = package::read(&package(scene.group(), "1.0.0", &["a"], ""));
    let mut hand: Value = serde_json::to_value(&package.stack)?;
    hand["metadata"] = json!({ "name": "zhand", "namespace": scene.namespace() });
    let stacks = stacks(&scene);
    stacks
        .create(&PostParams::default(), &serde_json::from_value(hand)?)
        .await?;
    let refused = scene
        .wait(
            &stacks,
            "zhand",
            has("ControllerAvailable", "False", "KindTaken"),
        )
        .await?;
    let why = refused
        .map(|refused| said(&refused, "Ready"))
        .unwrap_or_default();
    ensure!(why.contains("by the install redis"), "{why}");
    ensure!(
        scene
            .api::<Deployment>()
            .get_opt("zhand-templates")
            .await?
            .is_none()
    );
    let uid = stacks.get("zhand").await?.metadata.uid.unwrap_or_default();
    stacks.delete("zhand", &DeleteParams::default()).await?;
    scene.wait(&stacks, "zhand", is_deleted(&uid)).await?;
    let kept = instances.get("kept").await?;
    ensure!(
        kept.metadata.deletion_timestamp.is_none(),
        "it is the other's"
    );
    ensure!(
        has("Ready", "True", "")(Some(&stacks.get("redis").await?)),
        "which goes on"
    );
    Ok(())
}

pub async fn a_cluster_install_takes_the_place_of_those_of_namespaces_which_resume_after_it(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("rival-wide").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let instances = owned(&scene, "kept", "redis").await?;
    let before = instances.get("kept").await?.metadata.uid;
    let repository = format!("{}/wide", scene.namespace());
    let app = "permissionScope: Cluster\ndependsOn: [{crd: configmap/v1}]\n";
    manager.shelf.put(
        &repository,
        "1.0.0",
        package(scene.group(), "1.0.0", &["a", "b"], app),
    );
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "ClusterStackInstall",
        "clusterstackinstalls",
    );
    let wide: Api<DynamicObject> = Api::all_with(scene.client(), &kind);
    let name = format!("wide-{}", scene.namespace());
    let object = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "ClusterStackInstall", "metadata": { "name": name },
        "spec": { "package": format!("{repository}:1.0.0") },
    });
    wide.create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    scene.wait(&wide, &name, has("Ready", "True", "")).await?;
    // The one of the namespace was told, stopped before the other began, and left its instances to
    // it.
    let refused = scene
        .wait(&installs, "redis", has("Ready", "False", "KindTaken"))
        .await?;
    let why = refused
        .map(|refused| said(&refused, "DependenciesSatisfied"))
        .unwrap_or_default();
    ensure!(why.contains("by the install of the whole cluster"), "{why}");
    ensure!(has("ControllerAvailable", "False", "KindTaken")(Some(
        &stacks(&scene).get("redis").await?
    )));
    let stopped = |deployment: Option<&Deployment>| deployment.is_none();
    scene
        .wait(&scene.api::<Deployment>(), "redis-templates", stopped)
        .await?;
    let kept = instances.get("kept").await?;
    ensure!(kept.metadata.uid == before && kept.metadata.deletion_timestamp.is_none());
    ensure!(
        kept.metadata
            .owner_references
            .unwrap_or_default()
            .is_empty(),
        "it is the other's"
    );
    let crds = definitions(scene.client());
    let crd = format!("redises.{}", scene.group());
    let owner = |crd: &DynamicObject| {
        crd.metadata.annotations.clone().unwrap_or_default()["stacks.crossplane.io/spec-owner"]
            .clone()
    };
    ensure!(owner(&crds.get(&crd).await?) == format!("ClusterStackInstall/{name}"));

    // It resumes when the other goes, and the instance stays.
    let uid = wide.get(&name).await?.metadata.uid.unwrap_or_default();
    wide.delete(&name, &DeleteParams::default()).await?;
    scene.wait(&wide, &name, is_deleted(&uid)).await?;
    scene
        .wait(&installs, "redis", has("Ready", "True", ""))
        .await?;
    ensure!(instances.get("kept").await?.metadata.uid == before);
    ensure!(owner(&crds.get(&crd).await?) == format!("StackInstall/{}/redis", scene.namespace()));
    Ok(())
}

/// A Stack for the scene's own kind `Shop`, with a drawn password, and a Service with this port and
/// more in its metadata.
async fn shops(scene: &Scene<'_>, name: &str, port: u16, more: &str) -> Result<()> {
    stacks(scene)
        .create(
            &PostParams::default(),
            &shop_stack(scene, name, port, more)?,
        )
        .await?;
    Ok(())
}

fn shop_stack(scene: &Scene<'_>, name: &str, port: u16, more: &str) -> Result<DynamicObject> {
    let group = scene.group();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .metadata.name }}'}\n\
                  data: {password: '{{ randAlphaNum 16 | b64enc }}'}\n";
    let service = format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: '{{{{ .metadata.name }}}}'{more}}}\n\
         spec: {{selector: {{app: shop}}, ports: [{{port: {port}}}]}}\n"
    );
    let stack = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "metadata": { "name": name },
        "spec": {
            "customresourcedefinitions": [{ "kind": "Shop", "apiVersion": format!("{group}/v1") }],
            "dependsOn": [{ "crd": "secret/v1" }, { "crd": "service/v1" }],
            "templates": { format!("shop.{group}/v1"): { "secret": secret, "service": service } },
        },
    });
    Ok(serde_json::from_value(stack)?)
}

pub async fn a_stack_that_may_not_run_is_in_nobodys_way(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("blocked").await?;
    scene
        .install_crd(&scene.crd("Shop", &json!({ "type": "object" })))
        .await?;
    let mut never = shop_stack(&scene, "a-never", 80, "")?;
    never.data["spec"]["dependsOn"] = json!([{ "crd": "role.rbac.authorization.k8s.io/v1" }]);
    stacks(&scene)
        .create(&PostParams::default(), &never)
        .await?;
    scene
        .wait(
            &stacks(&scene),
            "a-never",
            has("Ready", "False", "NotAllowed"),
        )
        .await?;
    shops(&scene, "b-good", 80, "").await?;
    scene
        .wait(&stacks(&scene), "b-good", has("Ready", "True", ""))
        .await?;
    // Once it may, the one that serves by now goes on.
    let depends =
        json!({ "spec": { "dependsOn": [{ "crd": "secret/v1" }, { "crd": "service/v1" }] } });
    stacks(&scene)
        .patch("a-never", &PatchParams::default(), &Patch::Merge(depends))
        .await?;
    scene
        .wait(
            &stacks(&scene),
            "a-never",
            has("Ready", "False", "KindTaken"),
        )
        .await?;
    let good = stacks(&scene).get("b-good").await?;
    ensure!(
        has("Ready", "True", "")(Some(&good)),
        "{:?}",
        good.data["status"]
    );
    Ok(())
}

/// Deletes a Stack that keeps its instances.
async fn leave(scene: &Scene<'_>, name: &str) -> Result<()> {
    let keep =
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/keep-crds": "true" } } });
    stacks(scene)
        .patch(name, &PatchParams::default(), &Patch::Merge(keep))
        .await?;
    let uid = stacks(scene)
        .get(name)
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    stacks(scene).delete(name, &DeleteParams::default()).await?;
    scene.wait(&stacks(scene), name, is_deleted(&uid)).await?;
    Ok(())
}

/// Whether a Service has these ports, and no others.
fn opens(ports: &'static [i32]) -> impl Fn(Option<&Service>) -> bool {
    move |service| {
        let spec = service
            .and_then(|service| service.spec.clone())
            .unwrap_or_default();
        spec.ports
            .unwrap_or_default()
            .iter()
            .map(|port| port.port)
            .eq(ports.iter().copied())
    }
}

pub async fn a_takeover_keeps_drawn_values_and_takes_away_what_templates_no_longer_say(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("heirs").await?;
    let schema = json!({ "type": "object" });
    scene.install_crd(&scene.crd("Shop", &schema)).await?;
    let (services, secrets) = (scene.api::<Service>(), scene.api::<Secret>());
    shops(&scene, "first", 80, ", labels: {tier: front}").await?;
    scene
        .wait(&stacks(&scene), "first", has("Ready", "True", ""))
        .await?;
    let first = start_as(&scene, "first", NEVER).await?;
    let shop = json!({ "apiVersion": format!("{}/v1", scene.group()), "kind": "Shop", "metadata": { "name": "a" }, "spec": {} });
    own(&scene, "Shop")
        .create(&PostParams::default(), &serde_json::from_value(shop)?)
        .await?;
    let made = scene.wait(&services, "a", opens(&[80])).await?.unwrap();
    let labels = serde_json::from_value(json!({ "metadata": { "labels": { "theirs": "1" } } }))?;
    services
        .patch("a", &PatchParams::default(), &Patch::<Value>::Merge(labels))
        .await?;
    let password = scene
        .wait(&secrets, "a", |secret: Option<&Secret>| secret.is_some())
        .await?
        .unwrap()
        .data;

    shops(&scene, "second", 82, "").await?;
    scene
        .wait(
            &stacks(&scene),
            "second",
            has("ControllerAvailable", "False", "KindTaken"),
        )
        .await?;
    first.stop();
    leave(&scene, "first").await?;
    scene
        .wait(&stacks(&scene), "second", has("Ready", "True", ""))
        .await?;
    let second = start_as(&scene, "second", NEVER).await?;
    let service = scene.wait(&services, "a", opens(&[82])).await?.unwrap();
    let labels = service.metadata.labels.unwrap_or_default();
    ensure!(
        service.metadata.uid == made.metadata.uid
            && labels["stacks.crossplane.io/stack"] == "second",
        "{labels:?}"
    );
    ensure!(
        !labels.contains_key("tier") && labels["theirs"] == "1",
        "{labels:?}"
    );
    let is_taken = |secret: Option<&Secret>| {
        let labels = secret
            .and_then(|secret| secret.metadata.labels.clone())
            .unwrap_or_default();
        labels
            .get("stacks.crossplane.io/stack")
            .is_some_and(|stack| stack == "second")
    };
    let taken = scene.wait(&secrets, "a", is_taken).await?.unwrap();
    ensure!(taken.data == password, "what was drawn stays as it was");

    // One of the same name that serves something else leaves it to those who serve this.
    second.stop();
    leave(&scene, "second").await?;
    scene.install_crd(&scene.crd("Till", &schema)).await?;
    let mut tills = shop_stack(&scene, "second", 82, "")?;
    let text = serde_json::to_string(&tills.data)?
        .replace("Shop", "Till")
        .replace("shop.", "till.");
    tills.data = serde_json::from_str(&text)?;
    stacks(&scene)
        .create(&PostParams::default(), &tills)
        .await?;
    scene
        .wait(&stacks(&scene), "second", has("Ready", "True", ""))
        .await?;
    shops(&scene, "third", 83, "").await?;
    scene
        .wait(&stacks(&scene), "third", has("Ready", "True", ""))
        .await?;
    let third = start_as(&scene, "third", NEVER).await?;
    scene.wait(&services, "a", opens(&[83])).await?;
    ensure!(
        secrets.get("a").await?.data == password,
        "what was drawn stays as it was"
    );
    third.stop();
    leave(&scene, "third").await?;
    let uid = stacks(&scene)
        .get("second")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    stacks(&scene)
        .delete("second", &DeleteParams::default())
        .await?;
    scene
        .wait(&stacks(&scene), "second", is_deleted(&uid))
        .await?;
    shops(&scene, "second", 82, "").await?;
    scene
        .wait(&stacks(&scene), "second", has("Ready", "True", ""))
        .await?;

    // One of the same name has its own seed back, which goes with it once nothing is left that was
    // drawn from it.
    second.stop();
    let seeds: Api<Secret> = Api::namespaced(scene.client(), "cairn");
    let second_seed = api::names::seed(scene.namespace(), "second");
    let seed = seeds.get(&second_seed).await?;
    leave(&scene, "second").await?;
    let kept = seeds.get(&second_seed).await?;
    ensure!(
        kept.metadata.uid == seed.metadata.uid,
        "{:?}",
        kept.metadata
    );
    shops(&scene, "second", 82, "").await?;
    scene
        .wait(&stacks(&scene), "second", has("Ready", "True", ""))
        .await?;
    let again = seeds.get(&second_seed).await?;
    ensure!(again.metadata.uid == seed.metadata.uid && again.data == seed.data);
    let uid = stacks(&scene)
        .get("second")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    let owner = again
        .metadata
        .annotations
        .unwrap_or_default()
        .remove("stacks.crossplane.io/seed-owner");
    ensure!(owner.as_ref() == Some(&uid), "{owner:?}");
    own(&scene, "Shop")
        .delete("a", &DeleteParams::default())
        .await?;
    stacks(&scene)
        .delete("second", &DeleteParams::default())
        .await?;
    scene
        .wait(&stacks(&scene), "second", is_deleted(&uid))
        .await?;
    ensure!(
        seeds.get_opt(&second_seed).await?.is_none(),
        "it goes with what was drawn from it"
    );
    Ok(())
}
