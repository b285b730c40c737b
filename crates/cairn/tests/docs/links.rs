//! Links between pages lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// Every page of the repository that people read.
pub fn pages() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in ["", "docs", "docs/decisions", "examples"] {
        let entries = fs::read_dir(root().join(dir)).expect("a directory");
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        found.extend(files.filter(|file| file.extension().is_some_and(|ending| ending == "md")));
    }
    assert!(found.len() > 10);
    found
}

/// A heading as links name it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> Vec<String> {
    let mut code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        code ^= line.starts_with("```");
        if !code && line.starts_with('#') {
            found.push(anchor(line));
        }
    }
    found
}

/// What stands in parentheses after brackets, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        code ^= line.starts_with("```");
        let prose: String = line.split('`').step_by(2).collect();
        if !code {
            let ends = prose
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split_once(')'));
            found.extend(ends.map(|(link, _)| link.to_owned()));
        }
    }
    found
}

#[test]
fn every_link_of_the_pages_leads_somewhere() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap_or(Path::new("")).join(file)
            };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            if !heading.is_empty() {
                let anchors = anchors(&fs::read_to_string(&target).expect("a page"));
                assert!(
                    anchors.iter().any(|known| known == heading),
                    "{}: no heading {link} among {anchors:?}",
                    page.display()
                );
            }
            count += 1;
        }
    }
    assert!(count > 20, "only {count} links were found");
}
