//! Validation of built-in kinds beyond their schemas, with the messages of the real API server.

pub(crate) mod common;
pub(crate) mod containers;
pub(crate) mod enums;
pub(crate) mod network_policy;
pub(crate) mod per_kind;
pub(crate) mod ports;
pub(crate) mod service;
pub(crate) mod structural_schema;
