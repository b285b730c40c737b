//! Support for tests: fault injection and a log of requests.

pub(crate) mod fault_injection;
pub(crate) mod request_log;
