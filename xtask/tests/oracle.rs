//! `cargo xtask oracle` and `bench` where they cannot work: each says at once what is missing and
//! what to do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

/// Runs a verb on a machine whose `go` is a script, or that has none.
fn call(args: &[&str], go: Option<&str>) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    if let Some(script) = go {
        let path = dir.path().join("go");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(args)
        .env("PATH", dir.path())
        .env("CAIRN_CACHE", dir.path().join("cache"))
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn every_failure_says_what_failed_and_what_to_do() {
    let env = r#"echo '{"GOVERSION":"go1.99.0","GOOS":"linux","GOARCH":"amd64","GOCACHE":"/tmp"}'"#;
    let broken = format!("case $1 in env) {env} ;; build) echo no such module >&2; exit 1 ;; esac");
    let old = env.replace("1.99.0", "1.20.1");
    for (args, go, parts) in [
        (
            &["oracle"][..],
            None,
            &["building the oracles needs Go", "hint: install Go 1.26"][..],
        ),
        (&["oracle", "--check"], None, &["there is no `go` on PATH"]),
        (&["bench", "templates"], None, &["there is no `go` on PATH"]),
        (
            &["oracle"],
            Some(old.as_str()),
            &["the Go here is go1.20.1, but building the oracles needs 1.26"],
        ),
        (
            &["oracle"],
            Some(broken.as_str()),
            &["\"build\"", "no such module"],
        ),
        (&["oracle", "--seed", "7"], None, &["--check"]),
        (&["bench", "potatoes"], None, &["templates"]),
    ] {
        let (good, said) = call(args, go);
        assert!(!good, "{args:?}");
        for part in parts {
            assert!(
                said.contains(part),
                "{args:?} does not say {part:?}:\n{said}"
            );
        }
    }
}
