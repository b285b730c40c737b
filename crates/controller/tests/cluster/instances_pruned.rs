//! What of an instance is deleted while another child of it is refused.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::actor::{Running, own, web, webs};
use crate::manager::has;

/// There as long as the text of the instance is `both`.
const FRONT: &str = "{{- if eq .spec.text \"both\" }}\napiVersion: v1\nkind: ConfigMap\n\
                     metadata: {name: '{{ .metadata.name }}-front'}\ndata: {a: b}\n{{- end }}\n";

/// A config map that is refused unless the text of the instance is `both`.
fn picky(more: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{{{{ .metadata.name }}}}-picky'}}\n\
         data: {{'{{{{ eq .spec.text \"both\" | ternary \"fine\" \"no key!\" }}}}': x{more}}}\n"
    )
}

async fn both(scene: &Scene<'_>, picky: &str) -> Result<(Running, Api<ConfigMap>)> {
    let running = webs(scene, &[("front", FRONT), ("picky", picky)]).await?;
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, "one", "both"))
        .await?;
    scene
        .wait(&own(scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    Ok((running, scene.api()))
}

async fn say(scene: &Scene<'_>, text: &str) -> Result<()> {
    let patch = Patch::Merge(json!({ "spec": { "text": text } }));
    own(scene, "Web")
        .patch("one", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

fn gone(map: Option<&ConfigMap>) -> bool {
    map.is_none()
}

pub async fn what_is_to_go_goes_while_another_child_is_refused(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("pruned").await?;
    let (_running, maps) = both(&scene, &picky("")).await?;
    say(&scene, "one").await?;
    scene.wait(&maps, "one-front", gone).await?;
    let object = scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "ApplyFailed"),
        )
        .await?;
    let status = object.context("it is there")?.data["status"].to_string();
    ensure!(!status.contains("not deleted"), "{status}");
    ensure!(
        maps.get_opt("one-picky").await?.is_some(),
        "what is refused stays as it was"
    );
    Ok(())
}

pub async fn what_a_refused_child_may_still_need_stays_and_is_told(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("needed").await?;
    let (_running, maps) = both(
        &scene,
        &picky(", b: '{{ dig \"data\" \"a\" \"\" (.front | default dict) }}'"),
    )
    .await?;
    say(&scene, "one").await?;
    let object = scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "ApplyFailed"),
        )
        .await?;
    let conditions: Value = object.context("it is there")?.data["status"]["conditions"].clone();
    let told = "; until this is mended, not deleted: front: ConfigMap/one-front";
    ensure!(conditions.to_string().contains(told), "{conditions}");
    ensure!(
        maps.get("one-front")
            .await?
            .metadata
            .deletion_timestamp
            .is_none()
    );
    say(&scene, "both").await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    Ok(())
}
