//! What tests ask of the server: faults at a request, and a list of all requests.

pub(crate) mod fault_injection;
pub(crate) mod request_log;
