//! Answers from objects: as they are stored where that is what was asked for, else turned into the
//! wanted form.

use std::collections::VecDeque;

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONTENT_TYPE, USER_AGENT},
    request::Parts,
};
use serde_json::{Value, json};

use super::Cx;
use super::status::ApiError;
use crate::printers;
use crate::registry::Served;
use crate::request::negotiation::{As, Form};
use crate::storage::{Entry, Listing};
use crate::transport::response_body::Body;

/// How much of a list is put together at once.
const CHUNK: usize = 256 << 10;

/// An answer that is no object of the store.
pub(crate) fn value(parts: &Parts, code: u16, value: &Value) -> Result<Response<Body>, ApiError> {
    let form = Form::wanted(&parts.headers)?;
    Ok(text(parts, code, form, value))
}

/// One object.
pub(crate) fn object(cx: &Cx<'_>, code: u16, entry: &Entry) -> Result<Response<Body>, ApiError> {
    let form = Form::wanted(&cx.parts.headers)?;
    if form == Form::WHOLE && !pretty(cx.parts) && is_stored_form(&cx.served) {
        return Ok(json_bytes(code, Body::full(entry.bytes.clone())));
    }
    let object = shown(&cx.served, &entry.value());
    let value = match form.what {
        As::Whole | As::Discovery => object,
        As::Metadata => metadata(&object),
        As::Table => printers::table(
            &cx.served,
            std::slice::from_ref(&object),
            &object["metadata"],
            printers::Include::read(cx.asked.query.get("includeObject"))?,
        ),
    };
    Ok(text(cx.parts, code, form, &value))
}

/// A list of objects.
pub(crate) fn list(
    cx: &Cx<'_>,
    listing: &Listing,
    token: Option<String>,
    counted: bool,
) -> Result<Response<Body>, ApiError> {
    let form = Form::wanted(&cx.parts.headers)?;
    let mut meta = json!({"resourceVersion": listing.revision.to_string()});
    if let Some(token) = token {
        meta["continue"] = token.into();
        if counted {
            meta["remainingItemCount"] = listing.remaining.into();
        }
    }
    let (kind, version) = (&cx.served.list_kind, cx.served.api_version());
    if form == Form::WHOLE && !pretty(cx.parts) && is_stored_form(&cx.served) {
        let head = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{meta},\"items\":[",
            json!(kind),
            json!(version)
        );
        return Ok(json_bytes(
            200,
            Body::pieces(spliced(head, &listing.entries, cx.served.custom.is_some())),
        ));
    }
    let items: Vec<Value> = listing
        .entries
        .iter()
        .map(|entry| shown(&cx.served, &entry.value()))
        .collect();
    let value = match form.what {
        As::Whole | As::Discovery => {
            json!({"kind": kind, "apiVersion": version, "metadata": meta, "items": items})
        }
        As::Metadata => {
            let items: Vec<Value> = items.iter().map(metadata).collect();
            json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": items})
        }
        As::Table => {
            let include = printers::Include::read(cx.asked.query.get("includeObject"))?;
            printers::table(&cx.served, &items, &meta, include)
        }
    };
    Ok(text(cx.parts, 200, form, &value))
}

/// The stored bytes of a list, in pieces of a bounded size. Typed lists say the kind once, others
/// in every item.
fn spliced(head: String, entries: &[Entry], typed: bool) -> VecDeque<Bytes> {
    let mut pieces = VecDeque::new();
    let mut piece = head.into_bytes();
    for (index, entry) in entries.iter().enumerate() {
        if piece.len() + entry.bytes.len() > CHUNK {
            pieces.push_back(std::mem::take(&mut piece).into());
        }
        if index > 0 {
            piece.push(b',');
        }
        if typed {
            piece.extend_from_slice(&entry.bytes);
        } else {
            piece.push(b'{');
            piece.extend_from_slice(entry.bytes.get(entry.typed..).unwrap_or_default());
        }
    }
    piece.extend_from_slice(b"]}\n");
    pieces.push_back(piece.into());
    pieces
}

/// An object in the version that is served.
pub(crate) fn shown(served: &Served, object: &Value) -> Value {
    let mut object = object.clone();
    if !is_stored_form(served) {
        crate::registry::convert(&mut object, served);
    }
    object
}

/// Whether objects are served as they are stored.
pub(crate) fn is_stored_form(served: &Served) -> bool {
    served.is_stored
}

/// An object's metadata alone.
pub(crate) fn metadata(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn text(parts: &Parts, code: u16, form: Form, value: &Value) -> Response<Body> {
    if form.yaml {
        let mut response = json_bytes(code, Body::full(yaml::emit(value).unwrap_or_default()));
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/yaml"));
        return response;
    }
    let bytes = if pretty(parts) {
        serde_json::to_vec_pretty(value)
    } else {
        serde_json::to_vec(value)
    };
    json_bytes(code, Body::full(bytes.unwrap_or_default()))
}

pub(crate) fn json_bytes(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Whether a person is going to read it.
fn pretty(parts: &Parts) -> bool {
    let asked = parts
        .uri
        .query()
        .filter(|query| query.contains("pretty"))
        .map(|query| {
            let query = crate::request::info::QueryPairs::parse(query);
            query.has("pretty").then(|| query.flag("pretty"))
        });
    match asked.flatten() {
        Some(asked) => asked,
        None => {
            let agent = parts
                .headers
                .get(USER_AGENT)
                .and_then(|agent| agent.to_str().ok())
                .unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|known| agent.starts_with(known))
        }
    }
}
