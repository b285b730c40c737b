//! Something wrong with a package, whoever found it.

use std::fmt;

use engine::Severity;
use serde::Serialize;

use super::snippet;

/// A finding, in the order of files and lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Finding {
    pub file: String,
    pub line: usize,
    /// In bytes, from 1; 0 if it is about the whole line. [`Finding::shown`] turns it into
    /// characters.
    pub column: usize,
    pub severity: Severity,
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// An error about a whole line.
    pub fn new(file: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            file: file.to_string(),
            line,
            column: 0,
            severity: Severity::Error,
            what: what.into(),
            hint: None,
        }
    }

    /// The same as a person is told: with its column in characters, and the line of the text with a
    /// pointer.
    pub fn shown(&self, text: Option<&str>) -> (Finding, Option<String>) {
        let Some(text) = text else {
            return (self.clone(), None);
        };
        let column = snippet::characters(text, self.line, self.column);
        let snippet = snippet::of(text, self.line, self.column.checked_sub(1));
        (
            Finding {
                column,
                ..self.clone()
            },
            snippet,
        )
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Finding {
        self.hint = Some(hint.into());
        self
    }
}

impl From<&package::Problem> for Finding {
    fn from(problem: &package::Problem) -> Finding {
        let severity = match problem.severity {
            package::Severity::Error => Severity::Error,
            package::Severity::Warning => Severity::Warning,
        };
        let (line, column) = (problem.line, problem.column);
        Finding {
            file: problem.file.clone(),
            line,
            column,
            severity,
            what: problem.what.clone(),
            hint: problem.hint.clone(),
        }
    }
}

impl From<&engine::Problem> for Finding {
    fn from(problem: &engine::Problem) -> Finding {
        let (file, line, column) = match &problem.place {
            Some(place) => (place.file.clone(), place.line, place.column.unwrap_or(0)),
            None => (String::new(), 0, 0),
        };
        Finding {
            file,
            line,
            column,
            severity: problem.severity,
            what: problem.what.clone(),
            hint: problem.hint.clone(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if self.line > 0 {
                write!(f, ":{}", self.line)?;
            }
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}
