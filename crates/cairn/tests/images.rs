//! Images of packages as a user makes and moves them; what registries may do wrong is the
//! registry's own suite.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/registry.rs"]
mod registry;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(name)
}

fn cairn(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    // Nothing of the person who runs the test: no passwords, no images.
    command
        .env("HOME", directory)
        .env_remove("DOCKER_CONFIG")
        .env_remove("XDG_CACHE_HOME");
    command
        .current_dir(directory)
        .args(arguments)
        .output()
        .unwrap()
}

/// What a command tells a program, which has to go well.
fn told(directory: &Path, arguments: &[&str], format: &str) -> Value {
    let output = cairn(directory, &[arguments, &["-o", format]].concat());
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    match format {
        "json" => serde_json::from_slice(&output.stdout).unwrap(),
        "yaml" => yaml::parse(&text(&output.stdout)).unwrap(),
        _ => Value::String(text(&output.stdout)),
    }
}

#[test]
fn what_is_made_of_an_image_is_told_to_programs() {
    let registry = registry::Registry::start();
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let package = example("web-application").display().to_string();
    let to = format!("{}/team/web:0.1.0", registry.host);

    let built = told(here, &["build", &package], "json");
    let digest = built["digest"].as_str().unwrap();
    assert_eq!(
        (&built["file"], &built["tag"]),
        (&json!("web-application-0.1.0.tar"), &json!("0.1.0"))
    );
    assert_eq!(
        std::fs::read(here.join("web-application-0.1.0.tar"))
            .unwrap()
            .len(),
        built["bytes"]
    );
    assert_eq!(
        told(here, &["build", &package, "-o", "web.tar"], "name"),
        "web.tar\n"
    );

    let reference = format!("{to}@{digest}");
    let pushed = json!({ "reference": reference, "digest": digest, "parts": 2, "sent": 2 });
    assert_eq!(told(here, &["push", "web.tar", &to], "yaml"), pushed);
    assert_eq!(
        told(here, &["push", &package, &to], "json")["sent"],
        0,
        "all of it is there"
    );
    assert_eq!(
        told(here, &["push", &package, &to], "name"),
        format!("{reference}\n")
    );

    let pulled = told(here, &["pull", &to], "json");
    assert_eq!(
        (&pulled["directory"], &pulled["reference"]),
        (&json!("web"), &json!(reference))
    );
    assert!(
        pulled["files"]
            .as_array()
            .unwrap()
            .contains(&json!(".registry/app.yaml")),
        "{pulled}"
    );
    assert_eq!(told(here, &["pull", &to, "-o", "again"], "name"), "again\n");

    let index = told(here, &["index", &to], "json");
    assert_eq!(index["packages"][0]["version"], "0.1.0", "{index}");
    assert_eq!(told(here, &["index", &to], "yaml"), index);
    assert_eq!(
        told(here, &["index", &to], "name"),
        format!("{reference}\n")
    );

    let begun = told(here, &["init", "shop"], "json");
    assert_eq!(
        (&begun["directory"], &begun["kind"]),
        (&json!("shop"), &json!("Shop"))
    );
    assert!(
        begun["files"]
            .as_array()
            .unwrap()
            .iter()
            .all(|file| here.join("shop").join(file.as_str().unwrap()).is_file())
    );
    assert_eq!(
        told(here, &["init", "shop", "--dir", "other"], "name"),
        "other\n"
    );
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_package_is_built_into_a_file_that_unpacks_to_the_same_objects() {
    let directory = tempfile::tempdir().unwrap();
    let package = example("web-application").display().to_string();
    let first = cairn(directory.path(), &["build", &package]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let file = directory.path().join("web-application-0.1.0.tar");
    let bytes = std::fs::read(&file).unwrap();
    let second = cairn(
        directory.path(),
        &[
            "build",
            &package,
            "-o",
            "again.tar",
            "-t",
            "example.org/web:0.1.0",
        ],
    );
    assert_eq!(
        std::fs::read(directory.path().join("again.tar")).unwrap(),
        bytes,
        "the same files, the same bytes"
    );
    assert_eq!(
        text(&first.stdout).lines().nth(1),
        text(&second.stdout).lines().nth(1)
    );

    let from_directory = cairn(directory.path(), &["unpack", &package]);
    let from_file = cairn(directory.path(), &["unpack", "web-application-0.1.0.tar"]);
    assert!(from_file.status.success(), "{}", text(&from_file.stderr));
    assert_eq!(text(&from_directory.stdout), text(&from_file.stdout));
    let kinds: Vec<_> = text(&from_file.stdout)
        .lines()
        .filter(|line| line.starts_with("kind: "))
        .map(str::to_owned)
        .collect();
    assert_eq!(kinds, ["kind: CustomResourceDefinition", "kind: Stack"]);
}

#[test]
fn what_cannot_be_built_or_unpacked_says_why_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("no.tar"), "text").unwrap();
    std::fs::create_dir_all(directory.path().join("broken/.registry")).unwrap();
    std::fs::write(
        directory.path().join("broken/.registry/app.yaml"),
        "title: [\n",
    )
    .unwrap();
    let package = example("web-application").display().to_string();
    let table: [(&[&str], i32, &str, &str); 6] = [
        (
            &["build", &package, "-t", "a/web:9.9.9"],
            1,
            "its image has the tag `9.9.9`",
            "tag the image `0.1.0`",
        ),
        (
            &["build", &package, "-t", "No Name"],
            2,
            "`No Name` is no name of an image",
            "[registry/]path",
        ),
        (
            &["build", "broken"],
            1,
            ".registry/app.yaml:2:1: this is not YAML: did not find expected node content",
            "",
        ),
        (
            &["unpack", "no.tar"],
            1,
            "no.tar: ",
            "it reads files that `cairn build`",
        ),
        (
            &["unpack", "missing"],
            1,
            "there is no file or directory `missing`",
            "",
        ),
        (
            &["push", &package, "a/b@sha256:0"],
            2,
            "`sha256:0` in `a/b@sha256:0` is no digest",
            "64 hexadecimal",
        ),
    ];
    for (arguments, code, message, hint) in table {
        let output = cairn(directory.path(), arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(
            said.contains(message) && said.contains(hint),
            "{arguments:?}: {said}"
        );
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
    let names = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let count = names
        .filter(|name| !name.to_string_lossy().starts_with(".cache"))
        .count();
    assert_eq!(count, 2, "only what the test wrote");
}
