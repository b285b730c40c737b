//! What the benchmark cases cost here: a JSON line each, in the words of `tools/oracle bench`, which says the same for Go.
//! `cargo xtask bench templates` runs both and prints the ratios.

use std::path::Path;
use std::time::{Duration, Instant};

use gotpl::Set;
use serde_json::{Value, json};

/// How long one measurement takes, and how many there are; the best counts, as noise only adds.
const ROUND: Duration = Duration::from_millis(300);
const ROUNDS: usize = 3;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in cases {
        println!("{}", bench(&case));
    }
}

fn bench(folder: &Path) -> Value {
    let mut sources: Vec<(String, String)> = std::fs::read_dir(folder.join("templates"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    sources.sort();
    let data: Value = serde_json::from_slice(&std::fs::read(folder.join("data.json")).unwrap()).unwrap();
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
    assert!(execute() == expected, "{}: not what Go prints", folder.display());
    let allocs = |info: allocation_counter::AllocationInfo| info.count_total;
    json!({
        "case": folder.file_name().unwrap().to_string_lossy(),
        "parse_ns": best(|| drop(std::hint::black_box(parse()))),
        "parse_allocs": allocs(allocation_counter::measure(|| drop(parse()))),
        "exec_ns": best(|| drop(std::hint::black_box(execute()))),
        "exec_allocs": allocs(allocation_counter::measure(|| drop(execute()))),
        "source_bytes": sources.iter().map(|(_, source)| source.len()).sum::<usize>(),
        "output_bytes": expected.len(),
    })
}

fn best(work: impl Fn()) -> u64 {
    (0..ROUNDS).map(|_| measure(&work)).min().unwrap_or(0)
}

fn measure(work: &impl Fn()) -> u64 {
    let mut count: u32 = 1;
    loop {
        let start = Instant::now();
        (0..count).for_each(|_| work());
        let elapsed = start.elapsed();
        if elapsed >= ROUND {
            return (elapsed.as_nanos() / u128::from(count)) as u64;
        }
        count = count.saturating_mul(2);
    }
}
