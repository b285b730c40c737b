//! Attacks on the identities that the stack manager creates: by users who may do everything with
//! StackInstalls and Stacks in one namespace, by stacks themselves, and by objects that were
//! planted.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Scene, variants};

use crate::installs::{code, redis, redises};
use crate::manager::{
    Shelf, USER, furnish, has, installed, installs, manager, package, resource, stacks, start,
};
use crate::permitted::permitted;

pub const API: &str = "stacks.crossplane.io/v1alpha1";
pub const RBAC: &str = "rbac.authorization.k8s.io";

/// A user who may do everything with StackInstalls and Stacks in the scene's namespace, and what
/// else is granted there.
pub async fn attacker(scene: &Scene<'_>, more: &[Value]) -> Result<Client> {
    let name = format!("mallory-{}", scene.namespace());
    let mut rules = vec![json!({
        "apiGroups": ["stacks.crossplane.io"], "resources": ["stackinstalls", "stacks", "stacks/status"], "verbs": ["*"],
    })];
    rules.extend_from_slice(more);
    let role = json!({ "metadata": { "name": "mallory" }, "rules": rules });
    scene
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    let binding = json!({
        "metadata": { "name": "mallory" }, "roleRef": { "apiGroup": RBAC, "kind": "Role", "name": "mallory" },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": name }],
    });
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    let client = scene.cluster().client_for_user(&name, &[])?;
    permitted(scene, &stacks_of(scene, &client)).await?;
    Ok(client)
}

pub fn stacks_of(scene: &Scene<'_>, client: &Client) -> Api<DynamicObject> {
    scene.dynamic(
        client.clone(),
        &resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks"),
    )
}

/// A Stack without templates that owns `Redis`: any number of them get along with each other.
pub fn bare(scene: &Scene<'_>, name: &str, more: &Value) -> DynamicObject {
    let mut spec = json!({
        "customresourcedefinitions": [{ "kind": "Redis", "apiVersion": format!("{}/v1", scene.group()) }],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let stack =
        json!({ "apiVersion": API, "kind": "Stack", "metadata": { "name": name }, "spec": spec });
    serde_json::from_value(stack).unwrap()
}

/// Runs variants, a few side by side: others use the same stack manager.
pub async fn each<T>(
    attempts: impl Iterator<Item = impl Future<Output = Result<T>>>,
) -> Result<Vec<T>> {
    stream::iter(attempts)
        .buffer_unordered(4)
        .try_collect()
        .await
}

/// Deletes a Stack, and waits until it is gone.
pub async fn removed(scene: &Scene<'_>, own: &Api<DynamicObject>, name: &str) -> Result<()> {
    let uid = stacks(scene)
        .get(name)
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    own.delete(name, &DeleteParams::default()).await?;
    scene.wait(&stacks(scene), name, is_deleted(&uid)).await?;
    Ok(())
}

/// Waits until the stack manager has looked at a Stack again: what it needs is put back.
pub async fn looked_at(scene: &Scene<'_>, name: &str) -> Result<()> {
    let own = format!("stack:{}:{name}:own", scene.namespace());
    let bindings: Api<RoleBinding> = scene.api();
    let before = bindings.get(&own).await?.metadata.uid;
    bindings.delete(&own, &DeleteParams::default()).await?;
    let is_new =
        move |found: Option<&RoleBinding>| found.is_some_and(|found| found.metadata.uid != before);
    scene.wait(&bindings, &own, is_new).await?;
    Ok(())
}

/// Puts the kind `Redis` into the cluster, which no install manages.
pub async fn defined(scene: &Scene<'_>) -> Result<()> {
    let (package, _) = package::read(&package(scene.group(), "1.0.0", &["a"], ""));
    scene.install_crd(&package.crds[0].crd.object).await?;
    Ok(())
}

/// Waits until the stack manager has seen everything that was done before: a Stack that comes last
/// gets ready.
pub async fn settled(scene: &Scene<'_>, mark: &str) -> Result<()> {
    let name = format!("settled-{mark}");
    stacks(scene)
        .create(&PostParams::default(), &bare(scene, &name, &json!({})))
        .await?;
    scene
        .wait(&stacks(scene), &name, has("Ready", "True", ""))
        .await?;
    // What was made for it is put back, so that every watch has shown what came before.
    looked_at(scene, &name).await
}

async fn account_of(scene: &Scene<'_>, stack: &str) -> Result<String> {
    let found = stacks(scene).get(stack).await?;
    Ok(found.data["status"]["serviceAccount"]
        .as_str()
        .context("the Stack names its account")?
        .to_owned())
}

fn told(object: &DynamicObject) -> String {
    object.data["status"]["conditions"].to_string()
}

pub async fn a_stacks_account_gets_no_secret_token_or_lease_that_it_did_not_ask_for(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("h1").await?;
    defined(&scene).await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    own.create(&PostParams::default(), &bare(&scene, "thief", &json!({})))
        .await?;
    own.create(&PostParams::default(), &bare(&scene, "victim", &json!({})))
        .await?;
    for name in ["thief", "victim"] {
        scene
            .wait(&stacks(&scene), name, has("Ready", "True", ""))
            .await?;
    }
    let account = account_of(&scene, "thief").await?;
    let thief = cluster
        .client_for_service_account(scene.namespace(), &account)
        .await?;
    scene.service_account("admin-of-all").await?;
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, thief) = (&scene, thief.clone());
        async move {
            let secrets: Api<Secret> = Api::namespaced(thief.clone(), scene.namespace());
            let name = choices.name("planted-", 60);
            let accounts = ["admin-of-all", "default", "stack-victim", "stack-thief"];
            let token = json!({
                "metadata": { "name": name, "annotations": { "kubernetes.io/service-account.name": choices.pick(&accounts) } },
                "type": choices.pick(&["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "Opaque"]),
            });
            let theirs = *choices.pick(&["victim-seed", "thief-seed", "some-secret"]);
            let lease: Lease = serde_json::from_value(json!({ "metadata": { "name": name } }))?;
            let leases: Api<Lease> = Api::namespaced(thief.clone(), scene.namespace());
            let maps: Api<ConfigMap> = Api::namespaced(thief.clone(), scene.namespace());
            let refused = match choices.below(8) {
                0 => code(&secrets.create(&PostParams::default(), &serde_json::from_value(token)?).await),
                1 => code(&secrets.list(&ListParams::default()).await),
                2 => code(&secrets.get(theirs).await),
                3 => code(&secrets.patch(&name, &PatchParams::apply("thief"), &Patch::Apply(&token)).await),
                4 => code(&leases.patch(&name, &PatchParams::apply("thief"), &Patch::Apply(&lease)).await),
                5 => code(&leases.list(&ListParams::default()).await),
                6 => code(&maps.list(&ListParams::default()).await),
                _ => code(&Api::<Secret>::namespaced(thief, "cairn").list(&ListParams::default()).await),
            };
            ensure!(refused == 403, "variant {index}: {refused}");
            Ok(())
        }
    });
    each(attempts).await?;
    Ok(())
}

pub async fn a_refused_stack_with_a_finalizer_of_its_users_deletes_nothing(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("h4a").await?;
    defined(&scene).await?;
    let mallory = attacker(&scene, &[]).await?;
    let wish = json!({
        "apiVersion": API, "kind": "StackInstall", "metadata": { "name": "precious" },
        "spec": { "package": "nowhere/redis:1", "paused": true },
    });
    installs(&scene)
        .create(&PostParams::default(), &serde_json::from_value(wish)?)
        .await?;
    let precious = redises(&scene, scene.client());
    precious
        .create(&PostParams::default(), &redis(&scene, "precious"))
        .await?;
    let own = stacks_of(&scene, &mallory);
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, own) = (&scene, own.clone());
        async move {
            let name = format!("s{index}-{}", choices.name("", 30));
            // Refused since stacks do not install stacks, since its kind is nobody's, or since it
            // asks for too much.
            let kinds = [("StackInstall", API.to_owned()), ("Stack", API.to_owned()), ("Redis", format!("{}/v1", scene.group()))];
            let (kind, version) = choices.pick(&kinds).clone();
            let asks = json!([{ "crd": "role.rbac.authorization.k8s.io/v1" }]);
            let mut stack = bare(scene, &name, &json!({
                "customresourcedefinitions": [{ "kind": kind, "apiVersion": version }], "dependsOn": asks,
            }));
            let finalizers = choices.shuffled(vec!["stacks.crossplane.io/stack".to_owned(), "mallory.example.org/x".to_owned()]);
            stack.metadata.finalizers = Some(finalizers[..1 + choices.below(2)].to_vec());
            own.create(&PostParams::default(), &stack).await?;
            if choices.toss() {
                let ran = json!({ "status": {
                    "serviceAccount": format!("stack-{name}"), "renderedKinds": [{ "kind": kind, "apiVersion": version }],
                    "conditions": [{ "type": "ControllerAvailable", "status": "True", "reason": "Available" }],
                } });
                own.patch_status(&name, &PatchParams::default(), &Patch::Merge(ran)).await?;
            } else {
                scene.wait(&own_view(scene), &name, has("Ready", "False", "NotAllowed")).await?;
            }
            own.delete(&name, &DeleteParams::default()).await?;
            let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
            if choices.toss() {
                let _ = own.patch(&name, &PatchParams::default(), &free).await;
            }
            Ok::<(), anyhow::Error>(())
        }
    });
    each(attempts).await?;
    settled(&scene, "h4a").await?;
    ensure!(
        installs(&scene)
            .get("precious")
            .await?
            .metadata
            .deletion_timestamp
            .is_none(),
        "the install is deleted"
    );
    ensure!(
        precious
            .get("precious")
            .await?
            .metadata
            .deletion_timestamp
            .is_none(),
        "the instance is deleted"
    );
    Ok(())
}

fn own_view(scene: &Scene<'_>) -> Api<DynamicObject> {
    stacks(scene)
}

pub async fn an_object_that_its_user_labels_as_the_managers_is_left_alone(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("h4b").await?;
    defined(&scene).await?;
    let writes = json!(["get", "create", "patch", "update"]);
    let mallory = attacker(&scene, &[
        json!({ "apiGroups": ["", "apps"], "resources": ["secrets", "serviceaccounts", "configmaps", "deployments"], "verbs": writes }),
        json!({ "apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": writes }),
    ])
    .await?;
    stacks(&scene)
        .create(&PostParams::default(), &bare(&scene, "real", &json!({})))
        .await?;
    scene
        .wait(&stacks(&scene), "real", has("Ready", "True", ""))
        .await?;
    let stack = stacks(&scene).get("real").await?;
    let copied = scene
        .api::<ServiceAccount>()
        .get(&account_of(&scene, "real").await?)
        .await?
        .metadata
        .annotations;
    let kinds = [
        ("", "Secret", "secrets"),
        ("", "ServiceAccount", "serviceaccounts"),
        (RBAC, "Role", "roles"),
    ];
    let planted = each(variants().map(|(index, mut choices)| {
        let (scene, mallory, uid, copied) = (&scene, mallory.clone(), stack.metadata.uid.clone(), copied.clone());
        async move {
            let (group, kind, plural) = *choices.pick(&kinds);
            let api = scene.dynamic(mallory, &resource(group, "v1", kind, plural));
            let name = format!("v{index}-{}", choices.name("", 40));
            let parent = (*choices.pick(&["real", "gone", "settled-h4b"])).to_owned();
            let parent_kind = *choices.pick(&["Stack", "Stack", "Namespace"]);
            let parent = if parent_kind == "Namespace" { scene.namespace().to_owned() } else { parent };
            let mut labels = json!({
                "app.kubernetes.io/managed-by": "stack-manager", "core.crossplane.io/parent-kind": parent_kind,
                "core.crossplane.io/parent-name": parent, "core.crossplane.io/parent-namespace": scene.namespace(),
                "core.crossplane.io/parent-group": "stacks.crossplane.io", "core.crossplane.io/parent-version": "v1alpha1",
            });
            let mut annotations = json!({ "stacks.crossplane.io/created-for": format!("Stack/{}/{parent}", scene.namespace()) });
            if choices.toss() {
                annotations = json!(copied);
            }
            let mut object = json!({ "apiVersion": if group.is_empty() { "v1".into() } else { format!("{group}/v1") }, "kind": kind, "metadata": { "name": name } });
            if choices.toss() {
                object["metadata"]["labels"] = labels.take();
                object["metadata"]["annotations"] = annotations.take();
            }
            if choices.toss() && parent == "real" {
                object["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": API, "kind": "Stack", "name": "real", "uid": uid, "blockOwnerDeletion": false,
                }]);
            }
            api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
            if !labels.is_null() {
                let patch = json!({ "metadata": { "labels": labels, "annotations": annotations } });
                api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await?;
            }
            Ok::<_, anyhow::Error>((index, resource(group, "v1", kind, plural), name))
        }
    }))
    .await?;
    settled(&scene, "h4b").await?;
    for (index, kind, name) in planted {
        let found = scene.dynamic(scene.client(), &kind).get_opt(&name).await?;
        let lives = found.is_some_and(|found| found.metadata.deletion_timestamp.is_none());
        ensure!(
            lives,
            "variant {index}: the {} {name} was deleted",
            kind.kind
        );
    }
    Ok(())
}

pub async fn an_account_that_exists_already_is_neither_seized_nor_deleted(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("m6").await?;
    defined(&scene).await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    let accounts: Api<ServiceAccount> = scene.api();
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, own, accounts) = (&scene, own.clone(), accounts.clone());
        async move {
            let longest = *choices.pick(&[20, 120]);
            let name = format!("n{index}-{}", choices.name("", longest));
            let theirs = format!("stack-{name}");
            let mut account = json!({ "metadata": { "name": theirs, "annotations": { "mine": "1" } } });
            if choices.toss() {
                account["metadata"]["labels"] = json!({
                    "app.kubernetes.io/managed-by": "stack-manager", "core.crossplane.io/parent-kind": "Stack",
                    "core.crossplane.io/parent-namespace": scene.namespace(), "core.crossplane.io/parent-name": "other",
                });
            }
            let before = accounts.create(&PostParams::default(), &serde_json::from_value(account)?).await?;
            own.create(&PostParams::default(), &bare(scene, &name, &json!({}))).await?;
            let ready = scene.wait(&stacks(scene), &name, has("Ready", "True", "")).await;
            ready.with_context(|| format!("variant {index}: {name}"))?;
            let used = account_of(scene, &name).await?;
            ensure!(used != theirs, "variant {index}: the account is seized");
            let binding = scene.api::<RoleBinding>().get(&format!("stack:{}:{name}:own", scene.namespace())).await?;
            let subjects = binding.subjects.unwrap_or_default();
            ensure!(subjects.len() == 1 && subjects[0].name == used, "variant {index}: {subjects:?}");
            removed(scene, &own, &name).await?;
            let after = accounts.get(&theirs).await.with_context(|| format!("variant {index}: it was deleted"))?;
            ensure!(after.metadata.labels == before.metadata.labels, "variant {index}: {:?}", after.metadata.labels);
            ensure!(after.metadata.annotations == before.metadata.annotations, "variant {index}");
            ensure!(after.metadata.owner_references.is_none() && after.metadata.uid == before.metadata.uid);
            ensure!(accounts.get_opt(&used).await?.is_none(), "variant {index}: its own account stays behind");
            Ok(())
        }
    });
    each(attempts).await?;
    Ok(())
}

pub async fn a_role_that_exists_already_is_named_in_a_condition_and_not_overwritten(
    cluster: Arc<Cluster>,
) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("m6-roles").await?;
    defined(&scene).await?;
    let roles: Api<ClusterRole> = Api::all(scene.client());
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let theirs = format!("stack:{}:hand:system", scene.namespace());
    let role = json!({ "metadata": { "name": theirs }, "rules": rules });
    let before = roles
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    stacks(&scene)
        .create(&PostParams::default(), &bare(&scene, "hand", &json!({})))
        .await?;
    let found = scene
        .wait(&stacks(&scene), "hand", has("Ready", "False", "Refused"))
        .await?
        .context("it is there")?;
    ensure!(told(&found).contains(&theirs), "{}", told(&found));
    ensure!(
        roles.get(&theirs).await?.rules == before.rules,
        "it was overwritten"
    );
    roles.delete(&theirs, &DeleteParams::default()).await?;
    // It is told, and heals.
    stacks(&scene)
        .patch(
            "hand",
            &PatchParams::default(),
            &Patch::Merge(json!({ "spec": { "title": "Again" } })),
        )
        .await?;
    scene
        .wait(&stacks(&scene), "hand", has("Ready", "True", ""))
        .await?;
    Ok(())
}

pub async fn a_planted_seed_is_never_used(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("m11").await?;
    defined(&scene).await?;
    let mallory = attacker(
        &scene,
        &[json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["*"] })],
    )
    .await?;
    let own = stacks_of(&scene, &mallory);
    let secrets: Api<Secret> = Api::namespaced(mallory.clone(), scene.namespace());
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, own, secrets) = (&scene, own.clone(), secrets.clone());
        async move {
            let name = format!("s{index}-{}", choices.name("", 40));
            let data = choices.pick(&["", "c2hvcnQ=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]).to_owned();
            let mut planted = json!({ "metadata": { "name": format!("{name}-seed") }, "data": { "seed": data } });
            if choices.toss() {
                planted["metadata"]["labels"] = json!({
                    "app.kubernetes.io/managed-by": "stack-manager", "core.crossplane.io/parent-kind": "Stack",
                    "core.crossplane.io/parent-namespace": scene.namespace(), "core.crossplane.io/parent-name": name,
                });
            }
            if choices.toss() {
                planted["metadata"]["annotations"] = json!({
                    "stacks.crossplane.io/kept-kinds": format!("Redis.{}", scene.group()),
                    "stacks.crossplane.io/kept-since": "2999-01-01T00:00:00Z",
                });
            }
            let before = secrets.create(&PostParams::default(), &serde_json::from_value(planted)?).await?;
            own.create(&PostParams::default(), &bare(scene, &name, &json!({}))).await?;
            scene
                .wait(&stacks(scene), &name, has("Ready", "True", ""))
                .await
                .with_context(|| format!("variant {index}"))?;
            let seed = Api::<Secret>::namespaced(scene.client(), "cairn")
                .get(&api::names::seed(scene.namespace(), &name))
                .await
                .with_context(|| format!("variant {index}"))?;
            let bytes = seed.data.unwrap_or_default().remove("seed").context("it has a seed")?.0;
            ensure!(bytes.len() == 32 && bytes != [0; 32], "variant {index}: the planted seed is used");
            ensure!(secrets.get(&format!("{name}-seed")).await?.metadata.uid == before.metadata.uid, "variant {index}");
            removed(scene, &own, &name).await
        }
    });
    each(attempts).await?;
    Ok(())
}

/// A name with a length around what labels, accounts and roles take.
fn long(choices: &mut Choices, index: usize) -> String {
    let length = *choices.pick(&[62, 63, 64, 70, 100, 200, 240, 253]);
    let name = format!("l{index}-{}", "x".repeat(length - 1));
    name[..length].to_owned()
}

pub async fn a_stack_with_a_long_name_runs_and_goes(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("g1").await?;
    defined(&scene).await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    let attempts = variants().map(|(index, mut choices)| {
        let (scene, own) = (&scene, own.clone());
        async move {
            let name = long(&mut choices, index);
            own.create(&PostParams::default(), &bare(scene, &name, &json!({})))
                .await?;
            scene
                .wait(&stacks(scene), &name, has("Ready", "True", ""))
                .await
                .with_context(|| format!("variant {index}"))?;
            let account = account_of(scene, &name).await?;
            let before = scene
                .api::<ServiceAccount>()
                .get(&account)
                .await?
                .metadata
                .uid;
            looked_at(scene, &name).await?;
            let after = scene
                .api::<ServiceAccount>()
                .get(&account)
                .await?
                .metadata
                .uid;
            ensure!(
                after == before,
                "variant {index}: its account was deleted and created again"
            );
            removed(scene, &own, &name).await?;
            ensure!(
                scene
                    .api::<ServiceAccount>()
                    .get_opt(&account)
                    .await?
                    .is_none(),
                "variant {index}: {account} stays"
            );
            Ok(())
        }
    });
    each(attempts).await?;
    Ok(())
}

pub async fn what_is_added_to_roles_and_bindings_is_removed(cluster: Arc<Cluster>) -> Result<()> {
    manager(&cluster).await?;
    let scene = cluster.scene("g3").await?;
    defined(&scene).await?;
    stacks(&scene)
        .create(&PostParams::default(), &bare(&scene, "hand", &json!({})))
        .await?;
    scene
        .wait(&stacks(&scene), "hand", has("Ready", "True", ""))
        .await?;
    let system = format!("stack:{}:hand:system", scene.namespace());
    let bindings: Api<RoleBinding> = scene.api();
    let wanted = bindings.get(&system).await?.subjects;
    let roles: Api<ClusterRole> = Api::all(scene.client());
    let rules = roles.get(&system).await?.rules;
    for (index, mut choices) in variants() {
        let user =
            json!({ "apiGroup": RBAC, "kind": "User", "name": choices.name("mallory-", 30) });
        let mut subjects = serde_json::to_value(&wanted)?
            .as_array()
            .cloned()
            .unwrap_or_default();
        subjects.push(user);
        let subjects = choices.shuffled(subjects);
        bindings
            .patch(
                &system,
                &PatchParams::default(),
                &Patch::Merge(json!({ "subjects": subjects })),
            )
            .await?;
        let (same, is) = (wanted.clone(), rules.clone());
        scene
            .wait(&bindings, &system, move |found: Option<&RoleBinding>| {
                found.is_some_and(|found| found.subjects == same)
            })
            .await?;
        let key = format!(
            "rbac.authorization.k8s.io/aggregate-to-{}",
            choices.pick(&["admin", "edit", "view", "cluster-reader"])
        );
        let mut more = serde_json::to_value(&rules)?
            .as_array()
            .cloned()
            .unwrap_or_default();
        more.push(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["*"] }));
        let mut patch = json!({ "metadata": { "labels": { "theirs": format!("v{index}") } } });
        if choices.toss() {
            patch["metadata"]["labels"][&key] = json!("true");
        }
        if choices.toss() {
            patch["rules"] = json!(choices.shuffled(more));
        }
        roles
            .patch(&system, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        let back = move |found: Option<&ClusterRole>| {
            found.is_some_and(|found| {
                let labels = found.metadata.labels.clone().unwrap_or_default();
                found.rules == is && !labels.contains_key(&key) && labels.contains_key("theirs")
            })
        };
        scene
            .wait(&roles, &system, back)
            .await
            .with_context(|| format!("variant {index}"))?;
    }
    Ok(())
}

pub async fn an_edited_stack_of_an_install_gets_no_permissions_by_it(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("edited").await?;
    installed(&scene, &manager, &["a"], "").await?;
    let mallory = attacker(&scene, &[]).await?;
    let own = stacks_of(&scene, &mallory);
    let before = stacks(&scene).get("redis").await?;
    let mark = cluster.mark()?;
    for (index, mut choices) in variants() {
        let crd = *choices.pick(&[
            "secret/v1",
            "pod/v1",
            "deployment.apps/v1",
            "*.example.org/v1",
            "job.batch/v1",
        ]);
        let mut patch = json!({ "spec": { "dependsOn": [{ "crd": crd }] } });
        if choices.toss() {
            patch["spec"]["templates"] =
                json!({ format!("redis.{}/v1", scene.group()): { "more": "# nothing" } });
        }
        if choices.toss() {
            let annotations = json!({ "stacks.crossplane.io/signature": choices.name("", 40) });
            patch["metadata"] = json!({ "annotations": annotations });
        }
        own.patch("redis", &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        let spec = before.data["spec"].clone();
        let back = move |found: Option<&DynamicObject>| {
            found.is_some_and(|found| found.data["spec"] == spec)
        };
        scene
            .wait(&stacks(&scene), "redis", back)
            .await
            .with_context(|| format!("variant {index}"))?;
    }
    settled(&scene, "edited").await?;
    let role = format!("stack:{}:redis:system", scene.namespace());
    let wrote = move |request: &testkit::Request| {
        let writes = ["patch", "update", "create"].contains(&request.verb.as_str());
        request.user == USER
            && writes
            && request.resource == "clusterroles"
            && request.uri.contains(&role)
    };
    let written = cluster.requests(mark, wrote).await?;
    ensure!(written.is_empty(), "its role was rewritten: {written:?}");
    Ok(())
}

pub async fn a_seed_that_is_lost_is_told_and_never_replaced_without_consent(
    _: Arc<Cluster>,
) -> Result<()> {
    // A stack manager that has seen a seed puts it back; one that is started when it is gone
    // cannot.
    let (cluster, _) = crate::mishap::fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("lost").await?;
    defined(&scene).await?;
    let shelf = Arc::new(Shelf::default());
    let first = start(&cluster, shelf.clone()).await?;
    let all = stacks(&scene);
    all.create(&PostParams::default(), &bare(&scene, "hand", &json!({})))
        .await?;
    scene.wait(&all, "hand", has("Ready", "True", "")).await?;
    redises(&scene, scene.client())
        .create(&PostParams::default(), &redis(&scene, "one"))
        .await?;
    let seeds: Api<Secret> = Api::namespaced(scene.client(), "cairn");
    let name = api::names::seed(scene.namespace(), "hand");
    let seed = seeds.get(&name).await?;
    let said = |stack: &DynamicObject| {
        stack
            .metadata
            .annotations
            .clone()
            .unwrap_or_default()
            .remove("stacks.crossplane.io/seed")
    };
    let before = said(&all.get("hand").await?);

    // Deleted before its eyes, it comes back as it was; so does what the Stack says of it.
    seeds.delete(&name, &DeleteParams::default()).await?;
    let uid = seed.metadata.uid.clone();
    let back = scene
        .wait(&seeds, &name, move |found: Option<&Secret>| {
            found.is_some_and(|found| found.metadata.uid != uid)
        })
        .await?;
    ensure!(
        back.is_some_and(|back| back.data == seed.data),
        "it is another seed"
    );
    let forged = json!({ "metadata": { "annotations": { "stacks.crossplane.io/seed": format!("{}/planted#sha256:00", scene.namespace()) } } });
    all.patch("hand", &PatchParams::default(), &Patch::Merge(forged))
        .await?;
    let same = before.clone();
    scene
        .wait(&all, "hand", move |found: Option<&DynamicObject>| {
            found.is_some_and(|found| said(found) == same)
        })
        .await?;

    // Deleted behind its back, it is not replaced.
    first.abort();
    let _ = first.await;
    let backup = seeds.get(&name).await?;
    seeds.delete(&name, &DeleteParams::default()).await?;
    let second = start(&cluster, shelf.clone()).await?;
    let told = scene
        .wait(&all, "hand", has("Ready", "False", "SeedLost"))
        .await?
        .context("it is there")?;
    ensure!(
        told.data["status"]
            .to_string()
            .contains("accept-new-seed=sha256:"),
        "{}",
        told.data["status"]
    );
    ensure!(
        seeds.get_opt(&name).await?.is_none() && said(&told) == before,
        "it was replaced"
    );
    // It can be restored.
    let mut restored = backup.clone();
    restored.metadata.resource_version = None;
    restored.metadata.uid = None;
    seeds.create(&PostParams::default(), &restored).await?;
    scene.wait(&all, "hand", has("Ready", "True", "")).await?;
    ensure!(said(&all.get("hand").await?) == before);

    // Or another is accepted, once.
    second.abort();
    let _ = second.await;
    seeds.delete(&name, &DeleteParams::default()).await?;
    let _third = start(&cluster, shelf).await?;
    scene
        .wait(&all, "hand", has("Ready", "False", "SeedLost"))
        .await?;
    let hash = before
        .as_deref()
        .and_then(|said| said.split_once('#'))
        .context("it commits to its seed")?
        .1
        .to_owned();
    let accept =
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/accept-new-seed": hash } } });
    all.patch("hand", &PatchParams::default(), &Patch::Merge(accept))
        .await?;
    scene.wait(&all, "hand", has("Ready", "True", "")).await?;
    ensure!(seeds.get(&name).await?.data != backup.data);
    Ok(())
}
