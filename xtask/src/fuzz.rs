//! `cargo xtask fuzz`: runs the fuzz targets with coverage guidance, on a stable compiler. The
//! counters are LLVM's own, put in by flags that stable rustc knows, and libFuzzer is built from
//! the sources in `libfuzzer-sys`. What a run has learned is kept in the cache, and is where the
//! next one begins.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{cache, cargo::cargo, seed};

/// What is asked of the fuzzers.
#[derive(clap::Args)]
pub struct Args {
    /// How long each target runs
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
    /// How much memory an input may take, in megabytes
    #[arg(long, default_value_t = 2048, value_name = "MB")]
    memory: u64,
    /// How long a single input may take, in seconds
    #[arg(long, default_value_t = 10, value_name = "N")]
    timeout: u64,
    /// Begin with the committed inputs alone and a seed of the committed tree, so that the same
    /// commit gets the same answer
    #[arg(long)]
    repeatable: bool,
    /// The targets to run [default: all]
    targets: Vec<String>,
}

/// What puts counters for edges and comparisons into everything, as cargo-fuzz does, without a
/// sanitizer: the code is safe.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// What became of a target.
struct Outcome {
    target: String,
    /// How often it was run.
    runs: u64,
    /// How many edges were reached.
    coverage: u64,
    took: Duration,
    /// The inputs that broke it.
    crashes: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let known = targets()?;
    if let Some(strange) = args.targets.iter().find(|target| !known.contains(target)) {
        bail!(
            "there is no fuzz target `{strange}`\nhint: the targets are {}",
            known.join(", ")
        );
    }
    let chosen = if args.targets.is_empty() {
        known
    } else {
        args.targets.clone()
    };
    let programs = build(&chosen)?;
    let mut outcomes = Vec::new();
    for target in chosen {
        println!("fuzzing {target} for {} s", args.seconds);
        outcomes.push(fuzz(args, &programs, target)?);
    }
    println!(
        "\n{:<12} {:>12} {:>10} {:>8} {:>8}",
        "target", "runs", "coverage", "seconds", "crashes"
    );
    for Outcome {
        target,
        runs,
        coverage,
        took,
        crashes,
    } in &outcomes
    {
        println!(
            "{target:<12} {runs:>12} {coverage:>10} {:>8} {:>8}",
            took.as_secs(),
            crashes.len()
        );
    }
    for (target, crash) in outcomes
        .iter()
        .flat_map(|outcome| outcome.crashes.iter().map(|crash| (&outcome.target, crash)))
    {
        println!(
            "\n{target} broke on {}\nhint: run `{} {}`",
            crash.display(),
            programs.join(target).display(),
            crash.display()
        );
    }
    Ok(
        if outcomes.iter().all(|outcome| outcome.crashes.is_empty()) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        },
    )
}

/// The names of all targets: a file each.
fn targets() -> Result<Vec<String>> {
    let directory = cache::repository().join("fuzz/fuzz_targets");
    let entries =
        fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds the targets, and answers where they are.
fn build(targets: &[String]) -> Result<PathBuf> {
    let host = host()?;
    let directory = cache::root()?.join("target/fuzz");
    let mut command = cargo();
    command.args([
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target",
        &host,
    ]);
    for target in targets {
        command.args(["--bin", target]);
    }
    // With a target named, these are not for build scripts and macros, which would run slowly and
    // report nothing.
    command
        .env("RUSTFLAGS", COVERAGE.join(" "))
        .env("CARGO_TARGET_DIR", &directory);
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!(
            "the fuzz targets could not be built\nhint: libFuzzer needs a C++ compiler, `c++` or `clang++`"
        );
    }
    Ok(directory.join(host).join("release"))
}

fn host() -> Result<String> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .context("rustc does not say what it runs on")
}

fn fuzz(args: &Args, programs: &Path, target: String) -> Result<Outcome> {
    let place = cache::root()?.join("fuzz").join(&target);
    let (corpus, crashes) = (place.join("corpus"), place.join("crashes"));
    for directory in [&corpus, &crashes] {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let _lock = cache::lock(&place.join("lock"))?;
    let before = files(&crashes)?;
    let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
    let mut command = Command::new(programs.join(&target));
    if args.repeatable {
        // Of the seed, libFuzzer takes 32 bits; zero would be a random one.
        let seed = u32::try_from(seed::of_tree()? & 0xffff_fffe).unwrap_or_default() + 1;
        command.arg(scratch.path()).arg(format!("-seed={seed}"));
    } else {
        command.arg(&corpus);
    }
    let seeds = cache::repository().join("fuzz/seeds").join(&target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.args([
        format!("-max_total_time={}", args.seconds),
        format!("-timeout={}", args.timeout),
        format!("-rss_limit_mb={}", args.memory),
        format!("-artifact_prefix={}/", crashes.display()),
        "-print_final_stats=1".to_owned(),
        "-reload=0".to_owned(),
        "-use_value_profile=1".to_owned(),
    ]);
    let dictionary = cache::repository()
        .join("fuzz/words")
        .join(format!("{target}.dict"));
    if dictionary.is_file() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let begin = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run the target {target}"))?;
    let took = begin.elapsed();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut found = files(&crashes)?;
    found.retain(|file| !before.contains(file));
    if !output.status.success() {
        let shown: Vec<&str> = log.lines().rev().take(40).collect();
        println!("{}", shown.into_iter().rev().collect::<Vec<_>>().join("\n"));
        if found.is_empty() {
            // What it died of is in its log; an input that breaks it at once was there before.
            let path = place.join("log");
            fs::write(&path, &log).with_context(|| format!("cannot write {}", path.display()))?;
            found.push(path);
        }
    }
    let (runs, coverage) = numbers(&log);
    Ok(Outcome {
        target,
        runs,
        coverage,
        took,
        crashes: found,
    })
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    Ok(entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect())
}

/// How often the target was run, and how many edges it reached, as libFuzzer reports it.
fn numbers(log: &str) -> (u64, u64) {
    let number = |text: Option<&str>| {
        text.and_then(|text| text.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    };
    let runs = number(
        log.lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:")),
    );
    let coverage = log
        .lines()
        .rev()
        .find_map(|line| Some(line.split_once(" cov: ")?.1));
    (runs, number(coverage))
}

#[cfg(test)]
mod tests {
    use super::{numbers, targets};

    #[test]
    fn the_numbers_are_those_of_the_last_report() {
        let log = "\
INFO: seed corpus: files: 3\n\
#4\tINITED cov: 120 ft: 300 corp: 3/9b exec/s: 0 rss: 40Mb\n\
#9000\tREDUCE cov: 456 ft: 900 corp: 40/2kb exec/s: 900 rss: 44Mb\n\
Done 12345 runs in 11 second(s)\n\
stat::number_of_executed_units: 12345\n";
        assert_eq!(numbers(log), (12345, 456));
        assert_eq!(numbers("it did not start"), (0, 0));
    }

    #[test]
    fn every_target_is_in_the_manifest() {
        let manifest =
            std::fs::read_to_string(crate::cache::repository().join("fuzz/Cargo.toml")).unwrap();
        for target in targets().unwrap() {
            assert!(
                manifest.contains(&format!("path = \"fuzz_targets/{target}.rs\"")),
                "{target}"
            );
        }
    }
}
