//! Reads a file of known fields, one by one, so that each fault has its line and what is sound is
//! kept.

use api::key::Reference;
use api::{PermissionScope, is_never_granted};
use objects::{Builtin, Path, builtins, nearest};
use serde_json::{Map, Value};

use crate::document::{Document, documents};
use crate::image::is_tag;
use crate::problem::{Problems, Severity};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Texts,
    /// A list of objects with these fields, all texts.
    Objects(&'static [&'static str]),
    Scope,
    /// A text that can be the tag of an image.
    Tag,
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

/// Reads the fields of a file that `what` names in messages and in which `first` is a field that
/// everybody writes. None when it holds no fields at all.
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
        second.error(
            &Path::root(),
            format!("{what} holds more than one document"),
            None,
            problems,
        );
    }
    let Value::Object(written) = &document.value else {
        let hint = Some(format!("write `{first}: ...`"));
        document.error(
            &Path::root(),
            format!("{what} holds no fields"),
            hint,
            problems,
        );
        return None;
    };
    let mut fields = Map::new();
    for (name, value) in written {
        let path = Path::fields(&[name]);
        let Some((_, kind)) = known.iter().find(|(known, _)| known == name) else {
            let near = nearest(name, known.iter().map(|(known, _)| *known));
            let hint = near.map(|near| format!("did you mean `{near}`?"));
            // Without what it depends on, a stack has no right to what it makes.
            let vital = near.is_some_and(|near| near == "dependsOn" && !written.contains_key(near));
            let severity = if vital {
                Severity::Error
            } else {
                Severity::Warning
            };
            document.say(
                severity,
                &path,
                format!("{what} has no field `{name}`"),
                hint,
                problems,
            );
            continue;
        };
        if value.is_null() || *kind == Kind::Ignored {
            continue;
        }
        if let Some(sound) = sound(document, name, value, *kind, problems) {
            fields.insert(name.clone(), sound);
        }
    }
    Some(Found {
        fields,
        line: document.at(&Path::root()).0,
    })
}

/// The value of a field; of a list of objects, those that are sound.
fn sound(
    document: &Document<'_>,
    name: &str,
    value: &Value,
    kind: Kind,
    problems: &mut Problems,
) -> Option<Value> {
    let Kind::Objects(fields) = kind else {
        return check(document, name, value, kind, problems).then(|| value.clone());
    };
    let path = Path::fields(&[name]);
    let items = list(document, &path, value, problems)?.iter().enumerate();
    let sound =
        items.filter(|(index, item)| object(document, &path.child(*index), item, fields, problems));
    Some(sound.map(|(_, item)| item.clone()).collect())
}

fn check(
    document: &Document<'_>,
    name: &str,
    value: &Value,
    kind: Kind,
    problems: &mut Problems,
) -> bool {
    let path = Path::fields(&[name]);
    match kind {
        Kind::Ignored | Kind::Objects(_) => true,
        Kind::Text => is_text(document, &path, value, document.written(name), problems),
        Kind::Tag => {
            let sound = is_text(document, &path, value, document.written(name), problems);
            let fits = value
                .as_str()
                .is_none_or(|text| text.is_empty() || is_tag(text));
            if sound && !fits {
                let hint = "up to 128 letters, digits, `_`, `.` and `-`, not beginning with `.` or `-`: it becomes the tag of \
                            the image";
                document.error(
                    &path,
                    format!("{value} is no {name}"),
                    Some(hint.to_owned()),
                    problems,
                );
            }
            sound && fits
        }
        Kind::Scope => {
            let word = value.as_str().unwrap_or_default();
            let known = PermissionScope::WORDS.contains(&word);
            if !known {
                let hint = match nearest(word, PermissionScope::WORDS) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write `Namespaced` or `Cluster`".to_owned(),
                };
                document.error(
                    &path,
                    format!("there is no permission scope {value}"),
                    Some(hint),
                    problems,
                );
            }
            known
        }
        Kind::Texts => {
            let Some(list) = list(document, &path, value, problems) else {
                return false;
            };
            let mut sound = true;
            for (index, item) in list.iter().enumerate() {
                sound &= is_text(document, &path.child(index), item, "", problems);
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
        document.error(
            path,
            format!("`{path}` must have the fields {}", fields.join(", ")),
            hint,
            problems,
        );
        return false;
    };
    let mut sound = true;
    for (name, value) in item {
        let here = path.child(name.as_str());
        if !fields.contains(&name.as_str()) {
            let hint =
                nearest(name, fields.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            document.say(
                Severity::Warning,
                &here,
                format!("there is no field `{name}` here"),
                hint,
                problems,
            );
            continue;
        }
        sound &= is_text(document, &here, value, "", problems);
        if name == "crd"
            && let Some(text) = value.as_str()
            && let Err((what, hint)) = depends(text)
        {
            document.error(&here, what, Some(hint), problems);
            sound = false;
        }
    }
    if fields == ["crd"] && !item.contains_key("crd") {
        document.error(
            path,
            format!("`{path}` names no kind"),
            Some("write `crd: ...`".into()),
            problems,
        );
        sound = false;
    }
    sound
}

/// Whether a text names a kind that there can be, or what is wrong with it and what to do.
fn depends(text: &str) -> Result<(), (String, String)> {
    let Some(reference) = Reference::parse(text) else {
        let hint = "write `<kind>.<group>/<version>`, `*.<group>/<version>`, or `<kind>/v1` for the core group";
        return Err((format!("`{text}` names no kind"), hint.to_owned()));
    };
    let Reference {
        name,
        group,
        version,
    } = &reference;
    let key = |known: &Builtin| {
        let dot = if known.group.is_empty() { "" } else { "." };
        format!(
            "{}{dot}{}/{}",
            known.kind.to_lowercase(),
            known.group,
            known.version
        )
    };
    let named = |known: &&Builtin| {
        known.group == group && name.as_ref().is_some_and(|name| known.is_called(name))
    };
    let plural = builtins()
        .iter()
        .find(named)
        .map_or("*", |known| known.plural);
    if is_never_granted(group, plural) {
        let what = format!("no stack may have `{text}`: it could give itself more rights with it");
        return Err((
            what,
            "leave what it is needed for to an administrator, and name it in a field of the spec"
                .into(),
        ));
    }
    // Only of the groups of Kubernetes itself is it known what is in them.
    let same: Vec<&Builtin> = builtins()
        .iter()
        .filter(|known| known.group == group)
        .collect();
    let fits = |known: &&Builtin| {
        known.version == version && name.as_ref().is_none_or(|name| known.is_called(name))
    };
    if same.is_empty() || same.iter().any(fits) {
        return Ok(());
    }
    let what = format!("Kubernetes has no kind `{text}`: an install would wait for it forever");
    let called = |known: &&&Builtin| name.as_ref().is_none_or(|name| known.is_called(name));
    let hint = match (same.iter().find(called), name) {
        (Some(known), None) => format!("write `*.{group}/{}`", known.version),
        (Some(known), Some(_)) => format!("write `{}`", key(known)),
        (None, _) => {
            let word = name.as_deref().unwrap_or_default();
            let names = same
                .iter()
                .flat_map(|known| [known.kind.to_lowercase(), known.plural.to_owned()]);
            let names: Vec<String> = names.collect();
            let near = nearest(&word.to_lowercase(), names.iter().map(String::as_str));
            let whole = builtins()
                .iter()
                .find(|known| known.group == word && known.version == version);
            let elsewhere = builtins().iter().find(|known| known.is_called(word));
            match (
                near.and_then(|near| same.iter().find(|known| known.is_called(near))),
                whole.or(elsewhere),
            ) {
                (Some(known), _) => format!("did you mean `{}`?", key(known)),
                (None, Some(known)) if whole.is_some() => {
                    format!("write `<kind>.{}/{version}`", known.group)
                }
                (None, Some(known)) => format!("write `{}`", key(known)),
                (None, None) => {
                    "the part before the first dot is a kind, what follows it its group".to_owned()
                }
            }
        }
    };
    Err((what, hint))
}

fn list<'v>(
    document: &Document<'_>,
    path: &Path,
    value: &'v Value,
    problems: &mut Problems,
) -> Option<&'v [Value]> {
    let list = value.as_array();
    if list.is_none() {
        document.error(
            path,
            format!("`{path}` must be a list"),
            Some("write each item after a dash".into()),
            problems,
        );
    }
    list.map(Vec::as_slice)
}

fn is_text(
    document: &Document<'_>,
    path: &Path,
    value: &Value,
    written: &str,
    problems: &mut Problems,
) -> bool {
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
    document.error(
        path,
        format!("`{path}` must be a text, and this is {what}"),
        hint,
        problems,
    );
    false
}
