//! What went wrong, in Go's words, with the place taken apart for those who want to point at it.

use std::fmt;

use crate::limits::Over;

/// Which stage refused the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The source is not a template.
    Parse,
    /// The template ran into something it could not do.
    Execute,
    /// A limit of [`crate::Limits`] was reached. If it was a budget, [`Error::over`] says which and
    /// what was spent.
    Limit,
}

/// A position in a source: both numbers as Go counts them (lines from 1, columns in bytes from 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name the source was parsed under.
    pub source: String,
    /// Line, from 1.
    pub line: usize,
    /// Byte column, from 0, if it is known. Go's text of a parse error has none.
    pub column: Option<usize>,
}

/// Something that a source opens and does not close: often the cause of an error that Go notices
/// much later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unclosed {
    /// What opens it: `if`, `range`, `with`, `define`, `block`, `(`, `/*`, or what opens an action.
    pub opener: String,
    /// What would close it.
    pub closer: String,
    /// Where it is opened.
    pub place: Place,
}

impl fmt::Display for Unclosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the `{}` that begins here has no `{}`",
            self.opener, self.closer
        )
    }
}

/// A failed parse or run. `Display` gives the text that Go gives.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    text: String,
    /// Outermost first: an error inside an `include` names each template on the way.
    places: Vec<Place>,
    message: String,
    unclosed: Option<Unclosed>,
    over: Option<Over>,
}

impl Error {
    /// Go's text names a line only, and not always that of the cause, which is `place`.
    pub(crate) fn parse(
        line: usize,
        message: String,
        place: Place,
        unclosed: Option<Unclosed>,
    ) -> Box<Error> {
        let text = format!("template: {}:{line}: {message}", place.source);
        Box::new(Error {
            kind: ErrorKind::Parse,
            text,
            places: vec![place],
            message,
            unclosed,
            over: None,
        })
    }

    /// A place in a text that was given to `tpl` is in Go's words only: nobody has a file of that
    /// name.
    pub(crate) fn execute(
        kind: ErrorKind,
        place: Place,
        in_file: bool,
        template: &str,
        context: &str,
        fault: crate::Fault,
    ) -> Box<Error> {
        let Place {
            source,
            line,
            column,
        } = &place;
        let column = column.unwrap_or_default();
        let template_quoted =
            String::from_utf8_lossy(&gocompat::strconv::quote(template.as_bytes())).into_owned();
        let text = format!(
            "template: {source}:{line}:{column}: executing {template_quoted} at <{context}>: {}",
            fault.text
        );
        let mut places = Vec::new();
        if in_file {
            places.push(place);
        }
        let mut message = fault.text;
        let mut unclosed = None;
        if let Some(inner) = fault.inner {
            places.extend(inner.places);
            message = inner.message;
            unclosed = inner.unclosed;
        }
        Box::new(Error {
            kind: fault.kind.unwrap_or(kind),
            text,
            places,
            message,
            unclosed,
            over: fault.over,
        })
    }

    /// The same error without places, for a source that is no file.
    pub(crate) fn placeless(mut self: Box<Error>) -> Box<Error> {
        self.places.clear();
        self.unclosed = None;
        self
    }

    pub(crate) fn plain(kind: ErrorKind, text: String) -> Box<Error> {
        Box::new(Error {
            kind,
            message: text.clone(),
            text,
            places: Vec::new(),
            unclosed: None,
            over: None,
        })
    }

    /// Which stage failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The budget that was spent, if that is why.
    pub fn over(&self) -> Option<Over> {
        self.over
    }

    /// Where, outermost template first; the last is where the cause lies. What happens in a text
    /// given to `tpl` lies where `tpl` is called.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What was opened and not closed, if that is the cause of a parse error.
    pub fn unclosed(&self) -> Option<&Unclosed> {
        self.unclosed.as_ref()
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
