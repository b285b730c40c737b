//! The examples of the documentation are true: each `$ ` line of a `console` block is run, and prints what follows it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// A command, and what the page says it prints; `[1]` at the end is an exit code.
struct Example {
    command: String,
    shown: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push(Example { command: command.to_owned(), shown: String::new() });
        } else if let Some(example) = found.last_mut().filter(|_| inside) {
            example.shown.push_str(line);
            example.shown.push('\n');
        }
    }
    found
}

/// What the command prints, in the form of a page: trailing blanks do not show, and an exit code other than 0 does.
fn run(command: &str, dir: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_cairn")).parent().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", program.display()))
        .stdin(Stdio::null())
        .output()
        .expect("sh runs");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let mut lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    if !output.status.success() {
        lines.push_str(&format!("[{}]\n", output.status.code().unwrap_or(-1)));
    }
    lines
}

#[test]
fn every_example_of_the_documentation_prints_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cairn is two deep");
    for (page, least) in [("docs/eval.md", 8), ("README.md", 1)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        crate::support::copy(&root.join("examples"), &dir.path().join("examples"));
        let examples = examples(&fs::read_to_string(root.join(page)).expect("the page is there"));
        assert!(examples.len() >= least, "{page} has only {} examples", examples.len());
        for Example { command, shown } in examples {
            // A file that the page shows is one that its reader is meant to have.
            match command.strip_prefix("cat ") {
                Some(file) => fs::write(dir.path().join(file), shown).expect("the file is written"),
                None => assert_eq!(run(&command, dir.path()), shown, "{page}: {command}"),
            }
        }
    }
}
