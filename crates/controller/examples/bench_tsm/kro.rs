//! The same load for kro: the same kind with the same three children, described in its own words.

use std::process::Stdio;
use std::time::Instant;

use futures::stream::{self, StreamExt};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use crate::WORKERS;
use crate::load::{is_ready, wait_ready};
use crate::process::used;
use crate::stage::{Stage, establish, resource};

/// Puts kro's own kinds in place.
pub async fn define(client: &Client, directory: &str) {
    let files = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()));
    let definitions: Vec<Value> = files
        .map(|text| yaml::parse(&text.unwrap()).unwrap())
        .collect();
    establish(client, &definitions).await;
}

/// Runs kro, as told by the program that starts it, on a namespace of its own.
pub async fn run(client: &Client, kubeconfig: &str, program: &str, count: usize) -> Value {
    let stage = Stage::set(client, "kro-1").await;
    let mut child = tokio::process::Command::new(program)
        .env("KUBECONFIG", kubeconfig)
        .args([
            "--metrics-bind-address=127.0.0.1:0",
            "--health-probe-bind-address=127.0.0.1:0",
        ])
        .args(["--resource-graph-definition-concurrent-reconciles=1"])
        .arg(format!(
            "--dynamic-controller-concurrent-reconciles={WORKERS}"
        ))
        .args(["--client-qps=5000", "--client-burst=5000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let graphs: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &resource(
            "kro.run",
            "v1alpha1",
            "ResourceGraphDefinition",
            "resourcegraphdefinitions",
        ),
    );
    let labels = json!({ "app": "${schema.metadata.name}" });
    let graph = json!({
        "apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition", "metadata": { "name": "bench" },
        "spec": {
            "schema": {
                "apiVersion": "v1alpha1", "kind": "KroApp",
                "spec": { "image": "string", "greeting": "string" },
                "status": { "config": "${config.metadata.name}", "service": "${service.metadata.name}" },
            },
            "resources": [
                { "id": "config", "template": {
                    "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "${schema.metadata.name}-config" },
                    "data": { "greeting": "${schema.spec.greeting}" },
                } },
                { "id": "service", "template": {
                    "apiVersion": "v1", "kind": "Service", "metadata": { "name": "${schema.metadata.name}" },
                    "spec": { "clusterIP": "None", "selector": labels, "ports": [{ "name": "http", "port": 80 }] },
                } },
                { "id": "pods", "template": {
                    "apiVersion": "v1", "kind": "PodTemplate", "metadata": { "name": "${schema.metadata.name}" },
                    "template": { "metadata": { "labels": labels }, "spec": { "containers": [{
                        "name": "app", "image": "${schema.spec.image}",
                        "envFrom": [{ "configMapRef": { "name": "${config.metadata.name}" } }],
                    }] } },
                } },
            ],
        },
    });
    graphs
        .create(
            &PostParams::default(),
            &serde_json::from_value(graph).unwrap(),
        )
        .await
        .unwrap();
    let active = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| object.data["status"]["state"] == "Active")
    };
    await_condition(graphs, "bench", active).await.unwrap();
    let apps = stage.api("kro.run", "v1alpha1", "KroApp", "kroapps");
    let app = |name: &str| -> DynamicObject {
        let object = json!({
            "apiVersion": "kro.run/v1alpha1", "kind": "KroApp", "metadata": { "name": name },
            "spec": { "image": "registry.test/app:1", "greeting": "hello" },
        });
        serde_json::from_value(object).unwrap()
    };
    apps.create(&PostParams::default(), &app("warm"))
        .await
        .unwrap();
    await_condition(apps.clone(), "warm", |object: Option<&DynamicObject>| {
        object.is_some_and(is_ready)
    })
    .await
    .unwrap();
    let id = child.id().unwrap();
    let (before, begin) = (used(id), Instant::now());
    let create = stream::iter(0..count).for_each_concurrent(WORKERS, |number| {
        let (apps, object) = (&apps, app(&format!("app-{number}")));
        async move {
            apps.create(&PostParams::default(), &object).await.unwrap();
        }
    });
    tokio::join!(create, wait_ready(apps.clone(), count + 1));
    let (wall, after) = (begin.elapsed(), used(id));
    child.kill().await.unwrap();
    json!({
        "who": "kro", "wall_s": wall.as_secs_f64(), "count": count,
        "cpu_s": (after.processor - before.processor).as_secs_f64(),
        "idle_bytes": before.resident, "peak_bytes": after.peak,
    })
}
