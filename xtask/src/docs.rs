//! `cargo xtask docs`: writes the pages of the documentation that come from the code.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::{cache, cargo::cargo, generated::GENERATED};

/// The page of all template functions.
const FUNCTIONS: &str = "docs/functions.md";

/// Runs the verb.
pub fn run() -> Result<ExitCode> {
    let output = cargo()
        .args([
            "run",
            "--quiet",
            "--package",
            "gotpl",
            "--example",
            "function_page",
        ])
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "{FUNCTIONS} cannot be written: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let generated = GENERATED
        .iter()
        .find(|generated| generated.path == FUNCTIONS)
        .context("the page is on no list")?;
    let stamped = generated
        .stamped(cache::repository(), output.stdout)
        .context("cannot read what it is made from")?;
    for (path, bytes) in stamped {
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("wrote {FUNCTIONS}");
    Ok(ExitCode::SUCCESS)
}
