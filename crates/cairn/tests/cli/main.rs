//! The `cairn` command from outside: what it prints where, and how it ends. No network, no cluster.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod attacks_local;
mod conventions;
mod demo;
mod eval;
mod general;
#[path = "../support/mod.rs"]
mod support;
mod template;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

/// A run of the real program with nothing of our environment that it could mind.
fn cairn(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(args)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// Runs the program with text on its standard input.
fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut child = cairn(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cairn starts");
    let mut stdin = child.stdin.take().expect("there is a pipe");
    // The program may well end before it has read all.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("cairn ends")
}

/// What a run came to, in a form that fits into a table.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

fn outcome(code: i32, stdout: &str, stderr: &str) -> Outcome {
    Outcome {
        code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}
