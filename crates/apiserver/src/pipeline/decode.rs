//! Types and unknown fields of what clients send: what does not fit is refused, what is not known
//! is dropped, and the client is told of it as it wished.

use std::sync::{Arc, LazyLock};

use objects::{
    check::{check_converted, check_type, decode_error, strict_error, strict_fields},
    shape::{Shape, Shapes},
};
use serde_json::Value;

use super::body_object::Text;
use super::{embedded, object_meta};
use crate::codec::protobuf;
use crate::defaults;
use crate::handlers::Cx;
use crate::handlers::status::{ApiError, Cause};
use crate::registry::builtin_shapes;

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
        causes.push(Cause::unsupported(
            "dryRun",
            &serde_json::json!(dry),
            &["All"],
        ));
    }
    if let Some(manager) = query.get("fieldManager") {
        if manager.len() > 128 {
            causes.push(Cause::new(
                "FieldValueTooLong",
                "fieldManager",
                "Too long: may not be more than 128 bytes",
            ));
        } else if let Some(index) = manager.chars().position(char::is_control) {
            let why = format!(
                "Invalid value: {manager:?}: should only contain printable characters: character {index}"
            );
            causes.push(Cause::new("FieldValueInvalid", "fieldManager", why));
        }
    }
    if validation(cx).is_none() {
        let asked = query.get("fieldValidation").unwrap_or_default();
        causes.push(Cause::unsupported(
            "fieldValidation",
            &asked.into(),
            &["", "Ignore", "Strict", "Warn"],
        ));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", options(cx), "", causes))
    }
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
    fit(cx, object, check_type, text.twice, || {
        text.json(cx).into_owned()
    })
    .map_err(|misfit| match misfit {
        Misfit::Type(error) | Misfit::Strict(error) => {
            ApiError::bad_request(decode_error(kind, &cx.served.version, &error))
        }
    })
}

/// Decodes what a patch makes of an object. `shown` is how messages show the patch.
pub(crate) fn patched(
    cx: &Cx<'_>,
    object: &mut Value,
    check: Check,
    shown: &str,
) -> Result<(), ApiError> {
    let text = object.to_string();
    fit(cx, object, check, false, || text).map_err(|misfit| match misfit {
        Misfit::Type(error) | Misfit::Strict(error) => {
            let message = format!("Invalid value: {shown:?}: {error}");
            ApiError::invalid(
                "",
                "",
                "",
                vec![Cause::new("FieldValueInvalid", "patch", message)],
            )
        }
    })
}

/// Decodes what server-side apply makes of an object. What is not known has been refused before,
/// and nothing of a custom kind is decoded: what does not fit its metadata is dropped.
pub(crate) fn applied(cx: &Cx<'_>, config: &Value, object: &mut Value) -> Result<(), ApiError> {
    let served = &cx.served;
    let Some(shapes) = shapes(cx).filter(|_| served.custom.is_none()) else {
        return Ok(());
    };
    decoded(cx, &shapes, check_converted, object).map(drop).map_err(|error| {
        let (namespace, name) = (object_meta::text(config, "namespace"), object_meta::text(config, "name"));
        let kind = format!("{}/{}, Kind={}", served.group, served.version, served.kind);
        let message = format!(
            "failed to convert new object ({namespace}/{name}; {kind}) to proper version: unable to convert unstructured object to {kind}: {error}"
        );
        ApiError::other(500, "", message)
    })
}

/// How it is found out whether a value is of its type.
pub(crate) type Check = fn(Shape<'_>, &Value) -> Result<(), String>;

/// Checks types, drops what is not known, and warns or fails because of it.
fn fit(
    cx: &Cx<'_>,
    object: &mut Value,
    check: Check,
    twice: bool,
    text: impl FnOnce() -> String,
) -> Result<(), Misfit> {
    let served = &cx.served;
    let Some(shapes) = shapes(cx) else {
        return Ok(());
    };
    let Some((shape, dropped)) = decoded(cx, &shapes, check, object).map_err(Misfit::Type)? else {
        return Ok(());
    };
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

/// The types of what a request writes; none where nothing is known of them.
fn shapes(cx: &Cx<'_>) -> Option<Arc<Shapes>> {
    let sub = cx.served.subresource(&cx.attributes().subresource);
    cx.served
        .shapes()
        .filter(|_| sub.is_none_or(|sub| sub.group_version.is_none()))
}

/// Checks types and drops what is not known, as every write does: the type of the whole, and
/// whether a field was dropped. None if the kind has no type.
fn decoded<'s>(
    cx: &Cx<'_>,
    shapes: &'s Shapes,
    check: Check,
    object: &mut Value,
) -> Result<Option<(Shape<'s>, bool)>, String> {
    let served = &cx.served;
    let Some(custom) = &served.custom else {
        let kind = served
            .subresource(&cx.attributes().subresource)
            .map_or(&served.kind, |sub| &sub.kind);
        let Some(shape) = shapes.of_kind(&served.group, &served.version, kind) else {
            return Ok(None);
        };
        check(shape, object)?;
        let dropped = defaults::decode::decode(shape, object);
        protobuf::tidy(&served.api_version(), kind, object);
        return Ok(Some((shape, dropped)));
    };
    if let Some(meta) = meta_shape() {
        check_type(
            meta_of(&meta),
            object.get("metadata").unwrap_or(&Value::Null),
        )?;
    }
    let before = fields(object);
    custom.schema.prune(object);
    if let (Some(meta), Some(own)) = (meta_shape(), object.get_mut("metadata")) {
        defaults::decode::decode(meta_of(&meta), own);
        embedded::decode(&custom.schema, object, meta_of(&meta));
    }
    Ok(Some((shapes.root(), fields(object) != before)))
}

/// The fields that have been dropped, by their paths; those that said nothing are not missed.
fn gone(before: &Value, after: &Value, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
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
        Value::Object(fields_here) => {
            fields_here.len() + fields_here.values().map(fields).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(fields).sum(),
        _ => 0,
    }
}

/// The types of a small group, which has the type of metadata as all have.
fn meta_shape() -> Option<Arc<Shapes>> {
    static META: LazyLock<Option<Arc<Shapes>>> =
        LazyLock::new(|| builtin_shapes("coordination.k8s.io", "v1"));
    META.clone()
}

fn meta_of(shapes: &Shapes) -> Shape<'_> {
    shapes
        .definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
        .unwrap_or_else(|| shapes.root())
}
