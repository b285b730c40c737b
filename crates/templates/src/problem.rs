//! What is wrong with a template or with the values given for it: what, where in the template, and
//! what to do.

use std::fmt;

use objects::Path;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// There is no result.
    Error,
    /// There is one, but perhaps not the one that was meant.
    Warning,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where in the template; its root if the values given are at fault.
    pub path: Path,
    /// Whether the key at the path is meant, not its value.
    pub at_key: bool,
    /// The parameter it is about, if it is about one.
    pub parameter: Option<String>,
    /// How bad.
    pub severity: Severity,
    /// Whether something that has to be there is not, as the API tells apart.
    pub missing: bool,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// An error at a place of the template.
    pub fn at(path: Path, what: impl Into<String>) -> Self {
        Self {
            path,
            at_key: false,
            parameter: None,
            severity: Severity::Error,
            missing: false,
            what: what.into(),
            hint: None,
        }
    }

    /// The same about a parameter.
    #[must_use]
    pub fn of(self, parameter: &str) -> Self {
        Self {
            parameter: Some(parameter.to_owned()),
            ..self
        }
    }

    /// The same about a key.
    #[must_use]
    pub fn key(self) -> Self {
        Self {
            at_key: true,
            ..self
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// The same as something that is not there.
    #[must_use]
    pub fn missing(self) -> Self {
        Self {
            missing: true,
            ..self
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_root() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
