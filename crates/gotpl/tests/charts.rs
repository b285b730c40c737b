//! Renders the chart-sized template sets of `charts/` as Helm does and compares with what Helm's
//! engine rendered.
//!
//! `GOTPL_CHART` selects one set; `GOTPL_SHOW` is how many differences to print.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::fs;
use std::path::Path;

use gotpl::{Input, Limits, Meter, MissingKey, Options, Run, Set};
use serde_json::{Value as Json, json};
use support::{Answer, FixedWorld, Tally};

#[test]
fn every_chart_renders_as_helm_renders_it() {
    support::on_main_stack(|| {
        let only = std::env::var("GOTPL_CHART").unwrap_or_default();
        let mut areas = Vec::new();
        for chart in sorted(&support::folder("charts")) {
            if only.is_empty() || only == chart {
                areas.push((chart.clone(), render(&chart)));
            }
        }
        support::report(&areas, support::shown());
    });
}

#[test]
fn there_are_enough_charts_and_each_has_expectations() {
    let charts = sorted(&support::folder("charts"));
    assert!(charts.len() >= 22, "only {} charts", charts.len());
    for chart in charts {
        let folder = support::folder("charts").join(&chart);
        let mut rendered = sorted(&folder.join("templates"));
        rendered.retain(|file| !file.starts_with('_'));
        assert_eq!(
            rendered,
            sorted(&folder.join("expected")),
            "files of {chart}"
        );
    }
}

#[test]
fn every_benchmark_case_renders_as_go_renders_it() {
    support::on_main_stack(|| {
        let mut areas = Vec::new();
        for case in sorted(&support::folder("bench")) {
            let folder = support::folder("bench").join(&case);
            let data: Json =
                serde_json::from_str(&read(&folder.join("data.json"))).expect("the data is JSON");
            let got: Answer = support::guarded(|| {
                let mut set = Set::new();
                for file in sorted(&folder.join("templates")) {
                    set.parse(&file, &read(&folder.join("templates").join(&file)))
                        .map_err(|error| error.to_string())?;
                }
                set.execute("main.yaml", &data)
                    .map_err(|error| error.to_string())
            });
            let want: Answer = Ok(read(&folder.join("expected.yaml")).into_bytes());
            let differences = if got == want {
                Vec::new()
            } else {
                vec![format!("{case}\n{}", contrast(&want, &got))]
            };
            areas.push((
                case,
                Tally {
                    cases: 1,
                    differences,
                },
            ));
        }
        support::report(&areas, support::shown());
    });
}

fn render(chart: &str) -> Tally {
    let folder = support::folder("charts").join(chart);
    let context: Json =
        serde_json::from_str(&read(&folder.join("context.json"))).expect("the context is JSON");
    let base = format!("{chart}/templates");
    let mut set = Set::with_options(Options {
        missing_key: MissingKey::Zero,
        ..Options::default()
    });
    let mut files = sorted(&folder.join("templates"));
    // Helm parses in reverse order of the names, so that the first file has the last word on a
    // definition.
    files.reverse();
    let mut tally = Tally::default();
    for file in &files {
        if let Err(error) = set.parse(
            &format!("{base}/{file}"),
            &read(&folder.join("templates").join(file)),
        ) {
            tally.cases += 1;
            tally
                .differences
                .push(format!("{base}/{file}\n  does not parse: {error}\n"));
        }
    }
    for file in files.iter().filter(|file| !file.starts_with('_')) {
        let name = format!("{base}/{file}");
        let template = json!({ "Name": name, "BasePath": base });
        let meter = Meter::default();
        let got: Answer = support::guarded(|| {
            let run = Run {
                host: &FixedWorld,
                meter: Some(&meter),
                ..Run::new(&set)
            };
            run.execute(&name, &Input::with(&context, &[("Template", &template)]))
                // What Helm does at the end, because a missing key prints even with
                // `missingkey=zero`.
                .map(|output| {
                    String::from_utf8_lossy(&output.text)
                        .replace("<no value>", "")
                        .into_bytes()
                })
                .map_err(|error| error.to_string())
        });
        // Manifests that people write are far from any budget, so that nobody has to know of them.
        // Password hashes are the exception: they are made to be slow.
        let usual = if set
            .outline(&name)
            .calls
            .iter()
            .any(|call| call.function.cost.call > 1_000_000)
        {
            4
        } else {
            1_000
        };
        assert!(
            meter.work() < Limits::default().work / usual,
            "{name} costs {}",
            meter.work()
        );
        assert!(
            meter.bytes() < Limits::default().bytes / 100,
            "{name} makes {} bytes",
            meter.bytes()
        );
        let want: Answer = Ok(read(&folder.join("expected").join(file)).into_bytes());
        tally.cases += 1;
        if got != want {
            tally
                .differences
                .push(format!("{name}\n{}", contrast(&want, &got)));
        }
    }
    tally
}

/// The first line that differs, or the error.
fn contrast(want: &Answer, got: &Answer) -> String {
    let (Ok(want), Ok(got)) = (want, got) else {
        return format!("  got  {}\n", support::show(got));
    };
    let (want, got) = (String::from_utf8_lossy(want), String::from_utf8_lossy(got));
    let line = want
        .lines()
        .zip(got.lines())
        .take_while(|(want, got)| want == got)
        .count();
    format!(
        "  line {}\n  want {:?}\n  got  {:?}\n",
        line + 1,
        want.lines().nth(line).unwrap_or("(end)"),
        got.lines().nth(line).unwrap_or("(end)")
    )
}

fn sorted(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("a readable folder")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a readable file")
}
