//! One build: each binary in turn into a bench directory, with a line of progress and, on failure,
//! the end of the log.

use std::{
    fs::{self, File},
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::toolchain::go;

/// A program and the Go package it is built from.
pub struct Binary {
    /// The file name.
    pub name: &'static str,
    package: &'static str,
}

/// Every binary; the first [`CONTROL`] are the control plane and `kubectl`.
///
/// The API server comes first: it is the longest, and what it compiles serves all others.
pub const BINARIES: [Binary; 7] = [
    Binary {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
    },
    Binary {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
    },
    Binary {
        name: "kubectl",
        package: "k8s.io/kubernetes/cmd/kubectl",
    },
    Binary {
        name: "etcd",
        package: "go.etcd.io/etcd/server/v3",
    },
    Binary {
        name: "kubelet",
        package: "k8s.io/kubernetes/cmd/kubelet",
    },
    Binary {
        name: "kube-scheduler",
        package: "k8s.io/kubernetes/cmd/kube-scheduler",
    },
    Binary {
        name: "kube-proxy",
        package: "k8s.io/kubernetes/cmd/kube-proxy",
    },
];
/// How many of [`BINARIES`] are no node's.
pub const CONTROL: usize = 4;

const LOG_LINES: usize = 20;

/// Where one build happens.
pub struct Workshop {
    /// The Go module that pins everything.
    pub module: PathBuf,
    /// The directory the binaries are built into; what an interrupted build left there is removed.
    pub bench: PathBuf,
    /// The finished directory of the other set, whose binaries are the same.
    pub twin: PathBuf,
    /// What `go build` says.
    pub log: PathBuf,
    /// The linker's flags.
    pub ldflags: String,
}

impl Workshop {
    /// Fills the bench.
    pub fn build(&self, binaries: &[Binary]) -> Result<()> {
        if self.bench.exists() {
            fs::remove_dir_all(&self.bench)
                .with_context(|| format!("cannot remove {}", self.bench.display()))?;
        }
        fs::create_dir_all(&self.bench)
            .with_context(|| format!("cannot create {}", self.bench.display()))?;
        for (index, binary) in binaries.iter().enumerate() {
            let output = self.bench.join(binary.name);
            let twin = self.twin.join(binary.name);
            if fs::hard_link(&twin, &output).is_ok() || fs::copy(&twin, &output).is_ok() {
                continue;
            }
            let label = format!(
                "building {} ({} of {})",
                binary.name,
                index + 1,
                binaries.len()
            );
            self.build_one(binary, &output, &label)?;
        }
        Ok(())
    }

    fn build_one(&self, binary: &Binary, output: &Path, label: &str) -> Result<()> {
        let log = File::create(&self.log)
            .with_context(|| format!("cannot create {}", self.log.display()))?;
        let child = go(&self.module)
            .args([
                "build",
                "-mod=readonly",
                "-trimpath",
                "-buildvcs=false",
                "-ldflags",
                &self.ldflags,
                "-o",
            ])
            .arg(output)
            .arg(binary.package)
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("cannot run `go build`")?;
        let status = watch(child, label)?;
        if !status.success() || !output.is_file() {
            let said = fs::read(&self.log).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            bail!(
                "`go build {}` failed ({status}); the end of its log:\n{}\nhint: {}; the whole log is {}",
                binary.package,
                tail(&said, LOG_LINES),
                hint(&said),
                self.log.display()
            );
        }
        Ok(())
    }
}

/// What to do about a failed build, by what it said.
fn hint(log: &str) -> &'static str {
    if log.contains("no space left on device") {
        "free some disk space (`go clean -cache` empties Go's), or point CAIRN_CACHE, GOCACHE or TMPDIR elsewhere"
    } else if log.contains("signal: killed") {
        "the compiler was killed, as happens without memory: 3 GiB should be free"
    } else if [
        "dial tcp",
        "no such host",
        "module lookup disabled",
        "connection refused",
    ]
    .iter()
    .any(|s| log.contains(s))
    {
        "the Go module proxy is out of reach: check the network and GOPROXY, or fill the module cache elsewhere \
         with `go mod download` in tools/k8s"
    } else {
        "try `go build` in tools/k8s by hand"
    }
}

/// Waits for a build: one line that counts on a terminal, else a line now and then so that a CI log
/// shows life.
fn watch(mut child: Child, label: &str) -> Result<ExitStatus> {
    let terminal = std::io::stderr().is_terminal();
    let begin = Instant::now();
    let (done, waiting) = mpsc::channel::<()>();
    let line = label.to_owned();
    let reporter = thread::spawn(move || {
        let pause = Duration::from_secs(if terminal { 1 } else { 60 });
        if !terminal {
            eprintln!("{line}");
        }
        // Ends when the sender is dropped.
        while let Err(mpsc::RecvTimeoutError::Timeout) = waiting.recv_timeout(pause) {
            let end = if terminal { "\r" } else { "\n" };
            eprint!("{line}, {}{end}", clock(begin.elapsed()));
            let _ = std::io::stderr().flush();
        }
    });
    let status = child.wait().context("cannot wait for `go build`");
    drop(done);
    let _ = reporter.join();
    eprintln!(
        "{label}, {}{}",
        clock(begin.elapsed()),
        if matches!(&status, Ok(s) if s.success()) {
            ""
        } else {
            " failed"
        }
    );
    status
}

/// Minutes and seconds.
pub fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    if all.is_empty() {
        return "  (it said nothing)".to_owned();
    }
    all[all.len().saturating_sub(lines)..]
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_its_last_lines_indented() {
        assert_eq!(tail("a\nb\nc\n", 2), "  b\n  c");
        assert_eq!(tail("a", 2), "  a");
        assert_eq!(tail("", 2), "  (it said nothing)");
    }

    #[test]
    fn the_hint_fits_what_the_build_said() {
        for (log, part) in [
            (
                "link: write: no space left on device",
                "free some disk space",
            ),
            ("compile: signal: killed", "memory"),
            ("dial tcp: lookup proxy.golang.org: no such host", "GOPROXY"),
            ("undefined: x", "by hand"),
        ] {
            assert!(hint(log).contains(part), "{log}");
        }
    }

    #[test]
    fn the_clock_shows_minutes_and_seconds() {
        assert_eq!(clock(Duration::from_secs(253)), "4:13");
    }
}
