//! What is wrong with a stack or an instance: what, where, and what to do.

use std::fmt;

use gotpl::Site;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is done until it is mended.
    Error,
    /// It works, but probably not as meant.
    Warning,
}

/// A place in a file. Lines and columns count from 1, columns in bytes, as those of all spans;
/// whoever prints a place and has the text turns them into characters. Go's own errors count
/// columns from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The file, as the author knows it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte column, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl Place {
    /// The same without directories, for a sentence that already says whose file it is.
    pub fn short(&self) -> Place {
        let file = self.file.rsplit('/').next().unwrap_or_default().to_string();
        Place {
            file,
            ..self.clone()
        }
    }
}

impl From<&Site> for Place {
    fn from(site: &Site) -> Place {
        Place {
            file: site.source.to_string(),
            line: site.line,
            column: Some(site.column + 1),
        }
    }
}

impl From<&gotpl::Place> for Place {
    fn from(place: &gotpl::Place) -> Place {
        Place {
            file: place.source.clone(),
            line: place.line,
            column: place.column.map(|column| column + 1),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            Some(column) => write!(f, ":{column}"),
            None => Ok(()),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Where, if it is in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// How bad.
    pub severity: Severity,
    /// What is wrong.
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// An error at a place.
    pub fn at(place: impl Into<Place>, what: impl Into<String>) -> Problem {
        Problem {
            place: Some(place.into()),
            severity: Severity::Error,
            what: what.into(),
            hint: None,
        }
    }

    /// An error that has no place in a file.
    pub fn general(what: impl Into<String>) -> Problem {
        Problem {
            place: None,
            severity: Severity::Error,
            what: what.into(),
            hint: None,
        }
    }

    /// An error of the template engine, at the innermost place it names.
    pub fn of(error: &gotpl::Error) -> Problem {
        // What the author says with `fail` and `required` is the author's sentence.
        let message = error.message();
        let said = ["fail", "required"]
            .iter()
            .find_map(|name| message.strip_prefix(&format!("error calling {name}: ")));
        Problem {
            place: error.places().last().map(Place::from),
            ..Problem::general(said.unwrap_or(message))
        }
    }

    /// The same with the file's name alone, for people who never see the package's directories.
    #[must_use]
    pub fn short(&self) -> Problem {
        Problem {
            place: self.place.as_ref().map(Place::short),
            ..self.clone()
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(mut self) -> Problem {
        self.severity = Severity::Warning;
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
