//! The Service `default/kubernetes`: there from the start, with the endpoints of the listener, and
//! again when it is deleted.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use apiserver::{Options, Server};
use serde_json::{Value, json};
use support::Client;

const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";

/// Asks until the object is there as it should be: the server sees to it on this very thread.
async fn until(client: &Client, uri: &str, is: impl Fn(&Value) -> bool) -> Value {
    loop {
        let (code, object) = client.call("GET", uri, &Value::Null).await;
        if code == 200 && is(&object) {
            return object;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_service_of_the_api_server_is_there_and_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let options = || Options {
        data: Some(place.path().to_path_buf()),
        ..Options::default()
    };
    let server = Server::start(options()).await.unwrap();
    let client = Client::admin(&server);
    let (code, service) = client.call("GET", SERVICE, &Value::Null).await;
    assert_eq!(code, 200, "before anybody listens");
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.1");
    assert_eq!(
        service["metadata"]["labels"],
        json!({"component": "apiserver", "provider": "kubernetes"})
    );
    assert_eq!(client.call("GET", ENDPOINTS, &Value::Null).await.0, 404);

    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let port = listener.address().port();
    let right = move |object: &Value| {
        let ports = if object["kind"] == "Endpoints" {
            &object["subsets"][0]["ports"]
        } else {
            &object["ports"]
        };
        *ports == json!([{"name": "https", "port": port, "protocol": "TCP"}])
    };
    for uri in [ENDPOINTS, SLICE] {
        until(&client, uri, right).await;
    }
    for uri in [SERVICE, ENDPOINTS, SLICE] {
        let uid = client.call("GET", uri, &Value::Null).await.1["metadata"]["uid"].clone();
        assert_eq!(
            client.call("DELETE", uri, &Value::Null).await.0,
            200,
            "{uri}"
        );
        until(&client, uri, |object| object["metadata"]["uid"] != uid).await;
    }
    let wrong = json!({"subsets": []});
    assert_eq!(
        client
            .patch("application/merge-patch+json", ENDPOINTS, &wrong)
            .await
            .0,
        200
    );
    until(&client, ENDPOINTS, right).await;
    drop(listener);
    server.shutdown().await;

    // Somewhere else, it is found somewhere else.
    let server = Server::start(options()).await.unwrap();
    let client = Client::admin(&server);
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let port = listener.address().port();
    until(&client, SLICE, |object| object["ports"][0]["port"] == port).await;
    server.shutdown().await;
}
