//! The types of everything that is served, as OpenAPI documents.

use std::sync::Arc;

use http::{Response, request::Parts};
use serde_json::{Map, Value, json};

use crate::{body::Body, captured, respond, server::Inner, status::ApiError};

/// Answers below `/openapi/`.
pub(crate) fn answer(inner: &Arc<Inner>, path: &[&str], parts: &Parts) -> Result<Response<Body>, ApiError> {
    match path {
        ["v3"] => respond::value(parts, 200, &index(inner)),
        ["v3", rest @ ..] => {
            let document = captured::openapi(&rest.join("/")).ok_or_else(ApiError::no_page)?;
            respond::value(parts, 200, &document)
        }
        _ => Err(ApiError::no_page()),
    }
}

fn index(_inner: &Inner) -> Value {
    let mut paths = Map::new();
    for path in captured::openapi_paths() {
        paths.insert(path.to_owned(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash=0")}));
    }
    json!({ "paths": paths })
}
