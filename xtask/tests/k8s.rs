//! `cargo xtask k8s` against a `go` made for the test: what it builds, when it does not, and how it
//! fails.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
    thread,
};

const XTASK: &str = env!("CARGO_BIN_EXE_xtask");
const CONTROL: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kubectl",
];
const GOOD_ENV: &str =
    r#"echo '{"GOVERSION":"go1.99.0","GOOS":"linux","GOARCH":"amd64","GOCACHE":"/tmp"}'"#;
/// Writes a line into each binary it is told to build.
const GOOD_BUILD: &str =
    r#"while [ "$1" != -o ]; do shift; done; echo "$3" >"$2"; echo "$3" >>"$CAIRN_CACHE/built""#;

/// A machine with its own PATH and cache, and a `go` whose `env` and `build` are shell snippets.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn without_go() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        fs::create_dir_all(dir.path().join("cache")).unwrap();
        Self { dir }
    }

    fn with_go(env: &str, build: &str) -> Self {
        let machine = Self::without_go();
        let go = machine.dir.path().join("bin/go");
        let script = format!("#!/bin/sh\ncase $1 in\nenv) {env} ;;\nbuild) {build} ;;\nesac\n");
        fs::write(&go, script).unwrap();
        fs::set_permissions(&go, fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    fn xtask(&self, args: &[&str]) -> Command {
        let mut command = Command::new(XTASK);
        let path = self.dir.path().join("bin");
        command
            .args(args)
            .env("PATH", path)
            .env("CAIRN_CACHE", self.cache())
            .env_remove("KUBEBUILDER_ASSETS");
        command
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn built(&self) -> usize {
        fs::read_to_string(self.cache().join("built")).map_or(0, |text| text.lines().count())
    }
}

fn dir_of(output: &Output) -> PathBuf {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}

#[test]
fn the_first_call_builds_and_the_second_only_says_where() {
    let machine = Machine::with_go(GOOD_ENV, GOOD_BUILD);
    let planned = dir_of(&machine.xtask(&["k8s", "--print-dir"]).output().unwrap());
    assert!(!planned.exists(), "--print-dir builds nothing");
    let dir = dir_of(&machine.xtask(&["k8s"]).output().unwrap());
    assert_eq!(dir, planned);
    let mut names: Vec<String> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, CONTROL);
    let again = machine.xtask(&["k8s"]).output().unwrap();
    assert_eq!(dir_of(&again), dir);
    assert!(
        again.stderr.is_empty(),
        "nothing to report: {}",
        String::from_utf8_lossy(&again.stderr)
    );
    assert_eq!(machine.built(), CONTROL.len());
}

#[test]
fn the_node_set_takes_over_what_is_built_and_adds_its_own() {
    let machine = Machine::with_go(GOOD_ENV, GOOD_BUILD);
    dir_of(&machine.xtask(&["k8s"]).output().unwrap());
    let dir = dir_of(&machine.xtask(&["k8s", "--node"]).output().unwrap());
    for name in CONTROL
        .iter()
        .chain(&["kubelet", "kube-scheduler", "kube-proxy"])
    {
        assert!(dir.join(name).is_file(), "{name}");
    }
    assert_eq!(machine.built(), 7);
}

#[test]
fn two_calls_at_once_build_once() {
    let machine = Machine::with_go(GOOD_ENV, GOOD_BUILD);
    let dirs: Vec<PathBuf> = thread::scope(|scope| {
        let calls: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| dir_of(&machine.xtask(&["k8s"]).output().unwrap())))
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(dirs.iter().all(|dir| *dir == dirs[0]));
    assert_eq!(machine.built(), CONTROL.len());
}

#[test]
fn what_an_interrupted_build_left_is_cleared_away() {
    let machine = Machine::with_go(GOOD_ENV, GOOD_BUILD);
    let target = dir_of(&machine.xtask(&["k8s", "--print-dir"]).output().unwrap());
    let partial = PathBuf::from(format!("{}.partial", target.display()));
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("junk"), "").unwrap();
    let dir = dir_of(&machine.xtask(&["k8s"]).output().unwrap());
    assert!(!dir.join("junk").exists() && !partial.exists());
}

#[test]
fn every_failure_says_what_failed_and_what_to_do() {
    let old = r#"echo '{"GOVERSION":"go1.20.1","GOOS":"linux","GOARCH":"amd64","GOCACHE":"/tmp"}'"#;
    let broken_build = "echo first line; echo last line >&2; exit 7";
    let table = [
        (
            "no go",
            Machine::without_go(),
            &["there is no `go` on PATH", "hint: install Go 1.26"][..],
        ),
        (
            "broken go",
            Machine::with_go("echo not here >&2; exit 3", ""),
            &["not here", "hint: install Go"],
        ),
        (
            "senseless go",
            Machine::with_go("echo hello", ""),
            &["makes no sense", "hint: install Go"],
        ),
        (
            "old go",
            Machine::with_go(old, ""),
            &["the Go here is go1.20.1", "needs 1.26", "hint: install Go"],
        ),
        (
            "compile failure",
            Machine::with_go(GOOD_ENV, broken_build),
            &[
                "`go build k8s.io/kubernetes/cmd/kube-apiserver` failed",
                "  first line\n  last line",
                "the whole log is",
            ],
        ),
        (
            "no output",
            Machine::with_go(GOOD_ENV, "true"),
            &["kube-apiserver` failed", "hint: "],
        ),
    ];
    for (case, machine, expected) in table {
        let output = machine.xtask(&["k8s"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{case}");
        assert!(output.stdout.is_empty(), "{case}: no directory is printed");
        for part in expected {
            assert!(said.contains(part), "{case}: `{part}` is not in:\n{said}");
        }
    }
}

#[test]
fn a_given_directory_is_used_as_it_is_and_must_be_complete() {
    let machine = Machine::without_go();
    let given = machine.dir.path().join("given");
    fs::create_dir_all(&given).unwrap();
    for name in &CONTROL[..3] {
        fs::write(given.join(name), "").unwrap();
    }
    let call = |args: &[&str]| {
        machine
            .xtask(args)
            .env("KUBEBUILDER_ASSETS", &given)
            .output()
            .unwrap()
    };
    let said = String::from_utf8_lossy(&call(&["k8s"]).stderr).into_owned();
    assert!(
        said.contains("which lacks kubectl") && said.contains("hint: "),
        "{said}"
    );
    fs::write(given.join("kubectl"), "").unwrap();
    assert_eq!(dir_of(&call(&["k8s"])), given);
    let relative = machine
        .xtask(&["k8s"])
        .env("KUBEBUILDER_ASSETS", "given")
        .current_dir(machine.dir.path())
        .output();
    assert!(dir_of(&relative.unwrap()).is_absolute());
    let said = String::from_utf8_lossy(&call(&["k8s", "--node"]).stderr).into_owned();
    assert!(
        said.contains("lacks kubelet, kube-scheduler, kube-proxy"),
        "{said}"
    );
}
