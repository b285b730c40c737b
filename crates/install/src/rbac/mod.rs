//! Permissions of a stack: the rules of its roles, and the limits of what any stack is granted.

pub(crate) mod policy;
pub(crate) mod roles;
