//! Requests and answers as bytes: sockets, a service within the process, bodies.

pub(crate) mod listener;
pub(crate) mod request_body;
pub(crate) mod response_body;
pub(crate) mod service;
