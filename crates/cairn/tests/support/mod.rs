//! Running the program from a directory, and copies of the examples to run it on.
#![allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, not every test uses all"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace")
}

/// Runs the program from a directory.
pub fn cairn(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(args)
        .current_dir(dir)
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command.output().expect("cairn starts")
}

/// All that a run printed, with what was run.
pub fn told(args: &[&str], output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "cairn {}\n{}{}",
        args.join(" "),
        text(&output.stdout),
        text(&output.stderr)
    )
}

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// A copy of an example that a test may spoil.
pub fn example(name: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    copy(&root().join("examples").join(name), place.path());
    place
}
