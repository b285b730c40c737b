//! Reads `app.yaml`, field by field, so that each fault has its line.

use api::key::Reference;
use api::{App, PermissionScope};
use objects::{Path, nearest};
use serde_json::{Map, Value};

use crate::document::{Document, documents};
use crate::problem::{Problems, Severity};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Texts,
    /// A list of objects with these fields, all texts.
    Objects(&'static [&'static str]),
    Scope,
    /// Read by other tools.
    Ignored,
}

const FIELDS: [(&str, Kind); 19] = [
    ("title", Kind::Text),
    ("overviewShort", Kind::Text),
    ("shortOverview", Kind::Text),
    ("overview", Kind::Text),
    ("readme", Kind::Text),
    ("version", Kind::Text),
    ("icons", Kind::Objects(&["base64Data", "base64data", "mediatype"])),
    ("maintainers", Kind::Objects(&["name", "email"])),
    ("owners", Kind::Objects(&["name", "email"])),
    ("company", Kind::Text),
    ("category", Kind::Text),
    ("keywords", Kind::Texts),
    ("website", Kind::Text),
    ("source", Kind::Text),
    ("license", Kind::Text),
    ("permissionScope", Kind::Scope),
    ("dependsOn", Kind::Objects(&["crd"])),
    ("apiVersion", Kind::Ignored),
    ("packageType", Kind::Ignored),
];

pub(crate) fn read(file: &str, bytes: &[u8], problems: &mut Problems) -> App {
    let documents = documents(file, bytes, problems);
    let Some(document) = documents.first() else { return App::default() };
    if let Some(second) = documents.get(1) {
        second.error(&Path::root(), "`app.yaml` holds more than one document", None, problems);
    }
    let Value::Object(fields) = &document.value else {
        document.error(&Path::root(), "`app.yaml` holds no fields", Some("write `title: ...`".into()), problems);
        return App::default();
    };
    let mut sound = Map::new();
    for (name, value) in fields {
        let path = Path::fields(&[name]);
        let Some((_, kind)) = FIELDS.iter().find(|(known, _)| known == name) else {
            let hint = nearest(name, FIELDS.map(|(known, _)| known)).map(|near| format!("did you mean `{near}`?"));
            document.say(Severity::Warning, &path, format!("`app.yaml` has no field `{name}`"), hint, problems);
            continue;
        };
        if !value.is_null() && *kind != Kind::Ignored && check(document, name, value, *kind, problems) {
            sound.insert(name.clone(), value.clone());
        }
    }
    // Both spellings mean the same field, which can be there only once.
    if sound.contains_key("overviewShort") {
        sound.remove("shortOverview");
    }
    serde_json::from_value(Value::Object(sound)).unwrap_or_default()
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
