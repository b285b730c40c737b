//! `cargo xtask cluster-test` against a `cargo` made for the test: what it is asked to run, and in
//! which environment.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// Runs the verb with a `cargo` that notes its call and ends with a status; returns the note and
/// whether it went well.
fn call(args: &[&str], status: u8) -> (String, bool) {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kubectl",
    ] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    let (cargo, note) = (dir.path().join("cargo"), dir.path().join("note"));
    fs::write(
        &cargo,
        format!(
            "#!/bin/sh\n{{ echo \"args: $*\"; env; }} >'{}'\nexit {status}\n",
            note.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("cluster-test")
        .args(args)
        .env("CARGO", &cargo)
        .env("KUBEBUILDER_ASSETS", dir.path())
        .env("CARGO_PKG_NAME", "xtask")
        .env("CARGO_MANIFEST_DIR", "/somewhere")
        .status()
        .unwrap();
    (fs::read_to_string(note).unwrap(), outcome.success())
}

#[test]
fn it_runs_every_cluster_suite_and_allows_nothing_to_be_left_out() {
    let (note, good) = call(&["watch", "deletion", "--", "--test-threads=1"], 0);
    assert!(good);
    let suites = ["cluster", "conformance", "differences", "docs", "kubectl"]
        .map(|suite| format!("--test {suite}"));
    let args = format!(
        "args: test --workspace {} -- watch deletion --test-threads=1\n",
        suites.join(" ")
    );
    assert!(note.starts_with(&args), "{note}");
    assert!(
        note.contains("CAIRN_CLUSTER_TESTS=require\n") && note.contains("KUBEBUILDER_ASSETS=/"),
        "{note}"
    );
}

#[test]
fn it_does_not_pass_on_what_would_make_dependencies_be_built_anew() {
    let (note, _) = call(&[], 0);
    assert!(
        !note.contains("CARGO_PKG_") && !note.contains("CARGO_MANIFEST_"),
        "{note}"
    );
}

#[test]
fn it_fails_when_the_suites_do() {
    assert!(!call(&[], 101).1);
}
