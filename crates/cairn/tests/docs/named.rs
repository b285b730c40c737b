//! What the pages name exists, and what exists and has to be named is: metrics, tests, parts of the
//! program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// All Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
        {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).expect("a page")
}

/// The words of a text that consist of these characters and begin so.
fn words(text: &str, beginning: &str) -> BTreeSet<String> {
    let part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text
        .split(|letter| !part(letter))
        .filter(|word| word.starts_with(beginning));
    words.map(str::to_owned).collect()
}

/// What is in double quotes in a source.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

#[test]
fn every_metric_is_documented_and_every_documented_one_is_a_metric() {
    let mut named = BTreeSet::new();
    for file in files(&root().join("crates")) {
        let is_source = file.components().any(|part| part.as_os_str() == "src");
        let text = fs::read_to_string(&file).expect("a source");
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let metrics = literals(text)
            .filter(|name| name.starts_with("cairn_") && words(name, "cairn_").len() == 1);
        named.extend(
            metrics
                .filter(|name| is_source && *name != "cairn_")
                .map(str::to_owned),
        );
    }
    assert!(named.len() >= 9, "{named:?}");
    let table: String = page("docs/operations.md")
        .lines()
        .filter(|line| line.starts_with("| `cairn_"))
        .collect();
    assert_eq!(
        words(&table, "cairn_"),
        named,
        "the table of metrics in docs/operations.md and the sources"
    );
}

/// The file of a test, and what is in it.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Whether it belongs to a suite of scenarios, which run against both API servers.
    fn has_scenarios(&self) -> bool {
        ["/tests/cluster/", "/tests/differences/"]
            .iter()
            .any(|folder| self.path.contains(folder))
    }

    /// Whether a test in it is of a kind that the page knows.
    fn is(&self, kind: &str) -> bool {
        let varies = self.text.contains("variants()");
        match kind {
            "attack" => self.has_scenarios() && varies,
            "scenario" => self.has_scenarios(),
            "variants" => varies,
            "test" => !self.has_scenarios(),
            _ => false,
        }
    }
}

#[test]
fn every_test_that_the_security_page_names_exists_and_is_of_the_kind_that_it_says() {
    let page = page("docs/security.md");
    let rows = page
        .lines()
        .skip_while(|line| !line.contains("| held by |"));
    let rows = rows.filter(|line| {
        line.starts_with('|') && !line.starts_with("|---") && !line.contains("| held by |")
    });
    let sources: Vec<Source> = files(&root().join("crates"))
        .into_iter()
        .map(|file| Source {
            path: file.display().to_string(),
            text: fs::read_to_string(&file).expect("a source"),
        })
        .collect();
    let mut tests: BTreeMap<String, &Source> = BTreeMap::new();
    for source in &sources {
        tests.extend(source.text.lines().filter_map(|line| {
            let name = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("async ")
                .strip_prefix("fn ")?;
            Some((name.split('(').next()?.to_owned(), source))
        }));
    }
    let mut count = 0;
    for row in rows {
        let held = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        assert!(held.contains('`'), "no test holds this: {row}");
        for part in held.split("; ") {
            let (kind, names) = part
                .split_once(": ")
                .unwrap_or_else(|| panic!("no kind of test is said: {row}"));
            for name in names.split('`').skip(1).step_by(2) {
                count += 1;
                let source = tests
                    .get(name)
                    .unwrap_or_else(|| panic!("there is no test {name}"));
                assert!(
                    source.is(kind.trim()),
                    "{name} in {} is not of the kind `{}`",
                    source.path,
                    kind.trim()
                );
            }
        }
    }
    assert!(count >= 40, "only {count} tests are named");
}

/// `crate::name` of a page, where `crate` is one of ours.
fn paths(text: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for word in
        text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "_:".contains(letter)))
    {
        let mut parts = word.split("::");
        if let (Some(first), Some(second)) = (parts.next(), parts.next())
            && !second.is_empty()
            && root().join("crates").join(first).is_dir()
        {
            found.insert((first.to_owned(), second.to_owned()));
        }
    }
    found
}

#[test]
fn every_part_that_the_architecture_names_exists() {
    let named = paths(&page("ARCHITECTURE.md"));
    assert!(named.len() >= 8, "{named:?}");
    for (owner, name) in named {
        let source = root().join("crates").join(&owner).join("src");
        let module = source.join(format!("{name}.rs")).exists() || source.join(&name).is_dir();
        let declares = |text: &str| {
            ["fn", "struct", "enum", "trait", "type"]
                .iter()
                .any(|kind| {
                    let start = format!("pub {kind} {name}");
                    text.match_indices(&start).any(|(at, _)| {
                        !text[at + start.len()..]
                            .starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
                    })
                })
        };
        let item = || {
            files(&source)
                .iter()
                .any(|file| declares(&fs::read_to_string(file).expect("a source")))
        };
        assert!(
            module || item(),
            "ARCHITECTURE.md names {owner}::{name}, which does not exist"
        );
    }
}
