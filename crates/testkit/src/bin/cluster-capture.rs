//! Asks a real control plane for everything it says of itself (OpenAPI, discovery, table columns,
//! first roles, version) and writes the answers, by request, as one JSON object into the file it is
//! given. `cargo xtask capture` packs them.
#![allow(clippy::print_stderr, reason = "it is its output")]

use std::{path::Path, process::ExitCode};

use anyhow::{Context, Result};
use http::Request;
use kube::Client;
use serde_json::{Map, Value};
use testkit::Cluster;

/// The wordy discovery of old, the aggregated one, and lists as tables.
const PLAIN: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let path = std::env::args_os()
        .nth(1)
        .context("the file to write is not given")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let answers = runtime.block_on(async {
        let cluster = Cluster::start().await?;
        ask_all(&cluster.admin()?).await
    })?;
    std::fs::write(&path, serde_json::to_vec(&answers)?)
        .with_context(|| format!("cannot write {}", Path::new(&path).display()))
}

async fn ask_all(client: &Client) -> Result<Value> {
    let mut answers = Map::new();
    answers.insert("version".to_owned(), ask(client, "/version", PLAIN).await?);
    answers.insert("api".to_owned(), ask(client, "/api", PLAIN).await?);
    answers.insert("apis".to_owned(), ask(client, "/apis", PLAIN).await?);
    answers.insert(
        "aggregated/api".to_owned(),
        ask(client, "/api", AGGREGATED).await?,
    );
    answers.insert(
        "aggregated/apis".to_owned(),
        ask(client, "/apis", AGGREGATED).await?,
    );
    for resource in [
        "clusterrolebindings",
        "clusterroles",
        "rolebindings",
        "roles",
    ] {
        let list = ask(
            client,
            &format!("/apis/rbac.authorization.k8s.io/v1/{resource}"),
            PLAIN,
        )
        .await?;
        answers.insert(format!("rbac/{resource}"), list);
    }
    let index = ask(client, "/openapi/v3", PLAIN).await?;
    let paths = index["paths"]
        .as_object()
        .context("the index of OpenAPI documents has no paths")?;
    for path in paths.keys() {
        let document = ask(client, &format!("/openapi/v3/{path}"), PLAIN).await?;
        answers.insert(format!("openapi/{path}"), document);
        if !serves_resources(path) {
            continue;
        }
        let resources = ask(client, &format!("/{path}"), PLAIN).await?;
        for resource in resources["resources"].as_array().into_iter().flatten() {
            let listed = resource["verbs"]
                .as_array()
                .is_some_and(|verbs| verbs.iter().any(|verb| verb == "list"));
            let name = resource["name"].as_str().unwrap_or_default();
            if listed {
                let table = ask(client, &format!("/{path}/{name}?limit=1"), TABLE).await?;
                answers.insert(
                    format!("table/{path}/{name}"),
                    table["columnDefinitions"].clone(),
                );
            }
        }
        answers.insert(format!("resources/{path}"), resources);
    }
    Ok(Value::Object(answers))
}

/// Whether a document is of a group's version: `api/v1` and `apis/GROUP/VERSION`.
fn serves_resources(path: &str) -> bool {
    path.split('/').count() == if path.starts_with("apis/") { 3 } else { 2 }
        && path.starts_with("api")
}

async fn ask(client: &Client, path: &str, accept: &str) -> Result<Value> {
    let request = Request::get(path)
        .header("Accept", accept)
        .body(Vec::new())?;
    let text = client
        .request_text(request)
        .await
        .with_context(|| format!("no answer to GET {path}"))?;
    serde_json::from_str(&text).with_context(|| format!("GET {path} is answered with no JSON"))
}
