//! What a stack may touch: the rules of its roles, and what no stack is granted.

pub(crate) mod policy;
pub(crate) mod roles;
