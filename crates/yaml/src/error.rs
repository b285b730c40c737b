//! What can go wrong, in the words Kubernetes' Go library would use, with the place it went wrong.

use std::fmt;

use crate::chars::break_len;

/// An error while reading or writing YAML.
///
/// `Display` is, letter for letter, the text that `sigs.k8s.io/yaml` gives for the same input. That
/// text counts lines in Go's own way (sometimes one less than an editor shows), so [`Error::line`]
/// is kept beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    text: String,
    line: usize,
    column: usize,
    /// The byte at which it is, as long as the column is not counted yet.
    pos: u32,
}

impl Error {
    /// The line on which the problem is, counted from one as editors do; zero when the place is
    /// unknown.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column in bytes, counted from one; zero when the place is unknown.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The message in Go's words.
    pub fn message(&self) -> &str {
        &self.text
    }

    /// What is wrong without the library's name and the line that Go counts, for whoever tells the
    /// place otherwise.
    pub fn problem(&self) -> &str {
        let text = self
            .text
            .strip_prefix("error converting YAML to JSON: ")
            .unwrap_or(&self.text);
        let text = text.strip_prefix("yaml: ").unwrap_or(text);
        let text = text.strip_prefix("unmarshal errors:\n  ").unwrap_or(text);
        match text
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
        {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
            _ => text,
        }
    }

    /// A problem without a place, its text taken as it is.
    pub(crate) fn bare(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            line: 0,
            column: 0,
            pos: 0,
        }
    }

    /// A problem that go-yaml reports without a line although we know the place.
    pub(crate) fn placed(problem: impl fmt::Display, mark: Mark) -> Self {
        Self {
            text: format!("yaml: {problem}"),
            ..Self::bare("")
        }
        .began(mark)
    }

    /// The same at a place, unless it has one.
    pub(crate) fn at(self, mark: Mark) -> Self {
        if self.line == 0 {
            self.began(mark)
        } else {
            self
        }
    }

    /// The same in Go's words, at the place where what is wrong begins.
    pub(crate) fn began(mut self, mark: Mark) -> Self {
        (self.line, self.column, self.pos) =
            (mark.line as usize + 1, mark.column as usize + 1, mark.pos);
        self
    }

    /// The same with its column in bytes: the reader counts characters, as YAML's indentation does.
    pub(crate) fn in_bytes(mut self, text: &str) -> Self {
        if self.line > 0 {
            self.column = byte_column(text, self.pos as usize) + 1;
        }
        self
    }

    /// The same without the name of the library in front, for what is not go-yaml's own.
    pub(crate) fn without_prefix(mut self) -> Self {
        if let Some(rest) = self.text.strip_prefix("yaml: ") {
            self.text = rest.to_owned();
        }
        self
    }

    /// A problem met while cutting the text into tokens.
    pub(crate) fn scanner(problem: impl fmt::Display, mark: Mark) -> Self {
        Self::marked(problem, mark, 1)
    }

    /// A problem met while putting tokens together: go-yaml prints the line counted from zero here.
    pub(crate) fn parser(problem: impl fmt::Display, mark: Mark) -> Self {
        Self::marked(problem, mark, 0)
    }

    fn marked(problem: impl fmt::Display, mark: Mark, offset: u32) -> Self {
        // A zero line means "unknown" to go-yaml, so nothing on the first line ever gets a line
        // number.
        let text = match mark.line {
            0 => format!("yaml: {problem}"),
            line => format!("yaml: line {}: {problem}", line + offset),
        };
        Self {
            text,
            ..Self::bare("")
        }
        .began(mark)
    }
}

/// How many bytes of its line come before a position.
fn byte_column(text: &str, pos: usize) -> usize {
    let bytes = text.as_bytes();
    // One past the end stands for the end.
    let before = pos.min(bytes.len());
    let starts = (0..before)
        .rev()
        .find(|at| text.is_char_boundary(*at) && break_len(bytes, *at) > 0);
    pos - starts.map_or(0, |at| (at + break_len(bytes, at)).min(pos))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// A place in the text: byte position, and line and column (in characters) counted from zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub pos: u32,
    pub line: u32,
    pub column: u32,
}
