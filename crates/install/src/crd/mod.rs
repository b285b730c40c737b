//! The CRDs of packages: the live ones, their owners, and compatible replacements.

pub(crate) mod affected;
pub(crate) mod compatibility;
pub(crate) mod equivalence;
pub(crate) mod forbidden_changes;
pub(crate) mod live;
pub(crate) mod ownership;
