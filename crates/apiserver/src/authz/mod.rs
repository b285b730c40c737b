//! Authorization: RBAC over an index of roles that first catches up with the store, and access
//! reviews.

pub(crate) mod attributes;
pub(crate) mod rbac_cache;
pub(crate) mod rbac_index;
pub(crate) mod rbac_rule;
pub(crate) mod review;
pub(crate) mod subject;
pub(crate) mod validation;
