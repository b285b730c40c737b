//! Input that nobody should send: it is refused with a clear answer, and the server goes on.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use apiserver::{Limits, Options, Server, User};
use http::Request;
use serde_json::{Value, json};
use support::{Client, connect, exchange, still_serves};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower_service::Service;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn bad_bodies_are_refused_with_a_reason() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    let large = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{"k":"{}"}}}}"#,
        "x".repeat(4 << 20)
    );
    let wide = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{{}}}}}"#,
        "\"k\":1,".repeat(100_000).trim_end_matches(',')
    );
    let bomb = format!("a: &a [x,x,x,x,x,x,x,x,x]\n{}", (b'b'..b'k').map(|letter| {
        let (own, before) = (char::from(letter), char::from(letter - 1));
        format!("{own}: &{own} [*{before},*{before},*{before},*{before},*{before},*{before},*{before},*{before},*{before}]\n")
    }).collect::<String>());
    for (name, kind, body, codes) in [
        ("nothing", "application/json", Vec::new(), vec![400]),
        ("no JSON", "application/json", b"{]".to_vec(), vec![400]),
        ("a list", "application/json", b"[]".to_vec(), vec![400]),
        (
            "too large",
            "application/json",
            large.into_bytes(),
            vec![413],
        ),
        (
            "deep lists",
            "application/json",
            "[".repeat(1 << 20).into_bytes(),
            vec![400],
        ),
        (
            "deep maps",
            "application/json",
            "{\"a\":".repeat(1 << 18).into_bytes(),
            vec![400],
        ),
        (
            "deep YAML",
            "application/yaml",
            "[".repeat(1 << 18).into_bytes(),
            vec![400],
        ),
        (
            "an alias bomb",
            "application/yaml",
            bomb.into_bytes(),
            vec![400],
        ),
        ("bytes", "application/json", vec![0xff; 64], vec![400]),
        (
            "bytes as YAML",
            "application/yaml",
            vec![0xff; 64],
            vec![400],
        ),
        (
            "wrong types by the thousand",
            "application/json",
            wide.into_bytes(),
            vec![400],
        ),
        (
            "protobuf",
            "application/vnd.kubernetes.protobuf",
            b"k8s\0".to_vec(),
            vec![400, 415],
        ),
    ] {
        let (code, answer) = client.try_call("POST", MAPS, kind, body).await.unwrap();
        assert!(codes.contains(&code), "{name}: {code} {answer}");
        assert!(
            answer["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty() && text.len() < 2000),
            "{name}: {answer}"
        );
    }
    assert_eq!(
        client
            .call("POST", MAPS, &json!({"metadata": {"name": "fine"}}))
            .await
            .0,
        201
    );
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
        let (got, answer) = client
            .try_call(method, uri, "application/json", "")
            .await
            .unwrap();
        assert_eq!(got, code, "{method} {uri}: {answer}");
    }
}

#[tokio::test]
async fn patches_cannot_make_the_server_do_endless_work() {
    let server = Server::start(Options::default()).await.unwrap();
    let client = Client::admin(&server);
    assert_eq!(
        client
            .call(
                "POST",
                MAPS,
                &json!({"metadata": {"name": "a"}, "data": {"k": "v"}})
            )
            .await
            .0,
        201
    );
    let uri = format!("{MAPS}/a");
    let doubling: Vec<Value> = (0..64)
        .map(|number| json!({"op": "copy", "from": "/data", "path": format!("/data/x{number}")}))
        .collect();
    let many: Vec<Value> = (0..10_001)
        .map(|_| json!({"op": "test", "path": "/data/k", "value": "v"}))
        .collect();
    for (kind, patch) in [
        ("application/json-patch+json", json!(doubling)),
        ("application/json-patch+json", json!(many)),
        ("application/json-patch+json", json!({"op": "add"})),
        ("application/merge-patch+json", json!([1])),
        (
            "application/strategic-merge-patch+json",
            json!({"$patch": "nonsense"}),
        ),
        (
            "application/apply-patch+yaml",
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
        ),
    ] {
        let (code, answer) = client.patch(kind, &uri, &patch).await;
        assert!((400..=500).contains(&code), "{kind}: {code} {answer}");
    }
    assert_eq!(
        client.call("GET", &uri, &Value::Null).await.1["data"],
        json!({"k": "v"})
    );
}

#[tokio::test]
async fn requests_of_no_good_shape_are_refused_on_the_wire() {
    let server = Server::start(Options::default()).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    let head = |method: &str, path: &str, more: &str| {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        )
        .into_bytes()
    };
    let with = |mut head: Vec<u8>, body: &[u8]| {
        head.extend_from_slice(body);
        head
    };
    let json = "Content-Type: application/json\r\n";
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let huge = "x".repeat(2 << 20);
    for (name, bytes, codes) in [
        (
            "a body far beyond the limit",
            with(
                head(
                    "POST",
                    MAPS,
                    &format!("{json}Content-Length: {}\r\n", 64 << 20),
                ),
                &vec![b'x'; 64 << 20],
            ),
            ["413"].as_slice(),
        ),
        (
            "the same in pieces, without an end",
            with(
                head(
                    "POST",
                    MAPS,
                    &format!("{json}Transfer-Encoding: chunked\r\n"),
                ),
                &chunk.repeat(16),
            ),
            &["413"],
        ),
        (
            "a long header",
            head("GET", MAPS, &format!("X-Long: {huge}\r\n")),
            &["431"],
        ),
        (
            "many headers",
            head("GET", MAPS, &"X-Many: x\r\n".repeat(5000)),
            &["431"],
        ),
        (
            "a long path",
            head("GET", &format!("{MAPS}/{huge}"), ""),
            &["414", "431"],
        ),
        (
            "a long selector",
            head(
                "GET",
                &format!("{MAPS}?labelSelector={}", "a,".repeat(30_000)),
                "",
            ),
            &["200", "400", "414"],
        ),
        (
            "two lengths",
            head("POST", MAPS, "Content-Length: 3\r\nContent-Length: 4\r\n"),
            &["400"],
        ),
        (
            "a length that is none",
            head("POST", MAPS, "Content-Length: -1\r\n"),
            &["400"],
        ),
        (
            "no HTTP",
            b"\0\xff\xfe no HTTP at all\r\n\r\n".to_vec(),
            &["400"],
        ),
        (
            "no token",
            b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n\r\n".to_vec(),
            &["401"],
        ),
        (
            "a token that is none",
            b"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: bearer x y\r\n\r\n".to_vec(),
            &["401"],
        ),
        (
            "a strange version",
            b"GET /api HTTP/9.9\r\n\r\n".to_vec(),
            &["400", "505", ""],
        ),
    ] {
        let mut stream = connect(&listener).await;
        let answer = exchange(&mut stream, &bytes).await;
        let code = answer.split(' ').nth(1).unwrap_or_default();
        assert!(codes.contains(&code), "{name}: {answer}");
        still_serves(&listener, &token).await;
    }
}

#[tokio::test]
async fn headers_have_64_kib_however_they_are_spread() {
    let server = Server::start(Options::default()).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    for (size, code) in [
        (1 << 10, "200"),
        (60 << 10, "200"),
        (66 << 10, "431"),
        (100_000, "431"),
        (300_000, "431"),
    ] {
        for count in [1, 2, 7, 50] {
            let each = "x".repeat(size / count);
            let headers: String = (0..count)
                .map(|index| format!("X-{index}: {each}\r\n"))
                .collect();
            let request = format!(
                "GET /readyz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
            );
            let answer = exchange(&mut connect(&listener).await, request.as_bytes()).await;
            assert_eq!(
                answer.split(' ').nth(1),
                Some(code),
                "{size} bytes in {count}: {answer}"
            );
        }
    }
    still_serves(&listener, &token).await;
}

#[tokio::test]
async fn a_token_that_no_header_can_hold_is_refused_and_not_taken_for_none() {
    let server = Server::start(Options::default()).await.unwrap();
    for token in ["", " ", "a\nb", "a\0", "\u{7f}", "größe", "no token", "x"] {
        let mut in_process_service = server.in_process_service(None).with_bearer_token(token);
        let request = Request::get("/api/v1/namespaces")
            .body(http_body_util::Full::new(bytes::Bytes::new()))
            .unwrap();
        let answer = in_process_service.call(request).await.unwrap();
        assert_eq!(answer.status(), 401, "{token:?}");
    }
}

#[tokio::test]
async fn warnings_arrive_whatever_their_letters() {
    let server = Server::start(Options::default()).await.unwrap();
    let mut in_process_service = server.in_process_service(Some(User::admin()));
    let map = r#"{"metadata": {"name": "a"}, "größe": "1", "a\nb": 2}"#;
    let request = Request::post(MAPS).header("content-type", "application/json");
    let answer = in_process_service
        .call(
            request
                .body(http_body_util::Full::new(bytes::Bytes::from(map)))
                .unwrap(),
        )
        .await
        .unwrap();
    assert_eq!(answer.status(), 201);
    let mut warnings: Vec<String> = answer
        .headers()
        .get_all("warning")
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    warnings.sort();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings.iter().any(|warning| warning.contains("größe")),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let limits = Limits {
        body_time: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = Server::start(Options {
        limits,
        ..Options::default()
    })
    .await
    .unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    let head = format!("POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n");
    for rest in [
        "Content-Length: 100\r\n\r\n{",
        "Content-Length: 1\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ] {
        let mut stream = connect(&listener).await;
        let answer = exchange(&mut stream, format!("{head}{rest}").as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 408") && answer.contains("did not come in time"),
            "{rest}: {answer}"
        );
        still_serves(&listener, &token).await;
    }
}

#[tokio::test]
async fn bodies_together_take_no_more_than_they_may() {
    let limits = Limits {
        body_bytes: 1 << 20,
        ..Limits::default()
    };
    let server = Server::start(Options {
        limits,
        ..Options::default()
    })
    .await
    .unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    let body = |name: &str| {
        let value =
            json!({"metadata": {"name": name}, "data": {"k": "x".repeat(700_000)}}).to_string();
        let head = format!(
            "POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: "
        );
        format!("{head}{}\r\n\r\n{value}", value.len()).into_bytes()
    };
    let (one, two) = (body("one"), body("two"));
    let mut slow = connect(&listener).await;
    slow.write_all(&one[..one.len() - 1]).await.unwrap();
    slow.flush().await.unwrap();
    // How much of it the server has read is not seen from here, so the other asks until there is no
    // room.
    let refused = async {
        loop {
            let answer = exchange(&mut connect(&listener).await, &two).await;
            if !answer.starts_with("HTTP/1.1 201") && !answer.starts_with("HTTP/1.1 409") {
                return answer;
            }
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), refused)
        .await
        .unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 429") && answer.to_lowercase().contains("retry-after: 1"),
        "{answer}"
    );
    assert!(answer.contains("please try again later"), "{answer}");
    still_serves(&listener, &token).await;
    let answer = exchange(&mut slow, &one[one.len() - 1..]).await;
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let answer = exchange(&mut connect(&listener).await, &two).await;
    assert!(
        answer.starts_with("HTTP/1.1 201") || answer.starts_with("HTTP/1.1 409"),
        "{answer}"
    );
}

#[tokio::test]
async fn garbage_after_a_request_breaks_its_own_connection_only() {
    let server = Server::start(Options::default()).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    let request =
        format!("GET /livez HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    for noise in [
        b"\0\x01\x02\x03\r\n\r\n".repeat(100),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff".to_vec(),
    ] {
        let mut stream = connect(&listener).await;
        stream
            .write_all(&[request.as_bytes(), &request.clone().into_bytes(), &noise].concat())
            .await
            .unwrap();
        let mut answers = Vec::new();
        // It ends with whatever error the transport has; what counts is what came before.
        _ = stream.read_to_end(&mut answers).await;
        let answers = String::from_utf8_lossy(&answers);
        assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    }
    // An HTTP/2 client that sends no frames.
    let mut stream = connect(&listener).await;
    exchange(
        &mut stream,
        &[
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
            &[0xff; 4096],
        ]
        .concat(),
    )
    .await;
    // No TLS at all, and a handshake that is none.
    for noise in [b"GET / HTTP/1.1\r\n\r\n".to_vec(), vec![0x16; 1 << 16]] {
        let mut plain = TcpStream::connect(listener.address()).await.unwrap();
        let answer = exchange(&mut plain, &noise).await;
        assert!(!answer.contains("HTTP/1.1 200"), "{answer}");
    }
    still_serves(&listener, &token).await;
}
