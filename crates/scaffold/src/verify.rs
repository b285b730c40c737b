//! Whether a stack that was made from manifests makes what they were: it is compiled, its instance
//! rendered, and every object compared.

use std::collections::BTreeMap;

use package::Files;
use serde_json::{Value, json};

use crate::kinds::secret;
use crate::manifests::split::Piece;
use engine::{Context, Observed, Plan, Problem, Seed, Severity, Stack, compile, plan};

/// Templates whose objects are not what they were made from, with what is wrong; an empty name is
/// the stack itself.
pub(super) fn differing(
    files: &Files,
    instance: &str,
    expected: &BTreeMap<String, &Piece>,
) -> Vec<(String, String)> {
    let plan = match planned(files, instance, None) {
        Ok(plan) => plan,
        Err(faults) => return faults,
    };
    let mut differing: Vec<(String, String)> = Vec::new();
    for (name, piece) in expected {
        let problem = plan
            .problems
            .iter()
            .find(|problem| problem.template == *name);
        let made = plan.applies.iter().find(|apply| apply.template == *name);
        match (problem, made) {
            (Some(problem), _) => differing.push((name.clone(), problem.problem.what.clone())),
            (None, None) => differing.push((name.clone(), "it makes nothing".to_string())),
            (None, Some(apply))
                if stripped(&apply.object, piece) != stripped(&piece.value, piece) =>
            {
                differing.push((name.clone(), "it makes something else".to_string()));
            }
            _ => {}
        }
    }
    differing
}

/// What an instance of another name in another namespace makes, by template.
pub(super) fn others(files: &Files, instance: &str, name: &str) -> BTreeMap<String, Value> {
    let plan = planned(files, instance, Some(name));
    let applies = plan.map(|plan| plan.applies).unwrap_or_default();
    applies
        .into_iter()
        .map(|apply| (apply.template, apply.object))
        .collect()
}

/// The plan for an instance, perhaps under another name, or what is wrong and in which template.
fn planned(
    files: &Files,
    instance: &str,
    name: Option<&str>,
) -> Result<Plan, Vec<(String, String)>> {
    let whole = |what: String| vec![(String::new(), what)];
    let (package, problems) = package::read(files);
    if let Some(problem) = problems
        .iter()
        .find(|problem| problem.severity == package::Severity::Error)
    {
        return Err(whole(problem.to_string()));
    }
    let (compiled, problems) = compile(&Stack::of(&package, "new", "default"));
    let Some(compiled) = compiled else {
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let of = |problem: &Problem| {
            let file = problem
                .place
                .as_ref()
                .map(|place| place.short().file)
                .unwrap_or_default();
            (
                file.strip_suffix(".yaml").unwrap_or_default().to_string(),
                problem.what.clone(),
            )
        };
        return Err(errors.map(of).collect());
    };
    let kind = compiled
        .kinds
        .first()
        .ok_or_else(|| whole("it has no kind".to_string()))?;
    let mut instance =
        yaml::parse(instance).map_err(|_| whole("its instance is not YAML".to_string()))?;
    instance["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    if let Some(name) = name {
        instance["metadata"]["name"] = json!(name);
        instance["metadata"]["namespace"] = json!("elsewhere");
    }
    if let Some(refused) = kind
        .schema
        .as_ref()
        .and_then(|schema| schema.admit(&mut instance).into_iter().next())
    {
        return Err(whole(format!("its instance is refused: {refused}")));
    }
    let seed = Seed::new(b"a new stack");
    let context = Context::new("new", &seed);
    Ok(plan(kind, &instance, &Observed::new(), &context))
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
        metadata.retain(|key, value| {
            key != "labels" || value.as_object().is_some_and(|labels| !labels.is_empty())
        });
    }
    if secret::is_secret(piece) {
        object["data"] = json!(secret::keys(&object));
    }
    object
}
