//! What it costs to fill in the templates of a directory: a JSON line. `tools/process-bench` does
//! the same in Go. With a second directory the results are written there, so that both can be
//! compared, and nothing is measured.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the developers"
)]

#[path = "../../yaml/examples/support/stopwatch.rs"]
mod stopwatch;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use templates::{Given, Template, process};

fn main() {
    let mut args = std::env::args().skip(1);
    let directory = PathBuf::from(args.next().unwrap());
    let mut paths = Vec::new();
    files(&directory, &mut paths);
    // As texts, as in Go: a path is compared by its parts here.
    paths.sort_by_key(|path| path.display().to_string());
    let texts: Vec<String> = paths
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let work: Vec<(Value, Given)> = texts
        .iter()
        .map(|text| given(serde_json::from_str(text).unwrap()))
        .collect();
    if let Some(out) = args.next() {
        for (index, (template, given)) in work.iter().enumerate() {
            let path = Path::new(&out).join(format!("{index:03}.json"));
            std::fs::write(path, run(template.clone(), given).to_string()).unwrap();
        }
        return;
    }
    let process_ns = stopwatch::best(|| {
        for (template, given) in &work {
            drop(std::hint::black_box(run(template.clone(), given)));
        }
    });
    let whole_ns = stopwatch::best(|| {
        for (text, (_, given)) in texts.iter().zip(&work) {
            let template = serde_json::from_str(text).unwrap();
            drop(std::hint::black_box(
                serde_json::to_vec(&run(template, given)).unwrap(),
            ));
        }
    });
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{}",
        json!({"templates": work.len(), "bytes": bytes, "process_ns": process_ns, "whole_ns": whole_ns})
    );
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// A template, and a word for every parameter that has no value.
fn given(template: Value) -> (Value, Given) {
    let (read, _) = Template::read(&template).unwrap();
    let empty = read
        .parameters
        .iter()
        .filter(|parameter| parameter.value.as_deref().unwrap_or_default().is_empty());
    let given = Given::values(empty.map(|parameter| (parameter.name.as_str(), "filled")));
    (template, given)
}

fn run(template: Value, given: &Given) -> Value {
    let processed = process(template, given, &mut || panic!("nothing is drawn"));
    processed
        .unwrap_or_else(|problems| panic!("{problems:?}"))
        .into_template()
}
