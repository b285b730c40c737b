//! A status that somebody else writes into.

use std::sync::Arc;

use anyhow::{Result, ensure};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use testkit::Cluster;

use crate::actor::{is_call, own, says, web, webs};
use crate::manager::has;

pub async fn a_status_changed_by_hand_is_put_back_and_that_of_others_costs_nothing(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("wiped").await?;
    let running = webs(&scene, &[]).await?;
    let webs = own(&scene, "Web");
    let ready = |name: &'static str| {
        let (scene, webs) = (&scene, &webs);
        async move {
            webs.create(&PostParams::default(), &web(scene, name, "hello"))
                .await?;
            says(
                scene,
                &own(scene, "Db"),
                name,
                json!({ "endpoint": "db:1" }),
            )
            .await?;
            scene
                .wait(webs, name, |web: Option<&DynamicObject>| as_told(web))
                .await?;
            scene.wait(webs, name, has("Ready", "True", "")).await
        }
    };
    ready("one").await?;
    let edit = |status: serde_json::Value| Patch::Merge(json!({ "status": status }));
    for status in [
        json!(null),
        json!({ "address": "elsewhere" }),
        json!({ "address": null }),
        json!({ "conditions": [] }),
    ] {
        webs.patch_status("one", &PatchParams::default(), &edit(status))
            .await?;
        scene
            .wait(&webs, "one", |web: Option<&DynamicObject>| as_told(web))
            .await?;
        scene.wait(&webs, "one", has("Ready", "True", "")).await?;
    }

    let mark = cluster.mark()?;
    let live = webs.get("one").await?;
    let mut conditions = live.data["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    conditions.push(json!({ "type": "Theirs", "status": "True" }));
    for condition in &mut conditions {
        condition["lastTransitionTime"] = json!("2001-01-01T00:00:00Z");
    }
    webs.patch_status(
        "one",
        &PatchParams::default(),
        &edit(json!({ "conditions": conditions })),
    )
    .await?;
    // Another that came later is ready: whoever would look at the first had the time to.
    ready("two").await?;
    let is_call = is_call(&scene);
    let calls = cluster
        .requests(mark, move |request| {
            is_call(request) && request.name.starts_with("one")
        })
        .await?;
    ensure!(calls.is_empty(), "{calls:#?}");
    ensure!(has("Theirs", "True", "")(Some(&webs.get("one").await?)));
    drop(running);
    Ok(())
}

fn as_told(web: Option<&DynamicObject>) -> bool {
    web.is_some_and(|web| web.data["status"]["address"] == "db:1")
}
