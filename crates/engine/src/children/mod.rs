//! The children of instances: desired objects, ownership, drift, field handover and orphaning.

pub mod desired;
pub mod field_handover;
pub mod orphaning;
pub mod ownership;
pub(crate) mod record;
