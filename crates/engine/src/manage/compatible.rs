//! Whether a CRD may take the place of the one that is there: whatever would make stored objects or the manifests of
//! users invalid is a breakage, and each is told.

use std::collections::BTreeSet;
use std::fmt;

use api::Crd;
use objects::{Path, Schema};
use serde_json::Value;

/// Something that would no longer work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breakage {
    /// The version it is about; empty when it is about all.
    pub version: String,
    /// The field; the root when it is about the whole kind.
    pub path: Path,
    /// What would change.
    pub what: String,
}

impl fmt::Display for Breakage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.version.is_empty() {
            write!(formatter, "{}: ", self.version)?;
        }
        if !self.path.steps().is_empty() {
            write!(formatter, "`{}` ", self.path)?;
        }
        formatter.write_str(&self.what)
    }
}

/// The most breakages that are told; more help nobody.
const MOST: usize = 50;

/// Everything that works with `old` and would not with `new`. `stored` are the versions that objects are stored in.
pub fn breakages(old: &Crd, new: &Crd, stored: &[String]) -> Vec<Breakage> {
    let mut found = Found(Vec::new());
    if old.scope != new.scope {
        found.kind(format!("is {:?}, and would become {:?}", old.scope, new.scope));
    }
    for (what, was, is) in [
        ("kind", &old.names.kind, &new.names.kind),
        ("plural", &old.names.plural, &new.names.plural),
        ("group", &old.group, &new.group),
    ] {
        if was != is {
            found.kind(format!("the {what} `{was}` would become `{is}`"));
        }
    }
    for name in stored.iter().collect::<BTreeSet<_>>() {
        if new.version(name).is_none() {
            found.kind(format!("objects are stored in the version `{name}`, which would be gone"));
        }
    }
    for was in old.versions.iter().filter(|version| version.served) {
        match new.version(&was.name) {
            Some(is) if is.served => {
                found.schema(&was.name, &Path::root(), &was.schema, &is.schema);
                if was.status && !is.status {
                    found.add(&was.name, &Path::root(), "its status would no longer be written on its own");
                }
                if was.scale.is_some() && is.scale.is_none() {
                    found.add(&was.name, &Path::root(), "its objects could no longer be scaled");
                }
            }
            _ if !stored.contains(&was.name) || new.version(&was.name).is_some() => {
                found.kind(format!("the version `{}` would no longer be served", was.name));
            }
            _ => {}
        }
    }
    found.0
}

struct Found(Vec<Breakage>);

impl Found {
    fn kind(&mut self, what: String) {
        self.add("", &Path::root(), what);
    }

    fn add(&mut self, version: &str, path: &Path, what: impl Into<String>) {
        if self.0.len() < MOST {
            self.0.push(Breakage { version: version.to_owned(), path: path.clone(), what: what.into() });
        }
    }

    /// What the old schema takes and the new one does not.
    fn schema(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        if new.is_anything() {
            return;
        }
        if old.kind != new.kind || (old.int_or_string && !new.int_or_string) {
            let word = |schema: &Schema| match schema.kind {
                _ if schema.int_or_string => "an integer or string".to_owned(),
                Some(kind) => format!("{kind:?}").to_lowercase(),
                None => "anything".to_owned(),
            };
            // Whole numbers are numbers, and an integer is one of integer or string.
            let wider = new.int_or_string && matches!(old.kind, Some(objects::Type::Integer | objects::Type::String));
            let number = (old.kind, new.kind) == (Some(objects::Type::Integer), Some(objects::Type::Number));
            if !wider && !number {
                self.add(version, path, format!("would change from {} to {}", word(old), word(new)));
                return;
            }
        }
        if old.nullable && !new.nullable {
            self.add(version, path, "could no longer be null");
        }
        for name in new.required.iter().filter(|name| !old.required.contains(name)) {
            let given = new.properties.get(name).is_some_and(|schema| schema.default.is_some());
            if !given {
                self.add(version, &path.child(name.as_str()), "would be required");
            }
        }
        self.values(version, path, old, new);
        self.bounds(version, path, old, new);
        if old.preserve_unknown && !new.preserve_unknown {
            self.add(version, path, "would lose the fields that its schema does not name");
        }
        for (name, was) in &old.properties {
            let here = path.child(name.as_str());
            match (new.properties.get(name), &new.additional) {
                (Some(is), _) => self.schema(version, &here, was, is),
                (None, objects::Additional::Schema(is)) => self.schema(version, &here, was, is),
                (None, objects::Additional::Any) => {}
                (None, _) if new.preserve_unknown => {}
                (None, _) => self.add(version, &here, "would be gone"),
            }
        }
        match (&old.additional, &new.additional) {
            (objects::Additional::Schema(was), objects::Additional::Schema(is)) => {
                self.schema(version, &path.child(objects::Step::Each), was, is);
            }
            (objects::Additional::Schema(_) | objects::Additional::Any, objects::Additional::No)
                if !new.preserve_unknown =>
            {
                self.add(version, path, "could no longer have any key");
            }
            _ => {}
        }
        if let (Some(was), Some(is)) = (&old.items, &new.items) {
            self.schema(version, &path.child(objects::Step::Each), was, is);
        }
    }

    fn values(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        let Some(is) = &new.one_of_values else { return };
        match &old.one_of_values {
            None => self.add(version, path, format!("would take only {}", list(is))),
            Some(was) => {
                let gone: Vec<Value> = was.iter().filter(|value| !is.contains(value)).cloned().collect();
                if !gone.is_empty() {
                    self.add(version, path, format!("would no longer take {}", list(&gone)));
                }
            }
        }
    }

    fn bounds(&mut self, version: &str, path: &Path, old: &Schema, new: &Schema) {
        let pattern = |schema: &Schema| schema.pattern.as_ref().map(ToString::to_string);
        if let Some(is) = pattern(new).filter(|is| pattern(old).as_ref() != Some(is)) {
            self.add(version, path, format!("would have to match `{is}`"));
        }
        for (what, was, is, upper) in old.bounds.compare(&new.bounds) {
            let tighter = match (was, is) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(was), Some(is)) => {
                    if upper {
                        is < was
                    } else {
                        is > was
                    }
                }
            };
            if let (true, Some(is)) = (tighter, is) {
                let word = if upper { "at most" } else { "at least" };
                self.add(version, path, format!("would have to have {word} {is} {what}").replace("  ", " "));
            }
        }
    }
}

fn list(values: &[Value]) -> String {
    let words: Vec<String> = values.iter().map(ToString::to_string).collect();
    words.join(", ")
}
