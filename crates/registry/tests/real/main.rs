//! Against Debian's `docker-registry`, with and without passwords, and with images that `skopeo`
//! made. What is not installed is left out with a line, except in CI, where nothing is.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and says what it leaves out"
)]

mod server;

use std::path::Path;
use std::process::Command;

use package::Files;
use package::image::Reference;
use package::image::{Archive, Image};
use registry::{Client, Credential, Credentials, Options, Store};
use serde_json::Value;
use server::Registry;

/// Whether the programs are there; in CI they have to be.
fn can_run(test: &str) -> bool {
    let missing: Vec<&str> = ["docker-registry", "skopeo"]
        .into_iter()
        .filter(|name| !is_installed(name))
        .collect();
    if missing.is_empty() {
        return true;
    }
    let ci = std::env::var("CI").is_ok_and(|value| !["", "false", "0"].contains(&value.as_str()));
    assert!(
        !ci,
        "{} must be installed in CI: apt-get install {}",
        missing.join(" and "),
        missing.join(" ")
    );
    eprintln!(
        "left out: {test}; it needs `apt-get install {}`",
        missing.join(" ")
    );
    false
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn files() -> Files {
    Files::from([
        (
            ".registry/app.yaml".to_owned(),
            b"title: Redis\nversion: 1.0.0\n".to_vec(),
        ),
        (
            ".registry/resources/a/b/icon.svg".to_owned(),
            b"<svg/>".to_vec(),
        ),
    ])
}

fn image() -> Image {
    Image::build(&files(), &package::read(&files()).0)
}

fn client(directory: &Path, credentials: Credentials) -> Client {
    let store = Store::open(directory.join("store")).unwrap();
    Client::new(Options {
        credentials,
        ..Options::new(store)
    })
}

fn skopeo(arguments: &[&str]) -> Value {
    let output = Command::new("skopeo")
        .arg("--insecure-policy")
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "skopeo {arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[tokio::test]
async fn skopeo_reads_what_we_push_and_we_read_what_it_copies() {
    if !can_run("skopeo_reads_what_we_push_and_we_read_what_it_copies") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::start(None).await;
    let client = client(directory.path(), Credentials::default());
    let reference = Reference::parse(&format!("{}/team/redis:1.0.0", registry.host)).unwrap();
    let pushed = client.push(&image(), &reference, &|_| ()).await.unwrap();

    let told = skopeo(&[
        "inspect",
        "--tls-verify=false",
        &format!("docker://{reference}"),
    ]);
    assert_eq!(told["Digest"], pushed.reference.digest.clone().unwrap());
    assert_eq!(told["Labels"]["org.opencontainers.image.title"], "Redis");

    // As Docker's own format, into one file, and as an archive that we wrote.
    let docker = Reference::parse(&format!("{}/team/docker:1.0.0", registry.host)).unwrap();
    let (from, to) = (
        format!("docker://{reference}"),
        format!("docker://{docker}"),
    );
    skopeo(&[
        "copy",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
        "--format=v2s2",
        &from,
        &to,
    ]);
    let file = directory.path().join("copied.tar");
    skopeo(&[
        "copy",
        "--src-tls-verify=false",
        &from,
        &format!("oci-archive:{}:1.0.0", file.display()),
    ]);
    let archive = Archive::read(std::fs::File::open(&file).unwrap()).unwrap();
    assert_eq!(archive.manifest.digest, image().manifest.digest);
    let own = directory.path().join("own.tar");
    std::fs::write(&own, Archive::write(&image(), Some("2.0.0"))).unwrap();
    let written = Reference::parse(&format!("{}/team/written:1.0.0", registry.host)).unwrap();
    let from = format!("oci-archive:{}", own.display());
    skopeo(&[
        "copy",
        "--dest-tls-verify=false",
        &from,
        &format!("docker://{written}"),
    ]);

    for reference in [&reference, &docker, &written, &pushed.reference] {
        let pulled = client.pull(reference, &|_| ()).await.unwrap();
        assert_eq!(pulled.files, files(), "{reference}");
    }
    let missing = client
        .pull(
            &Reference::parse(&format!("{}/team/none:1", registry.host)).unwrap(),
            &|_| (),
        )
        .await;
    assert_eq!(missing.unwrap_err().reason(), "PackageNotFound");
}

#[tokio::test]
async fn a_registry_with_passwords_lets_in_who_has_one() {
    if !can_run("a_registry_with_passwords_lets_in_who_has_one") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    // `user` with the password `pass`, as `htpasswd -B` writes it.
    let registry = Registry::start(Some(server::USER)).await;
    let login = |password: &str| {
        let credential = Credential::Basic {
            user: "user".into(),
            password: password.into(),
        };
        Credentials::of(&registry.host, credential)
    };
    let reference = Reference::parse(&format!("{}/team/redis:1.0.0", registry.host)).unwrap();
    for bad in [Credentials::default(), login("wrong")] {
        let error = client(directory.path(), bad)
            .push(&image(), &reference, &|_| ())
            .await
            .unwrap_err();
        assert_eq!(error.reason(), "RegistryDenied", "{error}");
    }
    let client = client(directory.path(), login("pass"));
    client.push(&image(), &reference, &|_| ()).await.unwrap();
    assert_eq!(
        client.pull(&reference, &|_| ()).await.unwrap().files,
        files()
    );
}
