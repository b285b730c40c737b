//! What went wrong, in Go's words, with the place taken apart for those who want to point at it.

use std::fmt;

/// Which stage refused the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The source is not a template.
    Parse,
    /// The template ran into something it could not do.
    Execute,
    /// A limit of [`crate::Limits`] was reached, or the caller cancelled.
    Limit,
}

/// A position in a source: both numbers as Go counts them (lines from 1, columns in bytes from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name the source was parsed under.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte column, from 0; absent in parse errors, as in Go.
    pub column: Option<usize>,
}

/// A failed parse or run. `Display` gives the text that Go gives.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    text: String,
    /// Outermost first: an error inside an `include` names each template on the way.
    places: Vec<Place>,
    message: String,
}

impl Error {
    pub(crate) fn parse(source: &str, line: usize, message: String) -> Box<Error> {
        let place = Place { source: source.to_string(), line, column: None };
        Box::new(Error {
            kind: ErrorKind::Parse,
            text: format!("template: {source}:{line}: {message}"),
            places: vec![place],
            message,
        })
    }

    pub(crate) fn execute(
        kind: ErrorKind,
        place: Place,
        template: &str,
        context: &str,
        fault: crate::Fault,
    ) -> Box<Error> {
        let Place { source, line, column } = &place;
        let column = column.unwrap_or_default();
        let template_quoted = String::from_utf8_lossy(&crate::go::strconv::quote(template.as_bytes())).into_owned();
        let text =
            format!("template: {source}:{line}:{column}: executing {template_quoted} at <{context}>: {}", fault.text);
        let mut places = vec![place];
        let mut message = fault.text;
        if let Some(inner) = fault.inner {
            places.extend(inner.places);
            message = inner.message;
        }
        Box::new(Error { kind: fault.kind.unwrap_or(kind), text, places, message })
    }

    pub(crate) fn plain(kind: ErrorKind, text: String) -> Box<Error> {
        Box::new(Error { kind, message: text.clone(), text, places: Vec::new() })
    }

    /// Which stage failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where, outermost template first; the last is where the cause lies.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What went wrong, without the places.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
