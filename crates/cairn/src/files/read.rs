//! Reading files and standard input, with errors that name them.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::terminal::error::Failure;
use crate::terminal::snippet;

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|error| Failure::new(format!("cannot read {shown}: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        Failure::new(format!(
            "{shown} is not UTF-8: bad byte at offset {}",
            error.utf8_error().valid_up_to()
        ))
    })
}

/// The data in a file, JSON or YAML.
pub(crate) fn data(path: &Path) -> Result<Value, Failure> {
    let text = text(path)?;
    let shown = path.display();
    // JSON first: it keeps integers that YAML would read otherwise, and its errors are about JSON.
    if text.trim_start().starts_with(['{', '[', '"'])
        && let Ok(value) = serde_json::from_str(&text)
    {
        return Ok(value);
    }
    let mut documents = parsed(&text, &shown.to_string())?;
    documents.retain(|document| !document.is_null());
    match documents.len() {
        0 => Ok(Value::Null),
        1 => Ok(documents.remove(0)),
        count => Err(Failure::new(format!(
            "{shown} holds {count} documents, but one is wanted"
        ))),
    }
}

/// What a person wrote is read strictly: a key that stands twice is a mistake.
fn parsed(text: &str, shown: &str) -> Result<Vec<Value>, Failure> {
    let failed = |error: yaml::Error, before: usize| {
        let mut failure = Failure::new(format!("{shown}: {error}"));
        failure.snippet = snippet::of(text, error.line() + before, None);
        failure
    };
    let documents = yaml::documents(text).map_err(|error| failed(error, 0))?;
    documents
        .iter()
        .map(|document| {
            yaml::parse_strict(&document.text).map_err(|error| failed(error, document.line - 1))
        })
        .collect()
}
