//! A part of an object: JSON patch, merge patch, strategic merge patch, and server-side apply.

use http::{Response, header::CONTENT_TYPE};
use objects::{
    check::{check_converted, check_type},
    patch::{PatchError, json_patch, merge_patch, strategic_merge_patch},
};
use serde_json::Value;

use super::status::{ApiError, Cause};
use super::{Cx, create, respond, scale};
use crate::pipeline::retry_on_conflict::modify;
use crate::pipeline::{body_object, decode, managed_fields, object_meta};
use crate::request::info::Verb;
use crate::storage::{Entry, Key};
use crate::transport::response_body::Body;

/// The kinds of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Kind {
    fn of(media: &str) -> Option<Self> {
        match media {
            "application/json-patch+json" => Some(Self::Json),
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/apply-patch+yaml" => Some(Self::Apply),
            _ => None,
        }
    }
}

fn kind_of(cx: &Cx<'_>) -> Option<Kind> {
    let media = cx
        .parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    Kind::of(media.split(';').next().unwrap_or_default().trim())
}

/// Whether a request is a server-side apply.
pub(crate) fn is_apply(cx: &Cx<'_>) -> bool {
    cx.attributes().verb == Verb::Patch && kind_of(cx) == Some(Kind::Apply)
}

/// Changes a part of an object.
pub(crate) async fn patch(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    let namespace = if cx.served.namespaced {
        &*attributes.namespace
    } else {
        ""
    };
    let key = Key::new(&cx.served.table, namespace, &attributes.name);
    let kind = kind_of(cx)
        .filter(|kind| *kind != Kind::Strategic || cx.served.custom.is_none())
        .ok_or_else(|| {
            let mut offers = vec![
                "application/json-patch+json",
                "application/merge-patch+json",
            ];
            if cx.served.custom.is_none() {
                offers.push("application/strategic-merge-patch+json");
            }
            offers.push("application/apply-patch+yaml");
            if cx.served.custom.is_none() {
                let message = "415: Unsupported Media Type";
                return ApiError {
                    details: Some(Box::default()),
                    ..ApiError::other(415, "UnsupportedMediaType", message)
                };
            }
            ApiError::unsupported_media_type(&offers)
        })?;
    check_kind_options(cx, kind)?;
    if kind == Kind::Apply {
        return apply(cx, &key).await;
    }
    let change = body_object::patch(cx).map_err(|error| {
        let prefix = if kind == Kind::Strategic {
            ""
        } else {
            "error decoding patch: "
        };
        ApiError::bad_request(format!("{prefix}{error}"))
    })?;
    let scaled = attributes.subresource == "scale";
    let entry = modify(cx, &key, |old| {
        let before = if scaled {
            &scale::of(&cx.served, old)?
        } else {
            old
        };
        let mut after = patched(cx, kind, before, &change, scaled)?;
        if scaled {
            return scale::into(&cx.served, old, &after);
        }
        if object_meta::text(&after, "resourceVersion") == object_meta::text(old, "resourceVersion")
            && !says_version(&change)
        {
            // The patch does not say which revision it is for, so any will do.
            object_meta::of(&mut after)?.remove("resourceVersion");
        }
        body_object::check_patched(cx, &after)?;
        match kind {
            Kind::Strategic => decode::patched(cx, &mut after, check_converted, &go_map(&change))?,
            _ => decode::patched(cx, &mut after, check_type, "<object>")?,
        }
        Ok(after)
    })
    .await?;
    answer(cx, 200, &entry)
}

fn answer(cx: &Cx<'_>, code: u16, entry: &Entry) -> Result<Response<Body>, ApiError> {
    if cx.attributes().subresource == "scale" {
        return respond::value(
            cx.parts,
            code,
            &scale::of(&cx.served, &respond::shown(&cx.served, &entry.value()))?,
        );
    }
    respond::object(cx, code, entry)
}

/// Whether a patch itself carries a resource version.
fn says_version(change: &Value) -> bool {
    match change {
        Value::Array(operations) => operations
            .iter()
            .any(|one| one["path"] == "/metadata/resourceVersion"),
        other => other["metadata"].get("resourceVersion").is_some(),
    }
}

fn patched(
    cx: &Cx<'_>,
    kind: Kind,
    before: &Value,
    change: &Value,
    scaled: bool,
) -> Result<Value, ApiError> {
    let result = match kind {
        Kind::Json => json_patch(before, change),
        Kind::Strategic => {
            let shapes = cx
                .served
                .shapes()
                .ok_or_else(|| ApiError::internal("no types are known of this kind"))?;
            let served = &cx.served;
            let shape = if scaled {
                None
            } else {
                shapes.of_kind(&served.group, &served.version, &served.kind)
            };
            match shape {
                Some(shape) => strategic_merge_patch(before, change, shape),
                None => merge_patch(before, change),
            }
        }
        Kind::Merge | Kind::Apply => merge_patch(before, change),
    };
    result.map_err(|error| refused(&error))
}

fn refused(error: &PatchError) -> ApiError {
    let message = error.to_string();
    match error {
        PatchError::BadRequest(_) => ApiError::bad_request(message),
        PatchError::TooLarge(_) => ApiError::other(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: {message}"),
        ),
        PatchError::Unprocessable(_) => ApiError::unprocessable(),
        PatchError::Internal(_) => ApiError::other(500, "", message),
    }
}

/// What may be said about a patch differs with its kind.
fn check_kind_options(cx: &Cx<'_>, kind: Kind) -> Result<(), ApiError> {
    let query = &cx.asked.query;
    let mut causes = Vec::new();
    if kind == Kind::Apply {
        if query.get("fieldManager").is_none() {
            causes.push(Cause::required(
                "fieldManager",
                "is required for apply patch",
            ));
        }
    } else if query.has("force") {
        causes.push(Cause::forbidden(
            "force",
            "may not be specified for non-apply patch",
        ));
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", causes))
    }
}

/// Applies a configuration: merges it into what is there, or creates it.
async fn apply(cx: &Cx<'_>, key: &Key) -> Result<Response<Body>, ApiError> {
    let strict = cx.asked.query.get("fieldValidation") == Some("Strict");
    let config = if strict {
        body_object::strict_yaml(&cx.body)?
    } else {
        body_object::yaml(&cx.body)?
    };
    if !config.is_object() {
        return Err(ApiError::bad_request(
            "the body of the request is not an object",
        ));
    }
    let said = |name: &str| config[name].as_str().unwrap_or_default();
    if said("kind") != cx.served.kind || said("apiVersion").is_empty() {
        let (group, version) = said("apiVersion")
            .rsplit_once('/')
            .unwrap_or(("", said("apiVersion")));
        return Err(ApiError::bad_request(format!(
            "invalid object type: {group}/{version}, Kind={}",
            said("kind")
        )));
    }
    let force = cx.asked.query.flag("force");
    let name = object_meta::text(&config, "name");
    if !name.is_empty() && name != key.name() {
        let message = format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            key.name()
        );
        return Err(ApiError::bad_request(message));
    }
    for _ in 0..2 {
        if cx.inner.store.get(key).is_some() {
            let entry = modify(cx, key, |old| {
                managed_fields::apply(cx, Some(old), &config, force)
            })
            .await?;
            return answer(cx, 200, &entry);
        }
        if !cx.attributes().subresource.is_empty() {
            return Err(cx.not_found(key.name()));
        }
        if !object_meta::text(&config, "uid").is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object_meta::text(&config, "uid")
            );
            return Err(ApiError::conflict(
                &cx.served.group,
                &cx.served.plural,
                key.name(),
                &why,
            ));
        }
        let mut new = managed_fields::apply(cx, None, &config, force)?;
        object_meta::of(&mut new)?.insert("name".to_owned(), key.name().into());
        match create::insert(cx, new).await {
            Ok(entry) => return answer(cx, 201, &entry),
            // Somebody else has created it meanwhile: then it is a change.
            Err(error) if error.reason == "AlreadyExists" => {}
            Err(error) => return Err(error),
        }
    }
    Err(ApiError::modified(
        &cx.served.group,
        &cx.served.plural,
        key.name(),
    ))
}

/// A value as Go prints maps.
fn go_map(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", go_map(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(go_map).collect::<Vec<_>>().join(" ")
        ),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
