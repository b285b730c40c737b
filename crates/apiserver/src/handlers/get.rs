//! One object.

use http::Response;

use super::status::ApiError;
use super::{Cx, respond};
use crate::storage::{Entry, Key, Query};
use crate::transport::response_body::Body;

/// Shows one object, or its scale.
pub(crate) async fn get(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    let namespace = if cx.served.namespaced {
        &*attributes.namespace
    } else {
        ""
    };
    let key = Key::new(&cx.served.table, namespace, &attributes.name);
    if let Some(version) = cx.asked.query.get("resourceVersion") {
        let (asked, current) = (super::list::revision(version)?, cx.inner.store.revision());
        if asked > current {
            return Err(ApiError::too_large_version(asked, current));
        }
    }
    let entry = find(cx, &key)?.ok_or_else(|| cx.not_found(&attributes.name))?;
    cx.inner
        .store
        .settled(entry.revision)
        .await
        .map_err(ApiError::internal)?;
    match &*attributes.subresource {
        "" | "status" => respond::object(cx, 200, &entry),
        "scale" => respond::value(
            cx.parts,
            200,
            &super::scale::of(&cx.served, &respond::shown(&cx.served, &entry.value()))?,
        ),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// The object as it is, or as it was if a test wants the past.
fn find(cx: &Cx<'_>, key: &Key) -> Result<Option<Entry>, ApiError> {
    let Some(revision) = cx.stale else {
        return Ok(cx.inner.store.get(key));
    };
    let query = Query {
        resource: &key.resource,
        namespace: key.namespace(),
        at: Some(revision),
        ..Query::default()
    };
    let then = cx.inner.store.list(&query, |entry| {
        entry.head()["metadata"]["name"] == key.name()
    });
    Ok(then
        .map_err(|gone| ApiError::expired(gone.to_string()))?
        .entries
        .pop())
}
