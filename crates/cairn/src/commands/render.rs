//! `cairn render`: what the controller would do for an instance, pass by pass.

use engine::children::desired::marked;
use engine::{Context, Pass, Plan, Seed, Simulation};
use serde_json::{Value, json};

use crate::cli::{Objects, Render};
use crate::project::Project;
use crate::project::instance::Admitted;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::{Printer, named};
use crate::testing::{controllers, observed};

/// Drawn values of a preview: the same every time, and none that a cluster would use.
pub(crate) const PREVIEW_SEED: &[u8] = b"cairn preview, not a secret";

pub(crate) fn run(args: &Render, printer: &Printer) -> Result<Code, Failure> {
    let project = Project::read(&Project::around(&args.dir))?;
    let (
        Admitted {
            kind,
            object: instance,
            dropped,
        },
        written,
    ) = project.instance(args.file.as_deref(), printer)?;
    for finding in &dropped {
        let (finding, snippet) = written.shown(finding);
        printer.finding(&finding, snippet.as_deref());
    }
    let observed = observed::read(args.observed.as_deref(), kind, &instance, printer)?;
    let seed = Seed::new(PREVIEW_SEED);
    let name = &project.compiled()?.name;
    let context = Context::new(name, &seed);
    let mut simulation = match &args.simulate {
        None => {
            let plan = engine::plan(kind, &instance, &observed, &context);
            Simulation {
                passes: vec![Pass {
                    plan,
                    changed: Vec::new(),
                    reports: Vec::new(),
                }],
                observed,
                settled: true,
            }
        }
        Some(file) => {
            let rules = file
                .as_ref()
                .map_or(Ok(Vec::new()), |file| controllers::of_file(file, kind))?;
            engine::simulate(kind, &instance, observed, &rules, &context)
        }
    };
    for apply in simulation
        .passes
        .iter_mut()
        .flat_map(|pass| &mut pass.plan.applies)
    {
        apply.object = marked(
            &apply.object,
            &instance,
            project.is_namespaced(&apply.object),
        );
    }
    match args.output {
        Some(Objects::Json) => {
            printer.json(&json!({"passes": simulation.passes, "settled": simulation.settled}))?;
        }
        Some(Objects::Name) => printer.objects(&made(&simulation), Objects::Name)?,
        Some(Objects::Yaml) | None => {
            printer.result(story(&simulation, args.simulate.is_some())?.as_bytes())?;
        }
    }
    let last = simulation.passes.last().map(|pass| &pass.plan);
    let failed = last.is_some_and(|plan| !plan.problems.is_empty());
    if let Some(plan) = last {
        for problem in &plan.problems {
            let finding = crate::terminal::finding::Finding::from(&problem.problem);
            let (finding, snippet) = finding.shown(project.text(&finding.file));
            printer.finding(&project.placed(&finding), snippet.as_deref());
        }
    }
    if !simulation.settled {
        return Err(Failure::new(format!(
            "it does not settle: after {} passes something still changes",
            simulation.passes.len()
        )));
    }
    Ok(if failed { Code::Failed } else { Code::Ok })
}

/// The passes as a YAML stream with comments: what is made, in order, and what is not, and why.
fn story(simulation: &Simulation, numbered: bool) -> Result<String, Failure> {
    let mut text = String::new();
    let last = simulation.passes.len();
    if numbered {
        text.push_str(&summary(simulation));
    }
    for (index, pass) in simulation.passes.iter().enumerate() {
        // The last pass of a simulation changes nothing; it is there to show the final state.
        let quiet = numbered && pass.changed.is_empty();
        if numbered {
            let note = match (quiet, index + 1 == last) {
                (true, true) => " changes nothing any more".to_string(),
                (true, false) => " changes only statuses".to_string(),
                (false, _) => format!(" applies {}", applied(pass).join(", ")),
            };
            text.push_str(&format!("# pass {}{note}\n", index + 1));
        }
        if !quiet {
            objects(&pass.plan, numbered.then_some(&pass.changed), &mut text)?;
        }
        for hold in &pass.plan.holds {
            for wait in &hold.waits {
                text.push_str(&format!("# {} waits for {wait}\n", hold.template));
            }
        }
        for delete in &pass.plan.deletes {
            text.push_str(&format!(
                "# {} deletes {}/{}\n",
                delete.template, delete.kind, delete.name
            ));
        }
        for problem in &pass.plan.problems {
            text.push_str(&format!(
                "# {} fails: {}\n",
                problem.template, problem.problem.what
            ));
        }
        for report in &pass.reports {
            text.push_str(&commented(
                &format!("# then {}.status becomes", report.child),
                &report.status,
            )?);
        }
        if let Some(status) = pass
            .plan
            .status
            .as_ref()
            .filter(|_| !numbered || index + 1 == last)
        {
            text.push_str(&commented("# status", status)?);
        }
    }
    if !numbered
        && simulation
            .passes
            .iter()
            .any(|pass| !pass.plan.holds.is_empty())
    {
        text.push_str("# this is the first pass; --simulate shows those that follow\n");
    }
    Ok(text)
}

/// Every object that was made, in the order in which it came.
fn made(simulation: &Simulation) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for apply in simulation.passes.iter().flat_map(|pass| &pass.plan.applies) {
        if !found
            .iter()
            .any(|object| named(object) == named(&apply.object))
        {
            found.push(apply.object.clone());
        }
    }
    found
}

/// The templates whose objects are new or changed in a pass.
fn applied(pass: &Pass) -> Vec<&str> {
    let applied = |name: &&String| {
        pass.plan
            .applies
            .iter()
            .any(|apply| apply.template == **name)
    };
    let names: Vec<&str> = pass
        .changed
        .iter()
        .filter(applied)
        .map(String::as_str)
        .collect();
    if names.is_empty() {
        vec!["nothing"]
    } else {
        names
    }
}

/// In which order it settles, in a line.
fn summary(simulation: &Simulation) -> String {
    let steps: Vec<String> = simulation
        .passes
        .iter()
        .filter(|pass| !pass.changed.is_empty())
        .map(|pass| pass.changed.join(", "))
        .collect();
    match (steps.is_empty(), simulation.settled) {
        (true, true) => "# settled from the start\n".to_string(),
        (false, true) => format!(
            "# settles in {} passes: {}\n",
            simulation.passes.len(),
            steps.join(", then ")
        ),
        (_, false) => "# does not settle\n".to_string(),
    }
}

/// A value below a heading, in comments.
fn commented(heading: &str, value: &Value) -> Result<String, Failure> {
    let lines = emitted(value)?;
    Ok(lines.lines().fold(format!("{heading}\n"), |text, line| {
        format!("{text}#   {line}\n")
    }))
}

fn objects(plan: &Plan, changed: Option<&Vec<String>>, text: &mut String) -> Result<(), Failure> {
    for apply in plan
        .applies
        .iter()
        .filter(|apply| changed.is_none_or(|changed| changed.contains(&apply.template)))
    {
        text.push_str(&format!("---\n# {}\n", apply.template));
        text.push_str(&emitted(&apply.object)?);
    }
    Ok(())
}

pub(crate) fn emitted(value: &Value) -> Result<String, Failure> {
    yaml::emit(value).map_err(|error| Failure::new(format!("cannot write this as YAML: {error}")))
}
