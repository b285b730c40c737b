//! Faults that tests ask for do what they say, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use apiserver::{ApiError, Fault, Filter, Gate, Options, Server, Trouble};
use serde_json::{Value, json};
use support::Client;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn a_request_fails_and_nothing_is_done() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let error = ApiError::other(503, "ServiceUnavailable", "not now");
    server.faults().add(Fault {
        filter: Filter::of("create", "configmaps"),
        at: 2,
        trouble: Trouble::Fail(error),
    });
    let codes = [
        client.call("POST", MAPS, &map("a")).await.0,
        client.call("POST", MAPS, &map("b")).await.0,
    ];
    assert_eq!(codes, [201, 503]);
    assert_eq!(
        client
            .call("GET", &format!("{MAPS}/b"), &Value::Null)
            .await
            .0,
        404
    );
    assert_eq!(client.call("POST", MAPS, &map("b")).await.0, 201);
}

#[tokio::test]
async fn the_work_is_done_and_the_answer_is_lost() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    server.faults().add(Fault {
        filter: Filter::of("create", "configmaps"),
        at: 1,
        trouble: Trouble::LoseAnswer,
    });
    assert!(
        client
            .try_call("POST", MAPS, "application/json", map("a").to_string())
            .await
            .is_err()
    );
    assert_eq!(
        client
            .call("GET", &format!("{MAPS}/a"), &Value::Null)
            .await
            .0,
        200
    );
}

#[tokio::test]
async fn a_request_waits_at_its_gate() {
    let server = Server::start(Options::default()).await.unwrap();
    let gate = Gate::new();
    let fault = Fault {
        filter: Filter::of("create", "configmaps"),
        at: 1,
        trouble: Trouble::Wait(gate.clone()),
    };
    server.faults().add(fault);
    let waiting = tokio::spawn({
        let client = Client::admin(&server);
        async move { client.call("POST", MAPS, &map("a")).await.0 }
    });
    gate.reached(1).await;
    let client = Client::admin(&server);
    assert_eq!(
        client
            .call("GET", &format!("{MAPS}/a"), &Value::Null)
            .await
            .0,
        404
    );
    gate.release();
    assert_eq!(waiting.await.unwrap(), 201);
}

#[tokio::test]
async fn a_stale_read_shows_the_past() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    client.call("POST", MAPS, &map("a")).await;
    let then = server.revision();
    client
        .call("DELETE", &format!("{MAPS}/a"), &Value::Null)
        .await;
    client.call("POST", MAPS, &map("b")).await;
    for verb in ["get", "list"] {
        server.faults().add(Fault {
            filter: Filter::of(verb, "configmaps"),
            at: 1,
            trouble: Trouble::Stale(then),
        });
    }
    assert_eq!(
        client
            .call("GET", &format!("{MAPS}/a"), &Value::Null)
            .await
            .0,
        200
    );
    assert_eq!(
        client
            .call("GET", &format!("{MAPS}/a"), &Value::Null)
            .await
            .0,
        404
    );
    let names = |list: &Value| {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .filter(|it| it.len() == 1)
            .collect::<Vec<_>>()
    };
    let uri = format!("{MAPS}?fieldSelector=metadata.name!%3Dkube-root-ca.crt");
    assert_eq!(
        names(&client.call("GET", &uri, &Value::Null).await.1),
        ["a"]
    );
    assert_eq!(
        names(&client.call("GET", &uri, &Value::Null).await.1),
        ["b"]
    );
}
