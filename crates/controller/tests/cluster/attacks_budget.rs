//! Templates that cost too much, by somebody who may write a Stack and instances, and nothing else: their own stack says
//! so, and whatever else its controller does goes on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use engine::budget::{self, Limits};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::actor::{NEVER, STACK, own, web, webs};
use crate::manager::{has, stacks};

/// Costs as much as its instance has text.
const LARGE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                     {{ $l := until 1000 }}{{ range until (int (mul 50 (len .spec.text))) }}{{ if has -1 $l }}x{{ end }}{{ end }}\n\
                     data: {text: '{{ .spec.text }}'}\n";
/// The templates of the review, which cost much for every instance.
const ATTACKS: [&str; 3] = [
    "{{ $n := \"\" }}{{ $s := repeat 10000000 \"a\" }}{{ range until 700 }}{{ $n = sha256sum $s | trunc 10 }}{{ end }}",
    "{{ $l := until 100000 }}{{ range until 100000 }}{{ if has -1 $l }}x{{ end }}{{ end }}",
    "{{ range until 10000 }}{{ $_ := bcrypt \"x\" }}{{ end }}",
];

async fn edit(scene: &Scene<'_>, text: &str) -> Result<()> {
    let key = format!("web.{}/v1", scene.group());
    let patch = json!({ "spec": { "templates": { key: { "extra": text } } } });
    stacks(scene).patch(STACK, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

/// A controller of the stack with budgets that are reached within a second even without optimization.
async fn frugal(scene: &Scene<'_>) -> Result<Arc<TemplateStackManager>> {
    let client = scene.cluster().client_for_service_account(scene.namespace(), &format!("stack-{STACK}")).await?;
    let render = Limits { work: 60_000_000, ..budget::RENDER };
    let compile = Limits { work: 150_000_000, time: Duration::from_secs(60), ..budget::COMPILE };
    let parts = Parts { resync: NEVER, render, compile, ..Parts::new(client, scene.namespace(), STACK) };
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

fn reads(text: &'static str) -> impl Fn(Option<&ConfigMap>) -> bool {
    move |map| map.and_then(|map| map.data.as_ref()?.get("text").cloned()).as_deref() == Some(text)
}

pub async fn an_instance_over_budget_says_so_and_others_of_its_stack_go_on(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("costly").await?;
    let running = webs(&scene, &[("extra", LARGE)]).await?;
    running.manager.stop();
    let manager = frugal(&scene).await?;
    let api = own(&scene, "Web");
    api.create(&PostParams::default(), &web(&scene, "large", &"a".repeat(2_000))).await?;
    api.create(&PostParams::default(), &web(&scene, "small", "a")).await?;
    let maps: Api<ConfigMap> = scene.api();
    scene.wait(&maps, "small-extra", reads("a")).await?;
    let large = scene.wait(&api, "large", has("Synced", "False", "")).await?.context("it is there")?;
    let told = large.data["status"]["conditions"].to_string();
    ensure!(told.contains("extra.yaml:4:") && told.contains("over budget: "), "the place and the limit: {told}");
    ensure!(told.contains("of 60000000 units of work"), "what was spent: {told}");
    ensure!(maps.get_opt("large-extra").await?.is_none());

    // It is a verdict: nothing is tried again until something changes.
    let patch = Patch::Merge(json!({ "spec": { "text": "b" } }));
    api.patch("small", &PatchParams::default(), &patch).await?;
    scene.wait(&maps, "small-extra", reads("b")).await?;
    let idle = async {
        while !manager.is_idle() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), idle).await.context("the work comes to an end")?;

    api.patch("large", &PatchParams::default(), &patch).await?;
    scene.wait(&maps, "large-extra", reads("b")).await?;
    manager.stop();
    Ok(())
}

pub async fn a_stack_over_budget_says_so_and_what_it_made_stays(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("costlier").await?;
    let running = webs(&scene, &[]).await?;
    running.manager.stop();
    let manager = frugal(&scene).await?;
    let api = own(&scene, "Web");
    api.create(&PostParams::default(), &web(&scene, "one", "a")).await?;
    let maps: Api<ConfigMap> = scene.api();
    scene.wait(&maps, "one-extra", reads("a")).await?;
    for (turn, attack) in ATTACKS.iter().enumerate() {
        let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n";
        edit(&scene, &format!("{head}{attack}\ndata: {{text: '{{{{ .spec.text }}}}'}}\n")).await?;
        let told = |stack: Option<&DynamicObject>| {
            let first = stack.map(|stack| stack.data["status"]["diagnostics"][0].clone()).unwrap_or_default();
            let place = (first["template"] == "extra") && first["line"] == 4;
            let spent = first["message"].as_str().is_some_and(|message| {
                message.contains("over budget: ") && message.ends_with(" of 150000000 units of work spent")
            });
            place && spent && first["hint"] != Value::Null
        };
        scene.wait(&stacks(&scene), STACK, told).await.with_context(|| format!("attack {turn}"))?;
        ensure!(maps.get_opt("one-extra").await?.is_some(), "attack {turn}: what was made stays");
        edit(&scene, &format!("{head}data: {{text: '{{{{ .spec.text }}}}-{turn}'}}\n")).await?;
        scene
            .wait(&maps, "one-extra", move |map: Option<&ConfigMap>| {
                map.and_then(|map| map.data.as_ref()?.get("text").cloned()) == Some(format!("a-{turn}"))
            })
            .await?;
    }
    manager.stop();
    Ok(())
}
