//! Many objects: all, or a page of them, as they are or as they were.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Response;
use serde_json::json;

use super::status::{ApiError, Cause};
use super::{Cx, respond};
use crate::pipeline::selection::Selection;
use crate::request::info::QueryPairs;
use crate::storage::{Listing, Query};
use crate::transport::response_body::Body;

/// Shows a list.
pub(crate) async fn list(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let selection = Selection::read(&cx.served, &cx.asked.query, None)?;
    let limit = limit(&cx.asked.query)?;
    let start = Start::read(&cx.asked.query, limit)?;
    let current = cx.inner.store.revision();
    let mut query = Query {
        resource: &cx.served.table,
        namespace: if cx.served.namespaced {
            &cx.attributes().namespace
        } else {
            ""
        },
        limit,
        ..Query::default()
    };
    match &start {
        Start::Now => {}
        Start::NotBefore(revision) | Start::At(revision) | Start::After(revision, _)
            if *revision > current =>
        {
            return Err(ApiError::too_large_version(*revision, current));
        }
        Start::NotBefore(_) => {}
        Start::At(revision) => query.at = Some(*revision),
        Start::After(revision, after) => {
            query.at = Some(*revision);
            query.after = Some(after);
        }
    }
    query.at = cx.stale.or(query.at);
    let listing = cx.inner.store.list(&query, |entry| selection.wants(entry));
    let listing = listing.map_err(|_| match start {
        Start::After(..) => ApiError::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        ),
        _ => ApiError::expired("The resourceVersion for the provided list is too old."),
    })?;
    cx.inner
        .store
        .settled(listing.revision)
        .await
        .map_err(ApiError::internal)?;
    let token = token(&listing);
    respond::list(cx, &listing, token, selection.is_everything())
}

/// Where a list begins, in time and in order.
enum Start {
    Now,
    NotBefore(u64),
    At(u64),
    After(u64, String),
}

impl Start {
    fn read(query: &QueryPairs, limit: usize) -> Result<Self, ApiError> {
        let version = query.get("resourceVersion");
        let matching = query.get("resourceVersionMatch");
        if let Some(token) = query.get("continue") {
            if version.is_some_and(|version| version != "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return read_token(token).map_err(|why| {
                ApiError::bad_request(format!(
                    "invalid continue token: continue key is not valid: {why}"
                ))
            });
        }
        let forbidden = |why: &str| {
            ApiError::invalid(
                "meta.k8s.io",
                "ListOptions",
                "",
                vec![Cause::forbidden("resourceVersionMatch", why)],
            )
        };
        if query.has("sendInitialEvents") {
            let mut causes = Vec::new();
            if version.is_none() && matching.is_some() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                causes.push(Cause::forbidden("resourceVersionMatch", why));
            }
            causes.push(Cause::forbidden(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            ));
            return Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", causes));
        }
        match (version, matching) {
            (None, Some(_)) => Err(forbidden(
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            )),
            (Some("0"), Some("Exact")) => Err(forbidden(
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            )),
            (Some(_), Some(other)) if !matches!(other, "Exact" | "NotOlderThan") => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
                );
                let cause = Cause::new("FieldValueNotSupported", "resourceVersionMatch", message);
                Err(ApiError::invalid(
                    "meta.k8s.io",
                    "ListOptions",
                    "",
                    vec![cause],
                ))
            }
            (None | Some("0"), _) => Ok(Self::Now),
            (Some(version), Some("Exact")) => Ok(Self::At(revision(version)?)),
            (Some(version), None) if limit > 0 => Ok(Self::At(revision(version)?)),
            (Some(version), _) => Ok(Self::NotBefore(revision(version)?)),
        }
    }
}

/// A resource version as the number that it is.
pub(crate) fn revision(text: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        let why =
            format!("Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax");
        ApiError::bad_request(format!("invalid resource version: resourceVersion: {why}"))
    })
}

fn limit(query: &QueryPairs) -> Result<usize, ApiError> {
    let Some(text) = query.get("limit") else {
        return Ok(0);
    };
    text.parse::<i64>()
        .map(|limit| usize::try_from(limit).unwrap_or(0))
        .map_err(|_| {
            ApiError::bad_request(format!(
                "strconv.ParseInt: parsing {text:?}: invalid syntax"
            ))
        })
}

/// What a client sends to get the rest of a list.
fn token(listing: &Listing) -> Option<String> {
    let more = listing.more.as_ref()?;
    let token =
        json!({"v": "meta.k8s.io/v1", "rv": listing.revision, "start": format!("{more}\u{0}")});
    Some(URL_SAFE_NO_PAD.encode(token.to_string()))
}

fn read_token(token: &str) -> Result<Start, String> {
    let bytes = URL_SAFE_NO_PAD
        .decode(token.trim_end_matches('='))
        .map_err(|_| "illegal base64 data".to_owned())?;
    // Bytes are told as Go tells those that are no text.
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let value = crate::codec::json::parse(text.as_bytes()).map_err(|why| match bytes.first() {
        Some(byte) if !byte.is_ascii() => {
            format!("invalid character '\\u{byte:04x}' looking for beginning of value")
        }
        _ => why,
    })?;
    let (value, _) = value;
    if value["v"] != "meta.k8s.io/v1" {
        return Err("server does not recognize this encoded version".to_owned());
    }
    let after = value["start"]
        .as_str()
        .unwrap_or_default()
        .trim_end_matches('\u{0}')
        .to_owned();
    let revision = value["rv"].as_u64().filter(|revision| *revision > 0);
    revision
        .map(|revision| Start::After(revision, after))
        .ok_or_else(|| "incorrect encoded start resourceVersion".to_owned())
}
