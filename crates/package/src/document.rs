//! YAML documents that know where their parts were written.

use objects::{Path, Step};
use serde_json::Value;
use yaml::{Spans, misread_keys};

use crate::problem::{Problem, Problems, Severity};

/// The most bytes of a file that is read; etcd would not take what is in a larger one.
const BYTES: usize = 4 << 20;

/// A YAML document.
pub(crate) struct Document<'f> {
    pub(crate) file: &'f str,
    /// The line on which it begins, counted from one.
    pub(crate) line: usize,
    pub(crate) value: Value,
    text: String,
    spans: Spans,
}

/// The text of a file, if it is one.
pub(crate) fn text<'b>(file: &str, bytes: &'b [u8], problems: &mut Problems) -> Option<&'b str> {
    if bytes.len() > BYTES {
        problems.error(
            file,
            format!(
                "the file has {} bytes, more than the {BYTES} that are read",
                bytes.len()
            ),
            None,
        );
        return None;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let line = good.matches('\n').count() + 1;
            let column = good.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let what = "this is not UTF-8 text".to_owned();
            let (severity, file) = (Severity::Error, file.to_owned());
            problems.push(Problem {
                severity,
                file,
                line,
                column,
                what,
                hint: None,
            });
            None
        }
    }
}

/// The documents of a file that are not empty.
pub(crate) fn documents<'f>(
    file: &'f str,
    bytes: &[u8],
    problems: &mut Problems,
) -> Vec<Document<'f>> {
    documents_and_all(file, bytes, problems).0
}

/// The same, and whether they could all be read. One with a key that stands twice can be, and is
/// told of.
pub(crate) fn documents_and_all<'f>(
    file: &'f str,
    bytes: &[u8],
    problems: &mut Problems,
) -> (Vec<Document<'f>>, bool) {
    let Some(text) = text(file, bytes, problems) else {
        return (Vec::new(), false);
    };
    let mut all = true;
    let documents = match yaml::documents(text) {
        Ok(documents) => documents,
        Err(error) => {
            complain(file, 1, &error, problems);
            return (Vec::new(), false);
        }
    };
    let mut found = Vec::new();
    for document in documents {
        let read = match yaml::parse_spanned(&document.text) {
            Ok(read) => read,
            Err(error) => {
                complain(file, document.line, &error, problems);
                all = false;
                continue;
            }
        };
        // What strictness alone refuses is YAML all the same: the same key twice.
        if let Err(error) = yaml::parse_written(&document.text) {
            let what = error.problem().to_owned();
            place(file, document.line, &error, what, None, problems);
        }
        if !read.value.is_null() {
            let (value, spans) = (read.value, read.spans);
            for key in misread_keys(&document.text, &spans) {
                let (line, column) = (document.line + key.span.line - 1, key.span.column);
                let (severity, file) = (Severity::Warning, file.to_owned());
                problems.push(Problem {
                    severity,
                    file,
                    line,
                    column,
                    what: key.what(),
                    hint: Some(key.hint()),
                });
            }
            found.push(Document {
                file,
                line: document.line,
                value,
                text: document.text.into_owned(),
                spans,
            });
        }
    }
    (found, all)
}

/// Says that a text is not YAML.
fn complain(file: &str, first: usize, error: &yaml::Error, problems: &mut Problems) {
    let what = error.problem();
    let hint = match what {
        _ if what.contains("cannot start any token") => {
            Some("indent with spaces, not with tabs".to_owned())
        }
        _ if what.contains("unexpected end of stream") => {
            Some("close the quotes that are opened here".to_owned())
        }
        _ => None,
    };
    place(
        file,
        first,
        error,
        format!("this is not YAML: {what}"),
        hint,
        problems,
    );
}

/// An error of YAML, whose own idea of the line is about its document and not quite an editor's.
fn place(
    file: &str,
    first: usize,
    error: &yaml::Error,
    what: String,
    hint: Option<String>,
    problems: &mut Problems,
) {
    let (line, column) = match error.line() {
        0 => (first, 1),
        line => (first + line - 1, error.column().max(1)),
    };
    problems.push(Problem {
        severity: Severity::Error,
        file: file.to_owned(),
        line,
        column,
        what,
        hint,
    });
}

impl Document<'_> {
    /// Where the value at `path` was written, or else the nearest thing around it.
    pub(crate) fn at(&self, path: &Path) -> (usize, usize) {
        let steps: Vec<yaml::Step> = path
            .steps()
            .iter()
            .map_while(|step| match step {
                Step::Field(name) => Some(yaml::Step::Key(name.clone())),
                Step::Index(index) => Some(yaml::Step::Index(*index)),
                Step::Each => None,
            })
            .collect();
        let found = (0..=steps.len())
            .rev()
            .find_map(|length| self.spans.find(&steps[..length]));
        let Some(found) = found else {
            return (self.line, 1);
        };
        let span = found.key.unwrap_or(found.value);
        (self.line + span.line - 1, span.column)
    }

    /// The value at `path` as it was written.
    pub(crate) fn written(&self, field: &str) -> &str {
        let found = self.spans.find(&[yaml::Step::from(field)]);
        found
            .and_then(|found| self.text.get(found.value.start..found.value.end))
            .unwrap_or_default()
    }

    pub(crate) fn error(
        &self,
        path: &Path,
        what: impl Into<String>,
        hint: Option<String>,
        problems: &mut Problems,
    ) {
        self.say(Severity::Error, path, what.into(), hint, problems);
    }

    pub(crate) fn say(
        &self,
        severity: Severity,
        path: &Path,
        what: String,
        hint: Option<String>,
        problems: &mut Problems,
    ) {
        let (line, column) = self.at(path);
        problems.push(Problem {
            severity,
            file: self.file.to_owned(),
            line,
            column,
            what,
            hint,
        });
    }
}
