//! A group that somebody else in the process answers for: it is discovered, guarded by RBAC, and
//! hears who asks.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use apiserver::{Call, Extension, Options, Server, User};
use serde_json::{Value, json};
use support::Client;

/// Answers with what it heard.
fn echo() -> Extension {
    Extension {
        group: "echo.example.org".to_owned(),
        version: "v1".to_owned(),
        resources: json!({"resources": [
            {"name": "words", "singularName": "word", "namespaced": true, "kind": "Word", "verbs": ["create"]},
            {"name": "books/read", "singularName": "", "namespaced": true, "kind": "Word", "verbs": ["create"]},
        ]}),
        openapi: json!({"openapi": "3.0.0", "info": {"title": "echo", "version": "v1"}, "paths": {}}),
        handler: Arc::new(|call: Call| {
            Box::pin(async move {
                let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
                let at = call.attributes;
                let place = [at.namespace, at.resource, at.name, at.subresource].join("/");
                (
                    201,
                    json!({"user": call.user.name, "place": place, "query": call.query, "body": body}),
                )
            })
        }),
    }
}

#[tokio::test]
async fn an_extension_answers_whoever_may_ask() {
    let server = Server::start(Options {
        extensions: vec![echo()],
        ..Options::default()
    })
    .await
    .unwrap();
    let admin = Client::admin(&server);
    let words = "/apis/echo.example.org/v1/namespaces/default/words";
    let book = "/apis/echo.example.org/v1/namespaces/default/books/moby/read";
    let (code, heard) = admin
        .call("POST", &format!("{words}?a=b"), &json!({"x": 1}))
        .await;
    assert_eq!(
        (code, heard),
        (
            201,
            json!({"user": "admin", "place": "default/words//", "query": "a=b", "body": {"x": 1}})
        )
    );
    let (code, heard) = admin.call("POST", book, &json!({})).await;
    assert_eq!(
        (code, &heard["place"]),
        (201, &json!("default/books/moby/read"))
    );
    for (method, path, code) in [
        ("GET", words, 405),
        (
            "POST",
            "/apis/echo.example.org/v1/namespaces/default/books/moby",
            404,
        ),
        (
            "POST",
            "/apis/echo.example.org/v1/namespaces/default/other",
            404,
        ),
        (
            "POST",
            "/apis/echo.example.org/v2/namespaces/default/words",
            404,
        ),
    ] {
        assert_eq!(
            admin.call(method, path, &json!({})).await.0,
            code,
            "{method} {path}"
        );
    }
    let guest = Client::of(&server, User::new("guest", &[]));
    assert_eq!(guest.call("POST", words, &json!({})).await.0, 403);
}

#[tokio::test]
async fn an_extension_is_discovered_with_its_types() {
    let server = Server::start(Options {
        extensions: vec![echo()],
        ..Options::default()
    })
    .await
    .unwrap();
    let admin = Client::admin(&server);
    let get = async |path: &str| admin.call("GET", path, &Value::Null).await.1;
    let groups = get("/apis").await;
    assert!(
        groups["groups"]
            .as_array()
            .unwrap()
            .iter()
            .any(|group| group["name"] == "echo.example.org")
    );
    let list = get("/apis/echo.example.org/v1").await;
    let names: Vec<&Value> = list["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| &resource["name"])
        .collect();
    assert_eq!(names, ["books/read", "words"]);
    assert!(get("/openapi/v3").await["paths"]["apis/echo.example.org/v1"].is_object());
    assert_eq!(
        get("/openapi/v3/apis/echo.example.org/v1").await["info"]["title"],
        "echo"
    );
}
