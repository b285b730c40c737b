//! `cargo xtask bench tsm`: the template stack manager on kube-apiserver with etcd, beside a bare
//! client that makes the same calls, and beside kro if that builds here, all in the same run.

use std::{
    fmt::Write as _,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    apiserver::{Running, program},
    output,
    page::{self, Place},
};
use crate::{cache, cargo::cargo, k8s};

const PLACE: Place = Place::of("tsm");

/// How many instances there are.
const COUNT: f64 = 1000.0;

/// The module that kro is built from.
const KRO: &str = "github.com/kubernetes-sigs/kro";
const KRO_VERSION: &str = "v0.9.3";

/// Measures in turns, and shows the best of each.
pub fn run(turns: u8, write: bool) -> Result<ExitCode> {
    let assets = k8s::provide(k8s::Set::Control)?;
    let kro = kro()
        .inspect_err(|error| eprintln!("kro is left out: {error:#}"))
        .ok();
    for what in [
        ["--profile=dist", "--package", "cairn", "--bin", "cairn"],
        [
            "--profile=measured",
            "--package",
            "controller",
            "--example",
            "bench_tsm",
        ],
    ] {
        eprintln!("building {}", what[4]);
        let status = cargo().args(["build", "--quiet"]).args(what).status();
        if !status.context("cannot run cargo")?.success() {
            bail!("{} does not build", what[4]);
        }
    }
    let status = cargo()
        .args([
            "build",
            "--quiet",
            "--package",
            "testkit",
            "--bin",
            "cluster-run",
        ])
        .status();
    if !status.context("cannot run cargo")?.success() {
        bail!("cluster-run does not build");
    }
    let mut command = program("debug/cluster-run");
    command.arg("--measured").env(k8s::ASSETS, &assets);
    let server = Running::start(&mut command)?;
    let mut bench = program("measured/examples/bench_tsm");
    bench.args([&server.kubeconfig, &COUNT.to_string(), &turns.to_string()]);
    bench.arg(program("dist/cairn").get_program());
    if let Some(kro) = &kro {
        bench.args([&kro.program, &kro.definitions]);
    }
    let lines = output(bench.stderr(Stdio::inherit()))?;
    let seen: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}")))
        .collect::<Result<_>>()?;
    seen.iter().for_each(|one| eprintln!("{one}"));
    let table = render(&seen, turns)?;
    println!("{table}");
    if write {
        page::write(&PLACE, &table)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Kro {
    program: PathBuf,
    definitions: PathBuf,
}

/// Builds kro from its module, once.
fn kro() -> Result<Kro> {
    let bin = cache::root()?.join(format!("kro-{KRO_VERSION}"));
    let program = bin.join("controller");
    if !program.exists() {
        eprintln!("building kro {KRO_VERSION}");
        let package = format!("{KRO}/cmd/controller@{KRO_VERSION}");
        output(
            Command::new("go")
                .args(["install", "-buildvcs=false", &package])
                .env("GOBIN", &bin),
        )?;
    }
    let found = output(Command::new("go").args([
        "mod",
        "download",
        "-json",
        &format!("{KRO}@{KRO_VERSION}"),
    ]))?;
    let found: Value = serde_json::from_str(&found).context("go does not print JSON")?;
    let directory = found["Dir"]
        .as_str()
        .context("go does not say where the module is")?;
    Ok(Kro {
        program,
        definitions: PathBuf::from(directory).join("helm/crds"),
    })
}

/// What is told of each: where to find it in what was printed, and how to write it.
struct Measure {
    name: &'static str,
    at: &'static str,
    show: fn(f64) -> String,
}

const MEASURES: [Measure; 6] = [
    Measure {
        name: "1,000 instances from created to ready",
        at: "/wall_s",
        show: |value| format!("{value:.1} s"),
    },
    Measure {
        name: "processor time for one instance",
        at: "/cpu_s",
        show: |value| format!("{:.2} ms", value / COUNT * 1e3),
    },
    Measure {
        name: "memory before the first",
        at: "/idle_bytes",
        show: mebibytes,
    },
    Measure {
        name: "memory at its highest",
        at: "/peak_bytes",
        show: mebibytes,
    },
    Measure {
        name: "a change to the child's change, median",
        at: "/change/median_ms",
        show: |value| format!("{value:.1} ms"),
    },
    Measure {
        name: "... 99th of 100",
        at: "/change/p99_ms",
        show: |value| format!("{value:.1} ms"),
    },
];

const WHO: [(&str, &str); 3] = [
    ("bare", "bare client"),
    ("cairn", "Cairn"),
    ("kro", "kro v0.9.3"),
];

fn render(seen: &[Value], turns: u8) -> Result<String> {
    let there: Vec<&(&str, &str)> = WHO
        .iter()
        .filter(|(who, _)| seen.iter().any(|one| one["who"] == *who))
        .collect();
    let mut table = String::new();
    let _ = write!(
        table,
        "{}; Cairn as shipped, kro as `go install` builds it; each number is the best of {turns} turns, of kro the only one.\n\n|",
        page::machine()?
    );
    for (_, name) in &there {
        let _ = write!(table, " | {name}");
    }
    let _ = writeln!(table, " |\n|---|{}", "--:|".repeat(there.len()));
    for measure in &MEASURES {
        let _ = write!(table, "| {}", measure.name);
        for (who, _) in &there {
            let best = best(seen, who, measure.at).map_or_else(|| "-".to_owned(), measure.show);
            let _ = write!(table, " | {best}");
        }
        table.push_str(" |\n");
    }
    let ratio = best(seen, "cairn", "/wall_s")
        .zip(best(seen, "bare", "/wall_s"))
        .map(|(own, bare)| own / bare);
    let _ = writeln!(
        table,
        "\nCairn takes {:.2} times as long as the bare client.",
        ratio.context("both were measured")?
    );
    Ok(table)
}

fn best(seen: &[Value], who: &str, at: &str) -> Option<f64> {
    let of = seen.iter().filter(|one| one["who"] == who);
    of.filter_map(|one| one.pointer(at).and_then(Value::as_f64))
        .reduce(f64::min)
}

fn mebibytes(value: f64) -> String {
    format!("{:.1} MiB", value / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_of_all_turns_counts_and_what_was_not_measured_is_left_open() {
        let run = |who: &str, wall: f64| json!({"who": who, "wall_s": wall, "change": {"median_ms": 2.0, "p99_ms": 3.0}});
        let mut own = run("cairn", 24.0);
        own["cpu_s"] = json!(1.5);
        own["idle_bytes"] = json!(1_048_576);
        own["peak_bytes"] = json!(2_097_152);
        let table = render(
            &[
                run("bare", 30.0),
                run("bare", 20.0),
                run("cairn", 40.0),
                own,
            ],
            2,
        )
        .unwrap();
        for row in [
            "| | bare client | Cairn |",
            "| 1,000 instances from created to ready | 20.0 s | 24.0 s |",
            "| processor time for one instance | - | 1.50 ms |",
            "| memory at its highest | - | 2.0 MiB |",
            "1.20 times",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
    }
}
