//! What people see: what is printed, where it is read from, and how an error is shown.

pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod finding;
pub(crate) mod host;
pub(crate) mod log;
pub(crate) mod printer;
pub(crate) mod snippet;
pub(crate) mod tree_view;
