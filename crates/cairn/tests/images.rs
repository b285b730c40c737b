//! `cairn build` and `cairn unpack` as a user calls them; pushing and pulling is the registry's own suite.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn cairn(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cairn")).current_dir(directory).args(arguments).output().unwrap()
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
    let second = cairn(directory.path(), &["build", &package, "-o", "again.tar", "-t", "example.org/web:0.1.0"]);
    assert_eq!(std::fs::read(directory.path().join("again.tar")).unwrap(), bytes, "the same files, the same bytes");
    assert_eq!(text(&first.stdout).lines().nth(1), text(&second.stdout).lines().nth(1));

    let from_directory = cairn(directory.path(), &["unpack", &package]);
    let from_file = cairn(directory.path(), &["unpack", "web-application-0.1.0.tar"]);
    assert!(from_file.status.success(), "{}", text(&from_file.stderr));
    assert_eq!(text(&from_directory.stdout), text(&from_file.stdout));
    let kinds: Vec<_> =
        text(&from_file.stdout).lines().filter(|line| line.starts_with("kind: ")).map(str::to_owned).collect();
    assert_eq!(kinds, ["kind: CustomResourceDefinition", "kind: Stack"]);
}

#[test]
fn what_cannot_be_built_or_unpacked_says_why_and_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("no.tar"), "text").unwrap();
    std::fs::create_dir_all(directory.path().join("broken/.registry")).unwrap();
    std::fs::write(directory.path().join("broken/.registry/app.yaml"), "title: [\n").unwrap();
    let package = example("web-application").display().to_string();
    let table: [(&[&str], i32, &str, &str); 6] = [
        (&["build", &package, "-t", "a/web:9.9.9"], 1, "its image has the tag `9.9.9`", "tag the image `0.1.0`"),
        (&["build", &package, "-t", "No Name"], 2, "`No Name` is no name of an image", "[registry/]path"),
        (&["build", "broken"], 1, ".registry/app.yaml:2:1: did not find expected node content", ""),
        (&["unpack", "no.tar"], 1, "no.tar: ", "it reads files that `cairn build`"),
        (&["unpack", "missing"], 1, "there is no file or directory `missing`", ""),
        (&["push", &package, "a/b@sha256:0"], 2, "`sha256:0` in `a/b@sha256:0` is no digest", "64 hexadecimal"),
    ];
    for (arguments, code, message, hint) in table {
        let output = cairn(directory.path(), arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(message) && said.contains(hint), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
    let tars = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(tars, 2, "only what the test wrote");
}
