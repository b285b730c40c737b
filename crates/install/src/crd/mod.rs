//! The CRDs of packages: what is live, who owns it, and what may take its place.

pub(crate) mod affected;
pub(crate) mod compatibility;
pub(crate) mod equivalence;
pub(crate) mod forbidden_changes;
pub(crate) mod live;
pub(crate) mod ownership;
