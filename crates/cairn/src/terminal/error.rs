//! How a command fails: what went wrong, the place if there is one, and what to do.

use std::process::ExitCode;

use super::finding::Finding;

/// Exit codes, as kubectl's users know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Ok,
    Failed,
    Usage,
    /// There are differences, and they were asked for.
    Differences,
}

impl Code {
    /// The number that a shell sees.
    pub fn number(self) -> u8 {
        match self {
            Code::Ok => 0,
            Code::Failed => 1,
            Code::Usage => 2,
            Code::Differences => 3,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code.number())
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub code: Code,
    pub message: String,
    /// The lines of source it is about, with a pointer.
    pub snippet: Option<String>,
    pub hints: Vec<String>,
    /// What else went wrong.
    pub others: Vec<Failure>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure {
            code: Code::Failed,
            message: message.into(),
            snippet: None,
            hints: Vec::new(),
            others: Vec::new(),
        }
    }

    /// A finding that ends a command, with the line of the text it is about.
    pub fn of(finding: &Finding, text: Option<&str>) -> Failure {
        let (finding, snippet) = finding.shown(text);
        let hints = finding.hint.iter().cloned().collect();
        Failure {
            snippet,
            hints,
            ..Failure::new(finding.to_string())
        }
    }

    /// Several at once; none if there are none.
    pub fn all(failures: impl IntoIterator<Item = Failure>) -> Option<Failure> {
        let mut failures = failures.into_iter();
        let first = failures.next()?;
        Some(Failure {
            others: failures.collect(),
            ..first
        })
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure {
            code: Code::Usage,
            ..Failure::new(message)
        }
    }

    /// Everything but the lines of source, for a list.
    pub fn told(&self) -> String {
        match self.hints.as_slice() {
            [] => self.message.clone(),
            hints => format!("{} ({})", self.message, hints.join("; ")),
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }
}
