//! A new object.

use http::Response;
use serde_json::Value;

use super::{metadata, object, prepare};
use crate::{
    auth,
    body::Body,
    respond,
    serve::Cx,
    status::ApiError,
    store::{Change, CommitError, Entry, Expect, Key},
};

/// How often a generated name is drawn again when it is taken.
const DRAWS: usize = 8;

/// Creates an object, or answers a request that only looks like a creation.
pub(crate) async fn create(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let body = object::read(cx)?;
    if let Some(answer) = auth::answer(cx.inner, cx.user, cx.attributes(), &body).await {
        return respond::value(cx.parts, 201, &answer?);
    }
    if !cx.attributes().subresource.is_empty() || !cx.served.allows("", "get") {
        return Err(ApiError::method_not_allowed());
    }
    if cx.served.custom.as_ref().is_some_and(|custom| custom.terminating) {
        let message = "create not allowed while custom resource definition is terminating";
        return Err(ApiError { message: message.to_owned(), ..ApiError::method_not_allowed() });
    }
    let entry = insert(cx, body).await?;
    respond::object(cx, 201, &entry)
}

/// Writes a new object, for all verbs that create.
pub(crate) async fn insert(cx: &Cx<'_>, body: Value) -> Result<Entry, ApiError> {
    let dry = cx.asked.dry_run();
    let drawn = metadata::text(&body, "name").is_empty();
    for _ in 0..DRAWS {
        let new = prepare::create(cx, body.clone())?;
        let name = metadata::text(&new, "name").to_owned();
        let namespace = if cx.served.namespaced { &*cx.attributes().namespace } else { "" };
        let key = Key::new(&cx.served.table, namespace, &name);
        let taken = || ApiError::already_exists(&cx.served.group, &cx.served.plural, &name);
        if dry {
            return if cx.inner.store.get(&key).is_some() { Err(taken()) } else { Ok(Entry::new(new, 0)) };
        }
        match cx.inner.store.commit(vec![Change { key, expect: Expect::Absent, to: Some(new) }]).await {
            Ok(mut entries) => return entries.pop().ok_or_else(|| ApiError::internal("nothing was written")),
            Err(CommitError::Conflict(_)) if drawn => {}
            Err(CommitError::Conflict(_)) => return Err(taken()),
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
    let prefix = metadata::text(&body, "generateName");
    Err(ApiError::already_exists(&cx.served.group, &cx.served.plural, prefix))
}
