//! `cargo xtask`: the chores of this repository. Each verb is one file; nothing here ships to
//! users.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore reports on the terminal"
)]

mod bench;
mod cache;
mod capture;
mod cargo;
mod cluster_test;
mod docs;
mod explore;
mod fuzz;
mod generated;
mod k8s;
mod oracle;
mod seed;
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build the pinned Kubernetes control plane and print the directory that holds it
    K8s(k8s::Args),
    /// Run the cluster suites on the real control plane
    ClusterTest(cluster_test::Args),
    /// Record what the real API server says of its kinds, or check what is recorded
    Capture(capture::Args),
    /// Measure against Go, in the same run
    Bench(bench::Args),
    /// Record what Go answers to the tests' questions, or check what is recorded
    Oracle(oracle::Args),
    /// Run the fuzz targets with coverage guidance, each for some time
    Fuzz(fuzz::Args),
    /// Search beyond CI, with fresh seeds
    Explore(explore::Args),
    /// Write the pages of the documentation that come from the code
    Docs,
}

fn main() -> ExitCode {
    let outcome = match Args::parse().verb {
        Verb::K8s(args) => k8s::run(&args),
        Verb::ClusterTest(args) => cluster_test::run(&args),
        Verb::Capture(args) => capture::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Oracle(args) => oracle::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Explore(args) => explore::run(&args),
        Verb::Docs => docs::run(),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  caused by: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}
