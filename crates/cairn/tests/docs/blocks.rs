//! Every command of every page is run, or says why it is not.

use std::fs;

use crate::PAGES;
use crate::links::pages;
use crate::page::{Step, steps};
use crate::support::root;

/// Why a block is not run: what stands behind `not-run=` in its first line.
const REASONS: [(&str, &str); 4] = [
    ("build", "it builds the program that runs this test"),
    (
        "develop",
        "it is for who works on Cairn: these commands are what CI runs, or take long",
    ),
    ("pods", "it needs a cluster that runs pods"),
    ("shape", "it shows how a message looks"),
];

/// What a block of a page says of itself.
fn why(info: &str) -> Option<&str> {
    info.split_whitespace()
        .find_map(|word| word.strip_prefix("not-run="))
}

/// What is wrong with a block, from the word behind its fence and its first line.
fn fault(info: &str, first: &str) -> Option<String> {
    let language = info.split_whitespace().next().unwrap_or_default();
    let programs = [
        "cairn", "cargo", "kubectl", "curl", "docker", "helm", "skopeo", "$",
    ];
    let typed = first
        .split_whitespace()
        .next()
        .is_some_and(|word| programs.contains(&word));
    match why(info) {
        Some(why) if REASONS.iter().any(|(reason, _)| *reason == why) => None,
        Some(why) => Some(format!("`not-run={why}` is none of the reasons")),
        None if language == "console" && first.starts_with("$ ") => None,
        None if language == "console" => Some("a console block begins with `$ `".to_owned()),
        None if ["sh", "bash", "shell"].contains(&language) => {
            Some("it is not run: make it a `console` block".to_owned())
        }
        None if language.is_empty() && typed => {
            Some("it is not run: make it a `console` block".to_owned())
        }
        None => None,
    }
}

#[test]
fn every_command_of_every_page_is_run_or_says_why_not() {
    let mut faults = Vec::new();
    let mut used = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let name = page
            .strip_prefix(root())
            .expect("a page of ours")
            .display()
            .to_string();
        let lines: Vec<&str> = text.lines().collect();
        let mut open = false;
        for (index, line) in lines.iter().enumerate() {
            let Some(info) = line.trim_start().strip_prefix("```") else {
                continue;
            };
            open = !open;
            if open {
                let first = lines.get(index + 1).copied().unwrap_or_default();
                faults.extend(
                    fault(info, first).map(|fault| format!("{name}:{}: {fault}", index + 1)),
                );
                used.extend(why(info).map(str::to_owned));
            }
        }
        let runs = steps(&text)
            .iter()
            .any(|step| matches!(step, Step::Command(_)));
        if runs && !PAGES.contains(&name.as_str()) {
            faults.push(format!("{name}: no test follows this page"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for (reason, _) in REASONS {
        assert!(
            used.iter().any(|why| why == reason),
            "no page needs `not-run={reason}` any more"
        );
    }
}

#[test]
fn a_block_that_is_not_run_without_a_reason_is_found() {
    for (info, first, faulty) in [
        ("console", "$ cairn list", false),
        ("console background", "$ cairn up", false),
        ("console", "cairn list", true),
        ("sh", "cairn list", true),
        ("sh not-run=pods", "kubectl logs web", false),
        ("sh not-run=laziness", "kubectl logs web", true),
        ("", "cargo test", true),
        ("", "package ──▶ Stack", false),
        ("yaml file=a.yaml", "a: 1", false),
    ] {
        assert_eq!(fault(info, first).is_some(), faulty, "{info:?} {first:?}");
    }
}
