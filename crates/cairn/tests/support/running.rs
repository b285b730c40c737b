//! The program while it runs: what it says is waited for, line by line; it is killed with the test.
#![allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, not every test uses all"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Nothing that is waited for takes longer.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    pub fn start(place: &Path, args: &[&str]) -> Running {
        Running::of(Command::new(env!("CARGO_BIN_EXE_cairn")), place, args)
    }

    /// Starts it by a script of a shell, which finds it as `$0` and its arguments as `$@`.
    pub fn start_in_shell(place: &Path, script: &str, args: &[&str]) -> Running {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_cairn")]);
        Running::of(shell, place, args)
    }

    fn of(mut command: Command, place: &Path, args: &[&str]) -> Running {
        // Nothing of the person who runs the test: no cluster, no registry.
        command
            .env_remove("KUBECONFIG")
            .env("HOME", place)
            .env("XDG_RUNTIME_DIR", place.join("run"));
        command
            .args(args)
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("cairn starts");
        let (sender, lines) = channel();
        read(child.stdout.take().expect("a pipe"), sender.clone());
        read(child.stderr.take().expect("a pipe"), sender);
        Running {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line with this in it, after those that were waited for before.
    pub fn says(&mut self, part: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("it does not say {part:?}, but:\n{}", self.seen.join("\n"));
            };
            let found = line.contains(part);
            self.seen.push(line);
            if found {
                return;
            }
        }
    }

    /// The lines so far that have this in them.
    pub fn said(&self, part: &str) -> Vec<&String> {
        self.seen
            .iter()
            .filter(|line| line.contains(part))
            .collect()
    }

    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it is told");
    }

    /// Waits for its end, and answers how it ended.
    pub fn end(mut self) -> Option<i32> {
        // Its output ends with it.
        for line in &self.lines {
            self.seen.push(line);
        }
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(stream: impl Read + Send + 'static, lines: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
}
