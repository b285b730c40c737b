//! Runs a real control plane until its standard input ends or it is interrupted; prints its
//! kubeconfig, its directory and its process group. Made for trying things by hand, and for the
//! test that kills it; with `--measured` etcd waits for the disk and nothing is audited, as it
//! should be where speed is measured.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they are its output"
)]

use std::{io::Read, process::ExitCode};

use anyhow::Result;
use testkit::{Backend, real};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut options = real::Options::from_env()?;
    if std::env::args().any(|argument| argument == "--measured") {
        options.durable = true;
        // The last one counts, and without a path nothing is logged.
        options.apiserver_flags = vec!["--audit-log-path=".into(), "--audit-policy-file=".into()];
    }
    let plane = runtime.block_on(real::ControlPlane::start(options))?;
    println!(
        "{} {} {}",
        plane.kubeconfig().display(),
        plane.dir().display(),
        plane.process_group()
    );
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop(plane);
    Ok(())
}
