//! `cargo xtask capture`: records what the real API server says of its own kinds, as data of the
//! embedded one. It only records; `testkit` runs the control plane, and `apiserver` reads the pack.

mod documents;
mod pack;

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{cache, cargo::cargo, generated::GENERATED, k8s, toolchain::go};

/// Where the pack is, from the root of the repository.
const PACK: &str = "crates/apiserver/data/kubernetes.pack";

/// Options of `cargo xtask capture`.
#[derive(clap::Args)]
pub struct Args {
    /// Change nothing: fail if the data is not what the pinned Kubernetes says today
    #[arg(long)]
    check: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut members = documents::members(&ask()?)?;
    members.insert("wire".to_owned(), wire()?);
    let path = cache::repository().join(PACK);
    if args.check {
        let old = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let changed = pack::differences(&pack::read(&old)?, &members);
        if !changed.is_empty() {
            bail!(
                "{PACK} is not what the pinned Kubernetes says:\n{}\nhint: run `cargo xtask capture` and commit it",
                changed.join("\n")
            );
        }
        println!("{PACK} is what the pinned Kubernetes says");
        return Ok(ExitCode::SUCCESS);
    }
    let bytes = pack::write(&members)?;
    println!("{PACK}: {} members, {} bytes", members.len(), bytes.len());
    let generated = GENERATED
        .iter()
        .find(|generated| generated.path == PACK)
        .context("the pack is on no list")?;
    for (path, content) in generated
        .stamped(cache::repository(), bytes)
        .context("cannot read what it is made from")?
    {
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How the kinds are written in protobuf, which only their Go types know.
fn wire() -> Result<Vec<u8>> {
    let module = cache::repository().join("tools/k8s");
    let output = go(&module)
        .args(["run", "./wire"])
        .output()
        .context("cannot run go")?;
    if !output.status.success() {
        bail!(
            "`go run ./wire` fails: {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    let value: Value =
        serde_json::from_slice(&output.stdout).context("what ./wire prints is no JSON")?;
    Ok(serde_json::to_vec(&value)?)
}

/// The answers of a fresh control plane, by request.
fn ask() -> Result<Value> {
    let scratch = tempfile::tempdir().context("no temporary directory")?;
    let answers: PathBuf = scratch.path().join("answers.json");
    let mut command: Command = cargo();
    let status = command
        .args([
            "run",
            "--quiet",
            "-p",
            "testkit",
            "--bin",
            "cluster-capture",
            "--",
        ])
        .arg(&answers)
        .env(k8s::ASSETS, k8s::provide(k8s::Set::Control)?)
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the control plane could not be asked ({status})");
    }
    serde_json::from_slice(&fs::read(&answers)?).context("the answers are no JSON")
}
