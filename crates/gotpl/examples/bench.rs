//! What the benchmark cases cost here: a JSON line each, in the words of `tools/oracle bench`,
//! which says the same for Go. `cargo xtask bench templates` runs both and prints the ratios.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a tool of the developers"
)]

#[path = "../../yaml/examples/support/stopwatch.rs"]
mod stopwatch;

use std::path::Path;

use gotpl::Set;
use serde_json::{Value, json};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench");
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    // Names given as arguments select cases.
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let named = |case: &Path| {
        case.file_name()
            .is_some_and(|name| wanted.iter().any(|wanted| name == wanted.as_str()))
    };
    cases.retain(|case| wanted.is_empty() || named(case));
    for case in cases {
        println!("{}", bench(&case));
    }
}

fn bench(folder: &Path) -> Value {
    let mut sources: Vec<(String, String)> = std::fs::read_dir(folder.join("templates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    sources.sort();
    let data: Value =
        serde_json::from_slice(&std::fs::read(folder.join("data.json")).unwrap()).unwrap();
    let parse = || {
        let mut set = Set::new();
        for (name, source) in &sources {
            set.parse(name, source).unwrap();
        }
        set
    };
    let set = parse();
    let execute = || set.execute("main.yaml", &data).unwrap();
    let expected = std::fs::read(folder.join("expected.yaml")).unwrap();
    assert!(
        execute() == expected,
        "{}: not what Go prints",
        folder.display()
    );
    let allocs = |info: allocation_counter::AllocationInfo| info.count_total;
    json!({
        "case": folder.file_name().unwrap().to_string_lossy(),
        "parse_ns": stopwatch::best(|| drop(std::hint::black_box(parse()))),
        "parse_allocs": allocs(allocation_counter::measure(|| drop(parse()))),
        "exec_ns": stopwatch::best(|| drop(std::hint::black_box(execute()))),
        "exec_allocs": allocs(allocation_counter::measure(|| drop(execute()))),
        "source_bytes": sources.iter().map(|(_, source)| source.len()).sum::<usize>(),
        "output_bytes": expected.len(),
    })
}
