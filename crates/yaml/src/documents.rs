//! Splits a stream into documents the way Kubernetes does before it reads YAML: at lines that begin
//! with `---`.

use std::borrow::Cow;

use crate::error::{Error, Mark};

/// One document of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document<'a> {
    /// The line of the stream on which the text begins, counted from one.
    pub line: usize,
    /// The byte of the stream at which the text begins.
    pub start: usize,
    /// The text. It always ends with a line break: Kubernetes adds one to a last line that has
    /// none.
    pub text: Cow<'a, str>,
}

/// Splits `stream` into its documents, without reading them.
///
/// The first separator stays part of the document it begins when nothing came before it, as in
/// Kubernetes. Fails when anything but a comment follows a separator on its line.
pub fn documents(stream: &str) -> Result<Vec<Document<'_>>, Error> {
    let mut found = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut pos = 0;
    for (at, line) in stream.split_inclusive('\n').enumerate() {
        let line_start = pos;
        pos += line.len();
        let Some(rest) = line.strip_prefix("---") else {
            continue;
        };
        let rest = rest.trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            let mark = Mark {
                pos: line_start as u32,
                line: at as u32,
                column: 0,
            };
            return Err(Error::placed(
                format_args!("invalid Yaml document separator: {rest}"),
                mark,
            )
            .without_prefix());
        }
        if line_start > start {
            found.push(document(stream, start, line_start, start_line));
            (start, start_line) = (pos, at + 2);
        }
    }
    if pos > start {
        found.push(document(stream, start, pos, start_line));
    }
    Ok(found)
}

fn document(stream: &str, start: usize, end: usize, line: usize) -> Document<'_> {
    let text = &stream[start..end];
    let text = if text.ends_with('\n') {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{text}\n"))
    };
    Document { line, start, text }
}
