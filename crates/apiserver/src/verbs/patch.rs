//! A part of an object.

use http::{Response, header::CONTENT_TYPE};
use serde_json::Value;

use super::{metadata, modify::modify, object, scale};
use crate::{body::Body, respond, serve::Cx, status::ApiError, store::Key};

/// Changes a part of an object.
pub(crate) async fn patch(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    let namespace = if cx.served.namespaced { &*attributes.namespace } else { "" };
    let key = Key::new(&cx.served.table, namespace, &attributes.name);
    let kind = cx.parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let change: Value = match kind.split(';').next().unwrap_or_default().trim() {
        "application/merge-patch+json" => object::json(&cx.body)?,
        _ => {
            return Err(ApiError::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]));
        }
    };
    let scaled = attributes.subresource == "scale";
    let entry = modify(cx, &key, |old| {
        let mut new = if scaled { scale::of(&cx.served, old)? } else { old.clone() };
        merge(&mut new, &change);
        if scaled { scale::into(&cx.served, old, &new) } else { Ok(new) }
    })
    .await?;
    debug_assert!(!metadata::text(&entry.value, "name").is_empty());
    if scaled {
        return respond::value(cx.parts, 200, &scale::of(&cx.served, &respond::shown(&cx.served, &entry.value))?);
    }
    respond::object(cx, 200, &entry)
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Some(own) = target.as_object_mut() else { return };
    for (name, value) in fields {
        if value.is_null() {
            own.remove(name);
        } else {
            merge(own.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
