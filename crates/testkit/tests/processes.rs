//! What becomes of a cluster's processes and files, with programs made for the test in place of the
//! real ones.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

const RUN: &str = env!("CARGO_BIN_EXE_cluster-run");
/// Tells the test its process number, then lives on, deaf to a polite end.
const STAYS: &str = r#"trap '' TERM; echo $$ >"$ANNOUNCE"; exec sleep 600"#;

/// An etcd for those who only look whether its socket is there.
const LISTENS: &str = ": >etcd.sock; exec sleep 600";

/// Names and shell scripts.
type Programs = &'static [(&'static str, &'static str)];

/// A directory of programs, a temporary directory for the cluster, and a pipe on which the programs
/// announce themselves.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn with(programs: &[(&str, &str)]) -> Self {
        let stage = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(stage.path("bin")).unwrap();
        fs::create_dir_all(stage.path("tmp")).unwrap();
        for (name, body) in programs {
            let file = stage.path("bin").join(name);
            fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(
            Command::new("mkfifo")
                .arg(stage.path("announce"))
                .status()
                .unwrap()
                .success()
        );
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start(&self) -> Child {
        Command::new(RUN)
            .env("KUBEBUILDER_ASSETS", self.path("bin"))
            .env("TMPDIR", self.path("tmp"))
            .env("ANNOUNCE", self.path("announce"))
            .env("STAGE", self.dir.path())
            .env_remove("CAIRN_CLUSTER_LOGS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The process number of the next program that announces itself; waits for it.
    fn announced(&self) -> u32 {
        fs::read_to_string(self.path("announce"))
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .parse()
            .unwrap()
    }

    fn leftovers(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    /// Runs to the end and returns what it said.
    fn failure(&self) -> String {
        let output = self.start().wait_with_output().unwrap();
        assert!(!output.status.success());
        assert_eq!(self.leftovers(), Vec::<PathBuf>::new());
        String::from_utf8(output.stderr).unwrap()
    }
}

/// Whether a process runs; one that has died but was not collected by its parent does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !matches!(rest.trim().chars().next(), None | Some('Z' | 'X')))
}

/// Whether whoever started the tests wants this signal to be ignored, as a shell does with SIGINT
/// for what runs in the background. Programs inherit that, and it ends none of them.
fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn a_killed_test_leaves_no_process_and_no_file() {
    for signal in [Signal::KILL, Signal::INT, Signal::TERM] {
        if is_ignored(signal) {
            continue;
        }
        let stage = Stage::with(&[
            ("etcd", LISTENS),
            ("kube-apiserver", STAYS),
            ("kube-controller-manager", "exit 9"),
        ]);
        let mut test = stage.start();
        let server = stage.announced();
        assert!(runs(server));
        let [dir] = &stage.leftovers()[..] else {
            panic!("one directory while it runs")
        };
        assert!(Path::new(dir).join("pki/ca.crt").is_file());
        kill_process(Pid::from_child(&test), signal).unwrap();
        // The supervisor has the other end of this pipe until it is done.
        test.stderr
            .take()
            .unwrap()
            .read_to_end(&mut Vec::new())
            .unwrap();
        assert_eq!(stage.leftovers(), Vec::<PathBuf>::new(), "{signal:?}");
        assert!(!runs(server), "{signal:?}");
        test.wait().unwrap();
    }
}

#[test]
fn a_program_that_dies_at_start_ends_it_at_once_with_its_last_words() {
    let table: [(Programs, &[&str]); 4] = [
        (
            &[
                ("etcd", "echo one; echo bad data >&2; exit 3"),
                ("kube-apiserver", "exec sleep 600"),
            ],
            &["etcd has ended (exit status: 3)", "  one\n  bad data"],
        ),
        (
            &[
                ("etcd", LISTENS),
                ("kube-apiserver", "echo Error: unknown flag: --x; exit 1"),
            ],
            &[
                "kube-apiserver has ended (exit status: 1)",
                "hint: these binaries are of another version",
            ],
        ),
        (
            &[
                ("etcd", "echo no space left on device; exit 1"),
                ("kube-apiserver", "exec sleep 600"),
            ],
            &["etcd has ended", "hint: free some disk space"],
        ),
        (
            &[("etcd", LISTENS), ("kube-apiserver", "kill -9 $$")],
            &["signal: 9", "(empty)"],
        ),
    ];
    for (programs, expected) in table {
        let stage = Stage::with(&[programs, &[("kube-controller-manager", "exit 0")]].concat());
        let said = stage.failure();
        for part in expected {
            assert!(said.contains(part), "`{part}` is not in:\n{said}");
        }
    }
}

#[test]
fn a_taken_port_is_tried_again_with_another_until_it_would_be_no_accident() {
    let taken = r#"
        for flag; do case $flag in --secure-port=*) echo "${flag#*=}" >>"$STAGE/ports" ;; esac; done
        echo "listen tcp 127.0.0.1: bind: address already in use"; exit 1"#;
    let stage = Stage::with(&[
        ("etcd", LISTENS),
        ("kube-apiserver", taken),
        ("kube-controller-manager", "exit 0"),
    ]);
    let said = stage.failure();
    assert!(
        said.contains("5 ports in a row were taken") && said.contains("hint: try again"),
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(stage.path("ports"))
            .unwrap()
            .lines()
            .count(),
        5
    );
}

#[test]
fn missing_programs_are_all_named_and_a_broken_one_is_too() {
    let stage = Stage::with(&[("etcd", "exit 0")]);
    let said = stage.failure();
    assert!(
        said.contains("lacks kube-apiserver, kube-controller-manager\nhint: `cargo xtask k8s`"),
        "{said}"
    );
    let stage = Stage::with(&[
        ("etcd", ""),
        ("kube-apiserver", ""),
        ("kube-controller-manager", ""),
    ]);
    fs::set_permissions(stage.path("bin/etcd"), fs::Permissions::from_mode(0o644)).unwrap();
    let said = stage.failure();
    assert!(
        said.contains("cannot run") && said.contains("bin/etcd") && said.contains("hint: "),
        "{said}"
    );
}

#[test]
fn a_temporary_directory_that_is_too_deep_for_a_socket_is_refused_before_anything_starts() {
    let stage = Stage::with(&[
        ("etcd", ""),
        ("kube-apiserver", ""),
        ("kube-controller-manager", ""),
    ]);
    let deep = stage.path("tmp").join("d".repeat(100));
    let output = Command::new(RUN)
        .env("KUBEBUILDER_ASSETS", stage.path("bin"))
        .env("TMPDIR", &deep)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("too long for a socket") && said.contains("hint: set TMPDIR"),
        "{said}"
    );
    assert!(!deep.exists());
}
