//! The part of an object that the server itself looks after.

use objects::name::{NameRule, generate_name, object_meta_causes, object_meta_update_causes};
use serde_json::{Map, Value, json};

use crate::handlers::Cx;
use crate::handlers::status::{ApiError, Cause};
use crate::registry::strategy;
use crate::request::info::Verb;
use crate::{clock, random};

/// The metadata of an object, as a map.
pub(crate) fn of(object: &mut Value) -> Result<&mut Map<String, Value>, ApiError> {
    let Some(fields) = object.as_object_mut() else {
        return Err(ApiError::bad_request("not an object"));
    };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata
        .as_object_mut()
        .ok_or_else(|| ApiError::bad_request("metadata is not an object"))
}

/// A text of the metadata; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

/// Fills in what a new object gets from the server, and checks what the client may not say.
pub(crate) fn begin(cx: &Cx<'_>, object: &mut Value) -> Result<String, ApiError> {
    let (served, namespace) = (&cx.served, &cx.attributes().namespace);
    let metadata = of(object)?;
    place(served.namespaced, namespace, metadata)?;
    let generate = metadata
        .get("generateName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut name = metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if name.is_empty() && !generate.is_empty() {
        name = generate_name(&generate, random::number());
        metadata.insert("name".to_owned(), name.as_str().into());
    }
    let said = metadata
        .get("resourceVersion")
        .and_then(Value::as_str)
        .is_some_and(|version| !version.is_empty());
    if said && !crate::handlers::patch::is_apply(cx) {
        return Err(ApiError::other(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
        ));
    }
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), random::uuid().into());
    metadata.insert("creationTimestamp".to_owned(), clock::now().into());
    if strategy::counts_generations(served) {
        metadata.insert("generation".to_owned(), 1.into());
    }
    Ok(name)
}

/// Checks that the namespace of an object is that of the path, or fills it in.
fn place(
    namespaced: bool,
    namespace: &str,
    metadata: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    if !namespaced {
        metadata.remove("namespace");
        return Ok(());
    }
    let own = metadata
        .get("namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if own.is_empty() {
        metadata.insert("namespace".to_owned(), namespace.into());
    } else if own != namespace {
        let message =
            "the namespace of the provided object does not match the namespace sent on the request";
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// Gives a changed object what the server looks after, and checks what has to stay.
pub(crate) fn carry_over(cx: &Cx<'_>, old: &Value, new: &mut Value) -> Result<(), ApiError> {
    let served = &cx.served;
    let name = text(old, "name").to_owned();
    let metadata = of(new)?;
    place(served.namespaced, &cx.attributes().namespace, metadata)?;
    match metadata
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "" => drop(metadata.insert("name".to_owned(), name.as_str().into())),
        own if own != name => {
            let message = format!(
                "the name of the object ({own}) does not match the name on the URL ({name})"
            );
            return Err(ApiError::bad_request(message));
        }
        _ => {}
    }
    let uid = metadata
        .get("uid")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let meant = uid.is_empty() || uid == text(old, "uid");
    if !meant && cx.attributes().verb == Verb::Update {
        let place = if served.custom.is_some() {
            format!("{}/{}", served.group, served.plural)
        } else {
            served.plural.clone()
        };
        let namespace = if served.namespaced {
            format!("/{}", cx.attributes().namespace)
        } else {
            String::new()
        };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{place}{namespace}/{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            text(old, "uid")
        );
        return Err(ApiError::conflict(
            &served.group,
            &served.plural,
            &name,
            &why,
        ));
    }
    metadata.remove("selfLink");
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
    ] {
        match old["metadata"].get(field) {
            // A patch that changes it is refused later, in other words.
            Some(_) if field == "uid" && !meant => {}
            Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
            None => drop(metadata.remove(field)),
        }
    }
    Ok(())
}

/// Everything that is wrong with the metadata of an object.
pub(crate) fn faults(cx: &Cx<'_>, old: Option<&Value>, object: &Value) -> Vec<Cause> {
    let faults = match old {
        None => object_meta_causes(object, cx.served.namespaced, rule(&cx.served.table)),
        Some(old) => object_meta_update_causes(object, old),
    };
    let mut faults: Vec<Cause> = faults.into_iter().map(Cause::from).collect();
    let generate = text(object, "generateName");
    if old.is_none() && !generate.is_empty() {
        // What ends in a dash is fine once more letters follow.
        let begin = generate
            .strip_suffix('-')
            .map_or_else(|| generate.to_owned(), |begin| format!("{begin}a"));
        for why in rule(&cx.served.table).errors(&begin) {
            faults.insert(
                0,
                Cause::invalid("metadata.generateName", &generate.into(), &why),
            );
        }
    }
    faults
}

/// Leaves out lists and maps that have nothing in them.
pub(crate) fn tidy(object: &mut Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        let empty = metadata.get(field).is_some_and(|value| match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            other => other.is_null(),
        });
        if empty {
            metadata.remove(field);
        }
    }
}

/// What the names of a table look like.
fn rule(table: &str) -> NameRule {
    match table {
        "namespaces" => NameRule::Label,
        "services" => NameRule::Label,
        _ if table.ends_with(".rbac.authorization.k8s.io") => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}
