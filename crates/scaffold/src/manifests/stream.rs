//! The texts of a stream of manifests: documents of YAML, or JSON objects one after the other, as
//! kubectl reads them.

use serde_json::Value;

use super::split::Manifest;
use engine::{Place, Problem};

/// The text of one object or list, and where it begins.
pub(crate) struct Part {
    /// The line of the manifest on which it begins, from 1.
    pub line: usize,
    pub text: String,
}

/// The parts of a manifest, or what is wrong with it.
pub(crate) fn parts(manifest: &Manifest) -> Result<Vec<Part>, Problem> {
    let text = manifest
        .text
        .strip_prefix('\u{feff}')
        .unwrap_or(&manifest.text);
    let documents = yaml::documents(text).map_err(|error| not_yaml(manifest, 0, &error))?;
    let mut parts = Vec::new();
    for document in documents {
        let (line, text) = match document
            .text
            .strip_prefix("---")
            .and_then(|rest| rest.split_once('\n'))
        {
            Some((_, rest)) => (document.line + 1, rest),
            None => (document.line, &*document.text),
        };
        match json(text) {
            None => parts.push(Part {
                line,
                text: text.to_string(),
            }),
            Some(Ok(values)) => {
                let part = |(at, value): (usize, &str)| Part {
                    line: line + lines(text, at),
                    text: format!("{value}\n"),
                };
                parts.extend(values.into_iter().map(part));
            }
            Some(Err(error)) => {
                let column = Some(error.column()).filter(|column| *column > 0);
                let place = Place {
                    file: manifest.file.clone(),
                    line: line - 1 + error.line().max(1),
                    column,
                };
                let what = "what follows a JSON object here is no other";
                return Err(Problem::at(place, what)
                    .hint("objects of a stream stand one after the other, or in a List"));
            }
        }
    }
    Ok(parts)
}

/// Where a reader of YAML stopped.
pub(crate) fn not_yaml(manifest: &Manifest, before: usize, error: &yaml::Error) -> Problem {
    let column = Some(error.column()).filter(|column| *column > 0);
    let place = Place {
        file: manifest.file.clone(),
        line: before + error.line().max(1),
        column,
    };
    Problem::at(place, format!("this is not YAML: {}", error.problem()))
}

/// Where the values of a stream of JSON stand and what they are; none if it does not begin with an
/// object in JSON.
fn json(text: &str) -> Option<Result<Vec<(usize, &str)>, serde_json::Error>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut values = Vec::new();
    let mut from = 0;
    loop {
        match stream.next() {
            Some(Ok(_)) => {
                let value = text.get(from..stream.byte_offset()).unwrap_or_default();
                values.push((from + value.len() - value.trim_start().len(), value.trim()));
                from = stream.byte_offset();
            }
            // What is not JSON from the beginning may be YAML in braces.
            Some(Err(_)) if values.is_empty() => return None,
            Some(Err(error)) => return Some(Err(error)),
            None => return Some(Ok(values)),
        }
    }
}

fn lines(text: &str, end: usize) -> usize {
    text.get(..end).unwrap_or_default().matches('\n').count()
}
