//! What the Kubernetes API is to us: behaviours that the real server and the embedded one both have
//! to show, told as requests and answers in `cases/`. With `CAIRN_CONFORMANCE=record` the real
//! server's answers are written there.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program reports on the terminal and may panic"
)]

mod diff;
mod generate;
mod kube_rs;
mod mask;
mod pick;
mod play;
mod script;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex},
};

use anyhow::{Context, Result, bail};
use script::{Case, Script};
use testkit::{Cluster, Scenario, Suite, scenarios};

/// What was answered to the steps of a case, by its file and its place there.
type Recorded = Arc<Mutex<BTreeMap<(PathBuf, usize), Vec<String>>>>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut scripts = BTreeMap::new();
    for path in files()? {
        let text = fs::read_to_string(&path)?;
        let script = Script::parse(&text).with_context(|| path.display().to_string())?;
        scripts.insert(path, script);
    }
    let recording = std::env::var("CAIRN_CONFORMANCE").is_ok_and(|mode| mode == "record");
    let recorded = Recorded::default();
    let (mut both, mut kubernetes) = (Vec::new(), Vec::new());
    for (path, script) in &scripts {
        for (index, case) in script.cases.iter().enumerate() {
            let place = recording.then(|| (recorded.clone(), (path.clone(), index)));
            let scenario = scenario(path, case.clone(), place);
            let group = if case.not_embedded.is_some() {
                &mut kubernetes
            } else {
                &mut both
            };
            group.push(scenario);
        }
    }
    if !recording {
        both.extend(scenarios![
            kube_rs::a_watcher_lists_and_watches,
            kube_rs::a_watcher_lists_in_pages,
            kube_rs::a_watcher_streams_its_list,
            kube_rs::a_reflector_mirrors_what_there_is,
            kube_rs::a_metadata_watcher_sees_metadata,
            kube_rs::a_controller_keeps_what_it_owns,
            kube_rs::a_finalizer_lets_go_only_after_cleaning_up,
            kube_rs::predicates_filter_status_changes,
            kube_rs::of_many_candidates_one_holds_the_lease,
        ]);
    }
    let suite = Suite::on_kubernetes(both).with_only("kubernetes", kubernetes);
    if !recording {
        return Ok(suite.also_on("embedded", testkit::embedded).main());
    }
    let code = suite.main();
    for ((path, index), answers) in std::mem::take(&mut *recorded.lock().unwrap()) {
        let script = scripts.get_mut(&path).context("no such script")?;
        for (step, answer) in script.cases[index].steps.iter_mut().zip(answers) {
            step.answer = answer;
        }
    }
    for (path, script) in &scripts {
        fs::write(path, script.emit())?;
    }
    Ok(code)
}

fn files() -> Result<Vec<PathBuf>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/cases");
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "http")
    });
    files.sort();
    Ok(files)
}

/// A case as a scenario, named by its file and its title.
fn scenario(path: &Path, case: Case, place: Option<(Recorded, (PathBuf, usize))>) -> Scenario {
    let file = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{file}: {}", case.title);
    let case = Arc::new(case);
    Scenario::new(name, move |cluster: Arc<Cluster>| {
        let (case, place) = (case.clone(), place.clone());
        async move {
            let answers = play::answers(&cluster, &case).await?;
            match place {
                Some((recorded, place)) => drop(recorded.lock().unwrap().insert(place, answers)),
                None => compare(&case, &answers)?,
            }
            Ok(())
        }
    })
}

fn compare(case: &Case, answers: &[String]) -> Result<()> {
    let mut text = String::new();
    for (step, answer) in case.steps.iter().zip(answers) {
        if step.answer != *answer {
            text.push_str(&format!("{} {}\n", step.verb, step.target));
            text.push_str(&diff::lines(&step.answer, answer));
        }
    }
    if text.is_empty() {
        Ok(())
    } else {
        bail!("{text}")
    }
}
