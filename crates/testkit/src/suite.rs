//! A test program of scenarios: one cluster per backend for all of them, and a line for whatever is
//! left out. It takes libtest's common arguments, so that `cargo test` and editors can drive it.
#![allow(
    clippy::print_stdout,
    reason = "a test program reports on the terminal"
)]

mod options;

use std::{
    borrow::Cow,
    future::Future,
    pin::Pin,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use futures::{StreamExt, stream};

use crate::{Cluster, real};
use options::Options;

type Running<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// No scenario takes longer; one that does has hung.
const LIMIT: Duration = Duration::from_secs(600);

/// A named test on a cluster. The macro [`crate::scenarios!`] makes them from functions.
pub struct Scenario {
    /// The function's path, or a sentence.
    pub name: Cow<'static, str>,
    /// Runs it.
    pub run: Box<dyn Fn(Arc<Cluster>) -> Running<()> + Send + Sync>,
    /// The one backend it is about, if it is about one.
    pub only: Option<&'static str>,
}

impl Scenario {
    /// A scenario that runs on every backend.
    pub fn new<F>(
        name: impl Into<Cow<'static, str>>,
        run: impl Fn(Arc<Cluster>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        Self {
            name: name.into(),
            run: Box::new(move |cluster| Box::pin(run(cluster))),
            only: None,
        }
    }
}

/// Turns `async fn(Arc<Cluster>) -> anyhow::Result<()>` functions into [`Scenario`]s of the same
/// names.
#[macro_export]
macro_rules! scenarios {
    ($($function:path),* $(,)?) => {
        vec![$($crate::Scenario::new(stringify!($function), $function)),*]
    };
}

/// Scenarios, and the backends they run on.
pub struct Suite {
    scenarios: Vec<Scenario>,
    targets: Vec<Target>,
}

struct Target {
    name: &'static str,
    /// Whether it runs here, may be left out, or must not be missing.
    presence: Presence,
    start: fn() -> Running<Cluster>,
}

#[derive(Debug, PartialEq, Eq)]
enum Presence {
    Here,
    LeftOut(&'static str),
    Missing(&'static str),
}

impl Suite {
    /// A suite that runs on a real control plane, if its binaries are given.
    pub fn on_kubernetes(scenarios: Vec<Scenario>) -> Self {
        let presence = presence(|name| std::env::var(name).ok());
        let start = || -> Running<Cluster> { Box::pin(Cluster::start()) };
        Self {
            scenarios,
            targets: vec![Target {
                name: "kubernetes",
                presence,
                start,
            }],
        }
    }

    /// The same scenarios also on another backend, which is always there;
    /// `CAIRN_EMBEDDED_TESTS=elsewhere` leaves it out where they have just run.
    #[must_use]
    pub fn also_on(mut self, name: &'static str, start: fn() -> Running<Cluster>) -> Self {
        let presence = match std::env::var("CAIRN_EMBEDDED_TESTS").as_deref() {
            Ok("elsewhere") => Presence::LeftOut("they run elsewhere, says CAIRN_EMBEDDED_TESTS"),
            _ => Presence::Here,
        };
        self.targets.push(Target {
            name,
            presence,
            start,
        });
        self
    }

    /// More scenarios, which are about one backend and make no sense on another.
    #[must_use]
    pub fn with_only(mut self, backend: &'static str, scenarios: Vec<Scenario>) -> Self {
        self.scenarios
            .extend(scenarios.into_iter().map(|scenario| Scenario {
                only: Some(backend),
                ..scenario
            }));
        self
    }

    /// Runs what the arguments ask for, and reports as libtest does.
    pub fn main(self) -> ExitCode {
        let options = Options::parse(std::env::args().skip(1));
        let runtime = match tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => {
                println!("error: cannot start the runtime: {error}");
                return ExitCode::FAILURE;
            }
        };
        let failures = runtime.block_on(self.run(&options));
        if failures == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(101)
        }
    }

    async fn run(&self, options: &Options) -> usize {
        let mut failures = 0;
        for target in &self.targets {
            let full = |scenario: &Scenario| format!("{}::{}", target.name, scenario.name);
            let chosen: Vec<&Scenario> = self
                .scenarios
                .iter()
                .filter(|s| {
                    s.only.is_none_or(|only| only == target.name) && options.wants(&full(s))
                })
                .collect();
            if options.list {
                for scenario in chosen {
                    println!("{}: test", full(scenario));
                }
                continue;
            }
            match target.presence {
                _ if chosen.is_empty() => {
                    println!("no scenario on {} has such a name", target.name);
                }
                Presence::Here => failures += target.run(&chosen, options).await,
                Presence::LeftOut(hint) => {
                    println!(
                        "left out: {} cluster scenarios on {}; {hint}",
                        chosen.len(),
                        target.name
                    );
                }
                Presence::Missing(hint) => {
                    println!(
                        "error: {} cluster scenarios cannot run on {}; {hint}",
                        chosen.len(),
                        target.name
                    );
                    failures += chosen.len();
                }
            }
        }
        failures
    }
}

impl Target {
    async fn run(&self, chosen: &[&Scenario], options: &Options) -> usize {
        let begin = Instant::now();
        println!("\nrunning {} scenarios on {}", chosen.len(), self.name);
        let cluster = match (self.start)().await {
            Ok(cluster) => Arc::new(cluster),
            Err(error) => {
                println!("error: no cluster: {error:#}");
                return chosen.len();
            }
        };
        println!("cluster ready in {:.1} s", begin.elapsed().as_secs_f64());
        let failed: Vec<(Cow<'static, str>, String)> = stream::iter(chosen)
            .map(|scenario| one(scenario, cluster.clone()))
            .buffer_unordered(options.threads)
            .filter_map(|failure| async { failure })
            .collect()
            .await;
        for (name, why) in &failed {
            println!("\n---- {name} ----\n{why}");
        }
        if let Some(trouble) = cluster.backend().trouble().filter(|_| !failed.is_empty()) {
            println!("\n---- the cluster ----\n{trouble}");
        }
        let word = if failed.is_empty() { "ok" } else { "FAILED" };
        println!(
            "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in {:.2}s\n",
            chosen.len() - failed.len(),
            failed.len(),
            begin.elapsed().as_secs_f64()
        );
        failed.len()
    }
}

/// Runs one scenario in a task of its own, so that neither a panic nor a hang keeps the others from
/// running.
async fn one(scenario: &Scenario, cluster: Arc<Cluster>) -> Option<(Cow<'static, str>, String)> {
    let begin = Instant::now();
    let task = tokio::spawn((scenario.run)(cluster));
    let abort = task.abort_handle();
    let failure = match tokio::time::timeout(LIMIT, task).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(error))) => Some(format!("{error:#}")),
        Ok(Err(join)) => Some(panic_text(join)),
        Err(_) => {
            abort.abort();
            Some(format!("not done after {} s", LIMIT.as_secs()))
        }
    };
    let word = if failure.is_none() { "ok" } else { "FAILED" };
    println!(
        "test {} ... {word} ({:.1} s)",
        scenario.name,
        begin.elapsed().as_secs_f64()
    );
    failure.map(|why| (scenario.name.clone(), why))
}

fn panic_text(error: tokio::task::JoinError) -> String {
    let Ok(panic) = error.try_into_panic() else {
        return "cancelled".to_owned();
    };
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "panicked: {}",
        text.unwrap_or("with something that is no text")
    )
}

/// Whether the real cluster's scenarios run, by the environment: `CAIRN_CLUSTER_TESTS` is `require`
/// where leaving them out would be a fault, and `elsewhere` where another step runs them; CI has to
/// say one or the other.
fn presence(variable: impl Fn(&str) -> Option<String>) -> Presence {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mode = set("CAIRN_CLUSTER_TESTS");
    match mode.as_deref() {
        Some("elsewhere") => {
            Presence::LeftOut("`cargo xtask cluster-test` is to run them, says CAIRN_CLUSTER_TESTS")
        }
        Some("require") if set(real::ASSETS).is_none() => {
            Presence::Missing("KUBEBUILDER_ASSETS is not set: use `cargo xtask cluster-test`")
        }
        Some("require") | None if set(real::ASSETS).is_some() => Presence::Here,
        None if set("CI").is_some_and(|value| value != "false" && value != "0") => {
            Presence::Missing(
                "in CI nothing is left out silently: use `cargo xtask cluster-test`, \
             or set CAIRN_CLUSTER_TESTS=elsewhere where another step does",
            )
        }
        None => Presence::LeftOut("run `cargo xtask cluster-test`"),
        Some(_) => Presence::Missing("CAIRN_CLUSTER_TESTS is neither `require` nor `elsewhere`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out_silently_in_ci_and_the_mode_decides_elsewhere() {
        let (assets, ci, mode) = ("KUBEBUILDER_ASSETS", "CI", "CAIRN_CLUSTER_TESTS");
        let table: [(&[(&str, &str)], &str); 9] = [
            (&[], "left out"),
            (&[(assets, "/b")], "here"),
            (&[(ci, "true")], "missing"),
            (&[(ci, "false")], "left out"),
            (&[(ci, "true"), (assets, "/b")], "here"),
            (&[(ci, "true"), (mode, "elsewhere")], "left out"),
            (&[(mode, "require")], "missing"),
            (&[(mode, "require"), (assets, "/b")], "here"),
            (&[(mode, "maybe"), (assets, "/b")], "missing"),
        ];
        for (variables, expect) in table {
            let found = presence(|name| {
                variables
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| (*value).to_owned())
            });
            let word = match found {
                Presence::Here => "here",
                Presence::LeftOut(_) => "left out",
                Presence::Missing(_) => "missing",
            };
            assert_eq!(word, expect, "{variables:?}");
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_with_its_text() {
        let error = tokio::spawn(async { panic!("oh {}", 1 + 1) })
            .await
            .unwrap_err();
        assert_eq!(panic_text(error), "panicked: oh 2");
    }
}
