//! Values that people wrote into files, with the place of every part, so that whatever is wrong
//! with one can be told where it stands.

use std::path::Path;
use std::sync::Arc;

use engine::Severity;
use serde_json::{Map, Value};
use yaml::{Spans, Step};

use super::read;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;

/// One document of a file.
#[derive(Debug)]
struct Written {
    file: String,
    /// All of the file, to show a line of it.
    text: Arc<str>,
    /// How many lines of the file come before the document.
    before: usize,
    value: Value,
    spans: Spans,
}

/// A value that was written into a file, or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    whole: Arc<Written>,
    path: Vec<Step>,
}

impl Part {
    /// The documents of a file that hold something.
    pub fn documents(file: &Path) -> Result<Vec<Part>, Failure> {
        Part::read(&file.display().to_string(), &read::text(file)?)
    }

    /// The only document of a file.
    pub fn one(file: &Path) -> Result<Part, Failure> {
        let mut documents = Part::documents(file)?;
        match documents.len() {
            1 => Ok(documents.remove(0)),
            0 => Err(Failure::new(format!(
                "{}: there is nothing in this file",
                file.display()
            ))),
            count => {
                let second = documents[1].error(format!(
                    "this is the second of {count} documents, but one is wanted"
                ));
                Err(documents[1].failure(&second))
            }
        }
    }

    /// The documents of a text. What a person wrote is read strictly: a key that stands twice is a
    /// mistake.
    pub fn read(file: &str, text: &str) -> Result<Vec<Part>, Failure> {
        let text: Arc<str> = text.into();
        let failed = |error: &yaml::Error, before: usize| {
            let (line, column) = (before + error.line().max(1), error.column());
            let what = format!("this is not YAML: {}", error.problem());
            let finding = Finding {
                column,
                ..Finding::new(file, line, what)
            };
            Failure::of(&finding, Some(&text))
        };
        let mut parts = Vec::new();
        for document in yaml::documents(&text).map_err(|error| failed(&error, 0))? {
            let before = document.line - 1;
            let strict =
                yaml::parse_written(&document.text).map_err(|error| failed(&error, before))?;
            let spanned =
                yaml::parse_spanned(&document.text).map_err(|error| failed(&error, before))?;
            // JSON keeps integers that YAML would read otherwise.
            let value = serde_json::from_str(&document.text).unwrap_or(strict);
            if !value.is_null() {
                let whole = Written {
                    file: file.to_string(),
                    text: text.clone(),
                    before,
                    value,
                    spans: spanned.spans,
                };
                parts.push(Part {
                    whole: Arc::new(whole),
                    path: Vec::new(),
                });
            }
        }
        Ok(parts)
    }

    /// What was written.
    pub fn value(&self) -> &Value {
        let inner = self
            .path
            .iter()
            .try_fold(&self.whole.value, |value, step| match step {
                Step::Key(key) => value.get(&**key),
                Step::Index(index) => value.get(index),
            });
        inner.unwrap_or(&Value::Null)
    }

    /// A part of it.
    pub fn child(&self, step: impl Into<Step>) -> Part {
        let mut path = self.path.clone();
        path.push(step.into());
        Part {
            whole: self.whole.clone(),
            path,
        }
    }

    /// A field of it that was written and is not null.
    pub fn field(&self, name: &str) -> Option<Part> {
        self.value()
            .get(name)
            .filter(|value| !value.is_null())
            .map(|_| self.child(name))
    }

    /// The fields of a mapping, with their names.
    pub fn entries(&self) -> Vec<(String, Part)> {
        let names = self.value().as_object().into_iter().flat_map(Map::keys);
        names
            .map(|name| (name.clone(), self.child(name.as_str())))
            .collect()
    }

    /// The items of a list.
    pub fn items(&self) -> Vec<Part> {
        (0..self.value().as_array().map_or(0, Vec::len))
            .map(|index| self.child(index))
            .collect()
    }

    /// An error about this value.
    pub fn error(&self, what: impl Into<String>) -> Finding {
        self.found(&[], false, what.into())
    }

    /// An error about the name of this field.
    pub fn key_error(&self, what: impl Into<String>) -> Finding {
        self.found(&[], true, what.into())
    }

    /// An error about something below this value, or what is nearest to it if it is not there.
    pub fn error_below(&self, path: &[Step], what: impl Into<String>) -> Finding {
        self.found(path, false, what.into())
    }

    /// A warning about the name of a field below this value.
    pub fn key_warning_below(&self, path: &[Step], what: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Warning,
            ..self.found(path, true, what.into())
        }
    }

    /// Keys below this value that YAML takes for true or false.
    pub fn misread(&self, path: &[Step]) -> Option<yaml::MisreadKey> {
        let whole = &self.whole;
        let document: String = whole
            .text
            .split_inclusive('\n')
            .skip(whole.before)
            .collect();
        let key = whole.spans.find(&self.whole_path(path))?.key?;
        yaml::misread_keys(&document, &whole.spans)
            .into_iter()
            .find(|misread| misread.span == key)
    }

    /// A finding about this file as the failure of a command.
    pub fn failure(&self, finding: &Finding) -> Failure {
        Failure::of(finding, Some(&self.whole.text))
    }

    /// A finding about this file as a person is told, with the line that it is about.
    pub fn shown(&self, finding: &Finding) -> (Finding, Option<String>) {
        finding.shown(Some(&self.whole.text))
    }

    fn whole_path(&self, path: &[Step]) -> Vec<Step> {
        self.path.iter().chain(path).cloned().collect()
    }

    fn found(&self, path: &[Step], key: bool, what: String) -> Finding {
        let path = self.whole_path(path);
        let found = (0..=path.len())
            .rev()
            .find_map(|end| Some((end, self.whole.spans.find(&path[..end])?)));
        let (line, column) = found.map_or((1, 0), |(end, found)| {
            // What is missing is told at the name of what it should be in.
            let span = found
                .key
                .filter(|_| key || end < path.len())
                .unwrap_or(found.value);
            (self.whole.before + span.line, span.column)
        });
        Finding {
            column,
            ..Finding::new(&self.whole.file, line, what)
        }
    }
}
