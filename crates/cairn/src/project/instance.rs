//! An instance from a file, as the API server would store it: defaulted, pruned and checked, every
//! complaint at its place.

use std::path::Path;

use engine::{Compiled, CompiledKind, Quotes};
use objects::{Gvk, Lookup, nearest};
use serde_json::Value;
use yaml::Step;

use crate::files::located_yaml::Part;
use crate::project::Project;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;

/// An instance that the API server takes.
pub(crate) struct Admitted<'p> {
    pub kind: &'p CompiledKind,
    pub object: Value,
    /// Fields that it would drop.
    pub dropped: Vec<Finding>,
}

/// Why the API server would not take an instance.
pub(crate) struct Refused {
    /// The path of the field: `spec.replicas`.
    pub path: String,
    pub finding: Finding,
}

impl Project {
    /// An instance from a file, or the first that lies beside the package.
    pub fn instance(
        &self,
        file: Option<&Path>,
        printer: &Printer,
    ) -> Result<(Admitted<'_>, Part), Failure> {
        let compiled = self.compiled()?;
        let file = &match file {
            Some(file) => file.to_path_buf(),
            None => {
                let found = self.specimen().ok_or_else(|| {
                    Failure::usage(format!(
                        "no instance of the package lies in {}",
                        self.dir.display()
                    ))
                    .hint("name one with `-f FILE`")
                })?;
                printer.say(&format!("with the instance {}", found.display()));
                found
            }
        };
        let written = Part::one(file)?;
        match admit(compiled, &written) {
            Ok(admitted) => Ok((admitted, written)),
            Err(refused) => Err(Failure::all(
                refused
                    .iter()
                    .map(|refused| written.failure(&refused.finding)),
            )
            .unwrap_or_else(|| Failure::new(format!("{} is refused", file.display())))),
        }
    }
}

/// The kind of an instance and the instance as it would be stored, or all that is wrong with it.
pub(crate) fn admit<'p>(
    compiled: &'p Compiled,
    written: &Part,
) -> Result<Admitted<'p>, Vec<Refused>> {
    let kind = kind_of(compiled, written).map_err(|refused| vec![refused])?;
    let mut object = written.value().clone();
    complete(&mut object, kind);
    let mut refused: Vec<Refused> = misnamed(&object, written).into_iter().collect();
    for invalid in kind
        .schema
        .as_ref()
        .map(|schema| schema.admit(&mut object))
        .unwrap_or_default()
    {
        let path: Vec<Step> = invalid.path.steps().iter().map_while(step).collect();
        let what = format!(
            "the API server would refuse this {}: {invalid}",
            kind.gvk.kind
        );
        let finding = written.error_below(&path, what);
        let missing = invalid
            .what
            .starts_with("Required")
            .then(|| path.last())
            .flatten();
        let finding = match missing {
            Some(Step::Key(name)) => finding.hint(format!(
                "add `{name}: ...` here, or give it a default in the CRD"
            )),
            _ => match Quotes::of(&invalid, &object) {
                Some(quotes) => finding.hint(quotes.hint()),
                None => finding,
            },
        };
        refused.push(Refused {
            path: invalid.path.to_string(),
            finding,
        });
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let dropped = dropped(kind, written, &object);
    Ok(Admitted {
        kind,
        object,
        dropped,
    })
}

fn kind_of<'p>(compiled: &'p Compiled, written: &Part) -> Result<&'p CompiledKind, Refused> {
    let refused = |path: &str, finding: Finding| Refused {
        path: path.to_string(),
        finding,
    };
    for field in ["apiVersion", "kind"] {
        if written
            .value()
            .get(field)
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            let finding = written.error(format!("this is no object: {field} is missing"));
            return Err(refused(
                field,
                finding.hint(format!("write `{field}: ...` as one of the first lines")),
            ));
        }
    }
    let gvk = Gvk::of(written.value());
    if let Some(kind) = gvk.as_ref().and_then(|gvk| compiled.kind(gvk)) {
        return Ok(kind);
    }
    let word = |field: &str| {
        written
            .value()
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    if let Some(known) = compiled.kinds.iter().find(|known| known.gvk.kind == kind) {
        let what = format!("the package has no {kind} of apiVersion {api_version:?}");
        let hint = format!("write `apiVersion: {}`", known.gvk.api_version());
        return Err(refused(
            "apiVersion",
            written.child("apiVersion").error(what).hint(hint),
        ));
    }
    let known: Vec<&str> = compiled
        .kinds
        .iter()
        .map(|known| known.gvk.kind.as_str())
        .collect();
    let finding = written
        .child("kind")
        .error(format!("the package has no kind {kind:?}"));
    Err(refused(
        "kind",
        match nearest(kind, known.iter().copied()) {
            Some(near) => finding.hint(format!("did you mean `{near}`?")),
            None => finding.hint(format!("it has {}", known.join(", "))),
        },
    ))
}

/// The fields that are written but not stored.
fn dropped(kind: &CompiledKind, written: &Part, stored: &Value) -> Vec<Finding> {
    let mut paths = Vec::new();
    missing(written.value(), stored, &mut Vec::new(), &mut paths);
    let finding = |path: &Vec<Step>| {
        let what = format!(
            "`{}` is no field of {}: kubectl refuses it, other clients lose it",
            shown(path),
            kind.gvk.kind
        );
        let finding = written.key_warning_below(path, what);
        match (written.misread(path), suggestion(kind, path)) {
            (Some(key), _) => finding.hint(format!("{}: {}", key.what(), key.hint())),
            (None, Some(near)) => finding.hint(format!("did you mean `{near}`?")),
            (None, None) => finding,
        }
    };
    paths.iter().map(finding).collect()
}

/// The paths of fields that are in `before` but not in `after`.
fn missing(before: &Value, after: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    match (before, after) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                path.push(Step::from(key.as_str()));
                match after.get(key) {
                    Some(after) => missing(value, after, path, found),
                    None if value.is_null() => {}
                    None => found.push(path.clone()),
                }
                path.pop();
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                path.push(Step::from(index));
                missing(item, other, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn step(step: &objects::Step) -> Option<Step> {
    match step {
        objects::Step::Field(name) => Some(Step::from(&**name)),
        objects::Step::Index(index) => Some(Step::from(*index)),
        objects::Step::Each => None,
    }
}

fn shown(path: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
    };
    path.iter().map(step).collect()
}

/// The field that was probably meant.
fn suggestion(kind: &CompiledKind, path: &[Step]) -> Option<String> {
    let step = |step: &Step| match step {
        Step::Key(key) => objects::Step::from(&**key),
        Step::Index(index) => objects::Step::from(*index),
    };
    match kind
        .schema
        .as_ref()?
        .lookup(&path.iter().map(step).collect())
    {
        Lookup::Missing(missing) => missing.suggestion,
        _ => None,
    }
}

/// What is wrong with the name of an instance.
fn misnamed(object: &Value, written: &Part) -> Option<Refused> {
    let path = [Step::from("metadata"), Step::from("name")];
    let refused = |finding| {
        Some(Refused {
            path: "metadata.name".to_string(),
            finding,
        })
    };
    let found = &object["metadata"]["name"];
    if found.is_number() || found.is_boolean() {
        let what = format!("metadata.name has to be a text, but {found} is none");
        return refused(written.error_below(&path, what).hint("write it in quotes"));
    }
    let Some(name) = found.as_str() else {
        let finding = written.error_below(&path, "metadata.name is missing");
        return refused(finding.hint("every object has a name: `metadata: {name: ...}`"));
    };
    let what =
        "lower case letters, digits, '-' and '.', beginning and ending with a letter or digit";
    let what = format!("{name:?} cannot be the name of an object: it consists of {what}");
    if objects::is_subdomain(name) {
        None
    } else {
        refused(written.error_below(&path, what))
    }
}

/// What the API server adds to an object that was just created, where the file does not say.
fn complete(instance: &mut Value, kind: &CompiledKind) {
    if !instance["metadata"].is_object() {
        instance["metadata"] = serde_json::json!({});
    }
    let metadata = &mut instance["metadata"];
    if kind.namespaced && metadata["namespace"].is_null() {
        metadata["namespace"] = "default".into();
    }
    if metadata["uid"].is_null() {
        metadata["uid"] = "00000000-0000-4000-8000-000000000000".into();
    }
    if metadata["creationTimestamp"].is_null() {
        metadata["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    }
    if metadata["generation"].is_null() {
        metadata["generation"] = 1.into();
    }
}
