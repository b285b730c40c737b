//! Attacks by way of removal and of wake-ups: a Stack deletes only what it really ran, independent
//! of what its spec, its status and the objects of its namespace claim; and objects of one
//! namespace reconcile nothing of another.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use package::Files;
use serde_json::{Value, json};
use testkit::{Cluster, Scene, variants};

use crate::attacks_identity::{API, attacker, bare, defined, each, removed, settled, stacks_of};
use crate::installs::{redis, redises};
use crate::instances_left::zones;
use crate::manager::{USER, has, installs, manager, package, resource, stacks};

/// A package with the kind `Redis` of a group and nothing that serves it.
fn only_kinds(group: &str) -> Files {
    let mut files = package(group, "1.0.0", &["a"], "");
    files.retain(|path, _| !path.contains("/templates/"));
    files
}

/// A StackInstall of the package that has only kinds.
fn kinds_install(scene: &Scene<'_>, name: &str) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": API, "kind": "StackInstall", "metadata": { "name": name },
        "spec": { "package": format!("{}/kinds:1.0.0", scene.namespace()) },
    }))?)
}

pub async fn a_stack_that_never_served_a_kind_deletes_none_of_its_objects(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("unserved").await?;
    // One kind that no install brought, and one that an install without templates brought.
    defined(&scene).await?;
    let group = format!("kinds.{}", scene.group());
    manager.shelf.put(
        &format!("{}/kinds", scene.namespace()),
        "1.0.0",
        only_kinds(&group),
    );
    let all = installs(&scene);
    all.create(&PostParams::default(), &kinds_install(&scene, "kinds")?)
        .await?;
    scene.wait(&all, "kinds", has("Ready", "True", "")).await?;
    let brought = scene.dynamic(scene.client(), &resource(&group, "v1", "Redis", "redises"));
    let mut one = redis(&scene, "precious");
    redises(&scene, scene.client())
        .create(&PostParams::default(), &one)
        .await?;
    if let Some(types) = one.types.as_mut() {
        types.api_version = format!("{group}/v1");
    }
    brought.create(&PostParams::default(), &one).await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "StackInstall",
        "stackinstalls",
    );
    let hers = scene.dynamic(mallory.clone(), &kind);
    let uid = all.get("kinds").await?.metadata.uid;
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, own, hers, group, uid) = (&scene, own.clone(), hers.clone(), group.clone(), uid.clone());
        async move {
            let name = format!("u{index}-{}", choices.name("", 30));
            if index % 10 == 9 {
                // An install of the same package as the first one.
                hers.create(&PostParams::default(), &kinds_install(scene, &name)?).await?;
                scene.wait(&installs(scene), &name, has("Ready", "True", "")).await?;
                let uid = hers.get(&name).await?.metadata.uid.unwrap_or_default();
                hers.delete(&name, &DeleteParams::default()).await?;
                scene.wait(&installs(scene), &name, is_deleted(&uid)).await?;
                return Ok(());
            }
            let groups = choices.shuffled(vec![scene.group().to_owned(), group]);
            let kinds: Vec<Value> = groups[..1 + choices.below(2)]
                .iter()
                .map(|group| json!({ "kind": "Redis", "apiVersion": format!("{group}/v1") }))
                .collect();
            let mut more = json!({ "customresourcedefinitions": kinds });
            if choices.toss() {
                more["dependsOn"] =
                    json!([{ "crd": *choices.pick(&["configmap/v1", "service/v1", "deployment.apps/v1"]) }]);
            }
            if choices.toss() {
                more["permissionScope"] = json!("Cluster");
            }
            let mut stack = bare(scene, &name, &more);
            if choices.toss() {
                // As if the install had made it.
                stack.metadata.owner_references = Some(vec![serde_json::from_value(json!({
                    "apiVersion": API, "kind": "StackInstall", "name": "kinds", "uid": uid, "controller": true,
                }))?]);
                stack.metadata.labels = Some(serde_json::from_value(json!({
                    "core.crossplane.io/parent-kind": "StackInstall", "core.crossplane.io/parent-name": "kinds",
                    "core.crossplane.io/parent-namespace": scene.namespace(),
                }))?);
            }
            own.create(&PostParams::default(), &stack).await?;
            let ready = scene.wait(&stacks(scene), &name, has("Ready", "True", "")).await;
            ready.with_context(|| format!("variant {index}: {name} is not refused"))?;
            if choices.toss() {
                let ran = json!({ "status": { "renderedKinds": kinds } });
                own.patch_status(&name, &PatchParams::default(), &Patch::Merge(ran)).await?;
            }
            removed(scene, &own, &name).await.with_context(|| format!("variant {index}: {name}"))
        }
    });
    each(attempts).await?;
    for instances in [&redises(&scene, scene.client()), &brought] {
        ensure!(
            instances
                .get("precious")
                .await?
                .metadata
                .deletion_timestamp
                .is_none(),
            "the instance is deleted"
        );
    }
    // What an install brought goes with it.
    let uid = all.get("kinds").await?.metadata.uid.unwrap_or_default();
    all.delete("kinds", &DeleteParams::default()).await?;
    scene.wait(&all, "kinds", is_deleted(&uid)).await?;
    let left = brought.get_opt("precious").await.ok().flatten();
    ensure!(
        left.is_none_or(|left| left.metadata.deletion_timestamp.is_some()),
        "it outlives the install"
    );
    Ok(())
}

pub async fn what_a_status_claims_is_no_reason_to_delete_anything(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("claimed").await?;
    defined(&scene).await?;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut crd = scene.crd("Zone", &open);
    crd["spec"]["scope"] = json!("Cluster");
    scene.install_crd(&crd).await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    let mark = cluster.mark()?;
    let planted = each(variants().map(|(index, mut choices)| {
        let (scene, own) = (&scene, own.clone());
        async move {
            let name = format!("c{index}-{}", choices.name("", 20));
            let more = json!({ "dependsOn": [{ "crd": "configmap/v1" }] });
            own.create(&PostParams::default(), &bare(scene, &name, &more)).await?;
            scene
                .wait(&stacks(scene), &name, has("Ready", "True", ""))
                .await
                .with_context(|| format!("variant {index}"))?;
            let uid = own.get(&name).await?.metadata.uid.unwrap_or_default();
            // An instance that the Stack ran, which has to be seen off, and what claims to be its
            // children.
            let mut instance = redis(scene, &name);
            instance.metadata.finalizers = Some(vec!["stacks.crossplane.io/children".to_owned()]);
            instance.metadata.owner_references = Some(vec![serde_json::from_value(json!({
                "apiVersion": API, "kind": "Stack", "name": name, "uid": uid, "blockOwnerDeletion": false,
            }))?]);
            let made = redises(scene, scene.client()).create(&PostParams::default(), &instance).await?;
            let owner = json!({
                "apiVersion": format!("{}/v1", scene.group()), "kind": "Redis", "name": name, "uid": made.metadata.uid,
                "controller": true, "blockOwnerDeletion": choices.toss(),
            });
            let place = format!("{}-{name}", scene.namespace());
            let zone = json!({
                "apiVersion": format!("{}/v1", scene.group()), "kind": "Zone",
                "metadata": { "name": place, "ownerReferences": [owner] },
            });
            zones(scene).create(&PostParams::default(), &serde_json::from_value(zone)?).await?;
            let secret = json!({ "metadata": { "name": name, "ownerReferences": [owner] } });
            scene.api::<Secret>().create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
            own.delete(&name, &DeleteParams::default()).await?;
            scene.wait(&stacks(scene), &name, has("Ready", "False", "Deleting")).await?;
            let kinds = choices.shuffled(vec![
                json!({ "kind": "Secret", "apiVersion": "v1" }),
                json!({ "kind": "Zone", "apiVersion": format!("{}/v1", scene.group()) }),
            ]);
            let status = *choices.pick(&["False", "Unknown"]);
            let condition = json!({ "type": "ControllerAvailable", "status": status, "reason": "Mine", "message": "" });
            let claims = json!({ "status": { "renderedKinds": kinds, "conditions": [condition] } });
            let patched = own.patch_status(&name, &PatchParams::default(), &Patch::Merge(claims)).await;
            patched.with_context(|| format!("variant {index}: it waits for its instance"))?;
            let gone = scene.wait(&stacks(scene), &name, is_deleted(&uid)).await;
            gone.with_context(|| format!("variant {index}: {name}"))?;
            Ok((index, place))
        }
    }))
    .await?;
    let mine = scene.namespace().to_owned();
    let theirs = move |request: &testkit::Request| {
        let deletes = request.user == USER && request.verb.starts_with("delete");
        deletes
            && ["secrets", "zones"].contains(&request.resource.as_str())
            && request.uri.contains(&mine)
            && !request.uri.contains("/namespaces/cairn/")
    };
    let deleted = cluster.requests(mark, theirs).await?;
    ensure!(deleted.is_empty(), "{deleted:#?}");
    for (index, name) in planted {
        ensure!(
            zones(&scene).get_opt(&name).await?.is_some(),
            "variant {index}: the zone {name} was deleted"
        );
    }
    Ok(())
}

pub async fn objects_of_one_namespace_wake_up_no_stack_of_another(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let (scene, other) = (cluster.scene("woken").await?, cluster.scene("waker").await?);
    defined(&scene).await?;
    defined(&other).await?;
    // A Stack that costs a request each time it is reconciled: a role of its name already exists.
    let theirs = format!("stack:{}:notes:system", scene.namespace());
    let role = serde_json::from_value(json!({ "metadata": { "name": theirs }, "rules": [] }))?;
    Api::<ClusterRole>::all(scene.client())
        .create(&PostParams::default(), &role)
        .await?;
    stacks(&scene)
        .create(&PostParams::default(), &bare(&scene, "notes", &json!({})))
        .await?;
    scene
        .wait(&stacks(&scene), "notes", has("Ready", "False", "Refused"))
        .await?;
    let writes = json!(["get", "create", "patch", "update"]);
    let mallory = attacker(
        &other,
        &[json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": writes })],
    )
    .await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(mallory.clone(), other.namespace());
    let real = scene
        .api::<ServiceAccount>()
        .get("stack-notes")
        .await?
        .metadata
        .annotations;
    settled(&other, "before").await?;
    let (mark, begin) = (cluster.mark()?, std::time::Instant::now());
    each(variants().map(|(index, mut choices)| {
        let (scene, accounts, real) = (&scene, accounts.clone(), real.clone());
        async move {
            let name =
                if choices.toss() { format!("stack-notes-{index}") } else { choices.name(&format!("w{index}-"), 40) };
            let mut account =
                json!({ "metadata": { "name": name, "labels": { "app.kubernetes.io/managed-by": "stack-manager" } } });
            let marks = &mut account["metadata"];
            match choices.below(3) {
                0 => {
                    marks["annotations"] =
                        json!({ "stacks.crossplane.io/created-for": format!("Stack/{}/notes", scene.namespace()) });
                }
                1 => marks["annotations"] = json!(real),
                _ => {
                    marks["labels"]["core.crossplane.io/parent-kind"] = json!("Stack");
                    marks["labels"]["core.crossplane.io/parent-name"] = json!("notes");
                    marks["labels"]["core.crossplane.io/parent-namespace"] = json!(scene.namespace());
                }
            }
            accounts.create(&PostParams::default(), &serde_json::from_value(account)?).await?;
            for round in 0..3 {
                let patch = json!({ "metadata": { "labels": { "round": format!("r{round}") } } });
                accounts.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
            }
            Ok(())
        }
    }))
    .await?;
    settled(&other, "after").await?;
    // Of a role that exists and is not its own it is asked each time.
    let reconciled = move |request: &testkit::Request| {
        request.user == USER && request.verb == "get" && request.uri.contains(&theirs)
    };
    let asked = cluster.requests(mark, reconciled).await?.len();
    // It is retried by itself, later each time.
    let allowed = 3 + begin.elapsed().as_secs() as usize;
    ensure!(
        asked <= allowed,
        "it was reconciled {asked} times, of which {allowed} are its own"
    );
    Ok(())
}
