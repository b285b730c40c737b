//! Rules about source files: how they begin, how long they are, and what those of a pure crate do
//! not name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    assert_complains, assert_none,
    list::GENERATED,
    policy::{IMPURE, PURE, TOKENS},
    root,
};

struct Source {
    /// From the root of the repository.
    path: String,
    text: String,
}

/// All Rust sources of the workspace.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for top in ["crates", "xtask"] {
        collect(&root().join(top), &mut found);
    }
    found.sort();
    let name = |path: &Path| {
        path.strip_prefix(root())
            .expect("below the root")
            .display()
            .to_string()
    };
    found
        .iter()
        .map(|path| Source {
            path: name(path),
            text: fs::read_to_string(path).expect("UTF-8"),
        })
        .collect()
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry"))
    {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "target" {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn says_what_it_is(source: &Source) -> Option<String> {
    (!source.text.starts_with("//! "))
        .then(|| format!("{} does not begin with `//! ` and what it is", source.path))
}

fn is_not_too_long(source: &Source) -> Option<String> {
    // A table that a program writes is not read by people.
    if GENERATED.iter().any(|file| file.path == source.path) {
        return None;
    }
    let tokens = tokens(&code_of(&source.text));
    (tokens > TOKENS).then(|| format!("{} has {tokens} tokens: split it by noun", source.path))
}

/// How many names, numbers, literals and signs there are in code.
fn tokens(code: &str) -> usize {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut count = 0;
    let mut in_name = false;
    for character in code.replace("\"\"", "s ").replace("::", ":").chars() {
        count += usize::from(!(character.is_whitespace() || in_name && is_name(character)));
        in_name = is_name(character);
    }
    count
}

/// The part of a pure crate's file that is no test, if it has one.
fn pure_part(source: &Source) -> Option<String> {
    let (name, file) = source.path.strip_prefix("crates/")?.split_once("/src/")?;
    let pure = PURE.iter().any(|pure| pure.name == name);
    let test = file
        .split('/')
        .any(|part| part == "tests" || part == "tests.rs");
    let code = code_of(&source.text);
    let end = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
    (pure && !test).then(|| code[..end].to_owned())
}

fn stays_pure(source: &Source) -> Vec<String> {
    let Some(code) = pure_part(source) else {
        return Vec::new();
    };
    let mut complaints = Vec::new();
    for path in paths(&code) {
        let hit = |impure: &&&str| {
            path == **impure
                || path
                    .strip_prefix(**impure)
                    .is_some_and(|r| r.starts_with("::"))
        };
        if let Some(impure) = IMPURE.iter().find(hit) {
            complaints.push(format!(
                "{} names {impure}; a pure crate is given what it needs",
                source.path
            ));
        }
    }
    complaints.dedup();
    complaints
}

/// The text without comments and without what is in string literals, one line staying one line.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string_length(rest) {
            code.push_str("\"\"");
            length
        } else if next == '\'' && rest[1..].starts_with(['"', '\\']) {
            // A character literal that would look like the beginning of a string.
            rest[2..].find('\'').map_or(rest.len(), |end| end + 3)
        } else {
            code.push(next);
            next.len_utf8()
        };
        let skip = skip.min(rest.len());
        if skip > 1 {
            code.extend(rest[..skip].matches('\n'));
        }
        rest = &rest[skip..];
    }
    code
}

/// The length of the string literal that a text begins with.
fn string_length(text: &str) -> Option<usize> {
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(
            body.find(&end)
                .map_or(text.len(), |at| text.len() - body.len() + at + end.len()),
        );
    }
    let body = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, character) in body.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 2),
            _ => {}
        }
    }
    Some(text.len())
}

/// Every path with `::` in the code; a `use` with braces gives all the paths it stands for, and
/// what follows a name that a `use` brought in is put behind its full path.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let statement = statement.trim();
        let after_use = statement
            .rfind("use ")
            .map(|at| (&statement[..at], &statement[at + 4..]));
        if let Some((before, tree)) = after_use
            && before
                .chars()
                .next_back()
                .is_none_or(|c| c.is_whitespace() || c == '}' || c == ')')
        {
            expand(
                "",
                &tree.split_whitespace().collect::<Vec<_>>().join(" "),
                &mut found,
            );
        }
    }
    let imported = found.clone();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for path in code.split(|c| !word(c)).filter(|path| path.contains("::")) {
        let path = path.trim_matches(':');
        let (first, rest) = path.split_once("::").unwrap_or((path, ""));
        let full = imported
            .iter()
            .find(|import| import.rsplit("::").next() == Some(first));
        found.push(full.map_or_else(|| path.to_owned(), |import| format!("{import}::{rest}")));
    }
    found
}

/// The paths of a tree such as `std::{fs, io::{self, Read}}`.
fn expand(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let join = |last: &str| {
        if prefix.is_empty() {
            last.to_owned()
        } else {
            format!("{prefix}::{last}")
        }
    };
    let Some((head, rest)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree).trim();
        match name {
            "" => {}
            "self" | "*" => found.push(prefix.to_owned()),
            _ => found.push(join(name.trim_end_matches("::*"))),
        }
        return;
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let head = head.trim().trim_end_matches("::");
    let prefix = if head.is_empty() {
        prefix.to_owned()
    } else {
        join(head)
    };
    let (mut depth, mut start) = (0_u32, 0);
    for (at, character) in inner.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&prefix, &inner[start..at], found);
                start = at + 1;
            }
            _ => {}
        }
    }
    expand(&prefix, &inner[start..], found);
}

#[test]
fn every_source_file_keeps_the_rules() {
    let sources = sources();
    assert!(
        sources.iter().any(|source| pure_part(source).is_some()),
        "the sources were found"
    );
    let mut complaints = Vec::new();
    for source in &sources {
        complaints.extend(says_what_it_is(source));
        complaints.extend(is_not_too_long(source));
        complaints.extend(stays_pure(source));
    }
    assert_none(&complaints);
}

#[test]
fn every_crate_is_in_the_map() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    assert_none(&unmapped(&map, &crates()));
    assert_complains(
        &unmapped("### `yaml`", &["yaml".into(), "attic".into()]),
        "`attic`",
    );
}

fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("crates");
    let named = entries.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    named.chain(["xtask".to_owned()]).collect()
}

fn unmapped(map: &str, crates: &[String]) -> Vec<String> {
    let described = |name: &String| {
        map.lines()
            .any(|line| line.starts_with("### ") && line.contains(&format!("`{name}`")))
    };
    let missing = crates.iter().filter(|name| !described(name));
    missing
        .map(|name| format!("ARCHITECTURE.md has no section of `{name}`"))
        .collect()
}

fn source(path: &str, text: &str) -> Source {
    Source {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn a_file_that_does_not_say_what_it_is_is_noticed() {
    for text in ["", "use std::fmt;\n", "// A comment.\n", "//!\n"] {
        assert!(
            says_what_it_is(&source("crates/x/src/a.rs", text)).is_some(),
            "{text:?}"
        );
    }
    assert!(says_what_it_is(&source("crates/x/src/a.rs", "//! What it is.\n")).is_none());
}

#[test]
fn a_file_that_has_grown_too_long_is_noticed() {
    let long = |count: usize| source("crates/x/src/a.rs", &"a::b(1);\n// Why.\n".repeat(count));
    let complaint = is_not_too_long(&long(TOKENS / 7 + 1)).expect("it is too long");
    assert!(complaint.contains("8001 tokens"), "{complaint}");
    assert!(is_not_too_long(&long(TOKENS / 7)).is_none());
    assert_eq!(tokens(&code_of("let x = \"a b\"; // no\nf(y_1)")), 9);
}

#[test]
fn a_pure_crate_that_names_the_world_is_noticed() {
    for (text, impure) in [
        ("fn f() { std::fs::read(p) }", "std::fs"),
        ("use std::fs;", "std::fs"),
        ("use std::{fmt, fs::File};", "std::fs"),
        (
            "use std::{\n    collections::HashMap,\n    io::{self, stdin},\n};",
            "std::io::stdin",
        ),
        ("use std::time::Instant as I;", "std::time::Instant"),
        (
            "use std::thread;\nfn f() { thread::spawn(g) }",
            "std::thread::spawn",
        ),
        (
            "use jiff::{Timestamp, tz};\nfn f() { Timestamp::now() }",
            "jiff::Timestamp::now",
        ),
        (
            "const A: &str = \"// \"; fn f() { std::env::var(A) }",
            "std::env",
        ),
        (
            "fn f(c: char) { c == '\"' || std::net::TcpStream::connect(a) }",
            "std::net::TcpStream",
        ),
        ("pub(crate) use std::process::Command;", "std::process"),
    ] {
        assert_complains(&stays_pure(&source("crates/gotpl/src/a.rs", text)), impure);
    }
}

#[test]
fn what_is_no_code_of_a_pure_crate_is_not_judged() {
    for (path, text) in [
        (
            "crates/gotpl/src/a.rs",
            "//! Not std::fs.\n/* std::fs::read */ const A: &str = \"std::fs\";",
        ),
        (
            "crates/gotpl/src/a.rs",
            "const A: &str = r#\"std::fs \"quoted\" std::env\"#; // std::net",
        ),
        (
            "crates/gotpl/src/a.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests { use std::fs; }",
        ),
        (
            "crates/gotpl/src/a.rs",
            "use std::{fmt, io::Write, net::IpAddr, time::Duration}; const V: &str = env!(\"X\");",
        ),
        ("crates/gotpl/src/a/tests.rs", "use std::fs;"),
        ("crates/gotpl/tests/a.rs", "use std::fs;"),
        ("crates/testkit/src/a.rs", "use std::fs;"),
    ] {
        assert_none(&stays_pure(&source(path, text)));
    }
}
