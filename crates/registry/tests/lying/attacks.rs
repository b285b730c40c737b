//! A hostile registry, and tenants that share one store: what each may not learn, run or make the
//! client do.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{StatusCode, header};
use package::image::Reference;
use registry::{Client, Credential, Credentials, Options, Store};
use testkit::variants;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::server::{Server, answer};
use crate::{Scene, files, image};

/// A service that belongs to somebody else and answers everybody: how often it was asked, and its
/// port.
async fn inner(address: &str, body: &'static str) -> (Arc<AtomicUsize>, u16) {
    let listener = TcpListener::bind((address, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut buffer = [0; 2048];
                let _ = stream.read(&mut buffer).await;
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            });
        }
    });
    (asked, port)
}

/// The spellings of 127.0.0.2 and of this machine as a whole that clients take for something else.
fn spellings(port: u16) -> Vec<String> {
    let hosts = [
        "127.0.0.2",
        "2130706434",
        "0x7f000002",
        "0x7f.0.0.2",
        "0177.0.0.2",
        "017700000002",
        "127.2",
        "127.0.2",
        "[::ffff:127.0.0.2]",
        "[::ffff:7f00:2]",
        "[::127.0.0.2]",
        "[64:ff9b::7f00:2]",
        "0.0.0.0",
        "0",
        "0x0",
        "[::]",
        "[::ffff:0.0.0.0]",
        "127.0.0.2.",
        "%31%32%37.0.0.2",
        "127%2e0%2e0%2e2",
        "①②⑦.0.0.2",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
    ];
    hosts.iter().map(|host| format!("{host}:{port}")).collect()
}

#[tokio::test]
async fn a_registry_does_not_send_the_client_to_other_machines_of_the_private_network() {
    let (asked, port) = inner("127.0.0.2", "root-token-of-the-metadata-service").await;
    let spellings = spellings(port);
    for (index, mut choices) in variants() {
        let host = choices.pick(&spellings).clone();
        let scheme = *choices.pick(&["http", "http", "https", "HTTP"]);
        let slashes = *choices.pick(&["://", ":/", ":\\\\", ":"]);
        let user = *choices.pick(&["", "", "127.0.0.1@", "user:pass@"]);
        let path = choices.pick(&["/", "/latest/meta-data/iam", "/v2/", "?x=1", "/%2e%2e/"]);
        let location = format!("{scheme}{slashes}{user}{host}{path}");
        let by_realm = choices.toss();
        let status = *choices.pick(&[301, 302, 303, 307, 308]);
        let scene = if by_realm {
            let scene = Scene::new(|host| Credentials::of(host, login())).await;
            scene.server.want(
                "Bearer secret",
                &format!("Bearer realm=\"{location}\",service=\"r\""),
            );
            scene
        } else {
            let scene = Scene::pushed().await;
            let place = location.clone();
            scene.server.lie(move |_, path, truth| {
                let Ok(value) = header::HeaderValue::from_bytes(place.as_bytes()) else {
                    return truth;
                };
                if !path.contains("/manifests/") {
                    return truth;
                }
                let mut moved = answer(StatusCode::from_u16(status).unwrap(), b"");
                moved.headers_mut().insert(header::LOCATION, value);
                moved
            });
            scene
        };
        let error = scene.pull().await.expect_err(&location).to_string();
        assert!(
            !error.contains("root-token"),
            "variant {index}: {location}: {error}"
        );
        assert_eq!(
            asked.load(Ordering::SeqCst),
            0,
            "variant {index}: {location} by realm {by_realm}: {error}"
        );
    }
}

fn login() -> Credential {
    Credential::Basic {
        user: "user".into(),
        password: "pass".into(),
    }
}

#[tokio::test]
async fn nothing_of_an_answers_body_is_in_an_error() {
    for (index, mut choices) in variants() {
        let secret = format!("secret{}", choices.number());
        let body = match choices.below(6) {
            0 => secret.clone(),
            1 => format!("<html>{secret}</html>"),
            2 => format!(r#"{{"errors":[{{"code":"DENIED","message":"{secret}"}}]}}"#),
            3 => format!(r#"{{"errors":[{{"code":"{secret}","detail":"{secret}"}}]}}"#),
            4 => format!(r#"{{"config":"{secret}","layers":[]}}"#),
            _ => format!(
                r#"{{"mediaType":"{secret}","config":{{"digest":"{secret}","size":1}},"layers":[]}}"#
            ),
        };
        let status =
            StatusCode::from_u16(*choices.pick(&[200, 200, 400, 401, 403, 404, 409, 418, 451]))
                .unwrap();
        let scene = Scene::pushed().await;
        scene.server.lie(move |_, path, truth| {
            if path == "/v2/" {
                truth
            } else {
                answer(status, body.as_bytes())
            }
        });
        let error = scene.pull().await.unwrap_err();
        let told = format!("{error} {:?}", error.hint());
        assert!(!told.contains(&secret), "variant {index}: {told}");
    }
}

/// Two tenants share the store of one manager.
struct Tenants {
    server: Server,
    reference: Reference,
    manager: Client,
    _store: tempfile::TempDir,
}

impl Tenants {
    /// The victim's private package is pushed, and pulled once by her.
    async fn new() -> Self {
        let server = Server::start().await;
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let manager = Client::new(Options::new(store));
        let reference = Reference::parse(&format!("{}/team/redis:1.0.0", server.host)).unwrap();
        server.want("Basic dXNlcjpwYXNz", "Basic realm=\"here\"");
        let victim = manager.with(Credentials::of(&server.host, login()));
        let reference = victim
            .push(&image(), &reference, &|_| ())
            .await
            .unwrap()
            .reference;
        assert_eq!(
            victim.pull(&reference, &|_| ()).await.unwrap().files,
            files()
        );
        Self {
            server,
            reference,
            manager,
            _store: directory,
        }
    }
}

#[tokio::test]
async fn a_digest_is_no_permission_to_have_a_private_package() {
    let tenants = Tenants::new().await;
    let other = Server::start().await;
    let digest = tenants.reference.digest.clone().unwrap();
    for (index, mut choices) in variants() {
        let host = (*choices.pick(&[&tenants.server.host, &other.host])).clone();
        let path = *choices.pick(&["team/redis", "team/other", "mine"]);
        let tag = *choices.pick(&["", ":1.0.0", ":latest", ":x"]);
        let reference = Reference::parse(&format!("{host}/{path}{tag}@{digest}")).unwrap();
        let password = choices.pick(&["", "wrong", "Pass", "pass "]).to_string();
        let credentials = match password.as_str() {
            "" => Credentials::default(),
            _ => Credentials::of(
                &host,
                Credential::Basic {
                    user: "user".into(),
                    password,
                },
            ),
        };
        let attacker = tenants.manager.with(credentials);
        let outcome = attacker.pull(&reference, &|_| ()).await;
        assert!(outcome.is_err(), "variant {index}: {reference} was pulled");
    }
    // The victim has hers without asking again.
    let victim = tenants
        .manager
        .with(Credentials::of(&tenants.server.host, login()));
    tenants.server.requests();
    assert_eq!(
        victim
            .pull(&tenants.reference, &|_| ())
            .await
            .unwrap()
            .files,
        files()
    );
    assert_eq!(tenants.server.requests(), [""; 0]);
}

/// A pull secret as a tenant writes it.
fn tenant(text: &str) -> Credentials {
    Credentials::from_pull_secret(text.as_bytes()).unwrap_or_default()
}

/// A credential helper that leaves a mark when it is run.
fn helper(directory: &Path) -> std::path::PathBuf {
    let mark = directory.join("ran");
    let program = directory.join("docker-credential-evil");
    std::fs::write(
        &program,
        format!("#!/bin/sh\necho ran > {}\n", mark.display()),
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    mark
}

#[tokio::test]
async fn a_pull_secret_runs_no_program() {
    let directory = tempfile::tempdir().unwrap();
    let mark = helper(directory.path());
    let scene = Scene::new(|_| Credentials::default()).await;
    scene
        .server
        .want("Basic dXNlcjpwYXNz", "Basic realm=\"here\"");
    let host = &scene.server.host;
    let program = directory
        .path()
        .join("docker-credential-evil")
        .display()
        .to_string();
    let name = format!("x/../../../../../../{}", program.trim_start_matches('/'));
    for (index, mut choices) in variants() {
        let helper = choices
            .pick(&["evil", "evil ", "evil\0", &name])
            .to_string();
        let helper = serde_json::to_string(&helper).unwrap();
        let key = *choices.pick(&[
            "credHelpers",
            "credhelpers",
            "CredHelpers",
            "cred_helpers",
            "credsStore",
            "credstore",
        ]);
        let spelling = *choices.pick(&["", "https://", "http://"]);
        let text = match key.to_lowercase().contains("store") {
            true => format!(r#"{{"{key}": {helper}}}"#),
            false => format!(
                r#"{{"auths": {{"{host}": {{}}}}, "{key}": {{"{spelling}{host}": {helper}}}}}"#
            ),
        };
        let client = scene.client.with(tenant(&text));
        let error = client.pull(&scene.reference, &|_| ()).await.unwrap_err();
        assert!(!mark.exists(), "variant {index}: {text} was run");
        assert_eq!(
            error.reason(),
            "RegistryDenied",
            "variant {index}: {text}: {error}"
        );
    }
}
