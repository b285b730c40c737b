//! Where a template comes from: a file, standard input or a cluster; and where in it a problem is.

use std::path::{Path, PathBuf};

use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::Value;
use templates::{Arguments, Problem, Severity, Source};
use yaml::{Spans, Step};

use super::told;
use crate::args::Connection;
use crate::failure::Failure;
use crate::finding::Finding;
use crate::printer::Printer;
use crate::registries::block_on;
use crate::{input, snippet};

/// A template and how to tell where its parts were written.
pub(crate) struct Loaded {
    pub value: Value,
    /// Values that came along, since it was values that named the template.
    pub arguments: Vec<(String, String)>,
    origin: Origin,
}

enum Origin {
    File(Written),
    /// The name of a stored one.
    Stored(String),
}

/// A document of a file.
struct Written {
    file: String,
    text: String,
    /// How many lines come before it.
    before: usize,
    spans: Spans,
}

/// Loads what a command names: a file if there is one, else a stored template.
pub(crate) fn load(name: &str, local: bool, connection: &Connection) -> Result<Loaded, Failure> {
    let path = Path::new(name);
    if name == "-" || path.is_file() {
        return file(path, local, connection);
    }
    if local || !is_name(name) {
        let what = format!("there is no file `{name}`");
        return Err(if local && is_name(name) {
            Failure::new(what).hint("a stored template is in a cluster, which `--local` does not ask")
        } else {
            Failure::new(what)
        });
    }
    stored(name, connection)
}

/// Whether a text can be the name of a stored template.
fn is_name(text: &str) -> bool {
    let looks_like_file = [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
    objects::is_subdomain(text) && !looks_like_file
}

fn file(path: &Path, local: bool, connection: &Connection) -> Result<Loaded, Failure> {
    let shown = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let text = input::text(path)?;
    let documents = documents(&text, &shown)?;
    let is_values = |document: &&(Value, Written)| Arguments::is(&document.0);
    let mut others = documents.iter().filter(|document| !is_values(document));
    let values = documents.iter().find(is_values);
    match (others.next(), others.next(), values) {
        (Some((value, _)), Some(_), _) => {
            let what = format!("{shown} holds several objects, and a template is one");
            let kind = value["kind"].as_str().unwrap_or("nothing");
            Err(Failure::new(what).hint(format!("the first is of kind {kind}: put it into a file of its own")))
        }
        (None, _, Some((value, written))) => named_by_values(path, value, written, local, connection),
        (None, _, None) => Err(Failure::new(format!("{shown} is empty"))),
        (Some(_), None, _) => {
            let arguments = match values {
                Some((value, written)) => arguments(value, written)?.values,
                None => Vec::new(),
            };
            let found = documents.into_iter().find(|document| !is_values(&document));
            let (value, written) = found.ok_or_else(|| Failure::new(format!("{shown} is empty")))?;
            Ok(Loaded { value, arguments, origin: Origin::File(written) })
        }
    }
}

/// Follows values to the template that they name.
fn named_by_values(
    path: &Path,
    value: &Value,
    written: &Written,
    local: bool,
    connection: &Connection,
) -> Result<Loaded, Failure> {
    let Arguments { template, values } = arguments(value, written)?;
    let loaded = match template {
        Some(Source::File(file)) => {
            let beside: PathBuf = path.parent().unwrap_or(Path::new(".")).join(&file);
            let text = input::text(&beside)?;
            let mut documents = documents(&text, &beside.display().to_string())?;
            match documents.len() {
                1 => {
                    let (value, written) = documents.remove(0);
                    Loaded { value, arguments: Vec::new(), origin: Origin::File(written) }
                }
                count => {
                    let what = format!("{} holds {count} objects, and a template is one", beside.display());
                    return Err(Failure::new(what));
                }
            }
        }
        Some(Source::Name(name)) if local => {
            let what = format!("{} names the stored template `{name}`", written.file);
            return Err(Failure::new(what).hint("name a file with `file:`, or leave `--local` out"));
        }
        Some(Source::Name(name)) => stored(&name, connection)?,
        None => {
            let what = format!("{} holds values, but does not name their template", written.file);
            let hint = "add `file: FILE` or `name: NAME` to it, or name the template and use `--param-file`";
            return Err(Failure::new(what).hint(hint));
        }
    };
    Ok(Loaded { arguments: values, ..loaded })
}

fn arguments(value: &Value, written: &Written) -> Result<Arguments, Failure> {
    Arguments::read(value).map_err(|problems| {
        let failures = problems.iter().map(|problem| written.failure(problem));
        Failure::all(failures).unwrap_or_else(|| Failure::new("the values cannot be read"))
    })
}

/// The values of a file that holds an object of them.
pub(crate) fn arguments_in(text: &str, shown: &str) -> Result<Option<Arguments>, Failure> {
    let Ok(documents) = documents(text, shown) else { return Ok(None) };
    match documents.as_slice() {
        [(value, written)] if Arguments::is(value) => arguments(value, written).map(Some),
        _ => Ok(None),
    }
}

/// The documents of a text that hold something, each with where it was written.
fn documents(text: &str, shown: &str) -> Result<Vec<(Value, Written)>, Failure> {
    let failed = |error: &yaml::Error, before: usize| {
        let mut failure = Failure::new(format!("{shown}: {error}"));
        failure.snippet = snippet::of(text, error.line() + before, None);
        failure
    };
    let mut found = Vec::new();
    for document in yaml::documents(text).map_err(|error| failed(&error, 0))? {
        let before = document.line - 1;
        // What a person wrote is read strictly: a key that stands twice is a mistake.
        yaml::parse_strict(&document.text).map_err(|error| failed(&error, before))?;
        let read = yaml::parse_spanned(&document.text).map_err(|error| failed(&error, before))?;
        if !read.value.is_null() {
            let text = document.text.into_owned();
            found.push((read.value, Written { file: shown.to_owned(), text, before, spans: read.spans }));
        }
    }
    Ok(found)
}

fn stored(name: &str, connection: &Connection) -> Result<Loaded, Failure> {
    let value = block_on(async {
        let connected = connection.connect().await.map_err(|failure| {
            let what = format!("there is no file `{name}`, and no cluster to look for a template of that name in");
            Failure { message: format!("{what}: {}", failure.message), ..failure }
        })?;
        let api: Api<DynamicObject> = Api::namespaced_with(connected.client.clone(), &connected.namespace, &resource());
        let object = api.get(name).await.map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 404 => {
                let what = format!("there is neither a file nor a stored template `{name}`");
                let namespace = &connected.namespace;
                Failure::new(what).hint(format!("`cairn template list -n {namespace}` shows those of {namespace}"))
            }
            _ => told(&error),
        })?;
        serde_json::to_value(object).map_err(|error| Failure::new(error.to_string()))
    })??;
    Ok(Loaded { value: without_traces(value), arguments: Vec::new(), origin: Origin::Stored(name.to_owned()) })
}

/// A stored template as its author wrote it.
fn without_traces(mut value: Value) -> Value {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        for field in ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
    value
}

/// Stored templates, for clients.
pub(crate) fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk(api::template::GROUP, api::VERSION, api::template::KIND);
    ApiResource::from_gvk_with_plural(&kind, api::template::PLURAL)
}

impl Loaded {
    /// The template's name, or what stands for it.
    pub fn name(&self) -> String {
        let own = self.value["metadata"]["name"].as_str().filter(|name| !name.is_empty());
        match (own, &self.origin) {
            (Some(name), _) => name.to_owned(),
            (None, Origin::Stored(name)) => name.clone(),
            (None, Origin::File(written)) => {
                let stem = Path::new(&written.file).file_stem().unwrap_or_default();
                stem.to_string_lossy().into_owned()
            }
        }
    }

    /// Everything that is wrong, as one failure.
    pub fn failure(&self, problems: &[Problem]) -> Failure {
        let failures = problems.iter().map(|problem| self.one(problem));
        Failure::all(failures).unwrap_or_else(|| Failure::new("the template cannot be processed"))
    }

    /// Tells what is perhaps not meant.
    pub fn warn(&self, problems: &[Problem], printer: &Printer) {
        for problem in problems {
            match &self.origin {
                Origin::File(written) => {
                    let finding = written.finding(problem);
                    printer.finding(&finding, written.snippet(&finding).as_deref());
                }
                Origin::Stored(_) => printer.finding(&plain(problem), None),
            }
        }
    }

    fn one(&self, problem: &Problem) -> Failure {
        match &self.origin {
            Origin::File(written) => written.failure(problem),
            Origin::Stored(_) => Failure::of(&plain(problem), None),
        }
    }
}

/// A problem at a place that is in no file.
fn plain(problem: &Problem) -> Finding {
    let path = problem.path.to_string();
    let what = if path.is_empty() { problem.what.clone() } else { format!("{path}: {}", problem.what) };
    Finding { hint: problem.hint.clone(), severity: severity(problem), ..Finding::new("", 0, what) }
}

fn severity(problem: &Problem) -> engine::Severity {
    match problem.severity {
        Severity::Error => engine::Severity::Error,
        Severity::Warning => engine::Severity::Warning,
    }
}

impl Written {
    fn failure(&self, problem: &Problem) -> Failure {
        let finding = self.finding(problem);
        Failure { snippet: self.snippet(&finding), ..Failure::of(&finding, None) }
    }

    /// Where a problem is: at its path, or at the nearest place above it that was written.
    fn finding(&self, problem: &Problem) -> Finding {
        if problem.path.is_root() {
            return Finding { file: String::new(), ..plain(problem) };
        }
        let steps: Vec<Step> = problem
            .path
            .steps()
            .iter()
            .map(|step| match step {
                objects::Step::Field(name) => Step::Key(name.clone()),
                objects::Step::Index(index) => Step::Index(*index),
                objects::Step::Each => Step::Index(0),
            })
            .collect();
        let found = (0..=steps.len()).rev().find_map(|length| Some((length, self.spans.find(&steps[..length])?)));
        let span = found.map(|(length, found)| {
            let whole = length == steps.len();
            match found.key {
                Some(key) if problem.at_key || !whole => key,
                _ => found.value,
            }
        });
        let (line, column) = span.map_or((0, 0), |span| {
            let start = self.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
            (self.before + span.line, span.start - start + 1)
        });
        Finding { file: self.file.clone(), line, column, ..plain(problem) }
    }

    fn snippet(&self, finding: &Finding) -> Option<String> {
        let line = finding.line.checked_sub(self.before)?;
        let shown = snippet::of(&self.text, line, finding.column.checked_sub(1))?;
        // The gutter counts the lines of the file, not of the document.
        Some(if self.before == 0 { shown } else { shown.replacen(&line.to_string(), &finding.line.to_string(), 1) })
    }
}
