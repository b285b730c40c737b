//! Reads a file of known fields, one by one, so that each fault has its line and what is sound is kept.

use api::PermissionScope;
use api::key::Reference;
use objects::{Path, nearest};
use serde_json::{Map, Value};

use crate::document::{Document, documents};
use crate::problem::{Problems, Severity};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Texts,
    /// A list of objects with these fields, all texts.
    Objects(&'static [&'static str]),
    Scope,
    /// Read by other tools.
    Ignored,
}

/// What was read.
pub(crate) struct Found {
    /// The sound ones of the known fields.
    pub(crate) fields: Map<String, Value>,
    /// The line on which they begin.
    pub(crate) line: usize,
}

/// Reads the fields of a file that `what` names in messages and in which `first` is a field that everybody writes.
/// None when it holds no fields at all.
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    known: &[(&'static str, Kind)],
    what: &str,
    first: &str,
    problems: &mut Problems,
) -> Option<Found> {
    let documents = documents(file, bytes, problems);
    let document = documents.first()?;
    if let Some(second) = documents.get(1) {
        second.error(&Path::root(), format!("{what} holds more than one document"), None, problems);
    }
    let Value::Object(written) = &document.value else {
        let hint = Some(format!("write `{first}: ...`"));
        document.error(&Path::root(), format!("{what} holds no fields"), hint, problems);
        return None;
    };
    let mut fields = Map::new();
    for (name, value) in written {
        let path = Path::fields(&[name]);
        let Some((_, kind)) = known.iter().find(|(known, _)| known == name) else {
            let near = nearest(name, known.iter().map(|(known, _)| *known));
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            document.say(Severity::Warning, &path, format!("{what} has no field `{name}`"), hint, problems);
            continue;
        };
        if !value.is_null() && *kind != Kind::Ignored && check(document, name, value, *kind, problems) {
            fields.insert(name.clone(), value.clone());
        }
    }
    Some(Found { fields, line: document.at(&Path::root()).0 })
}

fn check(document: &Document<'_>, name: &str, value: &Value, kind: Kind, problems: &mut Problems) -> bool {
    let path = Path::fields(&[name]);
    match kind {
        Kind::Ignored => true,
        Kind::Text => is_text(document, &path, value, document.written(name), problems),
        Kind::Scope => {
            let word = value.as_str().unwrap_or_default();
            let known = PermissionScope::WORDS.contains(&word);
            if !known {
                let hint = match nearest(word, PermissionScope::WORDS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `Namespaced` or `Cluster`".to_owned(),
                };
                document.error(&path, format!("there is no permission scope {value}"), Some(hint), problems);
            }
            known
        }
        Kind::Texts => {
            let Some(list) = list(document, &path, value, problems) else { return false };
            let mut sound = true;
            for (index, item) in list.iter().enumerate() {
                sound &= is_text(document, &path.child(index), item, "", problems);
            }
            sound
        }
        Kind::Objects(fields) => {
            let Some(list) = list(document, &path, value, problems) else { return false };
            let mut sound = true;
            for (index, item) in list.iter().enumerate() {
                sound &= object(document, &path.child(index), item, fields, problems);
            }
            sound
        }
    }
}

fn object(
    document: &Document<'_>,
    path: &Path,
    item: &Value,
    fields: &[&'static str],
    problems: &mut Problems,
) -> bool {
    let Value::Object(item) = item else {
        let example = match item {
            Value::String(text) => text,
            _ => "...",
        };
        let hint = Some(format!("write `- {}: {example}`", fields[0]));
        document.error(path, format!("`{path}` must have the fields {}", fields.join(", ")), hint, problems);
        return false;
    };
    let mut sound = true;
    for (name, value) in item {
        let here = path.child(name.as_str());
        if !fields.contains(&name.as_str()) {
            let hint = nearest(name, fields.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            document.say(Severity::Warning, &here, format!("there is no field `{name}` here"), hint, problems);
            continue;
        }
        sound &= is_text(document, &here, value, "", problems);
        if name == "crd"
            && let Some(text) = value.as_str()
            && Reference::parse(text).is_none()
        {
            let hint = "write `<kind>.<group>/<version>`, `*.<group>/<version>`, or `<kind>/v1` for the core group";
            document.error(&here, format!("`{text}` names no kind"), Some(hint.into()), problems);
            sound = false;
        }
    }
    if fields == ["crd"] && !item.contains_key("crd") {
        document.error(path, format!("`{path}` names no kind"), Some("write `crd: ...`".into()), problems);
        sound = false;
    }
    sound
}

fn list<'v>(document: &Document<'_>, path: &Path, value: &'v Value, problems: &mut Problems) -> Option<&'v [Value]> {
    let list = value.as_array();
    if list.is_none() {
        document.error(path, format!("`{path}` must be a list"), Some("write each item after a dash".into()), problems);
    }
    list.map(Vec::as_slice)
}

fn is_text(document: &Document<'_>, path: &Path, value: &Value, written: &str, problems: &mut Problems) -> bool {
    let what = match value {
        Value::String(_) => return true,
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null => "nothing",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    let quotable = matches!(value, Value::Number(_) | Value::Bool(_)) && !written.is_empty();
    let hint = quotable.then(|| format!("write it in quotes: `{path}: \"{written}\"`"));
    document.error(path, format!("`{path}` must be a text, and this is {what}"), hint, problems);
    false
}
