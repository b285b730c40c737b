//! `cargo xtask bench render`: what a stack costs to compile and an instance to plan, beside Go's
//! text/template alone.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::{ours, output};
use crate::oracle::Oracles;

/// What is measured: the name in the program's line, and what it is.
const OURS: [(&str, &str); 3] = [
    ("compile_ns", "compile a stack of three templates"),
    ("plan_ns", "plan an instance, everything there"),
    ("plan_pending_ns", "plan an instance, a sibling missing"),
];

/// Measures in turns and prints the best of each.
pub fn run(turns: u8, oracles: &Oracles) -> Result<ExitCode> {
    let status = ours("build", "engine", "bench_render")
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the benchmark of the engine does not build ({status})");
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/engine/tests/bench");
    let (mut go, mut best) = (u64::MAX, [u64::MAX; 3]);
    for _ in 0..turns {
        let line = output(
            oracles
                .templates
                .command()
                .args(["bench", "--rounds", "2", "--dir", folder]),
        )?;
        go = go.min(number(&line, "exec_ns")?);
        let line = output(&mut ours("run", "engine", "bench_render"))?;
        for (best, (field, _)) in best.iter_mut().zip(OURS) {
            *best = (*best).min(number(&line, field)?);
        }
    }
    println!(
        "{:<44} {:>10.1} µs",
        "Go: text/template alone, the same texts",
        go as f64 / 1000.0
    );
    for ((_, what), time) in OURS.iter().zip(best) {
        println!("{what:<44} {:>10.1} µs", time as f64 / 1000.0);
    }
    Ok(ExitCode::SUCCESS)
}

fn number(line: &str, field: &str) -> Result<u64> {
    let value: Value =
        serde_json::from_str(line.trim()).with_context(|| format!("not a line of JSON: {line}"))?;
    value
        .get(field)
        .and_then(Value::as_u64)
        .with_context(|| format!("no {field} in {line}"))
}
