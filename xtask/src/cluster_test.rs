//! `cargo xtask cluster-test`: runs every suite that needs a cluster on the real control plane, skipping nothing.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::{cache, k8s};

/// Options of `cargo xtask cluster-test`.
#[derive(clap::Args)]
pub struct Args {
    /// Only the scenarios whose name contains one of these
    filter: Vec<String>,
    /// Passed on to the suites, such as `--test-threads=1` or `--list`
    #[arg(last = true)]
    rest: Vec<String>,
}

/// Runs the verb: by convention, each crate's cluster suite is its test target `cluster`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let assets = k8s::provide(k8s::Set::Control)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // What cargo tells us of this package would, passed on, make build scripts that look at it run again, and half
    // of the dependencies be built anew (ring's does).
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    let status = command
        .current_dir(cache::repository())
        .args(["test", "--workspace", "--test", "cluster", "--"])
        .args(&args.filter)
        .args(&args.rest)
        .env(k8s::ASSETS, assets)
        .env("CAIRN_CLUSTER_TESTS", "require")
        .status()
        .context("cannot run cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
