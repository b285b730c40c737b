//! The conditions of installs and Stacks.

pub(crate) mod install;
pub(crate) mod stack;
