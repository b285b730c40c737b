//! Whether a stack that was made from manifests makes what they were: it is compiled, its instance rendered, and every
//! object compared.

use std::collections::BTreeMap;

use package::Files;
use serde_json::{Value, json};

use super::piece::Piece;
use super::secret;
use crate::problem::{Problem, Severity};
use crate::{Context, Observed, Seed, Stack, compile, plan};

/// Templates whose objects are not what they were made from, with what is wrong; an empty name is the stack itself.
pub(super) fn differing(files: &Files, instance: &str, expected: &BTreeMap<String, &Piece>) -> Vec<(String, String)> {
    let whole = |what: String| vec![(String::new(), what)];
    let (package, problems) = package::read(files);
    if let Some(problem) = problems.iter().find(|problem| problem.severity == package::Severity::Error) {
        return whole(problem.to_string());
    }
    let (compiled, problems) = compile(&Stack::of(&package, "new", "default"));
    let Some(compiled) = compiled else {
        let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
        let of = |problem: &Problem| {
            let file = problem.place.as_ref().map(|place| place.short().file).unwrap_or_default();
            (file.strip_suffix(".yaml").unwrap_or_default().to_string(), problem.what.clone())
        };
        return errors.map(of).collect();
    };
    let Some(kind) = compiled.kinds.first() else {
        return whole("it has no kind".to_string());
    };
    let Ok(mut instance) = yaml::parse(instance) else {
        return whole("its instance is not YAML".to_string());
    };
    instance["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    if let Some(refused) = kind.schema.as_ref().and_then(|schema| schema.admit(&mut instance).into_iter().next()) {
        return whole(format!("its instance is refused: {refused}"));
    }
    let seed = Seed::new(b"a new stack");
    let context = Context { stack: "new", seed: &seed, limits: gotpl::Limits::default() };
    let plan = plan(kind, &instance, &Observed::new(), &context);
    let mut differing: Vec<(String, String)> = Vec::new();
    for (name, piece) in expected {
        let problem = plan.problems.iter().find(|problem| problem.template == *name);
        let made = plan.applies.iter().find(|apply| apply.template == *name);
        match (problem, made) {
            (Some(problem), _) => differing.push((name.clone(), problem.problem.what.clone())),
            (None, None) => differing.push((name.clone(), "it makes nothing".to_string())),
            (None, Some(apply)) if stripped(&apply.object, piece) != stripped(&piece.value, piece) => {
                differing.push((name.clone(), "it makes something else".to_string()));
            }
            _ => {}
        }
    }
    differing
}

/// An object without what the engine adds to it, and without drawn values.
fn stripped(object: &Value, piece: &Piece) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("ownerReferences");
        metadata.remove("namespace");
        if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            labels.remove(api::labels::STACK);
            labels.remove(api::labels::TEMPLATE);
        }
        metadata.retain(|key, value| key != "labels" || value.as_object().is_some_and(|labels| !labels.is_empty()));
    }
    if secret::is_secret(piece) {
        object["data"] = json!(secret::keys(&object));
    }
    object
}
