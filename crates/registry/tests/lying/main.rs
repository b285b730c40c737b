//! Pushing and pulling against a registry in this process: what goes over, who asks, and every lie
//! found out.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attacks;
mod server;

use http::{Method, StatusCode, header};
use package::Files;
use package::image::Reference;
use package::image::{Digest, Image, MediaType};
use registry::{Client, Credential, Credentials, Error, Options, Store};
use serde_json::json;
use server::{Server, answer};

struct Scene {
    server: Server,
    client: Client,
    reference: Reference,
    _store: tempfile::TempDir,
}

impl Scene {
    async fn new(credentials: impl Fn(&str) -> Credentials) -> Self {
        let server = Server::start().await;
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let credentials = credentials(&server.host);
        let client = Client::new(Options {
            credentials,
            ..Options::new(store)
        });
        let reference = Reference::parse(&format!("{}/team/redis:1.0.0", server.host)).unwrap();
        Self {
            server,
            client,
            reference,
            _store: directory,
        }
    }

    async fn pushed() -> Self {
        let scene = Self::new(|_| Credentials::default()).await;
        scene
            .client
            .push(&image(), &scene.reference, &|_| ())
            .await
            .unwrap();
        scene.server.requests();
        scene
    }

    async fn pull(&self) -> Result<Files, Error> {
        Ok(self.client.pull(&self.reference, &|_| ()).await?.files)
    }
}

fn files() -> Files {
    Files::from([(".registry/app.yaml".to_owned(), b"title: Redis\n".to_vec())])
}

fn image() -> Image {
    Image::build(&files(), &package::read(&files()).0)
}

#[tokio::test]
async fn what_is_pushed_is_pulled_and_nothing_goes_over_twice() {
    let scene = Scene::new(|_| Credentials::default()).await;
    let pushed = scene
        .client
        .push(&image(), &scene.reference, &|_| ())
        .await
        .unwrap();
    assert_eq!((pushed.sent, pushed.blobs), (2, 2));
    assert_eq!(
        pushed.reference.digest,
        Some(image().manifest.digest.to_string())
    );
    let again = scene
        .client
        .push(&image(), &scene.reference, &|_| ())
        .await
        .unwrap();
    assert_eq!(again.sent, 0);
    scene.server.requests();
    let progress = std::sync::Mutex::new(Vec::new());
    let pulled = scene
        .client
        .pull(&scene.reference, &|step| {
            progress.lock().unwrap().push(step.done);
        })
        .await
        .unwrap();
    assert_eq!(pulled.files, files());
    assert_eq!(pulled.resolved.reference, pushed.reference);
    assert!(progress.lock().unwrap().iter().is_sorted());
    assert_eq!(
        scene.server.requests().len(),
        2,
        "the manifest and the layer"
    );
    // What is in the store is not asked for again.
    assert_eq!(
        scene
            .client
            .pull(&pushed.reference, &|_| ())
            .await
            .unwrap()
            .files,
        files()
    );
    assert_eq!(scene.server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_name_and_password_or_a_token_prove_who_asks() {
    let login = |host: &str| {
        Credentials::of(
            host,
            Credential::Basic {
                user: "user".into(),
                password: "pass".into(),
            },
        )
    };
    let basic = Scene::new(login).await;
    basic
        .server
        .want("Basic dXNlcjpwYXNz", "Basic realm=\"here\"");
    basic
        .client
        .push(&image(), &basic.reference, &|_| ())
        .await
        .unwrap();
    assert_eq!(basic.pull().await.unwrap(), files());

    let bearer = Scene::new(login).await;
    let realm = format!(
        "Bearer realm=\"http://{}/token\",service=\"r\"",
        bearer.server.host
    );
    bearer.server.want("Bearer secret", &realm);
    bearer
        .client
        .push(&image(), &bearer.reference, &|_| ())
        .await
        .unwrap();
    bearer.server.requests();
    assert_eq!(bearer.pull().await.unwrap(), files());
    let tokens = bearer
        .server
        .requests()
        .iter()
        .filter(|request| request.contains("/token"))
        .count();
    assert_eq!(tokens, 1, "one token for all requests of a pull");

    for (credentials, expected) in [
        (Credentials::default(), "no token from"),
        (
            Credentials::of("elsewhere.example.org", Credential::Identity("x".into())),
            "no token from",
        ),
    ] {
        let nobody = Scene::new(|_| credentials.clone()).await;
        let realm = format!(
            "Bearer realm=\"http://{}/token\",service=\"r\"",
            nobody.server.host
        );
        nobody.server.want("Bearer secret", &realm);
        let error = nobody.pull().await.unwrap_err();
        assert_eq!(error.reason(), "RegistryDenied", "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().unwrap().starts_with("log in to it"));
    }
}

#[tokio::test]
async fn a_password_is_never_sent_where_it_could_be_read() {
    let scene = Scene::new(|host| {
        Credentials::of(
            host,
            Credential::Basic {
                user: "user".into(),
                password: "pass".into(),
            },
        )
    })
    .await;
    scene.server.want(
        "Bearer secret",
        "Bearer realm=\"http://token.example.org/\"",
    );
    let error = scene.pull().await.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("to http://token.example.org/, which is not encrypted"),
        "{error}"
    );

    // A registry elsewhere is not talked to in the open.
    let far = Reference::parse("registry.invalid/team/redis:1").unwrap();
    let error = scene.client.pull(&far, &|_| ()).await.unwrap_err();
    assert_eq!(error.reason(), "RegistryUnreachable");
}

#[tokio::test]
async fn every_lie_is_found_out_and_changes_nothing() {
    let layer = image().blobs[1].clone();
    let blob = format!("/v2/team/redis/blobs/{}", layer.digest);
    let forged = {
        let mut bytes = layer.bytes.clone();
        bytes[40] ^= 1;
        bytes
    };
    let cut = layer.bytes[..layer.bytes.len() - 9].to_vec();
    let longer = [layer.bytes.as_slice(), b"more"].concat();
    type Case = (
        &'static str,
        String,
        StatusCode,
        Vec<u8>,
        &'static str,
        &'static str,
    );
    let manifest = "/v2/team/redis/manifests/1.0.0".to_owned();
    let table: Vec<Case> = vec![
        (
            "a forged layer",
            blob.clone(),
            StatusCode::OK,
            forged,
            "RegistryInvalid",
            "its digest is sha256:",
        ),
        (
            "a layer cut short",
            blob.clone(),
            StatusCode::OK,
            cut,
            "RegistryInvalid",
            "bytes, and should have",
        ),
        (
            "a layer too long",
            blob.clone(),
            StatusCode::OK,
            longer,
            "RegistryInvalid",
            "it has more than the",
        ),
        (
            "a page for a layer",
            blob.clone(),
            StatusCode::OK,
            b"<html>".to_vec(),
            "RegistryInvalid",
            "it has 6 bytes",
        ),
        (
            "no layer",
            blob,
            StatusCode::NOT_FOUND,
            Vec::new(),
            "PackageNotFound",
            "there is no image",
        ),
        (
            "a page for a manifest",
            manifest.clone(),
            StatusCode::OK,
            b"<html><title>Hotel WiFi</title>".to_vec(),
            "RegistryInvalid",
            "it is not JSON",
        ),
        (
            "an empty manifest",
            manifest.clone(),
            StatusCode::OK,
            b"{}".to_vec(),
            "RegistryInvalid",
            "it is not a valid image manifest",
        ),
        (
            "an endless manifest",
            manifest.clone(),
            StatusCode::OK,
            vec![b' '; 5 << 20],
            "RegistryInvalid",
            "it has more than 4194304 bytes",
        ),
        (
            "a failure",
            manifest.clone(),
            StatusCode::BAD_GATEWAY,
            b"oops".to_vec(),
            "RegistryFailed",
            "failed with 502",
        ),
        (
            "no manifest",
            manifest,
            StatusCode::NOT_FOUND,
            Vec::new(),
            "PackageNotFound",
            "there is no image",
        ),
    ];
    for (name, path, status, bytes, reason, expected) in table {
        let scene = Scene::pushed().await;
        scene.server.lie(move |method, asked, truth| {
            if *method == Method::GET && asked == path {
                answer(status, &bytes)
            } else {
                truth
            }
        });
        let error = scene.pull().await.unwrap_err();
        assert_eq!(error.reason(), reason, "{name}: {error}");
        assert!(error.to_string().contains(expected), "{name}: {error}");
        // Once it says the truth again, all is well.
        scene.server.lie(|_, _, truth| truth);
        assert_eq!(scene.pull().await.unwrap(), files(), "{name}");
    }
}

#[tokio::test]
async fn a_tag_that_moved_is_no_longer_what_its_digest_says() {
    let scene = Scene::pushed().await;
    let other = Digest::of(b"something else").to_string();
    scene.server.serve_manifest(
        &other,
        MediaType::MANIFEST.as_str(),
        &image().manifest.bytes,
    );
    let error = scene
        .client
        .pull(&scene.reference.at(&other), &|_| ())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("its digest is sha256:"),
        "{error}"
    );
}

#[tokio::test]
async fn the_image_for_linux_is_taken_from_a_list() {
    let scene = Scene::pushed().await;
    let digest = image().manifest.digest.to_string();
    let entry = |os: &str, digest: &str| json!({ "mediaType": MediaType::MANIFEST.as_str(), "digest": digest, "size": 1, "platform": { "os": os } });
    let missing = Digest::of(b"windows").to_string();
    let list =
        json!({ "schemaVersion": 2, "manifests": [entry("windows", &missing), entry("linux", &digest)] }).to_string();
    scene
        .server
        .serve_manifest("1.0.0", MediaType::DOCKER_INDEX.as_str(), list.as_bytes());
    let pulled = scene.client.pull(&scene.reference, &|_| ()).await.unwrap();
    assert_eq!(pulled.files, files());
    assert_eq!(
        pulled.resolved.reference.digest,
        Some(Digest::of(list.as_bytes()).to_string())
    );
}

#[tokio::test]
async fn redirections_end_and_do_not_leave_encryption() {
    for (location, expected) in [
        (
            "/v2/team/redis/manifests/1.0.0",
            "it sent us on more than 5 times",
        ),
        (
            "http://cdn.example.org/x",
            "it sent us to http://cdn.example.org/x, which is not encrypted",
        ),
    ] {
        let scene = Scene::pushed().await;
        scene.server.lie(move |_, path, truth| {
            if !path.contains("manifests") {
                return truth;
            }
            let mut moved = answer(StatusCode::TEMPORARY_REDIRECT, b"");
            moved
                .headers_mut()
                .insert(header::LOCATION, location.parse().unwrap());
            moved
        });
        let error = scene.pull().await.unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn what_is_downloaded_is_unpacked_when_and_as_long_as_the_caller_wants() {
    let scene = Scene::pushed().await;
    let downloaded = scene.client.download(&scene.reference).await.unwrap();
    let stopped = downloaded.unpack(&|| false).unwrap_err();
    assert!(
        stopped
            .to_string()
            .contains("unpacking the image was stopped"),
        "{stopped}"
    );
    let downloaded = scene.client.download(&scene.reference).await.unwrap();
    let unpacked = std::thread::spawn(move || downloaded.unpack(&|| true))
        .join()
        .unwrap()
        .unwrap();
    assert_eq!(unpacked.files, files());
}
