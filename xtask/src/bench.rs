//! `cargo xtask bench`: what templates, YAML, parameters, an API server and a controller cost in Go
//! and here, measured in turns in the same run. The measuring is done by the programs it runs; this
//! one compares, prints, and keeps docs/benchmarks.md.

mod against;
mod apiserver;
mod page;
mod process;
mod render;
mod tally;
mod tsm;

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{cargo::cargo, oracle::Oracles};
use page::Place;
use tally::Tally;

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Args {
    /// What to measure
    #[arg(value_enum)]
    what: What,
    /// Put the tables into docs/benchmarks.md
    #[arg(long)]
    write: bool,
    /// The commit that `against` compares this tree with
    #[arg(default_value = "HEAD~1", value_name = "COMMIT")]
    commit: String,
    /// How often the two sides take turns; the best of each counts, as noise only adds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    turns: u8,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum What {
    /// Go's text/template with sprig and Helm's functions, and sigs.k8s.io/yaml
    Templates,
    /// Compiling a stack and planning an instance, beside Go's text/template alone on the same
    /// texts
    Render,
    /// Real templates with parameters filled in, beside a Go program that does the same
    Process,
    /// The embedded API server beside kube-apiserver with etcd
    Apiserver,
    /// The template stack manager beside a bare client and kro, on kube-apiserver with etcd
    Tsm,
    /// This tree beside an earlier commit: templates, YAML, stacks and parameters; fails if
    /// something is 5 % slower
    Against,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    match args.what {
        What::Templates => templates(args, &Oracles::provide()?),
        What::Render => render::run(args.turns, &Oracles::provide()?),
        What::Process => process::run(args.turns, args.write),
        What::Apiserver => apiserver::run(args.turns, args.write),
        What::Tsm => tsm::run(args.turns, args.write),
        What::Against => against::run(&args.commit, args.turns),
    }
}

fn templates(args: &Args, oracles: &Oracles) -> Result<ExitCode> {
    for (package, example) in [("gotpl", "bench"), ("yaml", "bench_yaml")] {
        eprintln!("building the benchmark of {package}");
        let status = ours("build", package, example)
            .status()
            .context("cannot run cargo")?;
        if !status.success() {
            bail!("the benchmark of {package} does not build ({status})");
        }
    }
    // Both sides read the same files.
    let texts = tempfile::tempdir().context("cannot create a temporary directory")?;
    output(
        ours("run", "yaml", "bench_yaml")
            .args(["--", "--write"])
            .arg(texts.path()),
    )?;
    let mut templates = Tally::new(["parse", "exec"]);
    let mut yaml = Tally::new(["read", "write"]);
    for turn in 1..=args.turns {
        eprintln!("turn {turn} of {}", args.turns);
        templates.go(&output(
            oracles.templates.command().args(["bench", "--rounds", "2"]),
        )?)?;
        templates.ours(&output(&mut ours("run", "gotpl", "bench"))?)?;
        let files = ["deployment.yaml", "crd.yaml"].map(|name| texts.path().join(name));
        yaml.go(&output(oracles.yaml.command().arg("bench").args(files))?)?;
        yaml.ours(&output(&mut ours("run", "yaml", "bench_yaml"))?)?;
    }
    let tables = page::render(
        &templates,
        &yaml,
        &page::Machine::look(&oracles.templates.go)?,
    );
    println!("{tables}");
    if args.write {
        page::write(&Place::of("templates"), &tables)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn ours(verb: &str, package: &str, example: &str) -> Command {
    let mut command = cargo();
    command.args([
        verb,
        "--profile=dist",
        "--quiet",
        "--package",
        package,
        "--example",
        example,
    ]);
    command
}

/// What a program that went well printed.
fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        bail!(
            "{shown} failed ({}):\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} does not print text"))
}
