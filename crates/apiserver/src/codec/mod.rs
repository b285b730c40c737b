//! Objects as JSON and as protobuf.

pub(crate) mod json;
pub(crate) mod protobuf;
