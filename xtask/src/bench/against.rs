//! `cargo xtask bench against COMMIT`: what an earlier commit's code costs and what this one's
//! does, measured in turns on this machine. Times are processor time of one operation, the best of
//! all turns, so that a busy machine adds little.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::output;
use crate::{cache, cargo::cargo};

/// The programs that measure: each prints JSON lines with the times of one case in fields that end
/// in `_ns`.
const PROGRAMS: [(&str, &str); 4] = [
    ("gotpl", "bench"),
    ("yaml", "bench_yaml"),
    ("engine", "bench_render"),
    ("templates", "bench_process"),
];

/// How much slower than before a case may be, in percent.
const SLACK: f64 = 5.0;

/// The best time of each case, in nanoseconds.
type Times = BTreeMap<String, u64>;

/// One of the two sides.
struct Side {
    name: String,
    /// Where its sources are.
    tree: PathBuf,
    /// Where its programs are built.
    target: PathBuf,
    times: Times,
}

/// Builds both sides, lets them take turns, and fails if this one is slower than it may be.
pub fn run(commit: &str, turns: u8) -> Result<ExitCode> {
    let commit = output(git().args(["rev-parse", "--verify", &format!("{commit}^{{commit}}")]))?
        .trim()
        .to_owned();
    let home = cache::root()?.join("against");
    std::fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    let _turn = cache::lock(&home.join("lock"))?;
    let tree = home.join("tree");
    check_out(&commit, &tree)?;
    let short: String = commit.chars().take(9).collect();
    let mut sides = [
        Side {
            name: short,
            tree,
            target: home.join("before"),
            times: Times::new(),
        },
        Side {
            name: "this tree".to_owned(),
            tree: cache::repository().to_owned(),
            target: home.join("now"),
            times: Times::new(),
        },
    ];
    for side in &sides {
        eprintln!("building the benchmarks of {}", side.name);
        for (package, example) in PROGRAMS {
            output(&mut side.cargo("build", package, example))?;
        }
    }
    for turn in 1..=turns {
        eprintln!("turn {turn} of {turns}");
        for (package, example) in PROGRAMS {
            for side in &mut sides {
                let lines = output(&mut side.cargo("run", package, example))?;
                gather(&mut side.times, package, &lines)?;
            }
        }
    }
    let [before, now] = &sides;
    let slower = report(before, now);
    if slower.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("slower by more than {SLACK} %: {}", slower.join(", "));
    Ok(ExitCode::FAILURE)
}

impl Side {
    fn cargo(&self, verb: &str, package: &str, example: &str) -> Command {
        let mut command = cargo();
        command
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target);
        command.args([
            verb,
            "--profile=measured",
            "--quiet",
            "--package",
            package,
            "--example",
            example,
        ]);
        command
    }
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.current_dir(cache::repository());
    command
}

/// Writes the files of a commit into a directory of their own. Not a worktree: nothing of it stays
/// in the repository.
fn check_out(commit: &str, tree: &Path) -> Result<()> {
    if tree.exists() {
        std::fs::remove_dir_all(tree)
            .with_context(|| format!("cannot remove {}", tree.display()))?;
    }
    std::fs::create_dir_all(tree).with_context(|| format!("cannot create {}", tree.display()))?;
    let archive = tree.join("tree.tar");
    output(
        git()
            .args(["archive", "--format=tar", "--output"])
            .arg(&archive)
            .arg(commit),
    )?;
    output(
        Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(tree),
    )?;
    std::fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))
}

/// Keeps the best time of each case.
fn gather(times: &mut Times, package: &str, lines: &str) -> Result<()> {
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(line).with_context(|| format!("not a line of JSON: {line}"))?;
        let case = value["case"].as_str().unwrap_or("all");
        let Some(fields) = value.as_object() else {
            bail!("not a JSON object: {line}")
        };
        for (field, time) in fields {
            let (Some(phase), Some(time)) = (field.strip_suffix("_ns"), time.as_u64()) else {
                continue;
            };
            let best = times
                .entry(format!("{package} {case} {phase}"))
                .or_insert(time);
            *best = time.min(*best);
        }
    }
    Ok(())
}

/// Prints both sides; answers which cases are slower than they may be. A case that one side lacks
/// is not compared.
fn report(before: &Side, now: &Side) -> Vec<String> {
    println!(
        "{:<40} {:>14} {:>14} {:>9}",
        "processor time, best of all turns", before.name, now.name, "change"
    );
    let mut slower = Vec::new();
    for (case, new) in &now.times {
        let Some(old) = before.times.get(case) else {
            continue;
        };
        let change = (*new as f64 / *old as f64 - 1.0) * 100.0;
        println!(
            "{case:<40} {:>11.1} µs {:>11.1} µs {change:>+7.1} %",
            *old as f64 / 1e3,
            *new as f64 / 1e3
        );
        if change > SLACK {
            slower.push(case.clone());
        }
    }
    slower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(lines: &[&str]) -> Side {
        let mut times = Times::new();
        for line in lines {
            gather(&mut times, "gotpl", line).unwrap();
        }
        Side {
            name: String::new(),
            tree: PathBuf::new(),
            target: PathBuf::new(),
            times,
        }
    }

    #[test]
    fn the_best_turn_of_each_side_counts_and_only_what_is_slower_than_it_may_be_is_named() {
        let before = side(&[
            r#"{"case":"a","parse_ns":100,"exec_ns":100}"#,
            r#"{"case":"a","parse_ns":90,"exec_ns":300}"#,
        ]);
        let now = side(&[
            r#"{"case":"a","parse_ns":94,"exec_ns":106}"#,
            r#"{"case":"new","parse_ns":1}"#,
        ]);
        assert_eq!(report(&before, &now), ["gotpl a exec"]);
        assert!(gather(&mut Times::new(), "gotpl", "no JSON").is_err());
    }
}
