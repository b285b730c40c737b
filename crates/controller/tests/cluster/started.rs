//! What `cairn init` writes, on a cluster: the server takes its CRD and its objects, and instances
//! become ready.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use package::Files;
use scaffold::{Manifest, Names, blank, from_manifests};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::instances_examples::lives;

/// Manifests of other tests, by what they are called there.
const MANIFESTS: [(&str, &str); 4] = [
    (
        "web",
        include_str!("../../../scaffold/tests/manifests/web.yaml"),
    ),
    (
        "database",
        include_str!("../../../scaffold/tests/manifests/database.yaml"),
    ),
    (
        "several",
        include_str!("../../../scaffold/tests/manifests/several.yaml"),
    ),
    (
        "live",
        include_str!("../../../scaffold/tests/manifests/live.yaml"),
    ),
];

/// What the controllers of a cluster with nodes say of Ingresses.
fn rules() -> Result<Vec<engine::Rule>> {
    let status = json!({ "loadBalancer": { "ingress": [{ "ip": "203.0.113.7" }] } });
    Ok(serde_json::from_value(
        json!([{ "child": "ingress", "status": status }]),
    )?)
}

fn instance(files: &Files, name: &str, scene: &Scene<'_>) -> Result<Value> {
    let bytes = files.get(&format!("{name}.yaml")).context("an instance")?;
    let mut instance = yaml::parse(&String::from_utf8_lossy(bytes))?;
    instance["metadata"]["namespace"] = json!(scene.namespace());
    Ok(instance)
}

/// The part of a new stack that is a package.
fn package_of(files: &Files) -> Files {
    files
        .iter()
        .filter(|(path, _)| path.starts_with(".registry/"))
        .map(|(path, bytes)| (path.clone(), bytes.clone()))
        .collect()
}

pub async fn what_a_new_stack_begins_with_becomes_ready(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("blank").await?;
    let names = Names::new("web-shop", scene.group()).map_err(|problem| anyhow!("{problem}"))?;
    let files = blank(&names);
    let instance = instance(&files, "web-shop", &scene)?;
    lives(&scene, &package_of(&files), rules()?, vec![instance]).await
}

pub async fn what_manifests_become_is_taken_by_the_server(cluster: Arc<Cluster>) -> Result<()> {
    let one = |(name, text): (String, String)| {
        let cluster = cluster.clone();
        async move { taken(&cluster, &name, &text).await.context(name) }
    };
    let all = MANIFESTS.map(|(name, text)| (name.to_owned(), text.to_owned()));
    // The real garbage collector learns of new kinds every half minute: better once than four
    // times.
    stream::iter(all)
        .map(one)
        .buffer_unordered(4)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(())
}

async fn taken(cluster: &Cluster, name: &str, text: &str) -> Result<()> {
    let scene = cluster.scene(name).await?;
    let names = Names::new(name, scene.group()).map_err(|problem| anyhow!("{problem}"))?;
    // No stack may make accounts, and pods whose account is not there are never made.
    for account in text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("serviceAccountName: "))
    {
        let account = serde_json::from_value(json!({ "metadata": { "name": account } }))?;
        scene
            .api::<ServiceAccount>()
            .create(&PostParams::default(), &account)
            .await?;
    }
    // The real server keeps a claim until a controller that is not part of the testbed lets it go.
    let parts: Vec<&str> = text
        .split("---\n")
        .filter(|part| !part.contains("kind: PersistentVolumeClaim"))
        .collect();
    let manifest = Manifest {
        file: format!("{name}.yaml"),
        text: parts.join("---\n"),
    };
    let started =
        from_manifests(&names, &[manifest]).map_err(|problems| anyhow!("{problems:?}"))?;
    let first = instance(&started.files, name, &scene)?;
    lives(&scene, &package_of(&started.files), rules()?, vec![first]).await
}
