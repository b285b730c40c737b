//! Request attributes and content negotiation.

pub(crate) mod info;
pub(crate) mod negotiation;
