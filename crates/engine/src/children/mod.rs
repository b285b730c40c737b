//! The objects that instances make: how they are marked, whose they are, whether they have drifted,
//! and how they are let go.

pub mod desired;
pub mod field_handover;
pub mod orphaning;
pub mod ownership;
pub(crate) mod record;
