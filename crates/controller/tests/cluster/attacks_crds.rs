//! Attacks on CRDs of others by a user who may only write installs and Stacks of one namespace.
//! Each attack runs in many seeded variants side by side.

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, Client};
use package::Files;
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Scene, variants};

use crate::installs::code;
use crate::manager::{Manager, definitions, has, manager, resource};

/// A client of a user who may do anything with installs and Stacks of the scene's namespace, and
/// nothing else.
async fn attacker(cluster: &Cluster, scene: &Scene<'_>) -> Result<Client> {
    let name = format!("attacker-{}", scene.namespace());
    let role = json!({
        "metadata": { "name": "attacker" },
        "rules": [{
            "apiGroups": ["stacks.crossplane.io"], "verbs": ["*"],
            "resources": ["stackinstalls", "stackinstalls/status", "stacks", "stacks/status"],
        }],
    });
    scene
        .api::<Role>()
        .create(&PostParams::default(), &serde_json::from_value(role)?)
        .await?;
    let binding = json!({
        "metadata": { "name": "attacker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attacker" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name }],
    });
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    let client = cluster.client_for_user(&name, &[])?;
    let installs = installs_of(&client, scene.namespace());
    scene
        .within("the attacker's permissions", async {
            while code(&installs.list(&ListParams::default()).await) != 200 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await?;
    Ok(client)
}

fn installs_of(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "StackInstall",
        "stackinstalls",
    );
    Api::namespaced_with(client.clone(), namespace, &kind)
}

fn cluster_installs(client: &Client) -> Api<DynamicObject> {
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "ClusterStackInstall",
        "clusterstackinstalls",
    );
    Api::all_with(client.clone(), &kind)
}

fn wish(kind: &str, name: &str, package: &str, annotations: &Value) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": kind,
        "metadata": { "name": name, "annotations": annotations }, "spec": { "package": package },
    }))?)
}

/// The CRD `redises.<group>` whose spec has the field `a`, a string.
fn definition(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("redises.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "kind": "Redis", "plural": "redises", "singular": "redis" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                    "spec": { "type": "object", "properties": { "a": { "type": "string" } } },
                    "status": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                } } },
            }],
        },
    })
}

/// A package with this CRD, and a template for it unless it has only kinds.
fn package_of(crd: &Value, version: &str, scope: &str, only_kinds: bool) -> Files {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let kind = crd["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_lowercase();
    let stored = crd["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true);
    let stored = stored
        .and_then(|version| version["name"].as_str())
        .unwrap_or("v1");
    let app = format!(
        "title: Redis\nversion: {version:?}\npermissionScope: {scope}\ndependsOn: [{{crd: configmap/v1}}]\n"
    );
    let mut files = Files::from([
        (".registry/app.yaml".to_owned(), app.into_bytes()),
        (
            ".registry/resources/crd.yaml".to_owned(),
            crd.to_string().into_bytes(),
        ),
    ]);
    if !only_kinds {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .metadata.name }}'\n";
        files.insert(
            format!(".registry/templates/{kind}.{group}/{stored}/config.yaml"),
            text.as_bytes().to_vec(),
        );
    }
    files
}

/// What an attacker makes of the CRD, by number.
const CHANGES: usize = 14;

fn changed(crd: &Value, change: usize) -> Value {
    let mut crd = crd.clone();
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let spec = crd.pointer_mut(fields).unwrap();
    match change {
        0 => spec["properties"]["a"]["enum"] = json!(["evil"]),
        1 => {
            spec["properties"]["evil"] = json!({ "type": "string" });
            spec["required"] = json!(["evil"]);
        }
        2 => spec["properties"]["a"] = json!({ "type": "integer" }),
        3 => spec["properties"] = json!({ "b": { "type": "string" } }),
        4 => spec["properties"]["a"]["default"] = json!("evil"),
        5 => spec["properties"]["a"]["pattern"] = json!("^evil$"),
        6 => spec["x-kubernetes-validations"] = json!([{ "rule": "self.a == 'evil'" }]),
        7 => *spec = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
        8 => crd["spec"]["versions"][0]["name"] = json!("v2"),
        9 => {
            let mut next = crd["spec"]["versions"][0].clone();
            next["name"] = json!("v2");
            crd["spec"]["versions"][0]["storage"] = json!(false);
            crd["spec"]["versions"].as_array_mut().unwrap().push(next);
        }
        10 => crd["spec"]["names"]["kind"] = json!("Evil"),
        11 => crd["spec"]["names"]["shortNames"] = json!(["evil"]),
        12 => crd["spec"]["versions"][0]
            .as_object_mut()
            .unwrap()
            .remove("subresources")
            .map_or((), |_| ()),
        _ => crd["metadata"]["annotations"] = json!({ "stacks.crossplane.io/spec-owner": "me" }),
    }
    crd
}

/// A conversion by a webhook of the attacker's, in one of several spellings, or none.
fn convert(crd: &mut Value, spelling: usize) {
    let url = "https://evil.example.org/convert";
    let (beta, conversion) = match spelling {
        0 => {
            let config =
                json!({ "clientConfig": { "url": url }, "conversionReviewVersions": ["v1"] });
            (false, json!({ "strategy": "Webhook", "webhook": config }))
        }
        1 => {
            let config = json!({ "url": url });
            (
                true,
                json!({ "strategy": "Webhook", "webhookClientConfig": config, "conversionReviewVersions": ["v1"] }),
            )
        }
        2 => {
            let service = json!({ "service": { "namespace": "default", "name": "evil" } });
            let config = json!({ "clientConfig": service, "conversionReviewVersions": ["v1"] });
            (false, json!({ "strategy": "Webhook", "webhook": config }))
        }
        _ => return,
    };
    crd["spec"]["conversion"] = conversion;
    if beta {
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    }
}

/// Waits until an install needs no more time, and says whether it is ready, why, and everything
/// that it says.
async fn settled(
    scene: &Scene<'_>,
    installs: &Api<DynamicObject>,
    name: &str,
) -> Result<(bool, String, String)> {
    let ready = |object: &DynamicObject| {
        let all = object.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.into_iter()
            .find(|condition| condition["type"] == "Ready")
    };
    let patient = [
        "Pulling",
        "Compiling",
        "Pending",
        "Waiting",
        "Starting",
        "Deleting",
    ];
    let done = move |object: Option<&DynamicObject>| {
        let found = object.and_then(ready);
        found.is_some_and(|found| !patient.contains(&found["reason"].as_str().unwrap_or_default()))
    };
    let object = scene.wait(installs, name, done).await;
    let object = match object {
        Ok(object) => object.context("it is there")?,
        Err(error) => {
            let state = installs.get(name).await?;
            return Err(error.context(state.data["status"].to_string()));
        }
    };
    let found = ready(&object).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Ok((found["status"] == "True", text("reason"), text("message")))
}

/// One variant: what the victim has, and what the attacker makes of it.
struct Variant {
    index: usize,
    group: String,
    victim: String,
    attacker: String,
    cluster: bool,
    files: Files,
    version: String,
    package: String,
    annotations: Value,
    recreates: bool,
}

impl Variant {
    fn draw(index: usize, choices: &mut Choices, victim: &Scene<'_>, attacker: &Scene<'_>) -> Self {
        let group = format!("g{index}.{}", victim.group());
        let long = *choices.pick(&[12, 40, 63, 100, 200]);
        let name = choices.name(&format!("v{index}-"), long);
        // Names that are cut in labels may look like the victim's there.
        let same = choices.toss() || index == 0;
        let cluster = index % 4 == 3;
        let mut crd = changed(&definition(&group), index % CHANGES);
        convert(&mut crd, if index < 3 { index } else { choices.below(9) });
        let version = (*choices.pick(&["99.0.0", "v9", "1.0.0", "0.0.1", "garbage", "2.0.0-rc.1"]))
            .to_owned();
        // She may take what the victim's publisher publishes, too, or a repository of her own.
        let publisher = if choices.toss() {
            victim.namespace()
        } else {
            attacker.namespace()
        };
        let package = format!("{publisher}/evil-{index}:{version}");
        let breaking = json!({ "stacks.crossplane.io/allow-breaking-changes": "true" });
        Self {
            index,
            group,
            attacker: if same {
                name.clone()
            } else {
                choices.name(&format!("a{index}-"), long)
            },
            victim: name,
            cluster,
            files: package_of(&crd, &version, "Namespaced", choices.toss()),
            version,
            package,
            annotations: if choices.below(4) > 0 {
                breaking
            } else {
                json!({})
            },
            recreates: choices.below(4) == 0,
        }
    }

    async fn run(
        &self,
        manager: &Manager,
        victim: &Scene<'_>,
        attacker: &Scene<'_>,
        client: &Client,
    ) -> Result<()> {
        let repository = format!("{}/redis-{}", victim.namespace(), self.index);
        let scope = if self.cluster {
            "Cluster"
        } else {
            "Namespaced"
        };
        manager.shelf.put(
            &repository,
            "1.0.0",
            package_of(&definition(&self.group), "1.0.0", scope, false),
        );
        let kind = if self.cluster {
            "ClusterStackInstall"
        } else {
            "StackInstall"
        };
        let theirs = if self.cluster {
            cluster_installs(&victim.client())
        } else {
            installs_of(&victim.client(), victim.namespace())
        };
        let wished = wish(
            kind,
            &self.victim,
            &format!("{repository}:1.0.0"),
            &json!({}),
        )?;
        theirs.create(&PostParams::default(), &wished).await?;
        let (ready, _, why) = settled(victim, &theirs, &self.victim)
            .await
            .context("the victim")?;
        ensure!(ready, "the victim: {why}");
        let instances: Api<DynamicObject> = Api::namespaced_with(
            victim.client(),
            victim.namespace(),
            &resource(&self.group, "v1", "Redis", "redises"),
        );
        let instance = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Redis", "metadata": { "name": "one" }, "spec": { "a": "x" },
        });
        instances
            .create(&PostParams::default(), &serde_json::from_value(instance)?)
            .await?;
        let crds = definitions(victim.client());
        let name = format!("redises.{}", self.group);
        let before = crds.get(&name).await?.data["spec"].to_string();

        let (path, _) = self.package.rsplit_once(':').unwrap_or_default();
        manager.shelf.put(path, &self.version, self.files.clone());
        let hers = installs_of(client, attacker.namespace());
        let wished = wish(
            "StackInstall",
            &self.attacker,
            &self.package,
            &self.annotations,
        )?;
        hers.create(&PostParams::default(), &wished).await?;
        let (ready, reason, why) = settled(attacker, &hers, &self.attacker)
            .await
            .context("the attacker")?;
        let after = crds.get(&name).await?.data["spec"].to_string();
        ensure!(
            after == before,
            "the victim's CRD became {after} ({reason}: {why})"
        );
        ensure!(
            ready || (!reason.is_empty() && !why.is_empty()),
            "she is told nothing"
        );
        let update = json!({ "spec": { "a": "good" } });
        instances
            .patch("one", &PatchParams::default(), &Patch::Merge(update))
            .await
            .context("the victim's instance")?;
        if self.recreates && !self.cluster {
            let keep = json!({ "metadata": { "annotations": { "stacks.crossplane.io/keep-crds": "true" } } });
            theirs
                .patch(&self.victim, &PatchParams::default(), &Patch::Merge(keep))
                .await?;
            let uid = theirs
                .get(&self.victim)
                .await?
                .metadata
                .uid
                .unwrap_or_default();
            theirs
                .delete(&self.victim, &DeleteParams::default())
                .await?;
            victim.wait(&theirs, &self.victim, is_deleted(&uid)).await?;
            let poke = json!({ "metadata": { "annotations": { "poke": "1" } } });
            hers.patch(&self.attacker, &PatchParams::default(), &Patch::Merge(poke))
                .await?;
            let wished = wish(
                kind,
                &self.victim,
                &format!("{repository}:1.0.0"),
                &json!({}),
            )?;
            theirs.create(&PostParams::default(), &wished).await?;
            let (ready, _, why) = settled(victim, &theirs, &self.victim)
                .await
                .context("the victim again")?;
            let after = crds.get(&name).await?.data["spec"].to_string();
            ensure!(
                after == before && ready,
                "{why}: the victim's CRD became {after}"
            );
            let update = json!({ "spec": { "a": "better" } });
            instances
                .patch("one", &PatchParams::default(), &Patch::Merge(update))
                .await?;
        }
        let (ready, _, why) = settled(victim, &theirs, &self.victim).await?;
        ensure!(ready, "the victim is no longer ready: {why}");
        uninstall(&hers, &self.attacker).await?;
        uninstall(&theirs, &self.victim).await
    }
}

pub async fn no_user_of_a_namespace_changes_the_crd_of_another_install(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let victim = cluster.scene("crd-victim").await?;
    let attacker_scene = cluster.scene("crd-attacker").await?;
    let client = attacker(&cluster, &attacker_scene).await?;
    let all = variants()
        .map(|(index, mut choices)| Variant::draw(index, &mut choices, &victim, &attacker_scene));
    let (manager, victim, scene, client) = (&manager, &victim, &attacker_scene, &client);
    side_by_side(all.map(|variant| async move {
        let outcome = variant.run(manager, victim, scene, client).await;
        outcome.with_context(|| format!("variant {} ({})", variant.index, variant.index % CHANGES))
    }))
    .await
}

/// Runs variants side by side, a few at a time: every change of a CRD has the manager reconcile all
/// installs.
async fn side_by_side(
    variants: impl Iterator<Item = impl Future<Output = Result<()>>>,
) -> Result<()> {
    futures::stream::iter(variants.map(Ok))
        .try_for_each_concurrent(AT_ONCE, |variant| variant)
        .await
}

/// How many variants run at a time.
const AT_ONCE: usize = 5;

/// Has an install deleted, so that the other variants have less company.
async fn uninstall(installs: &Api<DynamicObject>, name: &str) -> Result<()> {
    installs.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// An attacker has put a CRD of this group in place before the victim came.
async fn squat(
    index: usize,
    victims: Vec<(usize, Choices)>,
    manager: &Manager,
    victim: &Scene<'_>,
    attacker: &Scene<'_>,
    client: &Client,
) -> Result<()> {
    // All changes with instances of the attacker's, and those that need the CRD to be recreated
    // also without.
    let has_instance = index < CHANGES;
    let group = format!("s{index}.{}", victim.group());
    let squatted = changed(&definition(&group), index % CHANGES);
    let evil = format!("{}/squat-{index}", attacker.namespace());
    manager.shelf.put(
        &evil,
        "1.0.0",
        package_of(&squatted, "1.0.0", "Namespaced", false),
    );
    let hers = installs_of(client, attacker.namespace());
    let name = format!("squat-{index}");
    hers.create(
        &PostParams::default(),
        &wish("StackInstall", &name, &format!("{evil}:1.0.0"), &json!({}))?,
    )
    .await?;
    let (ready, _, why) = settled(attacker, &hers, &name)
        .await
        .context("the attacker")?;
    ensure!(ready, "the first may have the group: {why}");
    let kind = squatted["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default();
    let stored = squatted["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|own| own["storage"] == true);
    let stored = stored
        .and_then(|own| own["name"].as_str())
        .unwrap_or_default();
    let of = |client: Client| -> Api<DynamicObject> {
        Api::namespaced_with(
            client,
            attacker.namespace(),
            &resource(&group, stored, kind, "redises"),
        )
    };
    let instances = of(attacker.client());
    if has_instance {
        let spec = match index % CHANGES {
            1 => json!({ "evil": "x" }),
            2 => json!({ "a": 1 }),
            _ => json!({ "a": "evil" }),
        };
        let object = json!({ "apiVersion": format!("{group}/{stored}"), "kind": kind, "metadata": { "name": "one" }, "spec": spec });
        instances
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
    }

    // The victim is not made to use what the attacker may change at any time, and is told whose it
    // is.
    let good = format!("{}/good-{index}", victim.namespace());
    manager.shelf.put(
        &good,
        "1.0.0",
        package_of(&definition(&group), "1.0.0", "Namespaced", false),
    );
    let theirs = installs_of(&victim.client(), victim.namespace());
    for (variant, mut choices) in victims {
        let long = *choices.pick(&[12, 40, 63, 100, 200]);
        let name = choices.name(&format!("v{variant}-"), long);
        let version = *choices.pick(&["1.0.0", "99.0.0", "0.0.1", "2.0.0-rc.1"]);
        let good = format!(
            "{}{}/good-{variant}",
            victim.namespace(),
            choices.pick(&["", "/sub", "-other"])
        );
        manager.shelf.put(
            &good,
            version,
            package_of(&definition(&group), version, "Namespaced", choices.toss()),
        );
        let allow = if choices.toss() { "true" } else { "false" };
        let annotations = json!({ "stacks.crossplane.io/allow-breaking-changes": allow });
        let wished = wish(
            "StackInstall",
            &name,
            &format!("{good}:{version}"),
            &annotations,
        )?;
        theirs.create(&PostParams::default(), &wished).await?;
        let (ready, reason, why) = settled(victim, &theirs, &name)
            .await
            .context("the victim")?;
        let told = reason == "CRDOwnedBy"
            && why.contains(attacker.namespace())
            && why.contains("ClusterStackInstall");
        ensure!(!ready && told, "variant {variant}: {reason}: {why}");
        uninstall(&theirs, &name).await?;
    }

    // An administrator's cluster install wins: at once where nothing breaks, else after a word
    // about what does.
    let wide = cluster_installs(&victim.client());
    manager.shelf.put(
        &good,
        "1.0.1",
        package_of(&definition(&group), "1.0.1", "Cluster", false),
    );
    let wide_name = format!("{name}-{}", victim.namespace());
    let wished = wish(
        "ClusterStackInstall",
        &wide_name,
        &format!("{good}:1.0.1"),
        &json!({}),
    )?;
    wide.create(&PostParams::default(), &wished).await?;
    let crds = definitions(victim.client());
    let crd = format!("redises.{group}");
    let (ready, reason, why) = settled(victim, &wide, &wide_name)
        .await
        .context("the administrator")?;
    if !ready {
        ensure!(has_instance && reason == "CRDConflict", "{reason}: {why}");
        ensure!(
            why.contains(&format!(
                "StackInstall {}/{name} (with instances)",
                attacker.namespace()
            )),
            "{why}"
        );
        ensure!(
            why.contains(&format!("kubectl annotate crd {crd}")),
            "{why}"
        );
        let allow = json!({ "metadata": { "annotations": { "stacks.crossplane.io/allow-breaking-changes": "true" } } });
        crds.patch(&crd, &PatchParams::default(), &Patch::Merge(allow))
            .await?;
        if [8, 9, 10].contains(&(index % CHANGES)) {
            // Neither names nor stored versions change while there are objects.
            instances.delete("one", &DeleteParams::default()).await?;
        }
    }
    victim
        .wait(&wide, &wide_name, has("Ready", "True", ""))
        .await
        .context("the administrator wins")?;
    let live = crds.get(&crd).await?;
    let annotations = live.metadata.annotations.unwrap_or_default();
    ensure!(
        annotations["stacks.crossplane.io/spec-owner"]
            == format!("ClusterStackInstall/{wide_name}")
    );
    let schema = |crd: &Value| {
        crd["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|own| own["name"] == "v1")
            .cloned()
    };
    let (live, wanted) = (
        schema(&live.data["spec"]),
        schema(&definition(&group)["spec"]),
    );
    ensure!(
        live.as_ref().map(|own| &own["schema"]) == wanted.as_ref().map(|own| &own["schema"]),
        "{live:?}"
    );
    let taken = |object: Option<&DynamicObject>| {
        let text = object
            .map(|object| object.data["status"].to_string())
            .unwrap_or_default();
        text.contains("KindTaken") || text.contains("CRDOwnedBy")
    };
    attacker
        .wait(&hers, &name, taken)
        .await
        .context("the attacker is told")?;
    uninstall(&hers, &name).await?;
    uninstall(&wide, &wide_name).await
}

pub async fn a_group_that_was_taken_first_is_given_back_by_a_cluster_install(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let victim = cluster.scene("squat-victim").await?;
    let attacker_scene = cluster.scene("squat-attacker").await?;
    let client = attacker(&cluster, &attacker_scene).await?;
    let (manager, victim_scene, scene, client) = (&manager, &victim, &attacker_scene, &client);
    // Victims share what is squatted: every CRD costs more than it tells.
    let mut victims = variants();
    let squats = (0..CHANGES).chain([CHANGES, CHANGES + 8, CHANGES + 10]);
    let squats: Vec<_> = squats
        .map(|index| (index, victims.by_ref().take(3).collect()))
        .collect();
    side_by_side(squats.into_iter().map(|(index, victims)| async move {
        let outcome = squat(index, victims, manager, victim_scene, scene, client).await;
        outcome.with_context(|| format!("change {index}"))
    }))
    .await?;

    // Another kind in the victim's group is not hers to define either.
    let group = format!("own.{}", victim.group());
    let theirs = installs_of(&victim.client(), victim.namespace());
    let good = format!("{}/own", victim.namespace());
    manager.shelf.put(
        &good,
        "1.0.0",
        package_of(&definition(&group), "1.0.0", "Namespaced", false),
    );
    theirs
        .create(
            &PostParams::default(),
            &wish("StackInstall", "own", &format!("{good}:1.0.0"), &json!({}))?,
        )
        .await?;
    let (ready, _, why) = settled(&victim, &theirs, "own").await?;
    ensure!(ready, "{why}");
    let text = definition(&group)
        .to_string()
        .replace("redises", "evils")
        .replace("Redis", "Evil")
        .replace("redis", "evil");
    let hers = installs_of(client, attacker_scene.namespace());
    let evil = format!("{}/own", attacker_scene.namespace());
    manager.shelf.put(
        &evil,
        "1.0.0",
        package_of(&serde_json::from_str(&text)?, "1.0.0", "Namespaced", false),
    );
    hers.create(
        &PostParams::default(),
        &wish("StackInstall", "own", &format!("{evil}:1.0.0"), &json!({}))?,
    )
    .await?;
    let (ready, reason, why) = settled(&attacker_scene, &hers, "own").await?;
    ensure!(
        !ready && reason == "GroupOwnedBy" && why.contains(victim.namespace()),
        "{reason}: {why}"
    );
    ensure!(
        definitions(victim.client())
            .get_opt(&format!("evils.{group}"))
            .await?
            .is_none()
    );

    uninstall(&hers, "own").await?;
    uninstall(&theirs, "own").await
}

/// A Stack that a user writes by hand for a kind, in one of several ways.
fn by_hand(group: &str, name: &str, way: usize) -> Value {
    let key = format!("redis.{group}/v1");
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}'}\n";
    let mut spec = json!({
        "title": "Mine", "customresourcedefinitions": [{ "kind": "Redis", "apiVersion": format!("{group}/v1") }],
        "dependsOn": [{ "crd": "configmap/v1" }],
    });
    match way % 4 {
        0 => spec["templateStatus"] = json!({ key: "phase: mine\n" }),
        1 => spec["templates"] = json!({ key: { "config": text } }),
        2 => {
            spec["templates"] = json!({ format!("redises.{group}/v1"): { "config": text } });
            spec["permissionScope"] = json!("Cluster");
        }
        _ => {
            let container = json!({ "name": "c", "image": "example.org/evil:1" });
            let template = json!({ "metadata": { "labels": { "app": "c" } }, "spec": { "containers": [container] } });
            let deployment =
                json!({ "selector": { "matchLabels": { "app": "c" } }, "template": template });
            spec["controller"] = json!({ "deployment": { "name": "c", "spec": deployment } });
        }
    }
    json!({ "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "metadata": { "name": name }, "spec": spec })
}

/// The attacker's Stack is there before or after the administrator's cluster install.
async fn block(
    way: usize,
    others: Vec<(usize, Choices)>,
    manager: &Manager,
    victim: &Scene<'_>,
    attacker: &Scene<'_>,
    client: &Client,
) -> Result<()> {
    let group = format!("m{way}.{}", victim.group());
    let (name, comes_first) = (format!("m{way}"), way < 4);
    let kind = resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks");
    let hers: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), attacker.namespace(), &kind);
    let repository = format!("{}/m{way}", victim.namespace());
    manager.shelf.put(
        &repository,
        "1.0.0",
        package_of(&definition(&group), "1.0.0", "Cluster", false),
    );
    let wide = cluster_installs(&victim.client());
    let wide_name = format!("{name}-{}", victim.namespace());
    let wished = wish(
        "ClusterStackInstall",
        &wide_name,
        &format!("{repository}:1.0.0"),
        &json!({}),
    )?;
    let instances: Api<DynamicObject> = Api::namespaced_with(
        victim.client(),
        attacker.namespace(),
        &resource(&group, "v1", "Redis", "redises"),
    );
    let mut before = None;
    if comes_first {
        // The kind is there by hand, so that her Stack runs.
        victim.install_crd(&definition(&group)).await?;
        hers.create(
            &PostParams::default(),
            &serde_json::from_value(by_hand(&group, &name, way))?,
        )
        .await?;
        attacker
            .wait(&hers, &name, has("Ready", "True", ""))
            .await
            .context("hers runs")?;
        let uid = hers.get(&name).await?.metadata.uid;
        let owner = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "name": name, "uid": uid, "blockOwnerDeletion": false,
        });
        let instance = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Redis", "metadata": { "name": "one", "ownerReferences": [owner] },
            "spec": { "a": "x" },
        });
        before = instances
            .create(&PostParams::default(), &serde_json::from_value(instance)?)
            .await?
            .metadata
            .uid;
    }
    wide.create(&PostParams::default(), &wished).await?;
    if !comes_first {
        victim
            .wait(&wide, &wide_name, has("Ready", "True", ""))
            .await?;
        hers.create(
            &PostParams::default(),
            &serde_json::from_value(by_hand(&group, &name, way))?,
        )
        .await?;
    }
    let ready = victim
        .wait(&wide, &wide_name, has("Ready", "True", ""))
        .await;
    let state = wide.get(&wide_name).await?.data["status"].to_string();
    ready.with_context(|| format!("the administrator waits: {state}"))?;
    attacker
        .wait(
            &hers,
            &name,
            has("ControllerAvailable", "False", "KindTaken"),
        )
        .await
        .context("she is told")?;
    // What she says of her Stack, which she may, changes nothing.
    let conditions = ["DependenciesSatisfied", "ControllerAvailable", "Ready"].map(
        |kind| json!({ "type": kind, "status": "True", "reason": "Available", "message": "", "observedGeneration": 1 }),
    );
    let status = Patch::Merge(json!({ "status": { "conditions": conditions } }));
    hers.patch_status(&name, &PatchParams::default(), &status)
        .await?;
    attacker
        .wait(
            &hers,
            &name,
            has("ControllerAvailable", "False", "KindTaken"),
        )
        .await
        .context("she is told again")?;
    // Nor does any other Stack of hers, with any name and spec.
    for (variant, mut choices) in others {
        let place = || format!("variant {variant}");
        let long = *choices.pick(&[10, 40, 63, 100]);
        let first = *choices.pick(&["a", "m", "zz"]);
        let name = choices.name(&format!("{first}{variant}-"), long);
        let mut stack = by_hand(&group, &name, choices.below(4));
        if choices.toss() {
            stack["metadata"]["finalizers"] = json!(["attacker.example.org/mine"]);
        }
        if choices.toss() {
            stack["metadata"]["labels"] =
                json!({ "core.crossplane.io/parent-kind": "ClusterStackInstall" });
        }
        hers.create(&PostParams::default(), &serde_json::from_value(stack)?)
            .await?;
        if choices.toss() {
            hers.patch_status(&name, &PatchParams::default(), &status)
                .await?;
        }
        let told = attacker
            .wait(
                &hers,
                &name,
                has("ControllerAvailable", "False", "KindTaken"),
            )
            .await;
        told.with_context(place)?;
        uninstall(&hers, &name).await?;
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        let _ = hers.patch(&name, &PatchParams::default(), &free).await;
        ensure!(
            has("Ready", "True", "")(Some(&wide.get(&wide_name).await?)),
            "{}: the administrator's goes on",
            place()
        );
    }
    ensure!(
        has("Ready", "True", "")(Some(&wide.get(&wide_name).await?)),
        "the administrator's goes on"
    );
    if before.is_some() {
        let kept = instances.get("one").await?;
        ensure!(
            kept.metadata.uid == before && kept.metadata.deletion_timestamp.is_none(),
            "nothing of hers is lost"
        );
        ensure!(
            kept.metadata
                .owner_references
                .unwrap_or_default()
                .is_empty()
        );
    }
    uninstall(&wide, &wide_name).await?;
    if before.is_some() {
        attacker
            .wait(&hers, &name, has("Ready", "True", ""))
            .await
            .context("hers resumes")?;
        ensure!(
            instances.get("one").await?.metadata.uid == before,
            "nothing of hers is lost"
        );
    }
    uninstall(&hers, &name).await
}

pub async fn no_stack_of_a_namespace_holds_up_a_cluster_install(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let victim = cluster.scene("block-victim").await?;
    let attacker_scene = cluster.scene("block-attacker").await?;
    let client = attacker(&cluster, &attacker_scene).await?;
    let (manager, scene, client) = (&manager, &attacker_scene, &client);
    let victim = &victim;
    // Her Stacks share cluster installs: every CRD costs more than it tells.
    let mut others = variants();
    let ways: Vec<_> = (0..8)
        .map(|way| (way, others.by_ref().take(7).collect()))
        .collect();
    side_by_side(ways.into_iter().map(|(way, others)| async move {
        let outcome = block(way, others, manager, victim, scene, client).await;
        outcome.with_context(|| format!("way {way}"))
    }))
    .await
}
