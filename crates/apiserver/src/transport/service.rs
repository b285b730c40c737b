//! The way in without a socket: a tower service that is the server.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::AUTHORIZATION};
use tower_service::Service;

use super::response_body::Body;
use crate::authn::user::User;
use crate::handlers;
use crate::server::Inner;

/// The answer was lost, as a test wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost before the answer came")]
pub struct Lost;

/// A service that is the server, for one subject or for whoever the headers say.
#[derive(Clone)]
pub struct InProcessService {
    inner: Arc<Inner>,
    who: Option<Arc<User>>,
    authorization: Option<HeaderValue>,
}

impl InProcessService {
    pub(crate) fn new(inner: Arc<Inner>, who: Option<User>) -> Self {
        Self {
            inner,
            who: who.map(Arc::new),
            authorization: None,
        }
    }

    /// The same, and every request carries this bearer token. One that no header can hold is sent
    /// as a token that is not valid, so that requests are answered with 401, and not as those of
    /// nobody in particular.
    #[must_use]
    pub fn with_bearer_token(self, token: &str) -> Self {
        let header = Some(token).filter(|token| !token.trim().is_empty());
        let header =
            header.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        Self {
            authorization: Some(header.unwrap_or(HeaderValue::from_static("Bearer invalid"))),
            ..self
        }
    }
}

impl<B> Service<Request<B>> for InProcessService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(authorization) = &self.authorization {
            request
                .headers_mut()
                .insert(AUTHORIZATION, authorization.clone());
        }
        let (inner, who) = (self.inner.clone(), self.who.clone());
        Box::pin(async move { handlers::serve(&inner, who.as_deref(), request).await })
    }
}
