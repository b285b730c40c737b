//! What is wrong with a package, where, and what to do about it.

use std::fmt;

pub use api::Severity;

/// What is wrong with a package. `Display` is one line, without the hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether the package cannot be installed so.
    pub severity: Severity,
    /// The file; empty when it is about the whole package.
    pub file: String,
    /// The line, counted from one; zero when it is about the whole file.
    pub line: usize,
    /// The column in bytes, counted from one; zero when it is about the whole file.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            formatter.write_str(&self.file)?;
            if self.line > 0 {
                write!(formatter, ":{}:{}", self.line, self.column)?;
            }
            formatter.write_str(": ")?;
        }
        write!(formatter, "{}: {}", self.severity, self.what)
    }
}

/// All that was found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Something about a whole file.
    pub(crate) fn error(&mut self, file: &str, what: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Error, file, what.into(), hint);
    }

    /// Something about a whole file that does not stop the package from working.
    pub(crate) fn warning(&mut self, file: &str, what: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Warning, file, what.into(), hint);
    }

    fn add(&mut self, severity: Severity, file: &str, what: String, hint: Option<String>) {
        self.push(Problem {
            severity,
            file: file.to_owned(),
            line: 0,
            column: 0,
            what,
            hint,
        });
    }

    /// How many of them stop the package from working.
    pub(crate) fn errors(&self) -> usize {
        self.0
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .count()
    }

    /// All of them, in the order of files and lines.
    pub(crate) fn sorted(mut self) -> Vec<Problem> {
        self.0.sort_by(|one, other| {
            (&one.file, one.line, one.column).cmp(&(&other.file, other.line, other.column))
        });
        self.0
    }
}
