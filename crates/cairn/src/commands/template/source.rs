//! Where a template comes from: a file, standard input or a cluster; and where in it a problem is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::Api;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use serde_json::Value;
use templates::{Arguments, Problem, Severity, Source};
use yaml::{Spans, Step};

use super::told;
use crate::cli::Connection;
use crate::cluster::registries::block_on;
use crate::files::read;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;

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
    /// The whole file.
    text: Arc<str>,
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
    match Stored::parse(name) {
        Some(stored) if !local => stored.load(connection),
        found => {
            let failure = Failure::new(format!("there is no file `{name}`"));
            Err(match found {
                Some(_) => {
                    failure.hint("a stored template is in a cluster, and only a file is read here")
                }
                None => failure,
            })
        }
    }
}

/// The name of a stored template: `NAME`, or `NAMESPACE/NAME` for one of another namespace.
struct Stored<'n> {
    namespace: Option<&'n str>,
    name: &'n str,
}

fn is_namespace(text: &str) -> bool {
    objects::is_subdomain(text) && !text.contains('.')
}

impl<'n> Stored<'n> {
    fn parse(text: &'n str) -> Option<Stored<'n>> {
        let (namespace, name) = text
            .split_once('/')
            .map_or((None, text), |(namespace, name)| (Some(namespace), name));
        let looks_like_file = [".yaml", ".yml", ".json"]
            .iter()
            .any(|end| name.ends_with(end));
        let fits =
            objects::is_subdomain(name) && namespace.is_none_or(is_namespace) && !looks_like_file;
        fits.then_some(Stored { namespace, name })
    }
}

fn file(path: &Path, local: bool, connection: &Connection) -> Result<Loaded, Failure> {
    let shown = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let text = read::text(path)?;
    let documents = documents(&text, &shown)?;
    let is_values = |document: &&(Value, Written)| Arguments::is(&document.0);
    let mut others = documents.iter().filter(|document| !is_values(document));
    let values = documents.iter().find(is_values);
    match (others.next(), others.next(), values) {
        (Some((value, _)), Some(_), _) => {
            let what = format!("{shown} holds several objects, and a template is one");
            let kind = value["kind"].as_str().unwrap_or("nothing");
            Err(Failure::new(what).hint(format!(
                "the first is of kind {kind}: put it into a file of its own"
            )))
        }
        (None, _, Some((value, written))) => {
            named_by_values(path, value, written, local, connection)
        }
        (None, _, None) => Err(Failure::new(format!("{shown} is empty"))),
        (Some(_), None, _) => {
            let arguments = match values {
                Some((value, written)) => arguments(value, written)?.values,
                None => Vec::new(),
            };
            let found = documents.into_iter().find(|document| !is_values(&document));
            let (value, written) =
                found.ok_or_else(|| Failure::new(format!("{shown} is empty")))?;
            Ok(Loaded {
                value,
                arguments,
                origin: Origin::File(written),
            })
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
            let text = read::text(&beside)?;
            let mut documents = documents(&text, &beside.display().to_string())?;
            match documents.len() {
                1 => {
                    let (value, written) = documents.remove(0);
                    Loaded {
                        value,
                        arguments: Vec::new(),
                        origin: Origin::File(written),
                    }
                }
                count => {
                    let what = format!(
                        "{} holds {count} objects, and a template is one",
                        beside.display()
                    );
                    return Err(Failure::new(what));
                }
            }
        }
        Some(Source::Name(name)) if local => {
            let what = format!("{} names the stored template `{name}`", written.file);
            return Err(Failure::new(what).hint("name a file with `file:`, or leave `--local` out"));
        }
        Some(Source::Name(name)) => match Stored::parse(&name) {
            Some(stored) => stored.load(connection)?,
            None => {
                let what = format!(
                    "{}: `{name}` is not a valid name of a stored template",
                    written.file
                );
                return Err(Failure::new(what)
                    .hint("write `name: NAME`, `name: NAMESPACE/NAME` or `file: FILE`"));
            }
        },
        None => {
            let what = format!(
                "{} holds values, but does not name their template",
                written.file
            );
            let hint = "add `file: FILE` or `name: NAME` to it, or name the template and use `--param-file`";
            return Err(Failure::new(what).hint(hint));
        }
    };
    Ok(Loaded {
        arguments: values,
        ..loaded
    })
}

fn arguments(value: &Value, written: &Written) -> Result<Arguments, Failure> {
    Arguments::read(value).map_err(|problems| {
        let failures = problems.iter().map(|problem| written.failure(problem));
        Failure::all(failures).unwrap_or_else(|| Failure::new("the values cannot be read"))
    })
}

/// The values of a file that holds an object of them.
pub(crate) fn arguments_in(text: &str, shown: &str) -> Result<Option<Arguments>, Failure> {
    let Ok(documents) = documents(text, shown) else {
        return Ok(None);
    };
    match documents.as_slice() {
        [(value, written)] if Arguments::is(value) => arguments(value, written).map(Some),
        _ => Ok(None),
    }
}

/// The documents of a text that hold something, each with where it was written.
fn documents(text: &str, shown: &str) -> Result<Vec<(Value, Written)>, Failure> {
    let failed = |error: &yaml::Error, before: usize| {
        let line = if error.line() == 0 {
            0
        } else {
            error.line() + before
        };
        let what = format!("this is not YAML: {}", error.problem());
        Failure::of(
            &Finding {
                column: error.column(),
                ..Finding::new(shown, line, what)
            },
            Some(text),
        )
    };
    let whole: Arc<str> = text.into();
    let mut found = Vec::new();
    for document in yaml::documents(text).map_err(|error| failed(&error, 0))? {
        let before = document.line - 1;
        // What a person wrote is read strictly: a key that stands twice is a mistake.
        yaml::parse_strict(&document.text).map_err(|error| failed(&error, before))?;
        let read = yaml::parse_spanned(&document.text).map_err(|error| failed(&error, before))?;
        if !read.value.is_null() {
            let written = Written {
                file: shown.to_owned(),
                text: whole.clone(),
                before,
                spans: read.spans,
            };
            found.push((read.value, written));
        }
    }
    Ok(found)
}

impl Stored<'_> {
    fn load(&self, connection: &Connection) -> Result<Loaded, Failure> {
        let name = self.name;
        let value = block_on(self.get(connection))??;
        Ok(Loaded {
            value: without_traces(value),
            arguments: Vec::new(),
            origin: Origin::Stored(name.to_owned()),
        })
    }

    async fn get(&self, connection: &Connection) -> Result<Value, Failure> {
        let name = self.name;
        let connected = connection.connect().await.map_err(|failure| {
            let what = format!(
                "there is no file `{name}`, and no cluster to look for a template of that name in"
            );
            Failure {
                message: format!("{what}: {}", failure.message),
                ..failure
            }
        })?;
        let namespace = self.namespace.unwrap_or(&connected.namespace);
        let api: Api<DynamicObject> =
            Api::namespaced_with(connected.client.clone(), namespace, &resource());
        let object = api.get(name).await.map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 404 && self.namespace.is_none() => {
                let what = format!("there is neither a file nor a stored template `{name}`");
                let hint = format!(
                    "`cairn template list -A` shows all of them: name one by `NAMESPACE/{name}`"
                );
                Failure::new(what).hint(hint)
            }
            kube::Error::Api(status) if status.code == 404 => no_templates(&error, namespace),
            _ => told(&error),
        })?;
        serde_json::to_value(object).map_err(|error| Failure::new(error.to_string()))
    }
}

/// An answer of 404: the template, its namespace or its kind is not there.
pub(crate) fn no_templates(error: &kube::Error, namespace: &str) -> Failure {
    let kube::Error::Api(status) = error else {
        return told(error);
    };
    let unknown = [
        "could not find the requested resource",
        "404 page not found",
    ];
    if unknown.iter().any(|words| status.message.contains(words)) {
        return Failure::new("the cluster stores no templates")
            .hint("the stack manager adds the kind Template: `cairn stack-manager --help`");
    }
    Failure::new(status.message.clone()).hint(format!(
        "`cairn template list -n {namespace}` shows those of {namespace}"
    ))
}

/// A stored template as its author wrote it.
fn without_traces(mut value: Value) -> Value {
    if let Some(metadata) = value["metadata"].as_object_mut() {
        for field in [
            "managedFields",
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
        ] {
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
        let own = self.value["metadata"]["name"]
            .as_str()
            .filter(|name| !name.is_empty());
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

    /// A problem with its place.
    pub fn finding(&self, problem: &Problem) -> Finding {
        match &self.origin {
            Origin::File(written) => written.finding(problem).shown(Some(&written.text)).0,
            Origin::Stored(name) => Finding {
                file: name.clone(),
                ..plain(problem)
            },
        }
    }

    /// Prints problems with their places.
    pub fn warn(&self, problems: &[Problem], printer: &Printer) {
        for problem in problems {
            match &self.origin {
                Origin::File(written) => {
                    let (finding, snippet) = written.finding(problem).shown(Some(&written.text));
                    printer.finding(&finding, snippet.as_deref());
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
    let what = if path.is_empty() {
        problem.what.clone()
    } else {
        format!("{path}: {}", problem.what)
    };
    Finding {
        hint: problem.hint.clone(),
        severity: severity(problem),
        ..Finding::new("", 0, what)
    }
}

fn severity(problem: &Problem) -> engine::Severity {
    match problem.severity {
        Severity::Error => engine::Severity::Error,
        Severity::Warning => engine::Severity::Warning,
    }
}

impl Written {
    fn failure(&self, problem: &Problem) -> Failure {
        Failure::of(&self.finding(problem), Some(&self.text))
    }

    /// Where a problem is: at its path, or at the nearest place above it that was written.
    fn finding(&self, problem: &Problem) -> Finding {
        if problem.path.is_root() {
            return Finding {
                file: String::new(),
                ..plain(problem)
            };
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
        let found = (0..=steps.len())
            .rev()
            .find_map(|length| Some((length, self.spans.find(&steps[..length])?)));
        let span = found.map(|(length, found)| {
            let whole = length == steps.len();
            match found.key {
                Some(key) if problem.at_key || !whole => key,
                _ => found.value,
            }
        });
        let (line, column) = span.map_or((0, 0), |span| (self.before + span.line, span.column));
        Finding {
            file: self.file.clone(),
            line,
            column,
            ..plain(problem)
        }
    }
}
