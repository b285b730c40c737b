//! The messages that `docs/troubleshooting.md` explains are in the sources: one that changes there
//! changes here.

use std::fs;
use std::path::Path;

use crate::support::root;

/// All sources of the program, each in one line of words, so that a message broken over lines is
/// found.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(root().join("crates"))
        .expect("crates")
        .filter_map(|entry| Some(entry.ok()?.path().join("src")))
        .filter(|folder| folder.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder)
            .expect("a folder")
            .filter_map(|entry| Some(entry.ok()?.path()))
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push((
                    shown(&path),
                    joined(&fs::read_to_string(&path).expect("a source")),
                ));
            }
        }
    }
    found
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// A text without the places where literals are broken over lines.
fn joined(text: &str) -> String {
    let mut out = String::new();
    let mut continued = false;
    for line in text.lines() {
        let line = if continued { line.trim_start() } else { line };
        continued = line.ends_with('\\');
        out.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !continued {
            out.push('\n');
        }
    }
    out.replace("\\\"", "\"")
}

/// The messages of the page: its headings in code, with `...` for what differs each time.
fn messages(page: &str) -> Vec<String> {
    let headings = page
        .lines()
        .filter_map(|line| line.strip_prefix("### ``")?.strip_suffix("``"));
    headings.map(str::to_owned).collect()
}

#[test]
fn every_message_that_is_explained_is_one_of_the_program() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).expect("the page");
    let messages = messages(&page);
    assert_eq!(
        messages.len(),
        page.lines().filter(|line| line.starts_with("### ")).count(),
        "a heading is no message"
    );
    assert!(
        messages.len() >= 20,
        "only {} messages are explained",
        messages.len()
    );
    let sources = sources();
    for message in messages {
        let parts: Vec<&str> = message
            .split("...")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        assert!(
            parts.iter().any(|part| part.len() >= 8),
            "`{message}` says too little to be found"
        );
        let found = sources
            .iter()
            .any(|(_, text)| parts.iter().all(|part| text.contains(part)));
        assert!(found, "no source says `{message}`");
    }
}

/// Words in code on a page that begin with one of these.
fn words(page: &str, beginnings: &[&str]) -> Vec<String> {
    let code = page
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(str::split_whitespace);
    let named = code.filter(|word| {
        beginnings
            .iter()
            .any(|beginning| word.starts_with(beginning))
    });
    // `kubectl annotate` takes away what ends in a dash.
    named
        .map(|word| word.trim_end_matches([':', ',', '.', '-']).to_owned())
        .collect()
}

#[test]
fn metrics_annotations_and_labels_that_the_pages_name_exist() {
    let sources = sources();
    let beginnings = ["cairn_", "stacks.crossplane.io/", "rbac.crossplane.io/"];
    let mut count = 0;
    for page in crate::links::pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for word in words(&text, &beginnings)
            .iter()
            .filter(|word| !word.contains("v1alpha1"))
        {
            let word = word.split('=').next().unwrap_or_default();
            let found = sources.iter().any(|(_, text)| text.contains(word));
            assert!(found, "{}: no source knows `{word}`", page.display());
            count += 1;
        }
    }
    assert!(count > 20, "only {count} names were found");
}
