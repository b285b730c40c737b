//! The way in without a socket: a tower service that is the server.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::{body::Body, serve, server::Inner, user::User};

/// The answer was lost, as a test wanted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost before the answer came")]
pub struct Lost;

/// A service that is the server, for one subject or for whoever the headers say.
#[derive(Clone)]
pub struct Door {
    inner: Arc<Inner>,
    who: Option<Arc<User>>,
}

impl Door {
    pub(crate) fn new(inner: Arc<Inner>, who: Option<User>) -> Self {
        Self { inner, who: who.map(Arc::new) }
    }
}

impl<B> Service<Request<B>> for Door
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Response = Response<Body>;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Lost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (inner, who) = (self.inner.clone(), self.who.clone());
        Box::pin(async move { serve::serve(&inner, who.as_deref(), request).await })
    }
}
