//! Tests kept with a package: what is given, what is expected, and how the two differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engine::{CompiledKind, Context, Observed, Plan, Rule, Seed};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::project::Project;
use crate::verbs::render::{PREVIEW_SEED, emitted};
use crate::{input, observed};

/// One test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// What it shows, as a sentence.
    pub name: String,
    /// The instance, or the file it is in.
    instance: Value,
    /// The children that are there, by template.
    #[serde(default)]
    observed: BTreeMap<String, Value>,
    /// Outside controllers to play, until nothing changes.
    #[serde(default)]
    simulate: Vec<Rule>,
    /// What must be so.
    #[serde(default)]
    expect: Expect,
    /// A file that holds the whole plan.
    #[serde(default)]
    golden: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// Fields that the objects of a template have; for a collection a list, in order.
    #[serde(default)]
    objects: BTreeMap<String, Value>,
    /// Templates that make nothing.
    #[serde(default)]
    absent: Vec<String>,
    /// What templates wait for.
    #[serde(default)]
    waits: Option<BTreeMap<String, Vec<String>>>,
    /// Templates whose objects are deleted.
    #[serde(default)]
    deletes: Option<Vec<String>>,
    /// Words of the errors of templates.
    #[serde(default)]
    errors: BTreeMap<String, String>,
    /// Fields of the status.
    #[serde(default)]
    status: Option<Value>,
}

/// The tests of a package: a file each, with one test or a list of them.
pub(crate) fn read(dir: &Path) -> Result<Vec<(PathBuf, Case)>, Failure> {
    let folder = dir.join("tests");
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(Vec::new()) };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| {
        file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") && !is_golden(file)
    });
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let listed = input::documents(&file)?.into_iter().flat_map(|document| match document {
            Value::Array(list) => list,
            Value::Null => Vec::new(),
            one => vec![one],
        });
        let found: Vec<Case> = listed
            .map(serde_json::from_value)
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::new(format!("{}: this is no test: {error}", file.display())))?;
        cases.extend(found.into_iter().map(|case| (file.clone(), case)));
    }
    Ok(cases)
}

fn is_golden(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".golden.yaml"))
}

/// Runs a test; what differs, if anything.
pub(crate) fn check(project: &Project, file: &Path, case: &Case, update: bool) -> Result<Vec<String>, Failure> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let (source, instance) = match &case.instance {
        Value::String(name) => (folder.join(name), input::data(&folder.join(name))?),
        object => (file.to_path_buf(), object.clone()),
    };
    let (kind, instance) = project.admit(&source, instance)?;
    let unknown = unknown_names(case, kind);
    if !unknown.is_empty() {
        return Ok(unknown);
    }
    let mut children = Observed::new();
    for (template, object) in &case.observed {
        let object = completed(kind, template, object);
        observed::put(&mut children, kind, &instance, template, object)
            .map_err(|what| Failure::new(format!("{}: {what}", file.display())))?;
    }
    let seed = Seed::new(PREVIEW_SEED);
    // A fixed name: what is expected must not depend on where the package was checked out.
    let context = Context { stack: "test", seed: &seed, limits: gotpl::Limits::default() };
    let plan = if case.simulate.is_empty() {
        engine::plan(kind, &instance, &children, &context)
    } else {
        let simulation = engine::simulate(kind, &instance, children, &case.simulate, &context);
        if !simulation.settled {
            return Ok(vec![format!("it does not settle in {} passes", simulation.passes.len())]);
        }
        simulation.passes.into_iter().next_back().map(|pass| pass.plan).unwrap_or_default()
    };
    let mut differences = compare(&case.expect, &plan);
    if let Some(golden) = &case.golden {
        if !is_golden(golden) {
            return Ok(vec![format!(
                "golden: {} has to end in .golden.yaml, or it would be read as a test",
                golden.display()
            )]);
        }
        differences.extend(against_golden(&folder.join(golden), &plan, update)?);
    }
    Ok(differences)
}

/// Names of no template: a test that speaks of them could never fail. Children of templates that left the stack may be
/// observed and deleted.
fn unknown_names(case: &Case, kind: &CompiledKind) -> Vec<String> {
    let Expect { objects, absent, waits, errors, status, deletes } = &case.expect;
    if objects.is_empty()
        && absent.is_empty()
        && waits.is_none()
        && errors.is_empty()
        && status.is_none()
        && deletes.is_none()
        && case.golden.is_none()
    {
        return vec!["the test expects nothing: give it an `expect` or a `golden` file".to_string()];
    }
    let waiting = waits.iter().flat_map(BTreeMap::keys);
    let failing = errors.keys().filter(|name| *name != "status");
    let played = case.simulate.iter().map(|rule| &rule.child);
    let left = |name: &&String| !deletes.as_ref().is_some_and(|deletes| deletes.contains(name));
    let names = objects
        .keys()
        .chain(absent)
        .chain(waiting)
        .chain(failing)
        .chain(played)
        .chain(case.observed.keys().filter(left));
    let unknown = names.filter(|name| kind.child(name).is_none());
    let told =
        unknown.map(|name| match objects::nearest(name, kind.children.iter().map(|child| child.name.as_str())) {
            Some(near) => format!("there is no template {name:?} (did you mean {near:?}?)"),
            None => format!("there is no template {name:?}"),
        });
    told.collect()
}

/// A child in few words gets the kind that its template makes.
fn completed(kind: &CompiledKind, template: &str, object: &Value) -> Value {
    let Some(child) = kind.child(template) else {
        return object.clone();
    };
    let complete = |object: &Value| {
        let mut whole =
            json!({"apiVersion": child.gvk.api_version().to_string(), "kind": child.gvk.kind, "metadata": {}});
        if let (Some(whole), Some(fields)) = (whole.as_object_mut(), object.as_object()) {
            whole.extend(fields.clone());
        }
        whole
    };
    match object {
        Value::Array(list) => Value::Array(list.iter().map(complete).collect()),
        object => complete(object),
    }
}

fn compare(expect: &Expect, plan: &Plan) -> Vec<String> {
    let mut differences = Vec::new();
    for (template, fields) in &expect.objects {
        let made: Vec<&Value> =
            plan.applies.iter().filter(|apply| apply.template == *template).map(|apply| &apply.object).collect();
        match (fields, made.as_slice()) {
            (_, []) => differences.push(format!("{template}: nothing is made{}", why_not(plan, template))),
            (Value::Array(list), made) => {
                if list.len() != made.len() {
                    differences.push(format!("{template}: {} objects are made, not {}", made.len(), list.len()));
                }
                for (index, (fields, object)) in list.iter().zip(made).enumerate() {
                    subset(fields, object, &format!("{template}[{index}]"), &mut differences);
                }
            }
            (fields, [object, ..]) => subset(fields, object, template, &mut differences),
        }
    }
    for template in &expect.absent {
        if plan.applies.iter().any(|apply| apply.template == *template) {
            differences.push(format!("{template}: something is made, but nothing was expected"));
        }
    }
    if let Some(waits) = &expect.waits {
        let found: BTreeMap<String, Vec<String>> = plan
            .holds
            .iter()
            .map(|hold| (hold.template.clone(), hold.waits.iter().map(|wait| wait.path.clone()).collect()))
            .collect();
        if *waits != found {
            differences.push(format!("waits: expected {}, found {}", json!(waits), json!(found)));
        }
    }
    if let Some(deletes) = &expect.deletes {
        let found: Vec<&String> = plan.deletes.iter().map(|delete| &delete.template).collect();
        if deletes.iter().collect::<Vec<_>>() != found {
            differences.push(format!("deletes: expected {}, found {}", json!(deletes), json!(found)));
        }
    }
    errors(expect, plan, &mut differences);
    if let Some(status) = &expect.status {
        subset(status, plan.status.as_ref().unwrap_or(&json!({})), "status", &mut differences);
    }
    differences
}

fn why_not(plan: &Plan, template: &str) -> String {
    let hold = plan.holds.iter().find(|hold| hold.template == template);
    hold.map_or_else(String::new, |hold| {
        let waits: Vec<_> = hold.waits.iter().map(ToString::to_string).collect();
        format!(": it waits for {}", waits.join(", "))
    })
}

fn errors(expect: &Expect, plan: &Plan, differences: &mut Vec<String>) {
    for problem in &plan.problems {
        match expect.errors.get(&problem.template) {
            Some(words) if problem.problem.to_string().contains(words) => {}
            Some(words) => differences.push(format!(
                "{}: the error says {:?}, not {words:?}",
                problem.template,
                problem.problem.to_string()
            )),
            None => differences.push(format!("{}: {}", problem.template, problem.problem)),
        }
    }
    for template in expect.errors.keys().filter(|name| !plan.problems.iter().any(|problem| problem.template == **name))
    {
        differences.push(format!("{template}: an error was expected, and there is none"));
    }
}

/// Whether every expected field is there, with its value.
fn subset(expected: &Value, found: &Value, path: &str, differences: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, expected) in fields {
                match found.get(key) {
                    Some(found) => subset(expected, found, &format!("{path}.{key}"), differences),
                    None if expected.is_null() => {}
                    None => differences.push(format!("{path}.{key}: expected {expected}, found nothing")),
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                subset(item, other, &format!("{path}[{index}]"), differences);
            }
        }
        _ if expected == found => {}
        _ => differences.push(format!("{path}: expected {expected}, found {found}")),
    }
}

fn against_golden(file: &Path, plan: &Plan, update: bool) -> Result<Vec<String>, Failure> {
    let shown = file.display();
    let value = serde_json::to_value(plan).map_err(|error| Failure::new(error.to_string()))?;
    let found = emitted(&value)?;
    if update {
        std::fs::write(file, found).map_err(|error| Failure::new(format!("cannot write {shown}: {error}")))?;
        return Ok(Vec::new());
    }
    let expected = match std::fs::read_to_string(file) {
        Ok(expected) => expected,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(vec![format!("{shown} does not exist: `cairn test --update` writes it")]);
        }
        Err(error) => return Err(Failure::new(format!("cannot read {shown}: {error}"))),
    };
    if expected == found {
        return Ok(Vec::new());
    }
    let line = expected.lines().zip(found.lines()).take_while(|(expected, found)| expected == found).count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_string();
    Ok(vec![format!(
        "{shown}:{}: expected {:?}, found {:?} (`--update` takes what is found)",
        line + 1,
        at(&expected),
        at(&found)
    )])
}
