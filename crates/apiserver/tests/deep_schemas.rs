//! Definitions with deep and wide schemas: serving one costs as much as it is large, and what is
//! too deep is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "../../objects/tests/support/deep.rs"]
mod deep;
mod support;

use std::time::Duration;

use apiserver::{Options, Server};
use deep::{COMPARISONS, WAYS, definition, nonlinear, pods, spent};
use serde_json::{Value, json};
use support::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const APPLY: &str = "application/apply-patch+yaml";

/// Everything that happens to a definition and its first object; answers the processor time of each
/// step.
async fn served(definition: &Value, spec: &Value) -> Vec<(&'static str, Duration)> {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let (name, plural) = (
        definition["metadata"]["name"].as_str().unwrap(),
        &definition["spec"]["names"]["plural"],
    );
    let (one, objects) = (
        format!("{DEFINITIONS}/{name}"),
        format!(
            "/apis/deep.example.org/v1/namespaces/default/{}",
            plural.as_str().unwrap()
        ),
    );
    let mut times = Vec::new();
    let mut since = spent();
    let mut lap = |what| {
        let now = spent();
        times.push((what, now.saturating_sub(since)));
        since = now;
    };
    let (code, answer) = client
        .patch(
            APPLY,
            &format!("{one}?fieldManager=a&force=true"),
            definition,
        )
        .await;
    assert_eq!(code, 201, "{answer}");
    lap("apply");
    // Served as soon as it says so: the server does it on this very thread.
    while client.call("GET", &objects, &Value::Null).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    lap("serve");
    let mut changed = definition.clone();
    changed["metadata"]["labels"] = json!({"changed": "yes"});
    assert_eq!(
        client
            .patch(APPLY, &format!("{one}?fieldManager=a"), &changed)
            .await
            .0,
        200
    );
    lap("apply again");
    let (_, mut there) = client.call("GET", &one, &Value::Null).await;
    there["metadata"]["labels"] = json!({"changed": "more"});
    assert_eq!(client.call("PUT", &one, &there).await.0, 200);
    lap("update");
    assert_eq!(
        client
            .call("GET", "/openapi/v3/apis/deep.example.org/v1", &Value::Null)
            .await
            .0,
        200
    );
    lap("openapi");
    let object = json!({
        "apiVersion": "deep.example.org/v1", "kind": definition["spec"]["names"]["kind"], "metadata": {"name": "a"}, "spec": spec,
    });
    let (code, answer) = client.call("POST", &objects, &object).await;
    assert_eq!(code, 201, "{answer}");
    lap("create");
    let (code, answer) = client
        .patch(
            APPLY,
            &format!("{objects}/a?fieldManager=b&force=true"),
            &object,
        )
        .await;
    assert_eq!(code, 200, "{answer}");
    lap("apply an object");
    let (code, answer) = client
        .patch(
            "application/merge-patch+json",
            &format!("{objects}/a"),
            &json!({"metadata": {"labels": {"a": "b"}}}),
        )
        .await;
    assert_eq!(code, 200, "{answer}");
    lap("patch");
    server.shutdown().await;
    times
}

/// The least of several runs of each step.
async fn cost(definition: &Value, spec: &Value) -> Vec<(&'static str, Duration)> {
    let mut least = served(definition, spec).await;
    for _ in 0..3 {
        for (known, (_, time)) in least.iter_mut().zip(served(definition, spec).await) {
            known.1 = known.1.min(time);
        }
    }
    least
}

/// An object that goes down to the last level of a schema of some levels.
fn object(way: &str, levels: usize) -> Value {
    (0..levels).fold(json!({"leaf": "x"}), |inner, _| match way {
        "items" => json!({"a": [inner]}),
        "keys" => json!({"l": [{"name": "n", "a": inner}]}),
        _ => json!({"a": inner}),
    })
}

fn height(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(height).max().unwrap_or_default(),
        Value::Array(items) => 1 + items.iter().map(height).max().unwrap_or_default(),
        _ => 0,
    }
}

const FLOOR: Duration = Duration::from_millis(5);

/// Fails unless twice as much of a schema costs about twice as much, at every step.
async fn assert_linear(
    what: &str,
    (small, few): (&Value, &Value),
    (large, many): (&Value, &Value),
) {
    let mut wrong = Vec::new();
    for _ in 0..COMPARISONS {
        let steps = cost(small, few)
            .await
            .into_iter()
            .zip(cost(large, many).await);
        let compared = steps.map(|((step, once), (_, twice))| {
            nonlinear(
                &format!("{step} of {what}"),
                once.max(FLOOR),
                twice.max(FLOOR),
            )
        });
        wrong = compared.flatten().collect();
        if wrong.is_empty() {
            return;
        }
    }
    panic!("{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_definition_costs_as_much_as_it_is_large() {
    for (way, grow) in WAYS {
        // JSON is read 128 levels deep, those of the definition around the schema and of its
        // managed fields included.
        let height = |levels| height(&deep::deep(grow, levels));
        let levels = (50 / (height(2) - height(1))).min(45);
        let schema = |levels| definition("a", &deep::deep(grow, levels));
        let objects = (object(way, levels), object(way, 2 * levels));
        assert_linear(
            way,
            (&schema(levels), &objects.0),
            (&schema(2 * levels), &objects.1),
        )
        .await;
    }
    let container = json!([{"name": "c", "image": "i", "env": [{"name": "e", "value": "v"}], "resources": {"limits": {"cpu": "1"}}}]);
    let spec =
        json!({"template0": {"spec": {"containers": container, "initContainers": container}}});
    assert_linear(
        "pods",
        (&definition("a", &pods(6)), &spec),
        (&definition("a", &pods(12)), &spec),
    )
    .await;
}

#[tokio::test]
async fn a_schema_over_the_limit_is_refused() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    // What JSON holds is less than the limit of schemas, and YAML holds more.
    for (levels, json, applied, words) in [
        (40, 201, 200, ""),
        (60, 400, 400, "levels deep"),
        (105, 400, 422, "schemas are nested too deeply"),
        (400, 400, 400, "exceeded max depth"),
    ] {
        let definition = definition(&format!("d{levels}"), &deep::deep(WAYS[0].1, levels));
        let (code, answer) = client.call("POST", DEFINITIONS, &definition).await;
        assert_eq!(code, json, "{levels}: {answer}");
        let one = format!(
            "{DEFINITIONS}/{}?fieldManager=a&force=true",
            definition["metadata"]["name"].as_str().unwrap()
        );
        let (code, answer) = client.patch(APPLY, &one, &definition).await;
        assert_eq!(code, applied, "{levels}: {answer}");
        assert!(
            answer["message"]
                .as_str()
                .unwrap_or_default()
                .contains(words),
            "{answer}"
        );
    }
    server.shutdown().await;
}

#[tokio::test]
async fn no_patch_makes_an_object_deeper_than_can_be_read_again() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let (code, answer) = client
        .call("POST", DEFINITIONS, &definition("open", &open))
        .await;
    assert_eq!(code, 201, "{answer}");
    let objects = "/apis/deep.example.org/v1/namespaces/default/opens";
    while client.call("GET", objects, &Value::Null).await.0 != 200 {
        tokio::task::yield_now().await;
    }
    let nested = |levels: usize| (0..levels).fold(json!("x"), |inner, _| json!({"a": inner}));
    let object = |levels| {
        json!({
            "apiVersion": "deep.example.org/v1", "kind": "Kopen", "metadata": {"name": "a"}, "spec": {"b": nested(levels)},
        })
    };
    assert_eq!(client.call("POST", objects, &object(100)).await.0, 201);
    let one = format!("{objects}/a");
    let deeper =
        json!([{"op": "copy", "from": "/spec/b", "path": format!("/spec/b{}/c", "/a".repeat(50))}]);
    for (kind, uri, patch) in [
        ("application/json-patch+json", one.clone(), &deeper),
        (
            "application/merge-patch+json",
            one.clone(),
            &json!({"spec": {"b": nested(124)}}),
        ),
        (
            APPLY,
            format!("{one}?fieldManager=b&force=true"),
            &object(200),
        ),
    ] {
        let (code, answer) = client.patch(kind, &uri, patch).await;
        assert_eq!(code, 400, "{kind}: {answer}");
        let (code, answer) = client.call("GET", &one, &Value::Null).await;
        assert_eq!((code, &answer["kind"]), (200, &json!("Kopen")), "{kind}");
    }
    server.shutdown().await;
}
