//! `cargo xtask explore`: searches beyond CI with fresh seeds: random templates, texts and patches
//! compared with Go, property tests, variants of scenarios, and fuzz targets that resume from the
//! cached corpus. Record each finding as a test case.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use crate::{cargo::cargo, seed};

/// How long to explore.
#[derive(clap::Args)]
pub struct Args {
    /// Begin no further round after so many minutes
    #[arg(long, default_value_t = 60, value_name = "N")]
    minutes: u64,
    /// How long each fuzz target runs in a round, in seconds
    #[arg(long, default_value_t = 60, value_name = "N")]
    seconds: u64,
}

/// One step of a round: its name, the arguments of cargo and the environment.
struct Step {
    what: &'static str,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let mut failed: Vec<String> = Vec::new();
    let mut rounds = 0;
    while rounds == 0 || (Instant::now() < end && failed.is_empty()) {
        rounds += 1;
        let seed = seed::fresh();
        for step in steps(seed, args.seconds) {
            let shown = step.shown();
            println!("\nround {rounds}, {}: {shown}", step.what);
            let status = cargo()
                .args(&step.arguments)
                .envs(step.environment.iter().map(|(name, value)| (name, value)))
                .status()
                .context("cannot run cargo")?;
            if !status.success() {
                failed.push(shown);
            }
        }
    }
    println!(
        "\n{rounds} rounds, {} found something to record",
        failed.len()
    );
    for shown in &failed {
        println!("again with: {shown}");
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The steps of a round.
fn steps(seed: u64, seconds: u64) -> Vec<Step> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let seeded = vec![
        ("PROPTEST_RNG_SEED", seed.to_string()),
        ("CAIRN_VARIANTS_SEED", seed.to_string()),
        ("CAIRN_FUZZ_SEED", seed.to_string()),
        ("CAIRN_CLUSTER_TESTS", "elsewhere".to_owned()),
    ];
    vec![
        Step {
            what: "Go and Rust",
            arguments: words(&format!("xtask oracle --check --seed {seed}")),
            environment: Vec::new(),
        },
        Step {
            what: "properties and variants",
            arguments: words("test --workspace --no-fail-fast"),
            environment: seeded,
        },
        Step {
            what: "fuzz targets",
            arguments: words(&format!("xtask fuzz --seconds {seconds}")),
            environment: Vec::new(),
        },
    ]
}

impl Step {
    /// The command as a person would type it.
    fn shown(&self) -> String {
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value} "));
        format!(
            "{}cargo {}",
            environment.collect::<String>(),
            self.arguments.join(" ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::steps;

    #[test]
    fn what_a_round_found_can_be_had_again() {
        let shown: Vec<String> = steps(7, 60).iter().map(super::Step::shown).collect();
        assert_eq!(shown[0], "cargo xtask oracle --check --seed 7");
        assert_eq!(
            shown[1],
            "PROPTEST_RNG_SEED=7 CAIRN_VARIANTS_SEED=7 CAIRN_FUZZ_SEED=7 \
             CAIRN_CLUSTER_TESTS=elsewhere \
             cargo test --workspace --no-fail-fast"
        );
    }
}
