//! Groups that somebody else in the process answers for, as aggregated API servers do on a cluster.
//! Who asks is known and allowed to before they hear of it; nothing of theirs is stored here.

use std::{fmt, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::Response;
use serde_json::Value;

use super::status::ApiError;
use super::{Cx, respond};
use crate::authn::user::User;
use crate::request::info::Attributes;
use crate::transport::response_body::Body;
use crate::transport::service::InProcessService;

/// A code of HTTP's and the object to answer with.
pub type Answer = (u16, Value);
type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// A group and version that somebody else answers for.
#[derive(Clone)]
pub struct Extension {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// What it serves, as an `APIResourceList`. A subresource may stand without its resource.
    pub resources: Value,
    /// Its types and paths, as an OpenAPI document of version 3.
    pub openapi: Value,
    /// What answers.
    pub handler: Arc<dyn Fn(Call) -> Answering + Send + Sync>,
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Extension({}/{})", self.group, self.version)
    }
}

/// A request that was authenticated and authorized, with its whole body.
pub struct Call {
    /// Who asks.
    pub user: User,
    /// What is asked for.
    pub attributes: Attributes,
    /// What the URL says after its question mark.
    pub query: String,
    /// What the body says it is.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
    /// The way back into the server, with all rights: the handler answers for what it shows of
    /// them.
    pub in_process_service: InProcessService,
}

/// Lets an extension answer.
pub(crate) async fn answer(cx: &Cx<'_>, extension: &Extension) -> Result<Response<Body>, ApiError> {
    let header = cx.parts.headers.get(http::header::CONTENT_TYPE);
    let call = Call {
        user: cx.user.clone(),
        attributes: cx.attributes().clone(),
        query: cx.parts.uri.query().unwrap_or_default().to_owned(),
        content_type: header
            .and_then(|header| header.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        body: cx.body.clone(),
        in_process_service: InProcessService::new(cx.inner.clone(), Some(User::admin())),
    };
    let (code, value) = (extension.handler)(call).await;
    respond::value(cx.parts, code, &value)
}
