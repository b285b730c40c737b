//! `cargo xtask cluster-test`: runs every suite that needs a cluster on the real control plane,
//! skipping nothing.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::{cargo::cargo, k8s};

/// Options of `cargo xtask cluster-test`.
#[derive(clap::Args)]
pub struct Args {
    /// Only the scenarios whose name contains one of these
    filter: Vec<String>,
    /// Passed on to the suites, such as `--test-threads=1` or `--list`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// The suites that need a cluster: by convention each crate's is its test target `cluster`. The
/// testkit has two more, which hold the embedded API server to the real one; `cairn diff` wants a
/// cluster of its own; the documentation is followed with kubectl.
const SUITES: [&str; 5] = ["cluster", "conformance", "differences", "docs", "kubectl"];

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    let assets = k8s::provide(k8s::Set::Control)?;
    let status = cargo()
        .args(["test", "--workspace"])
        .args(SUITES.iter().flat_map(|suite| ["--test", suite]))
        .arg("--")
        .args(&args.filter)
        .args(&args.rest)
        .env(k8s::ASSETS, assets)
        .env("CAIRN_CLUSTER_TESTS", "require")
        .status()
        .context("cannot run cargo")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
