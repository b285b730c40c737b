//! Children that are there already, as told by a file.

use std::path::Path;

use api::labels::TEMPLATE;
use engine::{CompiledKind, Observed, Severity, Shape};
use objects::Gvk;
use serde_json::Value;

use super::controllers;
use crate::files::located_yaml::Part;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;

/// Reads observed children: objects one after the other, each known by its template label or by
/// being the only child of its kind; or one mapping from template to object.
///
/// Objects of a template that the kind does not have are those of one that left the stack; each is
/// told of.
pub(crate) fn read(
    file: Option<&Path>,
    kind: &CompiledKind,
    instance: &Value,
    printer: &Printer,
) -> Result<Observed, Failure> {
    let Some(file) = file else {
        return Ok(Observed::new());
    };
    let mut observed = Observed::new();
    for document in Part::documents(file)? {
        let failed = |part: &Part, what: String| part.failure(&part.error(what));
        if document.value().is_object() && document.value().get("kind").is_none() {
            for (template, object) in document.entries() {
                if let Some(unknown) = controllers::unknown(&template, &object, kind) {
                    let what = format!(
                        "{}: its objects count as those of one that left the stack",
                        unknown.what
                    );
                    let finding = Finding {
                        severity: Severity::Warning,
                        what,
                        ..unknown
                    };
                    let (finding, snippet) = object.shown(&finding);
                    printer.finding(&finding, snippet.as_deref());
                }
                put(
                    &mut observed,
                    kind,
                    instance,
                    &template,
                    object.value().clone(),
                )
                .map_err(|what| failed(&object, what))?;
            }
            continue;
        }
        let template = template_of(document.value(), kind).map_err(|what| {
            failed(&document, what).hint(format!("label it `{TEMPLATE}: <template>`"))
        })?;
        put(
            &mut observed,
            kind,
            instance,
            &template,
            document.value().clone(),
        )
        .map_err(|what| failed(&document, what))?;
    }
    Ok(observed)
}

fn template_of(object: &Value, kind: &CompiledKind) -> Result<String, String> {
    let label = object["metadata"]["labels"][TEMPLATE].as_str();
    if let Some(template) = label {
        return Ok(template.to_string());
    }
    let Some(gvk) = Gvk::of(object) else {
        return Err("this is no object: apiVersion or kind is missing".to_string());
    };
    let mut same = kind.children.iter().filter(|child| child.gvk == gvk);
    match (same.next(), same.next()) {
        (Some(child), None) => Ok(child.name.clone()),
        (None, _) => Err(format!("no template makes a {gvk}")),
        (Some(one), Some(other)) => {
            Err(format!("both {} and {} make a {gvk}", one.name, other.name))
        }
    }
}

/// Adds a child, as the shape of its template wants it.
pub(crate) fn put(
    observed: &mut Observed,
    kind: &CompiledKind,
    instance: &Value,
    template: &str,
    mut object: Value,
) -> Result<(), String> {
    let is_object = |object: &Value| {
        object.is_object() && (object["metadata"].is_null() || object["metadata"].is_object())
    };
    match &mut object {
        Value::Array(objects) if objects.iter().all(is_object) => {
            objects
                .iter_mut()
                .for_each(|object| settle(object, instance));
        }
        object if is_object(object) => settle(object, instance),
        _ => return Err(format!("what is given for {template} is no object")),
    }
    let collection = kind
        .child(template)
        .is_some_and(|child| child.shape == Shape::Collection);
    match (collection, object) {
        (true, Value::Array(objects)) => {
            observed.insert(template.to_string(), Value::Array(objects));
        }
        (true, object) => match observed
            .entry(template.to_string())
            .or_insert_with(|| Value::Array(Vec::new()))
        {
            Value::Array(objects) => objects.push(object),
            _ => return Err(format!("{template} is a collection")),
        },
        (false, Value::Array(_)) => {
            return Err(format!("{template} makes one object, but a list is given"));
        }
        (false, object) => {
            if observed.insert(template.to_string(), object).is_some() {
                return Err(format!("{template} makes one object, but two are given"));
            }
        }
    }
    Ok(())
}

/// A child that does not say where it is, is where its instance is.
fn settle(object: &mut Value, instance: &Value) {
    let cluster_wide = Gvk::of(object)
        .and_then(|gvk| objects::builtin_kind(&gvk))
        .is_some_and(|known| !known.namespaced);
    let namespace = &instance["metadata"]["namespace"];
    if object.is_object()
        && object["metadata"]["namespace"].is_null()
        && !namespace.is_null()
        && !cluster_wide
    {
        if object["metadata"].is_null() {
            object["metadata"] = serde_json::json!({});
        }
        object["metadata"]["namespace"] = namespace.clone();
    }
}
