//! Cases that nobody has thought of: made from a seed, answered by Go and by the Rust code, and
//! compared.

use std::{
    fs::File,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use super::Oracles;
use crate::cargo::cargo;

/// Compares; the seed is printed before anything can fail, so that a failure can be had again.
pub fn compare(oracles: &Oracles, seed: u64, templates: u32, texts: u32) -> Result<()> {
    println!(
        "random comparison; again with: cargo xtask oracle --check --seed {seed} --templates {templates} --texts {texts}"
    );
    let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
    let vectors = scratch.path().join("random.jsonl");
    let file =
        File::create(&vectors).with_context(|| format!("cannot create {}", vectors.display()))?;
    run(
        "the oracle's random templates",
        oracles
            .templates
            .command()
            .args([
                "random",
                "--seed",
                &seed.to_string(),
                "--count",
                &templates.to_string(),
            ])
            .stdout(Stdio::from(file)),
    )?;
    // The whole workspace is named so that its features, and with them what is built already, stay
    // the same.
    run(
        "the comparison of templates",
        cargo()
            .args([
                "test",
                "--quiet",
                "--workspace",
                "--test",
                "golden",
                "every_golden_vector",
                "--",
            ])
            .env("GOTPL_VECTOR_DIR", scratch.path()),
    )?;
    run(
        "the comparison of YAML",
        cargo()
            .args([
                "run",
                "--quiet",
                "--package",
                "yaml",
                "--example",
                "differential",
                "--",
                "--oracle",
            ])
            .arg(oracles.yaml.program())
            .args(["--seed", &seed.to_string(), "--count", &texts.to_string()]),
    )
}

fn run(what: &str, command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {what}"))?;
    if !status.success() {
        bail!(
            "{what} failed ({status}); what differs is above\nhint: the line with `again with` repeats it; \
             `cargo xtask oracle --help` has the numbers to make it smaller"
        );
    }
    Ok(())
}
