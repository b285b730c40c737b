//! Input that nobody should send: it is refused with a clear answer, and the server goes on.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use apiserver::{Options, Server};
use serde_json::{Value, json};
use support::{Client, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn bad_bodies_are_refused_with_a_reason() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let large = format!(r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#, "x".repeat(4 << 20));
    let wide =
        format!(r#"{{"metadata":{{"name":"a"}},"data":{{{}}}}}"#, "\"k\":1,".repeat(100_000).trim_end_matches(','));
    let bomb = format!("a: &a [x,x,x,x,x,x,x,x,x]\n{}", (b'b'..b'k').map(|letter| {
        let (own, before) = (char::from(letter), char::from(letter - 1));
        format!("{own}: &{own} [*{before},*{before},*{before},*{before},*{before},*{before},*{before},*{before},*{before}]\n")
    }).collect::<String>());
    for (name, kind, body, codes) in [
        ("nothing", "application/json", Vec::new(), vec![400]),
        ("no JSON", "application/json", b"{]".to_vec(), vec![400]),
        ("a list", "application/json", b"[]".to_vec(), vec![400]),
        ("too large", "application/json", large.into_bytes(), vec![413]),
        ("deep lists", "application/json", "[".repeat(1 << 20).into_bytes(), vec![400]),
        ("deep maps", "application/json", "{\"a\":".repeat(1 << 18).into_bytes(), vec![400]),
        ("deep YAML", "application/yaml", "[".repeat(1 << 18).into_bytes(), vec![400]),
        ("an alias bomb", "application/yaml", bomb.into_bytes(), vec![400]),
        ("bytes", "application/json", vec![0xff; 64], vec![400]),
        ("bytes as YAML", "application/yaml", vec![0xff; 64], vec![400]),
        ("wrong types by the thousand", "application/json", wide.into_bytes(), vec![400]),
        ("protobuf", "application/vnd.kubernetes.protobuf", b"k8s\0".to_vec(), vec![400, 415]),
    ] {
        let (code, answer) = client.try_call("POST", MAPS, kind, body).await.unwrap();
        assert!(codes.contains(&code), "{name}: {code} {answer}");
        assert!(
            answer["message"].as_str().is_some_and(|text| !text.is_empty() && text.len() < 2000),
            "{name}: {answer}"
        );
    }
    assert_eq!(client.call("POST", MAPS, &json!({"metadata": {"name": "fine"}})).await.0, 201);
}

#[tokio::test]
async fn bad_queries_and_paths_are_refused() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let huge = format!("{MAPS}?labelSelector={}", "a%20in%20(".repeat(4000));
    for (method, uri, code) in [
        ("GET", "/api/v1/namespaces/%ff/configmaps", 400),
        ("GET", huge.as_str(), 400),
        ("GET", &format!("{MAPS}?labelSelector=a%3D%3D%3Db"), 400),
        ("GET", &format!("{MAPS}?fieldSelector=data.k%3Dv"), 400),
        ("GET", &format!("{MAPS}?limit=many"), 400),
        ("GET", &format!("{MAPS}?continue=AAAA"), 400),
        ("GET", &format!("{MAPS}?resourceVersion=-1"), 400),
        ("GET", "/api/v1/namespaces/default/../../../etc/passwd", 404),
        ("DELETE", "/api/v1/configmaps", 405),
        ("BREW", MAPS, 405),
    ] {
        let (got, answer) = client.try_call(method, uri, "application/json", "").await.unwrap();
        assert_eq!(got, code, "{method} {uri}: {answer}");
    }
}

#[tokio::test]
async fn patches_cannot_make_the_server_do_endless_work() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    assert_eq!(client.call("POST", MAPS, &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})).await.0, 201);
    let uri = format!("{MAPS}/a");
    let doubling: Vec<Value> =
        (0..64).map(|number| json!({"op": "copy", "from": "/data", "path": format!("/data/x{number}")})).collect();
    let many: Vec<Value> = (0..10_001).map(|_| json!({"op": "test", "path": "/data/k", "value": "v"})).collect();
    for (kind, patch) in [
        ("application/json-patch+json", json!(doubling)),
        ("application/json-patch+json", json!(many)),
        ("application/json-patch+json", json!({"op": "add"})),
        ("application/merge-patch+json", json!([1])),
        ("application/strategic-merge-patch+json", json!({"$patch": "nonsense"})),
        ("application/apply-patch+yaml", json!({"apiVersion": "v1", "kind": "ConfigMap"})),
    ] {
        let (code, answer) = client.patch(kind, &uri, &patch).await;
        assert!((400..=500).contains(&code), "{kind}: {code} {answer}");
    }
    assert_eq!(client.call("GET", &uri, &Value::Null).await.1["data"], json!({"k": "v"}));
}

#[tokio::test]
async fn half_open_and_broken_connections_do_not_keep_others_out() {
    let server = Server::start(Options::default()).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let mut open = Vec::new();
    for _ in 0..50 {
        open.push(tokio::net::TcpStream::connect(listener.address()).await.unwrap());
        let mut half = connect(&listener).await;
        half.write_all(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nContent-Le").await.unwrap();
        std::mem::forget(half);
    }
    let mut noise = tokio::net::TcpStream::connect(listener.address()).await.unwrap();
    noise.write_all(&[0x16; 4096]).await.unwrap();
    let mut stream = connect(&listener).await;
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    // Whoever does not say who they are is told so, and that is an answer.
    assert!(answer.starts_with("HTTP/1.1 401") || answer.starts_with("HTTP/1.1 200"), "{answer}");
}
