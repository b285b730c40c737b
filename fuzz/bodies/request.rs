//! What a fuzzer does with bytes: takes them for a method, a URL, a content type and a body, and
//! asks an API server that has some objects. Nothing may panic, every answer has a code of HTTP's,
//! and the objects stay readable.

use apiserver::{Options, Server, User};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full};
use tower_service::Service;

const METHODS: [Method; 6] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
];
const KINDS: [&str; 7] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
];
const DEPLOYMENT: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":{"l":"v"}},
"spec":{"selector":{"matchLabels":{"l":"v"}},"template":{"metadata":{"labels":{"l":"v"}},"spec":{"containers":[
{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"E","value":"1"}]}]}}}}"#;
const PLACE: &str = "/apis/apps/v1/namespaces/default/deployments";

/// The first byte is the method, the second the content type; the URL goes up to a NUL, the rest is
/// the body.
pub fn request(bytes: &[u8]) {
    let [method, kind, rest @ ..] = bytes else {
        return;
    };
    let (url, body) = match rest.iter().position(|byte| *byte == 0) {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => (rest, &[][..]),
    };
    let Ok(uri) = Uri::try_from(url) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(Options::default()).await.expect("a server");
        assert_eq!(
            ask(
                &server,
                Method::POST,
                PLACE.parse().expect("a path"),
                KINDS[0],
                DEPLOYMENT.as_bytes()
            )
            .await,
            201
        );
        let method = METHODS[usize::from(*method) % METHODS.len()].clone();
        ask(
            &server,
            method,
            uri,
            KINDS[usize::from(*kind) % KINDS.len()],
            body,
        )
        .await;
        assert_eq!(
            ask(
                &server,
                Method::GET,
                PLACE.parse().expect("a path"),
                KINDS[0],
                b""
            )
            .await,
            200
        );
        server.shutdown().await;
    });
}

/// The code of the answer; of a watch only the beginning is read, since it has no end.
async fn ask(server: &Server, method: Method, uri: Uri, kind: &str, body: &[u8]) -> u16 {
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", kind);
    let request = request.body(Full::from(body.to_vec())).expect("a request");
    let answer = server
        .in_process_service(Some(User::admin()))
        .call(request)
        .await
        .expect("no fault was planned");
    let code = answer.status().as_u16();
    assert!((100..600).contains(&code));
    if http_body::Body::size_hint(answer.body()).exact().is_some() {
        answer.into_body().collect().await.expect("a body");
    }
    code
}
