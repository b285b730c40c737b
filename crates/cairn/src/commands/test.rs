//! `cairn test`: the tests kept with a package.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::Test;
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;
use crate::testing::case;
use crate::testing::case::{Listed, Warning};

/// How one test went.
struct Outcome {
    index: usize,
    took: Duration,
    differences: Vec<String>,
    warnings: Vec<Warning>,
}

pub(crate) fn run(args: &Test, printer: &Printer) -> Result<Code, Failure> {
    let mut suites = Vec::new();
    for dir in args.dirs.iter().map(|dir| Project::around(dir)) {
        let project = Project::read(&dir)?;
        project.compiled()?;
        let cases = case::read(&dir);
        if cases.is_empty() {
            let failure = Failure::new(format!("{} has no tests", dir.display()));
            return Err(failure.hint("write one into tests/NAME.yaml; docs/testing.md shows how"));
        }
        let outcomes = all(&project, &cases, args.update);
        // Several tests may use the same instance.
        let warnings: BTreeSet<&Warning> = outcomes
            .iter()
            .flat_map(|outcome| &outcome.warnings)
            .collect();
        for (finding, snippet) in warnings {
            printer.finding(finding, snippet.as_deref());
        }
        suites.push(Suite {
            name: dir.display().to_string(),
            cases,
            outcomes,
        });
    }
    let count = |suites: &[Suite]| {
        suites
            .iter()
            .map(|suite| suite.outcomes.len())
            .sum::<usize>()
    };
    let failed: usize = suites.iter().map(Suite::failed).sum();
    match args.output {
        Some(format) => printer.report(
            &suites.iter().flat_map(Suite::json).collect::<Vec<_>>(),
            format,
        )?,
        None => {
            let mut text: String = suites
                .iter()
                .map(|suite| suite.story(suites.len() > 1))
                .collect();
            text.push_str(&format!(
                "{} passed, {failed} failed\n",
                count(&suites) - failed
            ));
            printer.result(text.as_bytes())?;
        }
    }
    if let Some(file) = &args.junit {
        let suites: String = suites.iter().map(Suite::junit).collect();
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n"
        );
        std::fs::write(file, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(if failed > 0 { Code::Failed } else { Code::Ok })
}

/// The tests of one package and how they went.
struct Suite {
    name: String,
    cases: Vec<Listed>,
    outcomes: Vec<Outcome>,
}

impl Suite {
    fn failed(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| !outcome.differences.is_empty())
            .count()
    }

    /// Outcomes with the file and name of their tests.
    fn told(&self) -> impl Iterator<Item = (&Outcome, String, &str)> {
        self.outcomes.iter().map(|outcome| {
            let listed = &self.cases[outcome.index];
            let stem = listed
                .file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            (outcome, stem, listed.name.as_str())
        })
    }

    fn story(&self, named: bool) -> String {
        let mut text = if named {
            format!("{}\n", self.name)
        } else {
            String::new()
        };
        for (outcome, file, name) in self.told() {
            let word = if outcome.differences.is_empty() {
                "ok  "
            } else {
                "FAIL"
            };
            text.push_str(&format!("{word} {file}: {name}\n"));
            for difference in &outcome.differences {
                text.push_str(&format!(
                    "       {}\n",
                    difference.replace('\n', "\n       ")
                ));
            }
        }
        text
    }

    fn json(&self) -> Vec<Value> {
        let outcome = |(outcome, file, name): (&Outcome, String, &str)| {
            let micros = u64::try_from(outcome.took.as_micros()).unwrap_or(u64::MAX);
            json!({"package": self.name, "file": file, "name": name, "passed": outcome.differences.is_empty(),
                   "differences": outcome.differences, "microseconds": micros})
        };
        self.told().map(outcome).collect()
    }

    fn junit(&self) -> String {
        let escape = |text: &str| {
            let text = text
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;");
            text.replace(|c: char| c.is_control() && c != '\n', "?")
        };
        let (name, tests, failed) = (escape(&self.name), self.outcomes.len(), self.failed());
        let mut text =
            format!("<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failed}\">\n");
        for (outcome, file, name) in self.told() {
            let (file, name, seconds) = (escape(&file), escape(name), outcome.took.as_secs_f64());
            text.push_str(&format!(
                "  <testcase classname=\"{file}\" name=\"{name}\" time=\"{seconds:.6}\""
            ));
            match outcome.differences.as_slice() {
                [] => text.push_str("/>\n"),
                differences => {
                    let shown = escape(&differences.join("\n"));
                    text.push_str(&format!(
                        ">\n    <failure>{shown}</failure>\n  </testcase>\n"
                    ));
                }
            }
        }
        text + "</testsuite>\n"
    }
}

/// Runs all tests on all cores.
fn all(project: &Project, cases: &[Listed], update: bool) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(cases.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(Listed { case, .. }) = cases.get(index) else {
                return;
            };
            let start = Instant::now();
            let mut warnings = Vec::new();
            let differences = match case {
                Ok(case) => case
                    .check(project, update, &mut warnings)
                    .unwrap_or_else(|failure| vec![failure.told()]),
                Err(faults) => faults.clone(),
            };
            let outcome = Outcome {
                index,
                took: start.elapsed(),
                differences,
                warnings,
            };
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.push(outcome);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 1..cores.min(cases.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.sort_by_key(|outcome| outcome.index);
    outcomes
}
