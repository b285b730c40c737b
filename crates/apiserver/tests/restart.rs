//! What has to go on after a restart: tokens, namespaces that are going, objects whose owners wait
//! for them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail anywhere"
)]

use std::{path::Path, time::Duration};

use apiserver::{InProcessService, Options, Server, StartError, User};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower_service::Service;

/// Starts a server in a directory, once whatever is left of the last one has let go of it.
async fn start(data: &Path) -> Server {
    let starting = async {
        loop {
            match Server::start(Options {
                data: Some(data.to_owned()),
                ..Options::default()
            })
            .await
            {
                Ok(server) => return server,
                Err(StartError::Journal(_)) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), starting)
        .await
        .unwrap()
}

async fn ask(
    in_process_service: &mut InProcessService,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (u16, Value) {
    let kind = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Content-Type", kind);
    let response = in_process_service
        .call(request.body(Full::new(bytes)).unwrap())
        .await
        .unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn make(in_process_service: &mut InProcessService, path: &str, body: Value) -> Value {
    let (code, answer) = ask(in_process_service, Method::POST, path, Some(body)).await;
    assert_eq!(code, 201, "{answer}");
    answer
}

/// Asks until the object is gone.
async fn until_gone(in_process_service: &mut InProcessService, path: &str) {
    let asking = async {
        while ask(in_process_service, Method::GET, path, None).await.0 != 404 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), asking)
        .await
        .unwrap();
}

#[tokio::test]
async fn tokens_are_good_after_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let ann = User::new("ann", &["crew"]);
    let (user, account) = {
        let server = start(scratch.path()).await;
        let mut admin = server.in_process_service(Some(User::admin()));
        let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
        let answer = make(&mut admin, path, json!({"spec": {}})).await;
        let tokens = (
            server.token(&ann),
            answer["status"]["token"].as_str().unwrap().to_owned(),
        );
        server.shutdown().await;
        tokens
    };
    let server = start(scratch.path()).await;
    assert_eq!(server.token(&ann), user);
    for (token, name) in [
        (&user, "ann"),
        (&account, "system:serviceaccount:default:default"),
    ] {
        let mut in_process_service = server.in_process_service(None).with_bearer_token(token);
        let me = make(
            &mut in_process_service,
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({}),
        )
        .await;
        assert_eq!(me["status"]["userInfo"]["username"], name);
    }
}

#[tokio::test]
async fn what_was_going_goes_on_after_a_restart() {
    let scratch = tempfile::tempdir().unwrap();
    let held = |name: &str| json!({"metadata": {"name": name, "finalizers": ["acme.io/hold"]}});
    let maps = "/api/v1/namespaces/default/configmaps";
    {
        let server = start(scratch.path()).await;
        let mut admin = server.in_process_service(Some(User::admin()));
        make(
            &mut admin,
            "/api/v1/namespaces",
            json!({"metadata": {"name": "going"}}),
        )
        .await;
        make(
            &mut admin,
            "/api/v1/namespaces/going/configmaps",
            held("held"),
        )
        .await;
        assert_eq!(
            ask(&mut admin, Method::DELETE, "/api/v1/namespaces/going", None)
                .await
                .0,
            200
        );
        let owner = make(&mut admin, maps, json!({"metadata": {"name": "owner"}})).await;
        let mut child = held("child");
        child["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true}]);
        make(&mut admin, maps, child).await;
        let path = format!("{maps}/owner?propagationPolicy=Foreground");
        assert_eq!(ask(&mut admin, Method::DELETE, &path, None).await.0, 200);
        server.shutdown().await;
    }
    let server = start(scratch.path()).await;
    let mut admin = server.in_process_service(Some(User::admin()));
    for path in [
        "/api/v1/namespaces/going/configmaps/held",
        "/api/v1/namespaces/default/configmaps/child",
    ] {
        let free = Some(json!({"metadata": {"finalizers": null}}));
        assert_eq!(
            ask(&mut admin, Method::PATCH, path, free).await.0,
            200,
            "{path} was kept"
        );
    }
    until_gone(&mut admin, "/api/v1/namespaces/going").await;
    until_gone(&mut admin, &format!("{maps}/child")).await;
    until_gone(&mut admin, &format!("{maps}/owner")).await;
}
