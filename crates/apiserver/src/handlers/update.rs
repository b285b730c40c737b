//! An object as a whole.

use http::Response;
use serde_json::json;

use super::status::{ApiError, Cause};
use super::{Cx, create, respond, scale};
use crate::pipeline::retry_on_conflict::modify;
use crate::pipeline::{body_object, object_meta};
use crate::registry::strategy;
use crate::storage::Key;
use crate::transport::response_body::Body;

/// Replaces an object, its status, or the number of its replicas.
pub(crate) async fn update(cx: &Cx<'_>) -> Result<Response<Body>, ApiError> {
    let attributes = cx.attributes();
    let body = body_object::read(cx)?;
    let namespace = if cx.served.namespaced {
        &*attributes.namespace
    } else {
        ""
    };
    let key = Key::new(&cx.served.table, namespace, &attributes.name);
    let name = object_meta::text(&body, "name");
    if name != attributes.name {
        let message = if name.is_empty() {
            "name must be provided".to_owned()
        } else {
            format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                attributes.name
            )
        };
        return Err(ApiError::bad_request(message));
    }
    match &*attributes.subresource {
        "scale" => {
            let entry = modify(cx, &key, |old| scale::into(&cx.served, old, &body)).await?;
            respond::value(
                cx.parts,
                200,
                &scale::of(&cx.served, &respond::shown(&cx.served, &entry.value()))?,
            )
        }
        "finalize" => {
            let entry = modify(cx, &key, |old| {
                let mut new = old.clone();
                new["spec"]["finalizers"] = body["spec"]["finalizers"].clone();
                if new["spec"]["finalizers"].is_null() {
                    new["spec"] = json!({});
                }
                new["metadata"]["resourceVersion"] = body["metadata"]["resourceVersion"].clone();
                Ok(new)
            })
            .await?;
            respond::object(cx, 200, &entry)
        }
        subresource => {
            let status = subresource == "status";
            if cx.inner.store.get(&key).is_none()
                && !status
                && strategy::creates_on_update(&cx.served)
            {
                let entry = create::insert(cx, body).await?;
                return respond::object(cx, 201, &entry);
            }
            let entry = modify(cx, &key, |_| {
                if object_meta::text(&body, "resourceVersion").is_empty()
                    && strategy::needs_revision(&cx.served)
                {
                    let why = "Invalid value: 0: must be specified for an update";
                    let cause = Cause::new("FieldValueInvalid", "metadata.resourceVersion", why);
                    return Err(ApiError::invalid(
                        &cx.served.group,
                        &cx.served.kind,
                        key.name(),
                        vec![cause],
                    ));
                }
                Ok(body.clone())
            })
            .await?;
            respond::object(cx, 200, &entry)
        }
    }
}
