//! Replays what real Go answered (`golden/*.jsonl`, written by `tools/oracle`) against this engine.
//!
//! `GOTPL_VECTORS` selects an area or the ids that begin with it; `GOTPL_SHOW` is how many
//! differences to print; `GOTPL_VECTOR_DIR` replays the files of another folder, such as fresh
//! random ones.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use gotpl::{Input, Library, MissingKey, Options, Run, Set};
use serde_json::Value as Json;
use support::{Answer, FixedWorld, Tally};

#[test]
fn every_golden_vector_gets_the_answer_of_go() {
    support::on_main_stack(replay);
}

fn replay() {
    let only = std::env::var("GOTPL_VECTORS").unwrap_or_default();
    let deviations = deviations();
    let mut unused: BTreeSet<&String> = deviations.keys().collect();
    let elsewhere = std::env::var_os("GOTPL_VECTOR_DIR");
    let folder = elsewhere
        .as_ref()
        .map_or_else(|| support::folder("golden"), PathBuf::from);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the folder of vectors is there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jsonl")
        })
        .collect();
    paths.sort();
    let mut areas = Vec::new();
    for path in paths {
        let area = path
            .file_stem()
            .expect("a file name")
            .to_string_lossy()
            .into_owned();
        if !only.is_empty() && !only.starts_with(&area) && !area.starts_with(&only) {
            continue;
        }
        let mut tally = Tally::default();
        for line in fs::read_to_string(&path).expect("a readable file").lines() {
            let vector: Json = serde_json::from_str(line).expect("a vector is JSON");
            let id = text(&vector["id"]);
            if only.contains('-') && !(id == only || id.starts_with(&format!("{only}-"))) {
                continue;
            }
            tally.cases += 1;
            unused.remove(&id);
            if let Some(difference) = difference(&id, &vector, deviations.contains_key(&id)) {
                tally.differences.push(difference);
            }
        }
        areas.push((area, tally));
    }
    support::report(&areas, support::shown());
    assert!(
        !only.is_empty() || elsewhere.is_some() || unused.is_empty(),
        "deviations for vectors that do not exist: {unused:?}"
    );
}

/// What differs in one vector, if anything does.
fn difference(id: &str, vector: &Json, deviates: bool) -> Option<String> {
    let want = wanted(vector);
    let got = support::guarded(|| evaluate(vector));
    let equal = want == got;
    let agreed = match (&want, &got) {
        _ if !deviates => equal,
        // A listed deviation that is none would hide the next one, so it counts as a difference
        // too.
        (Err(want), Err(got)) => !equal && place(want) == place(got),
        _ => false,
    };
    if agreed {
        return None;
    }
    let why = if deviates && equal {
        "\n  is listed as a deviation, but agrees"
    } else {
        ""
    };
    Some(format!(
        "{id}{why}\n  template {}\n  data     {}\n  options  {}\n  want {}\n  got  {}\n",
        vector["template"],
        vector["data"],
        vector["options"],
        support::show(&want),
        support::show(&got)
    ))
}

fn wanted(vector: &Json) -> Answer {
    if let Some(error) = vector["error"].as_str() {
        return Err(error.to_string());
    }
    if let Some(error) = vector["error_b64"].as_str() {
        return Err(String::from_utf8_lossy(&support::base64(error)).into_owned());
    }
    match vector["output_b64"].as_str() {
        Some(output) => Ok(support::base64(output)),
        None => Ok(text(&vector["output"]).into_bytes()),
    }
}

fn evaluate(vector: &Json) -> Answer {
    let settings = &vector["options"];
    let delimiter = |index: usize| text(&settings["delims"][index]);
    let mut set = Set::with_options(Options {
        missing_key: match settings["missingkey"].as_str() {
            Some("zero") => MissingKey::Zero,
            Some("error") => MissingKey::Error,
            _ => MissingKey::Default,
        },
        left: delimiter(0),
        right: delimiter(1),
        funcs: match settings["funcs"].as_str() {
            Some("builtin") => Library::Builtin,
            Some("sprig") => Library::Sprig,
            _ => Library::Helm,
        },
        ..Options::default()
    });
    for (name, source) in settings["templates"].as_object().into_iter().flatten() {
        set.parse(name, &text(source))
            .map_err(|error| error.to_string())?;
    }
    let name = settings["name"].as_str().unwrap_or("template");
    set.parse(name, &text(&vector["template"]))
        .map_err(|error| error.to_string())?;
    let mut run = Run::new(&set);
    run.host = &FixedWorld;
    run.execute(name, &Input::new(&vector["data"]))
        .map(|output| output.text)
        .map_err(|error| error.to_string())
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// The part of an error that must agree even where the text may differ: the stage, and
/// NAME:LINE:COL.
fn place(error: &str) -> (bool, String) {
    let rest = error.strip_prefix("template: ").unwrap_or(error);
    if let Some((place, _)) = rest.split_once(": executing ") {
        return (true, place.to_string());
    }
    (
        false,
        rest.split(": ").next().unwrap_or_default().to_string(),
    )
}

/// The vectors whose error text is known to differ: an id and the reason on each line.
fn deviations() -> BTreeMap<String, String> {
    fs::read_to_string(support::folder("golden").join("error-text-deviations.txt"))
        .expect("the list of deviations is there, even if empty")
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (id, reason) = line.split_once(' ').unwrap_or((line, ""));
            assert!(!reason.trim().is_empty(), "{id} is listed without a reason");
            (id.to_string(), reason.trim().to_string())
        })
        .collect()
}
