//! Tests kept with a package: what is given, what is expected, and how the two differ.

use std::path::{Path, PathBuf};

use engine::{CompiledKind, Context, Observed, Pass, Rule, Seed};
use serde_json::{Value, json};

use super::expect::Expect;
use super::{controllers, error_match, golden, observed};
use crate::commands::render::PREVIEW_SEED;
use crate::files::fields;
use crate::files::located_yaml::Part;
use crate::project::instance::Admitted;
use crate::project::{Project, instance};
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;

const FIELDS: [&str; 6] = [
    "name", "instance", "observed", "simulate", "expect", "golden",
];

/// A test, or what is wrong with it.
pub(crate) struct Listed {
    pub file: PathBuf,
    /// What it shows, as a sentence.
    pub name: String,
    pub case: Result<Case, Vec<String>>,
}

/// Something that is no failure, with the line it is about.
pub(crate) type Warning = (Finding, Option<String>);

/// One test.
#[derive(Debug)]
pub(crate) struct Case {
    /// The folder that files are named from.
    folder: PathBuf,
    whole: Part,
    /// The instance, or the file it is in.
    instance: Part,
    /// The children that are there, by template.
    observed: Vec<(String, Part)>,
    /// Outside controllers to play, until nothing changes.
    simulate: Option<Vec<(Rule, Part)>>,
    /// What must be so.
    expect: Option<Expect>,
    /// A file that holds the whole plan.
    golden: Option<PathBuf>,
}

/// The tests of a package: a file each, with one test or a list of them. A file that is none is
/// listed as a test that fails, so that the others still run.
pub(crate) fn read(dir: &Path) -> Vec<Listed> {
    let folder = if dir == Path::new(".") {
        PathBuf::from("tests")
    } else {
        dir.join("tests")
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.retain(|file| {
        file.extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
            && !golden::is_golden(file)
    });
    files.sort();
    files
        .iter()
        .flat_map(|file| listed(file, Part::documents(file)))
        .collect()
}

/// The tests of a file that is not written yet.
pub(crate) fn of(file: &Path, text: &str) -> Vec<Listed> {
    listed(file, Part::read(&file.display().to_string(), text))
}

fn listed(file: &Path, documents: Result<Vec<Part>, Failure>) -> Vec<Listed> {
    let broken = |what: String| {
        vec![Listed {
            file: file.to_path_buf(),
            name: "the file can be read".to_string(),
            case: Err(vec![what]),
        }]
    };
    match documents {
        Err(failure) => broken(failure.told()),
        Ok(documents) => {
            let tests: Vec<Part> = documents.iter().flat_map(tests).collect();
            if tests.is_empty() {
                return broken(format!("{}: there is no test in this file", file.display()));
            }
            tests.iter().map(|part| one(file, part)).collect()
        }
    }
}

fn tests(document: &Part) -> Vec<Part> {
    if document.value().is_array() {
        document.items()
    } else {
        vec![document.clone()]
    }
}

fn one(file: &Path, part: &Part) -> Listed {
    let mut faults = Vec::new();
    let case = Case::read(file, part, &mut faults);
    let name = part
        .value()
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or("a test without a name")
        .to_string();
    let case = case
        .filter(|_| faults.is_empty())
        .ok_or_else(|| faults.iter().map(told).collect());
    Listed {
        file: file.to_path_buf(),
        name,
        case,
    }
}

/// A finding with its advice, in one line.
fn told(finding: &Finding) -> String {
    match &finding.hint {
        Some(hint) => format!("{finding} ({hint})"),
        None => finding.to_string(),
    }
}

impl Case {
    fn read(file: &Path, whole: &Part, faults: &mut Vec<Finding>) -> Option<Case> {
        fields::mapping(whole, &FIELDS, faults)?;
        // What is missing may well be what was misspelt.
        if !faults.is_empty() {
            return None;
        }
        match whole.field("name") {
            Some(name) => drop(fields::text(&name, faults)),
            None => faults.push(
                whole
                    .error("`name` is missing")
                    .hint("say what the test shows, in a sentence"),
            ),
        }
        let instance = whole.field("instance");
        if instance.is_none() {
            faults.push(
                whole
                    .error("`instance` is missing")
                    .hint("an object, or the name of a file that holds one"),
            );
        }
        let observed = whole.field("observed");
        if let Some(part) = observed.as_ref().filter(|part| !part.value().is_object()) {
            faults.push(part.error("`observed` is a mapping, by template"));
        }
        let simulate = whole
            .field("simulate")
            .map(|part| controllers::read(&part, faults));
        let expect = whole
            .field("expect")
            .and_then(|part| Expect::read(&part, faults));
        if simulate.is_none()
            && let Some(settles) = whole.field("expect").and_then(|part| part.field("settles"))
        {
            let fault = settles.key_error("only a simulation settles or does not");
            faults.push(fault.hint("add `simulate`; `simulate: []` plays no controller"));
        }
        let golden = whole.field("golden").and_then(|part| {
            let name = fields::text(&part, faults)?;
            if !golden::is_golden(Path::new(&name)) {
                faults.push(part.error(
                    "a golden file has to end in `.golden.yaml`, or it would be read as a test",
                ));
            }
            Some(PathBuf::from(name))
        });
        if whole.field("expect").is_none() && golden.is_none() {
            faults.push(
                whole
                    .error("the test expects nothing")
                    .hint("give it an `expect` or a `golden` file"),
            );
        }
        Some(Case {
            folder: file.parent().unwrap_or(Path::new(".")).to_path_buf(),
            whole: whole.clone(),
            instance: instance?,
            observed: observed.map(|part| part.entries()).unwrap_or_default(),
            simulate,
            expect,
            golden,
        })
    }

    /// Runs the test; what differs, if anything. Fields of the instance that the API server would
    /// drop are warned of.
    pub fn check(
        &self,
        project: &Project,
        update: bool,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<String>, Failure> {
        let written = match self.instance.value() {
            Value::String(name) => Part::one(&self.folder.join(name))?,
            _ => self.instance.clone(),
        };
        let refused = self
            .expect
            .as_ref()
            .and_then(|expect| expect.refused.as_ref());
        let admitted = match (instance::admit(project.compiled()?, &written), refused) {
            (Ok(admitted), None) => admitted,
            (Ok(_), Some((part, _))) => {
                return Ok(vec![told(&part.key_error(
                    "the instance was expected to be refused, and is not",
                ))]);
            }
            (Err(found), None) => {
                return Ok(found.iter().map(|refused| told(&refused.finding)).collect());
            }
            (Err(found), Some((part, expected))) => {
                let found: Vec<_> = found
                    .into_iter()
                    .map(|refused| (vec![refused.path], told(&refused.finding)))
                    .collect();
                let mut differences = Vec::new();
                error_match::differ(expected, &found, &mut differences, part);
                return Ok(differences.iter().map(told).collect());
            }
        };
        let shown = |finding: &Finding| written.shown(finding);
        warnings.extend(admitted.dropped.iter().map(shown));
        let mut differences = self.unknown(admitted.kind);
        if differences.is_empty() {
            let passes = self.passes(&admitted, &mut differences);
            if let Some(expect) = &self.expect {
                expect.compare(&passes, &mut differences);
            }
            let mut lines: Vec<String> = differences.iter().map(told).collect();
            if let (Some(golden), Some(last)) = (&self.golden, passes.last()) {
                lines.extend(golden::compare(
                    &self.folder.join(golden),
                    &last.plan,
                    update,
                )?);
            }
            return Ok(lines);
        }
        Ok(differences.iter().map(told).collect())
    }

    fn passes(&self, admitted: &Admitted<'_>, differences: &mut Vec<Finding>) -> Vec<Pass> {
        let Admitted { kind, object, .. } = admitted;
        let mut children = Observed::new();
        for (template, part) in &self.observed {
            let child = completed(kind, template, part.value());
            if let Err(what) = observed::put(&mut children, kind, object, template, child) {
                differences.push(part.error(what));
            }
        }
        let seed = Seed::new(PREVIEW_SEED);
        // A fixed name: what is expected must not depend on where the package was checked out.
        let context = Context::new("test", &seed);
        let Some(simulate) = &self.simulate else {
            let plan = engine::plan(kind, object, &children, &context);
            let changed = plan
                .applies
                .iter()
                .map(|apply| apply.template.clone())
                .collect();
            return vec![Pass {
                plan,
                changed,
                reports: Vec::new(),
            }];
        };
        let rules: Vec<Rule> = simulate.iter().map(|(rule, _)| rule.clone()).collect();
        let simulation = engine::simulate(kind, object, children, &rules, &context);
        let wanted = self
            .expect
            .as_ref()
            .and_then(|expect| expect.settles)
            .unwrap_or(true);
        if simulation.settled != wanted {
            let passes = simulation.passes.len();
            let what = if wanted {
                format!("it does not settle: after {passes} passes something still changes")
            } else {
                format!("it settles, after {passes} passes")
            };
            differences.push(self.whole.child("simulate").key_error(what));
        }
        simulation.passes
    }

    /// Names of no template and of no field: a test that speaks of them could never fail. Children
    /// of templates that left the stack may be observed and deleted.
    fn unknown(&self, kind: &CompiledKind) -> Vec<Finding> {
        let mut unknown = self
            .expect
            .as_ref()
            .map(|expect| expect.unknown(kind))
            .unwrap_or_default();
        let played = self.simulate.iter().flatten();
        unknown.extend(played.flat_map(|(rule, item)| controllers::senseless(rule, item, kind)));
        let left = |name: &str| {
            self.expect
                .as_ref()
                .is_some_and(|expect| expect.is_deleted(name))
        };
        let seen = self
            .observed
            .iter()
            .filter(|(name, _)| !left(name))
            .map(|(name, part)| (name, part));
        unknown.extend(seen.filter_map(|(name, part)| controllers::unknown(name, part, kind)));
        unknown
    }
}

/// A child in few words gets the kind that its template makes.
fn completed(kind: &CompiledKind, template: &str, object: &Value) -> Value {
    let Some(child) = kind.child(template) else {
        return object.clone();
    };
    let complete = |object: &Value| {
        let mut whole = json!({"apiVersion": child.gvk.api_version().to_string(), "kind": child.gvk.kind, "metadata": {}});
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
