//! Requests and responses as bytes: sockets, the in-process service, bodies.

pub(crate) mod listener;
pub(crate) mod request_body;
pub(crate) mod response_body;
pub(crate) mod service;
