//! `cargo xtask explore`: looks for what CI does not, with seeds that nobody has had: random
//! templates, texts and patches held to Go, property tests, variants of scenarios, and the fuzz
//! targets from where they stopped the last time. Whatever it finds is to become a recorded case.

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

/// One look at everything: what it is called, the arguments of cargo and the environment.
struct Look {
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
        for look in looks(seed, args.seconds) {
            let shown = look.shown();
            println!("\nround {rounds}, {}: {shown}", look.what);
            let status = cargo()
                .args(&look.arguments)
                .envs(look.environment.iter().map(|(name, value)| (name, value)))
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

/// What a round looks at.
fn looks(seed: u64, seconds: u64) -> Vec<Look> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let seeded = vec![
        ("PROPTEST_RNG_SEED", seed.to_string()),
        ("CAIRN_VARIANTS_SEED", seed.to_string()),
        ("CAIRN_FUZZ_SEED", seed.to_string()),
        ("CAIRN_CLUSTER_TESTS", "elsewhere".to_owned()),
    ];
    vec![
        Look {
            what: "Go and Rust",
            arguments: words(&format!("xtask oracle --check --seed {seed}")),
            environment: Vec::new(),
        },
        Look {
            what: "properties and variants",
            arguments: words("test --workspace --no-fail-fast"),
            environment: seeded,
        },
        Look {
            what: "fuzz targets",
            arguments: words(&format!("xtask fuzz --seconds {seconds}")),
            environment: Vec::new(),
        },
    ]
}

impl Look {
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
    use super::looks;

    #[test]
    fn what_a_round_found_can_be_had_again() {
        let shown: Vec<String> = looks(7, 60).iter().map(super::Look::shown).collect();
        assert_eq!(shown[0], "cargo xtask oracle --check --seed 7");
        assert_eq!(
            shown[1],
            "PROPTEST_RNG_SEED=7 CAIRN_VARIANTS_SEED=7 CAIRN_FUZZ_SEED=7 \
             CAIRN_CLUSTER_TESTS=elsewhere \
             cargo test --workspace --no-fail-fast"
        );
    }
}
