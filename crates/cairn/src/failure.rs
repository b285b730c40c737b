//! How a command fails: what went wrong, the place if there is one, and what to do.

use std::process::ExitCode;

/// Exit codes, as kubectl's users know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Ok,
    Failed,
    Usage,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(match code {
            Code::Ok => 0,
            Code::Failed => 1,
            Code::Usage => 2,
        })
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub code: Code,
    pub message: String,
    /// The lines of source it is about, with a pointer.
    pub snippet: Option<String>,
    pub hints: Vec<String>,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { code: Code::Failed, message: message.into(), snippet: None, hints: Vec::new() }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { code: Code::Usage, ..Failure::new(message) }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }
}
