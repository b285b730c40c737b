//! `cairn test`: the tests kept with a package.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::args::{Format, Test};
use crate::cases::{self, Case};
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::project::Project;

/// How one test went.
struct Outcome {
    index: usize,
    took: Duration,
    differences: Vec<String>,
}

pub(crate) fn run(args: &Test, printer: &Printer) -> Result<Code, Failure> {
    let project = Project::read(&args.dir)?;
    project.compiled()?;
    let cases = cases::read(&args.dir)?;
    if cases.is_empty() {
        let failure = Failure::new(format!("{} has no tests", args.dir.display()));
        return Err(failure.hint("write one into tests/NAME.yaml; docs/testing.md shows how"));
    }
    let outcomes = all(&project, &cases, args.update);
    let failed = outcomes.iter().filter(|outcome| !outcome.differences.is_empty()).count();
    match args.output {
        Format::Json => {
            let results: Vec<_> = outcomes
                .iter()
                .map(|outcome| {
                    let (file, case) = &cases[outcome.index];
                    let micros = u64::try_from(outcome.took.as_micros()).unwrap_or(u64::MAX);
                    json!({"file": file, "name": case.name, "passed": outcome.differences.is_empty(),
                           "differences": outcome.differences, "microseconds": micros})
                })
                .collect();
            printer.json(&results)?;
        }
        Format::Yaml => {
            let mut text = String::new();
            for outcome in &outcomes {
                let (file, case) = &cases[outcome.index];
                let word = if outcome.differences.is_empty() { "ok  " } else { "FAIL" };
                let name = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
                text.push_str(&format!("{word} {name}: {}\n", case.name));
                for difference in &outcome.differences {
                    text.push_str(&format!("       {difference}\n"));
                }
            }
            text.push_str(&format!("{} passed, {failed} failed\n", outcomes.len() - failed));
            printer.result(text.as_bytes())?;
        }
    }
    if let Some(file) = &args.junit {
        std::fs::write(file, junit(&args.dir.display().to_string(), &cases, &outcomes))
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(if failed > 0 { Code::Failed } else { Code::Ok })
}

/// Runs all tests on all cores.
fn all(project: &Project, cases: &[(std::path::PathBuf, Case)], update: bool) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(cases.len()));
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some((file, case)) = cases.get(index) else {
                return;
            };
            let start = Instant::now();
            let differences = cases::check(project, file, case, update).unwrap_or_else(|failure| vec![failure.message]);
            let outcome = Outcome { index, took: start.elapsed(), differences };
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

fn junit(suite: &str, cases: &[(std::path::PathBuf, Case)], outcomes: &[Outcome]) -> String {
    let escape = |text: &str| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace(|c: char| c.is_control() && c != '\n', "?")
    };
    let failed = outcomes.iter().filter(|outcome| !outcome.differences.is_empty()).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">\n",
        escape(suite),
        outcomes.len()
    );
    for outcome in outcomes {
        let (file, case) = &cases[outcome.index];
        let class = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let seconds = outcome.took.as_secs_f64();
        text.push_str(&format!(
            "  <testcase classname=\"{}\" name=\"{}\" time=\"{seconds:.6}\"",
            escape(&class),
            escape(&case.name)
        ));
        if outcome.differences.is_empty() {
            text.push_str("/>\n");
        } else {
            text.push_str(&format!(
                ">\n    <failure>{}</failure>\n  </testcase>\n",
                escape(&outcome.differences.join("\n"))
            ));
        }
    }
    text.push_str("</testsuite>\n");
    text
}
