//! Attacks on what a stack takes for its own: objects that only claim to be children are never
//! deleted, whatever their labels, names and owners say. The attacker may write config maps,
//! secrets and instances in one namespace.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Request, Scene, variants};

use crate::actor::{STACK, own, web, webs};
use crate::instances_left::{with_a_zone, zones};
use crate::instances_ways::manage;
use crate::manager::{has, stacks};
use crate::permitted::permitted;

/// A user who may do everything with config maps, secrets and the scene's own kinds in its
/// namespace, and nothing else.
pub async fn attacker(scene: &Scene<'_>) -> Result<Client> {
    let user = format!("attacker-{}", scene.namespace());
    let role = json!({
        "metadata": { "name": "attacker" },
        "rules": [
            { "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["*"] },
            { "apiGroups": [scene.group()], "resources": ["*"], "verbs": ["*"] },
        ],
    });
    scene
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    let binding = json!({
        "metadata": { "name": "attacker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attacker" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
    });
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    let client = scene.cluster().client_for_user(&user, &[])?;
    permitted(
        scene,
        &Api::<ConfigMap>::namespaced(client.clone(), scene.namespace()),
    )
    .await?;
    Ok(client)
}

/// Deletions by the account of the stack.
fn is_deletion(scene: &Scene<'_>) -> impl Fn(&Request) -> bool + use<> {
    let user = scene.service_account_user(&format!("stack-{STACK}"));
    move |request| request.user == user && request.verb.starts_with("delete")
}

async fn ready(scene: &Scene<'_>, name: &str, text: &str) -> Result<DynamicObject> {
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, name, text))
        .await?;
    scene
        .wait(&own(scene, "Web"), name, has("Ready", "True", ""))
        .await?
        .context("it is there")
}

fn text(map: Option<&ConfigMap>) -> Option<String> {
    map.and_then(|map| map.data.as_ref()?.get("text").cloned())
}

/// What an attacker makes of a child: a copy, and whether the garbage collector has a reason to
/// take it.
fn copy(original: &Value, holder: &Value, index: usize, choices: &mut Choices) -> (Value, bool) {
    let mut copy = original.clone();
    let metadata = &original["metadata"];
    let stem = *choices.pick(&[
        "one-extra-",
        "one-extr",
        "copy-of-one-extra-",
        "one-",
        "zz-",
        "0",
    ]);
    let name = format!("{}{index}", choices.name(stem, 30));
    let mut labels = metadata["labels"].clone();
    match choices.below(6) {
        0 => labels["stacks.crossplane.io/template"] = json!("db"),
        1 => labels["stacks.crossplane.io/template"] = json!("nonesuch"),
        2 => drop(
            labels
                .as_object_mut()
                .map(|all| all.remove("stacks.crossplane.io/template")),
        ),
        3 => labels["core.crossplane.io/parent-version"] = json!("v1beta1"),
        4 => labels["stacks.crossplane.io/stack"] = json!(STACK),
        _ => {}
    }
    let ours = metadata["ownerReferences"][0].clone();
    let with = |changes: Value| {
        let mut owner = ours.clone();
        for (key, value) in changes.as_object().into_iter().flatten() {
            owner[key] = value.clone();
        }
        owner
    };
    let foreign = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": holder["metadata"]["name"],
        "uid": holder["metadata"]["uid"], "controller": true,
    });
    let stale = json!({ "uid": format!("00000000-0000-4000-8000-{index:012}") });
    let (owners, is_collected) = match choices.below(6) {
        0 => (json!([foreign]), false),
        1 => (
            json!([with(
                json!({ "controller": false, "blockOwnerDeletion": false })
            )]),
            true,
        ),
        2 => (json!([with(stale)]), true),
        _ => (json!([]), false),
    };
    let mut made = json!({ "name": name, "labels": labels, "ownerReferences": owners });
    if choices.toss() {
        made["annotations"] = metadata["annotations"].clone();
    }
    if choices.below(5) == 0 {
        made["finalizers"] = json!(["example.org/keep"]);
    }
    if choices.below(5) == 0 {
        made["annotations"]["stacks.crossplane.io/deletion-policy"] =
            json!(*choices.pick(&["Orphan", "Delete"]));
    }
    copy["metadata"] = made;
    (copy, is_collected)
}

pub async fn no_copy_of_a_child_is_deleted_by_prune_rename_or_teardown(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("copies").await?;
    let _running = webs(&scene, &[]).await?;
    ready(&scene, "one", "hello").await?;
    let maps: Api<ConfigMap> = Api::namespaced(attacker(&scene).await?, scene.namespace());
    let original = serde_json::to_value(maps.get("one-extra").await?)?;
    let holder = serde_json::from_value(json!({ "metadata": { "name": "holder" } }))?;
    let holder = serde_json::to_value(maps.create(&PostParams::default(), &holder).await?)?;
    let mark = cluster.mark()?;
    let mut planted = Vec::new();
    let mut doomed = BTreeSet::new();
    for (index, mut choices) in variants() {
        let (object, is_collected) = copy(&original, &holder, index, &mut choices);
        let made = maps
            .create(
                &PostParams::default(),
                &serde_json::from_value(object.clone())?,
            )
            .await?;
        let name = made.metadata.name.clone().unwrap_or_default();
        if made.metadata.finalizers.is_some() && choices.toss() {
            maps.delete(&name, &DeleteParams::default()).await?;
        }
        if is_collected {
            doomed.insert(name);
        } else {
            planted.push((index, name, made.metadata.uid));
        }
    }
    // A change, then a rename, then the end: whatever takes a child away had a reason to.
    let key = format!("web.{}/v1", scene.group());
    let admin: Api<ConfigMap> = scene.api();
    let patch = |patch: Value| Patch::Merge(patch);
    own(&scene, "Web")
        .patch(
            "one",
            &PatchParams::default(),
            &patch(json!({ "spec": { "text": "new" } })),
        )
        .await?;
    scene
        .wait(&admin, "one-extra", |map: Option<&ConfigMap>| {
            text(map).as_deref() == Some("new")
        })
        .await?;
    let renamed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-renamed'}\n\
                   data: {text: '{{ .spec.text }}'}\n";
    let change = patch(json!({ "spec": { "templates": { &key: { "extra": renamed } } } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &change)
        .await?;
    scene
        .wait(&admin, "one-renamed", |map: Option<&ConfigMap>| {
            map.is_some()
        })
        .await?;
    scene
        .wait(&admin, "one-extra", |map: Option<&ConfigMap>| map.is_none())
        .await?;
    let gone = patch(json!({ "spec": { "templates": { &key: { "extra": null } } } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &gone)
        .await?;
    scene
        .wait(&admin, "one-renamed", |map: Option<&ConfigMap>| {
            map.is_none()
        })
        .await?;
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
    // Another that came later is ready: whoever would act on the first had the time to.
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "two", "hello"))
        .await?;
    scene
        .wait(&own(&scene, "Web"), "two", has("Ready", "True", ""))
        .await?;

    let deleted = cluster.requests(mark, is_deletion(&scene)).await?;
    let names: BTreeSet<&str> = deleted
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    let expected = BTreeSet::from(["one", "one-extra", "one-renamed"]);
    ensure!(
        names.is_subset(&expected),
        "deleted by the stack: {names:?}; doomed by their owners: {doomed:?}"
    );
    for (index, name, uid) in planted {
        let found = maps
            .get_opt(&name)
            .await?
            .with_context(|| format!("variant {index}: {name} was deleted"))?;
        ensure!(
            found.metadata.uid == uid,
            "variant {index}: {name} was recreated"
        );
    }
    Ok(())
}

/// What is planted where a template renders next, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    /// Labels name the instance: it is applied to and keeps its uid.
    Labelled,
    /// It is nobody's, or another's.
    Foreign,
    /// It is being deleted.
    Going,
}

fn plant(original: &Value, holder: &Value, name: &str, choices: &mut Choices) -> (Value, Planted) {
    let mut labels = original["metadata"]["labels"].clone();
    labels["core.crossplane.io/parent-name"] = json!(name);
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "theirs": "1", "text": "planted" },
        "metadata": { "name": format!("{name}-extra"), "labels": labels },
    });
    if choices.toss() {
        object["metadata"]["annotations"] = original["metadata"]["annotations"].clone();
    }
    let foreign = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": holder["metadata"]["name"],
        "uid": holder["metadata"]["uid"], "controller": true,
    });
    let labels = &mut object["metadata"]["labels"];
    let planted = match choices.below(8) {
        0 => {
            labels["core.crossplane.io/parent-name"] = json!(format!("{name}-other"));
            Planted::Foreign
        }
        1 => {
            labels["core.crossplane.io/parent-namespace"] = json!("elsewhere");
            Planted::Foreign
        }
        2 => {
            labels["core.crossplane.io/parent-kind"] = json!("Db");
            Planted::Foreign
        }
        3 => {
            *labels = json!({ "stacks.crossplane.io/stack": STACK, "stacks.crossplane.io/template": "extra" });
            Planted::Foreign
        }
        4 => {
            object["metadata"]["ownerReferences"] = json!([foreign]);
            Planted::Foreign
        }
        5 => {
            object["metadata"]["finalizers"] = json!(["example.org/keep"]);
            Planted::Going
        }
        _ => Planted::Labelled,
    };
    (object, planted)
}

pub async fn what_stands_where_a_template_renders_is_applied_to_or_reported_and_never_deleted(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("planted").await?;
    let _running = webs(&scene, &[]).await?;
    ready(&scene, "first", "hello").await?;
    let client = attacker(&scene).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client, scene.namespace());
    let original = serde_json::to_value(maps.get("first-extra").await?)?;
    let holder = serde_json::from_value(json!({ "metadata": { "name": "holder" } }))?;
    let holder = serde_json::to_value(maps.create(&PostParams::default(), &holder).await?)?;
    let mark = cluster.mark()?;
    let mut all = Vec::new();
    for (index, mut choices) in variants() {
        let name = format!("{}{index}", choices.name("v", 20));
        let (object, planted) = plant(&original, &holder, &name, &mut choices);
        let made = maps
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        if planted == Planted::Going {
            maps.delete(&format!("{name}-extra"), &DeleteParams::default())
                .await?;
        }
        own(&scene, "Web")
            .create(&PostParams::default(), &web(&scene, &name, "hello"))
            .await?;
        all.push((index, name, planted, made));
    }
    for (index, name, planted, made) in &all {
        let place = || format!("variant {index}: {name} {planted:?}");
        let webs = own(&scene, "Web");
        let expected = match planted {
            Planted::Labelled => has("Ready", "True", ""),
            Planted::Foreign => has("Synced", "False", "NotOurs"),
            Planted::Going => has("Synced", "False", "Deleting"),
        };
        let waited = scene.wait(&webs, name, expected).await;
        if waited.is_err() {
            let now = webs.get(name).await?.data["status"].to_string();
            waited
                .as_ref()
                .map_err(|error| anyhow::anyhow!("{}: {now}: {error}", place()))?;
        }
        let instance = waited?.with_context(place)?;
        let found = maps
            .get(&format!("{name}-extra"))
            .await
            .with_context(place)?;
        ensure!(found.metadata.uid == made.metadata.uid, "{}", place());
        match planted {
            Planted::Labelled => {
                ensure!(
                    text(Some(&found)).as_deref() == Some("hello"),
                    "{}",
                    place()
                );
                let owners = found.metadata.owner_references.unwrap_or_default();
                let uid = instance.metadata.uid.unwrap_or_default();
                ensure!(
                    owners
                        .iter()
                        .any(|own| own.controller == Some(true) && own.uid == uid),
                    "{}",
                    place()
                );
            }
            Planted::Foreign => {
                ensure!(
                    text(Some(&found)).as_deref() == Some("planted"),
                    "{}",
                    place()
                );
                ensure!(
                    found.metadata.owner_references == made.metadata.owner_references,
                    "{}",
                    place()
                );
            }
            Planted::Going => {
                ensure!(
                    text(Some(&found)).as_deref() == Some("planted"),
                    "{}",
                    place()
                );
                let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
                maps.patch(&format!("{name}-extra"), &PatchParams::default(), &free)
                    .await?;
                let healed = scene.wait(&webs, name, has("Ready", "True", "")).await;
                let now = webs.get(name).await?.data["status"].to_string();
                healed.with_context(|| format!("{}, after it went: {now}", place()))?;
            }
        }
    }
    let deleted = cluster.requests(mark, is_deletion(&scene)).await?;
    ensure!(deleted.is_empty(), "{deleted:#?}");
    Ok(())
}

pub async fn what_a_backup_tool_restored_is_applied_to_and_not_deleted(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("restored").await?;
    let _running = webs(&scene, &[]).await?;
    let (webs, maps) = (own(&scene, "Web"), scene.api::<ConfigMap>());
    let is_stale = |index: usize| index % 2 == 1;
    let names: Vec<String> = variants()
        .take(12)
        .map(|(index, _)| format!("w{index}"))
        .collect();
    let mut saved = Vec::new();
    for name in &names {
        let instance = ready(&scene, name, "hello").await?;
        saved.push((instance, maps.get(&format!("{name}-extra")).await?));
    }
    for name in &names {
        webs.delete(name, &DeleteParams::default()).await?;
    }
    for name in &names {
        scene
            .wait(&webs, name, |object: Option<&DynamicObject>| {
                object.is_none()
            })
            .await?;
        scene
            .wait(
                &maps,
                &format!("{name}-extra"),
                |map: Option<&ConfigMap>| map.is_none(),
            )
            .await?;
    }
    let mark = cluster.mark()?;
    let mut uids = Vec::new();
    for (index, (instance, child)) in saved.iter().enumerate() {
        let mut child = child.clone();
        // As tools do: all that the server wrote goes but for the references, unless they are told
        // to leave those out.
        child.metadata.uid = None;
        child.metadata.resource_version = None;
        child.metadata.managed_fields = None;
        child.metadata.creation_timestamp = None;
        if !is_stale(index) {
            child.metadata.owner_references = None;
        }
        // Whoever saw the child go before its instance may have made it once more, for the garbage
        // collector.
        let name = child.metadata.name.clone().unwrap_or_default();
        let made = loop {
            scene
                .wait(&maps, &name, |map: Option<&ConfigMap>| map.is_none())
                .await?;
            match maps.create(&PostParams::default(), &child).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                made => break made?,
            }
        };
        uids.push(made.metadata.uid);
        let name = instance.metadata.name.clone().unwrap_or_default();
        webs.create(&PostParams::default(), &web(&scene, &name, "restored"))
            .await?;
    }
    for (index, name) in names.iter().enumerate() {
        let instance = scene
            .wait(&webs, name, has("Ready", "True", ""))
            .await?
            .context("it is there")?;
        let uid = instance.metadata.uid.unwrap_or_default();
        // One whose owner is gone the garbage collector may take first; then it is created again.
        let is_right = move |map: Option<&ConfigMap>| {
            let owners = map
                .and_then(|map| map.metadata.owner_references.clone())
                .unwrap_or_default();
            text(map).as_deref() == Some("restored") && owners.len() == 1 && owners[0].uid == uid
        };
        let child = scene
            .wait(&maps, &format!("{name}-extra"), is_right)
            .await
            .context(format!("variant {index}"))?;
        let same = child.is_some_and(|child| child.metadata.uid == uids[index]);
        ensure!(
            same || is_stale(index),
            "variant {index}: {name} was recreated"
        );
    }
    let deleted = cluster.requests(mark, is_deletion(&scene)).await?;
    ensure!(deleted.is_empty(), "{deleted:#?}");
    Ok(())
}

pub async fn leftovers_are_named_in_a_condition_and_nothing_else_happens(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("named").await?;
    let _running = webs(&scene, &[]).await?;
    ready(&scene, "one", "hello").await?;
    let maps: Api<ConfigMap> = Api::namespaced(attacker(&scene).await?, scene.namespace());
    let original = serde_json::to_value(maps.get("one-extra").await?)?;
    for index in 0..7 {
        let mut copy = original.clone();
        copy["metadata"] =
            json!({ "name": format!("copy-{index}"), "labels": original["metadata"]["labels"] });
        maps.create(&PostParams::default(), &serde_json::from_value(copy)?)
            .await?;
    }
    let told = |object: Option<&DynamicObject>| {
        let conditions = object
            .map(|object| object.data["status"]["conditions"].clone())
            .unwrap_or_default();
        conditions.as_array().into_iter().flatten().any(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            one["type"] == "Synced"
                && one["status"] == "True"
                && message.contains("ConfigMap/copy-0")
                && message.contains("and 2 more")
        })
    };
    let object = scene.wait(&own(&scene, "Web"), "one", told).await?;
    ensure!(
        has("Ready", "True", "")(object.as_ref()),
        "nobody else's object makes an instance fail"
    );
    for index in 0..7 {
        maps.delete(&format!("copy-{index}"), &DeleteParams::default())
            .await?;
    }
    let silent = |object: Option<&DynamicObject>| {
        let conditions = object
            .map(|object| object.data["status"]["conditions"].clone())
            .unwrap_or_default();
        conditions
            .as_array()
            .into_iter()
            .flatten()
            .any(|one| one["type"] == "Synced" && one["message"] == "")
    };
    scene.wait(&own(&scene, "Web"), "one", silent).await?;
    Ok(())
}

pub async fn no_copy_of_a_child_outside_of_namespaces_is_deleted(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("zonecopies").await?;
    let manager = with_a_zone(&scene).await?;
    crate::instances_left::ready(&scene).await?;
    let zone = format!("{}-one", scene.namespace());
    let original = zones(&scene).get(&zone).await?;
    ensure!(
        original.metadata.owner_references.is_none(),
        "it cannot have an owner in a namespace"
    );
    let mut planted = Vec::new();
    for (index, mut choices) in variants() {
        let mut copy = original.clone();
        copy.metadata = Default::default();
        copy.metadata.name = Some(format!("{}{index}", choices.name(&format!("{zone}-"), 60)));
        copy.metadata.labels = original.metadata.labels.clone();
        copy.metadata.annotations = original.metadata.annotations.clone();
        match choices.below(4) {
            0 => copy.metadata.annotations = None,
            1 => {
                let record = (
                    "stacks.crossplane.io/record".to_owned(),
                    choices.name("", 24),
                );
                copy.metadata
                    .annotations
                    .get_or_insert_default()
                    .extend([record]);
            }
            2 => {
                let template = (
                    "stacks.crossplane.io/template".to_owned(),
                    choices.name("x", 9),
                );
                copy.metadata
                    .labels
                    .get_or_insert_default()
                    .extend([template]);
            }
            _ => {}
        }
        planted.push(zones(&scene).create(&PostParams::default(), &copy).await?);
    }
    // One that was recreated by others is theirs too, though it has the record of the one before.
    let webs = own(&scene, "Web");
    let resting = async {
        while !manager.is_idle() {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    scene.within("the manager to rest", resting).await?;
    manager.stop();
    zones(&scene)
        .delete(&zone, &DeleteParams::default())
        .await?;
    let mut again = original.clone();
    again.metadata.uid = None;
    again.metadata.resource_version = None;
    again.metadata.managed_fields = None;
    zones(&scene).create(&PostParams::default(), &again).await?;
    webs.delete("one", &DeleteParams::default()).await?;
    let manager = manage(&scene, STACK).await?;
    scene
        .wait(&webs, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    for own in planted.iter().chain([&again]) {
        let name = own.metadata.name.clone().unwrap_or_default();
        ensure!(
            zones(&scene).get_opt(&name).await?.is_some(),
            "{name} was deleted"
        );
    }
    manager.stop();
    Ok(())
}

/// A stack of the whole cluster serves both: nothing in one namespace becomes a child of an
/// instance in another.
pub async fn an_object_of_another_namespace_is_never_a_child(cluster: Arc<Cluster>) -> Result<()> {
    let (scene, other) = (cluster.scene("mine").await?, cluster.scene("theirs").await?);
    let manager = with_a_zone(&scene).await?;
    crate::instances_left::ready(&scene).await?;
    let instance = own(&scene, "Web").get("one").await?;
    let maps: Api<ConfigMap> = Api::namespaced(attacker(&other).await?, other.namespace());
    let original = serde_json::to_value(scene.api::<ConfigMap>().get("one-config").await?)?;
    let mut planted = Vec::new();
    for (index, mut choices) in variants() {
        let mut copy = original.clone();
        let name = if choices.toss() {
            format!("one-config-{index}")
        } else {
            format!("0{index}")
        };
        copy["metadata"] = json!({
            "name": name, "labels": original["metadata"]["labels"], "annotations": original["metadata"]["annotations"],
        });
        copy["data"] = json!({ "endpoint": "evil", "text": "evil" });
        if choices.toss() {
            copy["metadata"]["labels"]["stacks.crossplane.io/template"] = json!("extra");
        }
        if choices.toss() {
            copy["metadata"]["labels"]["core.crossplane.io/parent-namespace"] =
                json!(other.namespace());
        }
        planted.push(
            maps.create(&PostParams::default(), &serde_json::from_value(copy)?)
                .await?,
        );
    }
    let change = Patch::Merge(json!({ "spec": { "text": "new" } }));
    own(&scene, "Web")
        .patch("one", &PatchParams::default(), &change)
        .await?;
    let own_maps = scene.api::<ConfigMap>();
    let config = scene
        .wait(&own_maps, "one-config", |map: Option<&ConfigMap>| {
            text(map).as_deref() == Some("new")
        })
        .await?
        .context("it is there")?;
    ensure!(config.data.is_some_and(|data| data["endpoint"] == "db:1"));
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
    for map in planted {
        let name = map.metadata.name.unwrap_or_default();
        ensure!(
            maps.get_opt(&name).await?.is_some(),
            "{name} was deleted with {:?}",
            instance.metadata.uid
        );
    }
    manager.stop();
    Ok(())
}
