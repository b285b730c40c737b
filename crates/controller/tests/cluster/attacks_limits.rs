//! Attacks by number: a kind whose instances make instances, and whoever creates more than is
//! served.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{InstanceLimits, Parts, TemplateStackManager};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use package::Files;
use serde_json::{Value, json};
use testkit::{Cluster, Scene, variants};

use crate::actor::{NEVER, STACK, open_kind, package_of, web};
use crate::attacks_ours::attacker;
use crate::manager::{has, manager, resource, stacks};

/// A stack whose `Web` makes what is told beside a `Db` and a config map, with limits.
async fn limited(
    scene: &Scene<'_>,
    more: &[(&str, &str)],
    limits: InstanceLimits,
) -> Result<Arc<TemplateStackManager>> {
    limited_of(scene, &package_of(scene.group(), "", more), limits).await
}

/// A stack of a package, with limits.
async fn limited_of(
    scene: &Scene<'_>,
    files: &Files,
    limits: InstanceLimits,
) -> Result<Arc<TemplateStackManager>> {
    manager(scene.cluster()).await?;
    open_kind(scene, "Db").await?;
    let (package, problems) = package::read(files);
    for crd in &package.crds {
        scene
            .install_crd(&crd.crd.object)
            .await
            .with_context(|| format!("{problems:?}"))?;
    }
    let mut stack = serde_json::to_value(&package.stack)?;
    stack["metadata"] = json!({ "name": STACK, "namespace": scene.namespace() });
    stacks(scene)
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    scene
        .wait(&stacks(scene), STACK, has("Ready", "True", ""))
        .await?;
    let client = scene
        .cluster()
        .client_for_service_account(scene.namespace(), &format!("stack-{STACK}"))
        .await?;
    let parts = Parts {
        resync: NEVER,
        limits,
        ..Parts::new(client, scene.namespace(), STACK)
    };
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

/// Another `Web`, as long as the text is not empty.
fn another(scene: &Scene<'_>, suffix: &str) -> String {
    format!(
        "{{{{ if .spec.text }}}}\napiVersion: {}/v1\nkind: Web\nmetadata: {{name: '{{{{ .metadata.name }}}}{suffix}'}}\n\
         spec: {{text: '{{{{ .spec.text }}}}'}}\n{{{{ end }}}}\n",
        scene.group()
    )
}

async fn all(webs: &Api<DynamicObject>) -> Result<Vec<DynamicObject>> {
    Ok(webs.list(&ListParams::default()).await?.items)
}

fn is_limited(object: &DynamicObject) -> bool {
    has("Synced", "False", "LimitReached")(Some(object))
}

/// Waits until the number of instances, and of those that a limit stops, is as wanted and nobody
/// works.
async fn settled(
    scene: &Scene<'_>,
    manager: &TemplateStackManager,
    webs: &Api<DynamicObject>,
    (total, limited): (usize, usize),
) -> Result<Vec<DynamicObject>> {
    let waiting = async {
        loop {
            let found = all(webs).await?;
            ensure!(found.len() <= total, "{} instances", found.len());
            let told = found.iter().filter(|object| is_limited(object)).count();
            if (found.len(), told) == (total, limited) && manager.is_idle() {
                return Ok(found);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let done = scene.within("the instances to settle", waiting).await;
    let found = all(webs).await?;
    let told = found.iter().filter(|object| is_limited(object)).count();
    done.with_context(|| format!("{} instances, {told} of them limited", found.len()))
}

pub async fn instances_that_make_two_of_themselves_end_at_the_depth(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("deep").await?;
    let (left, right) = (another(&scene, "-a"), another(&scene, "-b"));
    let limits = InstanceLimits {
        depth: 3,
        ..InstanceLimits::default()
    };
    let manager = limited(&scene, &[("left", &left), ("right", &right)], limits).await?;
    let webs = Api::namespaced_with(
        attacker(&scene).await?,
        scene.namespace(),
        &resource(scene.group(), "v1", "Web", "webs"),
    );
    webs.create(&PostParams::default(), &web(&scene, "w", "again"))
        .await?;
    // Of 1 + 2 + 4 + 8, the last make no more and say so.
    let found = settled(&scene, &manager, &webs, (15, 8)).await?;
    let told = found
        .iter()
        .find(|object| is_limited(object))
        .map(|object| object.data["status"].to_string());
    let told = told.unwrap_or_default();
    ensure!(
        told.contains("chain of more than 3 instances") && told.contains("--instance-limits"),
        "{told}"
    );
    ensure!(
        scene
            .api::<ConfigMap>()
            .get_opt("w-a-b-a-extra")
            .await?
            .is_some(),
        "all else that they make is made"
    );
    // Whoever says that an instance in the middle is the first of all is put right, and gains
    // nothing for good.
    let reset = Patch::Merge(
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/depth": "0" } } }),
    );
    webs.patch("w-a", &PatchParams::default(), &reset).await?;
    let put_right = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| {
            object
                .metadata
                .annotations
                .as_ref()
                .is_some_and(|all| all["stacks.crossplane.io/depth"] == "1")
        })
    };
    scene.wait(&webs, "w-a", put_right).await?;
    manager.stop();
    Ok(())
}

/// Another `Web`, tied to the first as its text says: owned, or to stay, and with a depth of its
/// own choice.
fn tied(scene: &Scene<'_>) -> String {
    format!(
        "{{{{ if hasPrefix \"grow\" .spec.text }}}}\napiVersion: {}/v1\nkind: Web\nmetadata:\n  \
         name: '{{{{ .metadata.name }}}}-a'\n  annotations:\n    a: b\n\
         {{{{- if contains \"orphan\" .spec.text }}}}\n    stacks.crossplane.io/deletion-policy: Orphan\n{{{{- end }}}}\n\
         {{{{- if contains \"claim\" .spec.text }}}}\n    stacks.crossplane.io/depth: '0'\n{{{{- end }}}}\n\
         spec: {{text: {{{{ .spec.text | quote }}}}}}\n{{{{ end }}}}\n",
        scene.group()
    )
}

/// Fifty variants at once, with credentials of the namespace: every tie between an instance and the
/// one that made it, and every depth that either claims. The chain ends.
pub async fn chains_of_instances_end_at_the_depth_whatever_ties_them(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("chains").await?;
    let mut files = package_of(scene.group(), "", &[("next", &tied(&scene))]);
    files.retain(|path, _| {
        !["/db.yaml", "/extra.yaml", "/status.yaml"]
            .iter()
            .any(|end| path.ends_with(end))
    });
    let limits = InstanceLimits {
        depth: 1,
        ..InstanceLimits::default()
    };
    let manager = limited_of(&scene, &files, limits).await?;
    let webs = Api::namespaced_with(
        attacker(&scene).await?,
        scene.namespace(),
        &resource(scene.group(), "v1", "Web", "webs"),
    );
    let mut roots = Vec::new();
    for (index, mut choices) in variants() {
        let tie = *choices.pick(&["owned", "orphan", "orphan"]);
        let depth = *choices.pick(&["", "claim"]);
        let name = format!("v{index}-{}", choices.name("a", 12));
        let mut root = web(
            &scene,
            &name,
            &format!("grow-{tie}-{depth}-{}", choices.name("x", 8)),
        );
        if choices.toss() {
            let claim = choices.pick(&["0", "-7", "x", ""]).to_string();
            root.metadata.annotations =
                Some([("stacks.crossplane.io/depth".to_owned(), claim)].into());
        }
        webs.create(&PostParams::default(), &root)
            .await
            .with_context(|| format!("variant {index}"))?;
        roots.push(name);
    }
    let found = settled(&scene, &manager, &webs, (2 * roots.len(), roots.len())).await?;
    for object in &found {
        let name = object.metadata.name.clone().unwrap_or_default();
        ensure!(
            roots.contains(&name) != is_limited(object),
            "{name}: {}",
            object.data["status"]
        );
    }
    manager.stop();
    Ok(())
}

pub async fn growth_ends_at_the_number_of_instances_whatever_their_depth_says(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("wide-growth").await?;
    let (left, right) = (another(&scene, "a"), another(&scene, "b"));
    let limits = InstanceLimits {
        depth: 1000,
        instance: 100,
        namespace: 20,
        stack: 1000,
    };
    let manager = limited(&scene, &[("left", &left), ("right", &right)], limits).await?;
    let webs = Api::namespaced_with(
        attacker(&scene).await?,
        scene.namespace(),
        &resource(scene.group(), "v1", "Web", "webs"),
    );
    webs.create(&PostParams::default(), &web(&scene, "w", "again"))
        .await?;
    let ended = || async {
        loop {
            let found = all(&webs).await?;
            // Workers side by side may each make one more.
            ensure!(found.len() <= 20 + 16, "{} instances", found.len());
            if found.len() >= 20 && found.iter().any(is_limited) && manager.is_idle() {
                return Ok(found);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let grown = scene.within("the growth to end", ended()).await?;
    // Fifty more attempts: no claim of an instance about itself creates more.
    for (index, mut choices) in variants() {
        let name = choices
            .pick(&grown)
            .metadata
            .name
            .clone()
            .unwrap_or_default();
        let patch = match choices.below(3) {
            0 => {
                json!({ "metadata": { "annotations": { "stacks.crossplane.io/depth": choices.below(9).to_string() } } })
            }
            1 => {
                json!({ "metadata": { "annotations": { "stacks.crossplane.io/deletion-policy": "Orphan" } } })
            }
            _ => json!({ "spec": { "text": choices.name("again", 20) } }),
        };
        webs.patch(&name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("{index}"))?;
    }
    scene.within("the growth to stay ended", ended()).await?;
    manager.stop();
    Ok(())
}

pub async fn the_oldest_instances_are_served_and_others_when_there_is_room(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("crowd").await?;
    let limits = InstanceLimits {
        namespace: 5,
        ..InstanceLimits::default()
    };
    let manager = limited(&scene, &[], limits).await?;
    let webs = Api::namespaced_with(
        attacker(&scene).await?,
        scene.namespace(),
        &resource(scene.group(), "v1", "Web", "webs"),
    );
    for index in 0..5 {
        webs.create(
            &PostParams::default(),
            &web(&scene, &format!("old-{index}"), "hello"),
        )
        .await?;
    }
    for index in 0..5 {
        scene
            .wait(&webs, &format!("old-{index}"), has("Ready", "True", ""))
            .await?;
    }
    // Ages are told in seconds.
    let age = |object: &DynamicObject| object.metadata.creation_timestamp.clone();
    let newest = age(&webs.get("old-4").await?);
    let mut index = 0;
    let later = async {
        loop {
            let made = webs
                .create(
                    &PostParams::default(),
                    &web(&scene, &format!("try-{index}"), "hello"),
                )
                .await?;
            if age(&made) > newest {
                return Ok(());
            }
            webs.delete(&format!("try-{index}"), &DeleteParams::default())
                .await?;
            index += 1;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    scene.within("another second", later).await?;
    for number in 0..8 {
        webs.create(
            &PostParams::default(),
            &web(&scene, &format!("new-{number}"), "hello"),
        )
        .await?;
    }
    let found = settled(&scene, &manager, &webs, (14, 9)).await?;
    for object in &found {
        let name = object.metadata.name.clone().unwrap_or_default();
        ensure!(name.starts_with("old-") != is_limited(object), "{name}");
    }
    let maps = scene.api::<ConfigMap>();
    ensure!(
        maps.get_opt("new-0-extra").await?.is_none(),
        "nothing is made for what is not served"
    );
    for number in 0..3 {
        webs.delete(&format!("old-{number}"), &DeleteParams::default())
            .await?;
    }
    settled(&scene, &manager, &webs, (11, 6)).await?;
    // What is not served can be deleted as anything can.
    for object in all(&webs).await? {
        webs.delete(
            &object.metadata.name.unwrap_or_default(),
            &DeleteParams::default(),
        )
        .await?;
    }
    let gone: Value = json!(0);
    scene
        .within("all instances to go", async {
            while json!(all(&webs).await?.len()) != gone {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            Ok(())
        })
        .await?;
    manager.stop();
    Ok(())
}
