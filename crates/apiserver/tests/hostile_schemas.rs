//! Definitions whose schemas cost more than they look: refused with a clear answer, or bounded when
//! objects are written.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use apiserver::{Options, Server};
use serde_json::{Map, Value, json};
use support::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.org/v1/namespaces/default/things";

fn definition(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.org"},
        "spec": {"group": "example.org", "scope": "Namespaced", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}]},
    })
}

fn thing(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

/// A schema of a list of numbers with a rule.
fn ruled(most: usize, rule: &str) -> Value {
    json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
        "list": {"type": "array", "maxItems": most, "items": {"type": "integer"}}}})
}

async fn serve(client: &Client, spec: &Value) {
    let (code, answer) = client.call("POST", DEFINITIONS, &definition(spec)).await;
    assert_eq!(code, 201, "{answer}");
    let end = Instant::now() + Duration::from_secs(60);
    while client.call("GET", THINGS, &Value::Null).await.0 != 200 {
        assert!(Instant::now() < end, "served");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn definitions_that_cost_too_much_are_refused_with_the_place() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let nested = (0..15).fold("true".to_owned(), |inner, index| {
        format!("[0,1,2,3,4,5,6,7,8,9].all(x{index}, {inner})")
    });
    let patterns: Map<String, Value> = (0..3_000)
        .map(|index| {
            (
                format!("f{index}"),
                json!({"type": "string", "pattern": format!(r"x{index}\pL{{200}}")}),
            )
        })
        .collect();
    for (spec, place, why) in [
        (
            ruled(10, &nested),
            "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
            "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
        ),
        (
            json!({"type": "object", "properties": patterns}),
            "spec.validation.openAPIV3Schema.properties[spec].properties[f",
            "must be a valid regular expression, but the regular expressions of this schema together take too much memory",
        ),
    ] {
        let (code, answer) = client.call("POST", DEFINITIONS, &definition(&spec)).await;
        let message = answer["message"].as_str().unwrap_or_default();
        assert_eq!(code, 422, "{message:.500}");
        let place = place.replace("spec.validation.openAPIV3Schema", "");
        assert!(
            message.contains(&place) && message.contains(why),
            "{message:.900}"
        );
    }
}

#[tokio::test]
async fn an_object_whose_rules_cost_too_much_is_refused_at_once() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    serve(&client, &ruled(20_000, "self.list.map(a, a).size() > 0")).await;
    let start = Instant::now();
    let list: Vec<usize> = (0..20_000).collect();
    let (code, answer) = client
        .call("POST", THINGS, &thing("a", &json!({ "list": list })))
        .await;
    assert_eq!(code, 422, "{answer:.500}");
    let message = answer["message"].as_str().unwrap_or_default();
    let why = "spec: Invalid value: validation rule `self.list.map(a, a).size() > 0` exceeds the cost limit";
    assert!(message.contains(why), "{message}");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let (code, answer) = client
        .call("POST", THINGS, &thing("a", &json!({"list": [1, 2]})))
        .await;
    assert_eq!(code, 201, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_take_long_hold_up_no_other_request() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Arc::new(Client::admin(&server));
    // Close to what is allowed.
    serve(
        &client,
        &ruled(700, "self.list.all(a, self.list.all(b, a >= 0 && b >= 0))"),
    )
    .await;
    let answered = async || {
        let start = Instant::now();
        assert_eq!(client.call("GET", "/healthz", &Value::Null).await.0, 200);
        assert_eq!(
            client
                .call("GET", "/api/v1/namespaces/default", &Value::Null)
                .await
                .0,
            200
        );
        start.elapsed()
    };
    let mut usual = Vec::new();
    for _ in 0..20 {
        usual.push(answered().await);
    }
    usual.sort();
    let list: Vec<usize> = (0..700).collect();
    let writes: Vec<_> = (0..4)
        .map(|index| {
            let (client, object) = (
                client.clone(),
                thing(&format!("t{index}"), &json!({ "list": list })),
            );
            tokio::spawn(async move { client.call("POST", THINGS, &object).await })
        })
        .collect();
    let mut during = Vec::new();
    while !writes.iter().all(tokio::task::JoinHandle::is_finished) {
        during.push(answered().await);
        tokio::task::yield_now().await;
    }
    for write in writes {
        let (code, answer) = write.await.unwrap();
        assert_eq!(code, 201, "{answer:.500}");
    }
    assert!(
        during.len() > 10,
        "{} requests were answered meanwhile",
        during.len()
    );
    during.sort();
    let (usual, during) = (usual[usual.len() / 2], during[during.len() / 2]);
    assert!(
        during < usual + Duration::from_millis(100),
        "{during:?} instead of {usual:?}"
    );
}
