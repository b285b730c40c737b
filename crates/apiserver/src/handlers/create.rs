//! A new object.

use http::Response;
use serde_json::{Value, json};

use super::status::ApiError;
use super::{Cx, respond};
use crate::authn;
use crate::pipeline::retry_on_conflict::modify;
use crate::pipeline::{body_object, object_meta, prepare};
use crate::storage::{Change, CommitError, Entry, Expect, Key};
use crate::transport::response_body::Body;

/// How often a generated name is drawn again when it is taken.
const DRAWS: usize = 8;

/// Creates an object, or answers a request that only looks like a creation.
pub(crate) async fn create(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let body = body_object::read(cx)?;
    if let Some(answer) = authn::answer(cx.inner, cx.user, cx.attributes(), &body).await {
        return respond::value(cx.parts, 201, &answer?);
    }
    if cx.served.table.as_ref() == "pods"
        && matches!(&*cx.attributes().subresource, "binding" | "eviction")
    {
        return pod_subresource(cx, &body).await;
    }
    if !cx.attributes().subresource.is_empty() || !cx.served.allows("", "get") {
        return Err(ApiError::method_not_allowed());
    }
    if cx
        .served
        .custom
        .as_ref()
        .is_some_and(|custom| custom.terminating)
    {
        let why = "create not allowed while custom resource definition is terminating";
        let name = object_meta::text(&body, "name");
        return Err(ApiError::forbidden(
            &cx.served.group,
            &cx.served.plural,
            name,
            why,
        ));
    }
    let entry = insert(cx, body).await?;
    respond::object(cx, 201, &entry)
}

/// Writes a new object, for all verbs that create.
pub(crate) async fn insert(cx: &Cx<'_>, mut body: Value) -> Result<Entry, ApiError> {
    let dry = cx.asked.dry_run();
    let drawn = object_meta::text(&body, "name").is_empty();
    for _ in 0..DRAWS {
        // A name that is drawn may be taken, so that all of it has to be done again.
        let new = prepare::create(
            cx,
            if drawn {
                body.clone()
            } else {
                std::mem::take(&mut body)
            },
        )?;
        let name = object_meta::text(&new, "name").to_owned();
        let namespace = if cx.served.namespaced {
            &*cx.attributes().namespace
        } else {
            ""
        };
        let key = Key::new(&cx.served.table, namespace, &name);
        let taken = || {
            let error = ApiError::already_exists(&cx.served.group, &cx.served.plural, &name);
            let going = cx
                .inner
                .store
                .get(&key)
                .is_some_and(|it| it.head()["metadata"]["deletionTimestamp"].is_string());
            let message = if going {
                format!("object is being deleted: {}", error.message)
            } else {
                error.message
            };
            ApiError { message, ..error }
        };
        if dry {
            return if cx.inner.store.get(&key).is_some() {
                Err(taken())
            } else {
                Ok(Entry::new(new, 0))
            };
        }
        match cx
            .inner
            .store
            .commit(vec![Change {
                key: key.clone(),
                expect: Expect::Absent,
                to: Some(new),
            }])
            .await
        {
            Ok(mut entries) => {
                return entries
                    .pop()
                    .ok_or_else(|| ApiError::internal("nothing was written"));
            }
            Err(CommitError::Conflict(_)) if drawn => {}
            Err(CommitError::Conflict(_)) => return Err(taken()),
            Err(error) => return Err(ApiError::internal(error)),
        }
    }
    let prefix = object_meta::text(&body, "generateName");
    Err(ApiError::already_exists(
        &cx.served.group,
        &cx.served.plural,
        prefix,
    ))
}

/// Binds a pod to a node, or evicts it. Nothing here schedules or runs pods, but tests may play
/// those who do.
async fn pod_subresource(cx: &Cx<'_>, body: &Value) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    let key = Key::new(&cx.served.table, &attributes.namespace, &attributes.name);
    if attributes.subresource == "eviction" {
        let pod = cx
            .inner
            .store
            .get(&key)
            .ok_or_else(|| cx.not_found(&attributes.name))?;
        if !cx.asked.dry_run() {
            super::delete::mark(&cx.inner.store, &cx.served.table, &pod.value()).await;
        }
    } else {
        let node = body["target"]["name"].as_str().unwrap_or_default();
        modify(cx, &key, |old| {
            let bound = old["spec"]["nodeName"].as_str().unwrap_or_default();
            if !bound.is_empty() {
                let why = format!(
                    "pod {} is already assigned to node {bound:?}",
                    attributes.name
                );
                return Err(ApiError::conflict(
                    "",
                    "pods/binding",
                    &attributes.name,
                    &why,
                ));
            }
            let mut pod = old.clone();
            pod["spec"]["nodeName"] = node.into();
            Ok(pod)
        })
        .await?;
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    respond::value(cx.parts, 201, &status)
}
