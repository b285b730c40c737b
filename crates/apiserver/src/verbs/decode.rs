//! Types and unknown fields of what clients send: what does not fit is refused, what is not known is dropped, and the
//! client is told of it as it wished.

use std::sync::{Arc, LazyLock};

use objects::{
    check::{check_type, decode_error, strict_error, strict_fields},
    shape::{Shape, Shapes},
};
use serde_json::Value;

use super::{embedded, object::Text};
use crate::{
    builtin,
    kinds::builtin_shapes,
    serve::Cx,
    status::{ApiError, Cause},
    wire,
};

/// What becomes of fields that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    Ignore,
    Warn,
    Strict,
}

/// The name of the options of a request, as messages have it.
pub(crate) fn options(cx: &Cx<'_>) -> &'static str {
    match cx.attributes().verb.as_str() {
        "create" => "CreateOptions",
        "update" => "UpdateOptions",
        "patch" => "PatchOptions",
        _ => "DeleteOptions",
    }
}

/// Checks the options that all writes have.
pub(crate) fn check_options(cx: &Cx<'_>) -> Result<(), ApiError> {
    let query = &cx.asked.query;
    let mut causes = Vec::new();
    let dry: Vec<&str> = query.all("dryRun").collect();
    if dry.iter().any(|value| *value != "All") {
        causes.push(Cause::unsupported("dryRun", &serde_json::json!(dry), &["All"]));
    }
    if let Some(manager) = query.get("fieldManager") {
        if manager.len() > 128 {
            causes.push(Cause::new("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"));
        } else if let Some(index) = manager.chars().position(char::is_control) {
            let why =
                format!("Invalid value: {manager:?}: should only contain printable characters: character {index}");
            causes.push(Cause::new("FieldValueInvalid", "fieldManager", why));
        }
    }
    if validation(cx).is_none() {
        let asked = query.get("fieldValidation").unwrap_or_default();
        causes.push(Cause::unsupported("fieldValidation", &asked.into(), &["", "Ignore", "Strict", "Warn"]));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", options(cx), "", causes)) }
}

fn validation(cx: &Cx<'_>) -> Option<Validation> {
    match cx.asked.query.get("fieldValidation") {
        None | Some("Warn") => Some(Validation::Warn),
        Some("Ignore") => Some(Validation::Ignore),
        Some("Strict") => Some(Validation::Strict),
        Some(_) => None,
    }
}

/// Why something cannot be decoded.
pub(crate) enum Misfit {
    /// A value is not of its type.
    Type(String),
    /// Fields are not known, or there twice.
    Strict(String),
}

/// Decodes the object of a creation or an update.
pub(crate) fn object(cx: &Cx<'_>, text: &Text, object: &mut Value) -> Result<(), ApiError> {
    let kind = cx.served.kind.as_str();
    fit(cx, object, text.twice, || text.json(cx).into_owned()).map_err(|misfit| match misfit {
        Misfit::Type(error) | Misfit::Strict(error) => {
            ApiError::bad_request(decode_error(kind, &cx.served.version, &error))
        }
    })
}

/// Decodes what a patch makes of an object. `shown` is how messages show the patch.
pub(crate) fn patched(cx: &Cx<'_>, object: &mut Value, shown: &str) -> Result<(), ApiError> {
    let text = object.to_string();
    fit(cx, object, false, || text).map_err(|misfit| match misfit {
        Misfit::Type(error) | Misfit::Strict(error) => {
            let message = format!("Invalid value: {shown:?}: {error}");
            ApiError::invalid("", "", "", vec![Cause::new("FieldValueInvalid", "patch", message)])
        }
    })
}

/// Checks types, drops what is not known, and warns or fails because of it.
fn fit(cx: &Cx<'_>, object: &mut Value, twice: bool, text: impl FnOnce() -> String) -> Result<(), Misfit> {
    let served = &cx.served;
    let sub = served.subresource(&cx.attributes().subresource);
    let own = sub.is_some_and(|sub| sub.group_version.is_some());
    let kind = sub.map_or(&served.kind, |sub| &sub.kind);
    let Some(shapes) = served.shapes().filter(|_| !own) else { return Ok(()) };
    let dropped;
    let shape: Shape<'_>;
    match &served.custom {
        Some(custom) => {
            shape = shapes.root();
            if let Some(meta) = meta_shape() {
                check_type(meta_of(&meta), object.get("metadata").unwrap_or(&Value::Null)).map_err(Misfit::Type)?;
            }
            let before = fields(object);
            custom.schema.prune(object);
            if let (Some(meta), Some(own)) = (meta_shape(), object.get_mut("metadata")) {
                builtin::decode::decode(meta_of(&meta), own);
                embedded::decode(&custom.schema, object, meta_of(&meta));
            }
            dropped = fields(object) != before;
        }
        None => {
            let Some(found) = shapes.of_kind(&served.group, &served.version, kind) else { return Ok(()) };
            shape = found;
            check_type(shape, object).map_err(Misfit::Type)?;
            dropped = builtin::decode::decode(shape, object);
            wire::tidy(&served.api_version(), kind, object);
        }
    }
    let mode = validation(cx).unwrap_or(Validation::Warn);
    if !(dropped || twice) || mode == Validation::Ignore {
        return Ok(());
    }
    let whole = text();
    let mut found = strict_fields(&whole, shape);
    if served.custom.is_some() {
        // Which fields are kept is up to the schema; its types only know which are there twice.
        found.retain(|one| !one.starts_with("unknown "));
        let before = serde_json::from_str(&whole).unwrap_or(Value::Null);
        gone(&before, object, "", &mut found);
        found.sort();
    }
    if found.is_empty() {
        return Ok(());
    }
    if mode == Validation::Strict {
        return Err(Misfit::Strict(strict_error(&found)));
    }
    for one in found {
        cx.warn(one);
    }
    Ok(())
}

/// The fields that have been dropped, by their paths; those that said nothing are not missed.
fn gone(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match after.get(name) {
                    Some(kept) => gone(value, kept, &path, found),
                    None if value.is_null() => {}
                    None => found.push(format!("unknown field {path:?}")),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                gone(before, after, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// How many fields there are, at all depths.
fn fields(value: &Value) -> usize {
    match value {
        Value::Object(fields_here) => fields_here.len() + fields_here.values().map(fields).sum::<usize>(),
        Value::Array(items) => items.iter().map(fields).sum(),
        _ => 0,
    }
}

/// The types of a small group, which has the type of metadata as all have.
fn meta_shape() -> Option<Arc<Shapes>> {
    static META: LazyLock<Option<Arc<Shapes>>> = LazyLock::new(|| builtin_shapes("coordination.k8s.io", "v1"));
    META.clone()
}

fn meta_of(shapes: &Shapes) -> Shape<'_> {
    shapes.definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta").unwrap_or_else(|| shapes.root())
}
