//! The page of all template functions: what they mean is written down, what they take and print
//! comes from the code.

use std::collections::{BTreeMap, BTreeSet};

use gotpl::{Input, Library, Options, Run, Set};
use serde_json::Value;

/// Headings, and under them a line a function: name, meaning, example.
const MEANINGS: &str = include_str!("meanings.txt");

/// The page, or what it lacks.
pub fn page() -> Result<String, String> {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    for function in gotpl::functions(Library::Helm) {
        let params = function
            .params
            .iter()
            .map(|param| format!(" {}", param.name()));
        let rest = function
            .rest
            .iter()
            .map(|param| format!(" {}...", param.name()));
        let signature: String = params.chain(rest).collect();
        known.insert(
            function.name,
            signature
                .replace("interface {}", "any")
                .replace("map[string]any", "map"),
        );
    }
    let mut left: BTreeSet<&str> = known.keys().copied().collect();
    let mut out = String::from(
        "# Template functions\n\nAll functions of a template: Go's own, sprig's, Helm's and some of gtf's. Results are \
         those of the originals.\nWhat a function takes is in Go's words; the last argument is the one that a pipe \
         gives. [Template reference](template-reference.md)\nhas the language and what a stack adds.\n",
    );
    for line in MEANINGS.lines().filter(|line| !line.is_empty()) {
        if let Some(heading) = line.strip_prefix("# ") {
            out.push_str(&format!(
                "\n## {heading}\n\n| function | takes | gives | example |\n|---|---|---|---|\n"
            ));
            continue;
        }
        let mut parts = line.splitn(3, " | ").map(str::trim);
        let (Some(name), Some(meaning), example) =
            (parts.next(), parts.next(), parts.next().unwrap_or_default())
        else {
            return Err(format!("{line:?} is no name, meaning and example"));
        };
        let Some(signature) = known.get(name).filter(|_| left.remove(name)) else {
            return Err(format!("there is no function {name}, or it is there twice"));
        };
        let capital: String = name
            .chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(name.chars().skip(1))
            .collect();
        let must = format!("must{capital}");
        let also = if left.remove(must.as_str()) {
            format!("; `{must}` stops with an error")
        } else {
            String::new()
        };
        let shown = if example.is_empty() {
            String::new()
        } else {
            shown(example)?
        };
        let cell = |text: &str| text.replace('|', "\\|");
        out.push_str(&format!(
            "| `{name}` | {} | {}{also} | {} |\n",
            if signature.is_empty() {
                String::new()
            } else {
                format!("`{}`", signature.trim())
            },
            cell(meaning),
            cell(&shown)
        ));
    }
    match left.first() {
        Some(name) => Err(format!("nothing is said of the function {name}")),
        None => Ok(out),
    }
}

/// An example with what it prints.
fn shown(example: &str) -> Result<String, String> {
    let mut set = Set::with_options(Options {
        funcs: Library::Helm,
        ..Options::default()
    });
    let failed = |error: Box<gotpl::Error>| format!("{example}: {error}");
    set.parse("example", &format!("{{{{ {example} }}}}"))
        .map_err(failed)?;
    let output = Run::new(&set)
        .execute("example", &Input::new(&Value::Null))
        .map_err(failed)?;
    let text = String::from_utf8_lossy(&output.text).replace('\n', "↵");
    Ok(format!("`{example}` gives `{text}`"))
}
