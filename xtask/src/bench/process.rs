//! `cargo xtask bench process`: real templates with parameters filled in, beside a Go program that
//! does the same.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::bench::page::{self, Place};
use crate::bench::{ours, output};
use crate::oracle::Tool;

/// What is measured: the name in the programs' lines, and what it is.
const PHASES: [(&str, &str); 2] = [
    ("process_ns", "fill in, from value to value"),
    ("whole_ns", "read JSON, fill in, write JSON"),
];

/// Where the templates are, beside the repository.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus/openshift");

/// Compares the results, measures in turns, and prints the best of each.
pub fn run(turns: u8, write: bool) -> Result<ExitCode> {
    ensure!(
        Path::new(CORPUS).is_dir(),
        "there are no templates in {CORPUS}: put some of OpenShift's there"
    );
    let go = Tool::provide("process-bench")?;
    let status = ours("build", "templates", "bench_process")
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the benchmark of the templates does not build ({status})");
    }
    let mine = || {
        let mut command = ours("run", "templates", "bench_process");
        command.args(["--", CORPUS]);
        command
    };
    same(&go, &mine)?;
    let (mut theirs, mut own) = ([u64::MAX; 2], [u64::MAX; 2]);
    let mut templates = 0;
    for turn in 1..=turns {
        eprintln!("turn {turn} of {turns}");
        let there = output(go.command().arg(CORPUS))?;
        let here = output(&mut mine())?;
        templates = number(&here, "templates")?;
        for (at, (field, _)) in PHASES.iter().enumerate() {
            theirs[at] = theirs[at].min(number(&there, field)?);
            own[at] = own[at].min(number(&here, field)?);
        }
    }
    let rate = |time: u64| templates as f64 * 1e9 / time as f64;
    let mut table = format!("{}; {}.\n", page::machine()?, go.go);
    table.push_str(
        "\n| per processor second | Go | Cairn | times as fast |\n| --- | ---: | ---: | ---: |\n",
    );
    for (at, (_, what)) in PHASES.iter().enumerate() {
        let (go, cairn) = (rate(theirs[at]), rate(own[at]));
        table.push_str(&format!(
            "| {what} | {go:.0} | {cairn:.0} | {:.1} |\n",
            cairn / go
        ));
    }
    println!("{table}");
    if write {
        page::write(&Place::of("process"), &table)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Both programs give the same templates, but for the word that ours leaves about the dialect.
fn same(go: &Tool, mine: &dyn Fn() -> std::process::Command) -> Result<()> {
    let (there, here) = (tempfile::tempdir()?, tempfile::tempdir()?);
    output(go.command().arg(CORPUS).arg(there.path()))?;
    output(mine().arg(here.path()))?;
    let read =
        |path: &Path| -> Result<Value> { Ok(serde_json::from_slice(&std::fs::read(path)?)?) };
    let mut count = 0;
    for entry in std::fs::read_dir(there.path())? {
        let entry = entry?;
        let theirs = read(&entry.path())?;
        let mut own = read(&here.path().join(entry.file_name()))?;
        if let Some(annotations) = own["metadata"]["annotations"].as_object_mut() {
            annotations.remove("templates.stacks.crossplane.io/dialect");
        }
        ensure!(
            own == theirs,
            "{} differs",
            entry.file_name().to_string_lossy()
        );
        count += 1;
    }
    eprintln!("{count} templates are the same in both");
    Ok(())
}

fn number(line: &str, field: &str) -> Result<u64> {
    let value: Value =
        serde_json::from_str(line.trim()).with_context(|| format!("not a line of JSON: {line}"))?;
    value
        .get(field)
        .and_then(Value::as_u64)
        .with_context(|| format!("no {field} in {line}"))
}
