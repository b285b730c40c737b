//! One child process with its log, and what to say when it has died.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result};

const LOG_LINES: usize = 12;
const LOG_BYTES: u64 = 64 << 10;

/// A running program of the cluster.
pub(crate) struct Process {
    name: &'static str,
    log: PathBuf,
    child: Mutex<Child>,
}

impl Process {
    /// Starts a program in a process group, with its output in a log.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        flags: &[String],
        group: i32,
        dir: &Path,
        logs: &Path,
    ) -> Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let file =
            File::create(&log).with_context(|| format!("cannot create {}", log.display()))?;
        let child = Command::new(program)
            .args(flags)
            .current_dir(dir)
            .process_group(group)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| {
                format!(
                    "cannot run {}\nhint: `cargo xtask k8s` builds it",
                    program.display()
                )
            })?;
        Ok(Self {
            name,
            log,
            child: Mutex::new(child),
        })
    }

    /// If it has ended: how, the last lines of its log, and a hint.
    pub(crate) fn death(&self) -> Option<String> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let how = match child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let log = self.tail();
        let hint = hint(&log)
            .map(|hint| format!("\nhint: {hint}"))
            .unwrap_or_default();
        Some(format!(
            "{} has ended ({how}); the end of its log:\n{log}{hint}",
            self.name
        ))
    }

    /// The last lines of the log.
    pub(crate) fn tail(&self) -> String {
        tail(&self.log).unwrap_or_else(|error| format!("  (no log: {error})"))
    }

    /// The child itself, to be waited for at the end.
    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a log tells of a port that somebody else has.
pub(crate) fn port_was_taken(log: &str) -> bool {
    log.contains("address already in use")
}

fn hint(log: &str) -> Option<&'static str> {
    let table = [
        (
            "address already in use",
            "another program took the port; try again",
        ),
        (
            "no space left on device",
            "free some disk space, or point TMPDIR elsewhere",
        ),
        (
            "too many open files",
            "raise the limit of open files (`ulimit -n`)",
        ),
        (
            "unknown flag",
            "these binaries are of another version; `cargo xtask k8s` builds the pinned ones",
        ),
        (
            "cannot execute",
            "these binaries are for another machine; `cargo xtask k8s` builds them for this one",
        ),
        ("permission denied", "check who may write to TMPDIR"),
    ];
    table
        .iter()
        .find(|(sign, _)| log.contains(sign))
        .map(|(_, hint)| *hint)
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return Ok("  (empty)".to_owned());
    }
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    Ok(last
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_shows_a_known_fault_brings_a_hint() {
        for (log, part) in [
            (
                "x\nlisten tcp 127.0.0.1:1: bind: address already in use\n",
                "another program took the port",
            ),
            (
                "panic: write wal: no space left on device",
                "free some disk space",
            ),
            ("Error: unknown flag: --x", "another version"),
        ] {
            assert!(hint(log).is_some_and(|hint| hint.contains(part)), "{log}");
        }
        assert_eq!(hint("all is well"), None);
    }

    #[test]
    fn the_tail_of_a_log_is_short_and_says_when_there_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(tail(&path).unwrap(), "  (empty)");
        let many: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&path, many).unwrap();
        let shown = tail(&path).unwrap();
        assert_eq!(shown.lines().count(), LOG_LINES);
        assert!(shown.ends_with("  line 99999"));
    }
}
