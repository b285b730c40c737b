//! A local user leaves something for root to find: a kubeconfig that names a program, a directory,
//! a link.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use testkit::{Choices, variants};

const ATTACKER: u32 = 65534;

/// Whether this test can act as another user; where all tests run, it has to.
fn as_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        let _ =
            std::io::stderr().write_all(b"left out: only root can make files of another user\n");
        assert!(std::env::var_os("CI").is_none(), "this has to run as root");
    }
    root
}

fn cairn(place: &Path, args: &[&str]) -> Output {
    // A control plane that starts after all would run for ever.
    Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_cairn")])
        .args(args)
        .current_dir(place.join("shared"))
        .env("HOME", place.join("home"))
        .env("TMPDIR", place.join("shared"))
        .env_remove("KUBECONFIG")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null())
        .output()
        .expect("cairn starts")
}

/// A directory that is everybody's, as /tmp is, and a home beside it.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for name in ["shared", "home", "mark"] {
        fs::create_dir(place.path().join(name)).expect("a directory");
    }
    fs::set_permissions(
        place.path().join("shared"),
        fs::Permissions::from_mode(0o1777),
    )
    .expect("a mode");
    place
}

/// A kubeconfig that leaves a mark when it is used.
fn evil(place: &Path) -> String {
    let program = format!("touch {}; exit 1", place.join("mark/ran").display());
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: cairn\n\
         clusters: [{{name: cairn, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         contexts: [{{name: cairn, context: {{cluster: cairn, user: admin}}}}]\n\
         users: [{{name: admin, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: sh, \
         args: [-c, '{program}'], interactiveMode: Never}}}}}}]\n"
    )
}

/// Puts the kubeconfig where commands look for one of `cairn up`, in one of many ways; says which.
fn plant(place: &Path, choices: &mut Choices) -> &'static str {
    let (dir, hers) = (place.join("shared/.cairn"), place.join("hers"));
    fs::create_dir(&hers).expect("a directory");
    let file = |path: &Path| {
        fs::write(path, evil(place)).expect("a file");
        chown(path, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
    };
    match choices.below(4) {
        0 => {
            fs::create_dir(&dir).expect("a directory");
            file(&dir.join("kubeconfig"));
            chown(&dir, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
            "a directory and a file of hers"
        }
        1 => {
            fs::create_dir(&dir).expect("a directory");
            fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).expect("a mode");
            file(&dir.join("kubeconfig"));
            "a file of hers in a directory that is open to all"
        }
        2 => {
            file(&hers.join("kubeconfig"));
            symlink(&hers, &dir).expect("a link");
            lchown(&dir, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
            "a link of hers to a directory"
        }
        _ => {
            fs::create_dir(&dir).expect("a directory");
            file(&hers.join("evil"));
            symlink(hers.join("evil"), dir.join("kubeconfig")).expect("a link");
            for path in [&dir, &dir.join("kubeconfig")] {
                lchown(path, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
            }
            "a link of hers to a file"
        }
    }
}

#[test]
fn a_kubeconfig_that_another_user_planted_runs_no_program() {
    if !as_root() {
        return;
    }
    for (index, mut choices) in variants() {
        let place = place();
        let what = plant(place.path(), &mut choices);
        let verb = *choices.pick(&[
            &["list"][..],
            &["list", "-A"],
            &["template", "list"],
            &["uninstall", "x"],
        ]);
        let output = cairn(place.path(), verb);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            !place.path().join("mark/ran").exists(),
            "variant {index}: {what}: her program ran"
        );
        assert_eq!(
            output.status.code(),
            Some(1),
            "variant {index}: {what}: {told}"
        );
        assert!(
            told.contains("belongs to another user"),
            "variant {index}: {what}: {told}"
        );
    }
}

#[test]
fn a_control_plane_does_not_move_into_what_another_user_made() {
    if !as_root() {
        return;
    }
    for (index, mut choices) in variants().take(12) {
        let place = place();
        let what = plant(place.path(), &mut choices);
        let output = cairn(place.path(), &["up", "--data", ".cairn", "--port", "0"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(1),
            "variant {index}: {what}: {told}"
        );
        assert!(
            told.contains("another user") || told.contains("others may have"),
            "variant {index}: {what}: {told}"
        );
        assert!(
            told.contains("--data DIR"),
            "variant {index}: {what}: {told}"
        );
    }
}

#[test]
fn a_kubeconfig_is_not_written_to_a_place_that_another_user_prepared() {
    if !as_root() {
        return;
    }
    for (index, mut choices) in variants().take(12) {
        let place = place();
        let out = place.path().join("shared/kc");
        let victim = place.path().join("victim");
        fs::write(&victim, "").expect("a file");
        let what = if choices.toss() {
            symlink(&victim, &out).expect("a link");
            lchown(&out, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
            "a link of hers"
        } else {
            fs::write(&out, "").expect("a file");
            chown(&out, Some(ATTACKER), Some(ATTACKER)).expect("an owner");
            "a file of hers"
        };
        let data = place.path().join("home/data");
        let data = data.to_str().expect("a path");
        let output = cairn(
            place.path(),
            &[
                "up",
                "--data",
                data,
                "--port",
                "0",
                "--kubeconfig-out",
                "kc",
            ],
        );
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(1),
            "variant {index}: {what}: {told}"
        );
        assert!(
            told.contains("another user"),
            "variant {index}: {what}: {told}"
        );
        assert_eq!(fs::read_to_string(&victim).expect("a file"), "");
    }
}
