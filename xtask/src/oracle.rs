//! `cargo xtask oracle`: records anew what Go answers and, with `--check`, holds the records and
//! the Rust code to it. The questions are the oracles' own (`tools/oracle`, `tools/yaml-oracle`);
//! the code that answers them is not here.

mod applies;
mod random;
mod records;
mod tool;

use std::{
    fs,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::{cache, seed, toolchain::required};
pub use tool::Tool;

/// Options of `cargo xtask oracle`.
#[derive(clap::Args)]
pub struct Args {
    /// Change no record: fail if one is not what Go answers today, then compare on random cases
    #[arg(long)]
    check: bool,
    /// Where random cases begin [default: a seed of the committed tree]
    #[arg(long, requires = "check")]
    seed: Option<u64>,
    /// How many random templates to compare
    #[arg(long, default_value_t = 3000, requires = "check")]
    templates: u32,
    /// How many random YAML texts and values to compare
    #[arg(long, default_value_t = 40_000, requires = "check")]
    texts: u32,
}

/// The two oracles, built.
pub struct Oracles {
    /// Answers for templates.
    pub templates: Tool,
    /// Answers for YAML.
    pub yaml: Tool,
}

impl Oracles {
    /// Builds what is not in the cache.
    pub fn provide() -> Result<Self> {
        Ok(Self {
            templates: Tool::provide("oracle")?,
            yaml: Tool::provide("yaml-oracle")?,
        })
    }
}

/// The libraries that answer, with their versions.
pub fn libraries() -> Result<String> {
    let mut named = Vec::new();
    for (tool, module, name) in [
        ("oracle", "github.com/Masterminds/sprig/v3", "sprig"),
        ("oracle", "helm.sh/helm/v4", "Helm"),
        ("yaml-oracle", "sigs.k8s.io/yaml", "sigs.k8s.io/yaml"),
    ] {
        let path = cache::repository().join("tools").join(tool).join("go.mod");
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let version = required(&text, module)
            .with_context(|| format!("{} does not require {module}", path.display()))?;
        named.push(format!("{name} {version}"));
    }
    Ok(named.join(", "))
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    applies::run(args.check, args.seed)?;
    let oracles = Oracles::provide()?;
    let changes = records::record(&oracles)?;
    if !args.check {
        for change in &changes {
            change.apply()?;
            println!("{change}");
        }
        println!("{} files changed", changes.len());
        return Ok(ExitCode::SUCCESS);
    }
    if !changes.is_empty() {
        let list: Vec<String> = changes.iter().map(ToString::to_string).collect();
        bail!(
            "what is recorded is not what Go answers:\n{}\nhint: run `cargo xtask oracle` and look at what changed; \
             the records are of the Go version in tools/oracle/go.mod",
            list.join("\n")
        );
    }
    println!("all records are what Go answers");
    let seed = match args.seed {
        Some(seed) => seed,
        None => seed::of_tree()?,
    };
    random::compare(&oracles, seed, args.templates, args.texts)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command to its end; a failure is told in its own words.
fn complete(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let output = command
        .output()
        .with_context(|| format!("cannot run {shown}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{shown} failed ({}):\n{}", output.status, said.trim_end());
    }
    Ok(())
}
