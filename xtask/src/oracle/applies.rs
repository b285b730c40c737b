//! Applies, updates and strategic merge patches: records what Kubernetes' own libraries make of
//! them, and compares random ones with what `objects` makes of them.

use std::fs;

use anyhow::{Context, Result, bail};

use super::{Tool, complete};
use crate::{cache, cargo::cargo, seed};

const PLACE: &str = "crates/objects/tests/golden";
/// What is recorded there; the records of schemas are not made here.
const FILES: [&str; 3] = ["shapes.json", "apply.jsonl", "strategic.jsonl"];
/// How many random cases of each kind to compare.
const CASES: u32 = 1500;

/// Records anew; or, with `check`, fails if a record is not what Go answers, and compares on random
/// cases.
pub fn run(check: bool, seed: Option<u64>) -> Result<()> {
    let tool = Tool::provide("apply-oracle")?;
    let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
    complete(tool.command().arg("record").arg(scratch.path()))?;
    for name in FILES {
        let path = cache::repository().join(PLACE).join(name);
        let new = fs::read(scratch.path().join(name))
            .with_context(|| format!("the oracle wrote no {name}"))?;
        if fs::read(&path).ok().as_ref() == Some(&new) {
            continue;
        }
        if check {
            bail!(
                "{PLACE}/{name} is not what Go answers\nhint: run `cargo xtask oracle` and look at what changed; the \
                 records are of the versions in tools/apply-oracle/go.mod"
            );
        }
        fs::write(&path, new).with_context(|| format!("cannot write {}", path.display()))?;
        println!("  {PLACE}/{name}");
    }
    if !check {
        return Ok(());
    }
    let seed = match seed {
        Some(seed) => seed,
        None => seed::of_tree()?,
    };
    println!("random applies and patches of seed {seed}");
    complete(
        tool.command()
            .arg("random")
            .arg(scratch.path())
            .args([seed.to_string(), CASES.to_string()]),
    )?;
    // The whole workspace is named so that its features, and with them what is built already, stay
    // the same.
    let status = cargo()
        .args(["test", "--quiet", "--workspace", "--test", "apply"])
        .env("OBJECTS_VECTOR_DIR", scratch.path())
        .status()
        .context("cannot run the comparison of applies")?;
    if !status.success() {
        bail!("the comparison of applies failed ({status}); what differs is above");
    }
    Ok(())
}
