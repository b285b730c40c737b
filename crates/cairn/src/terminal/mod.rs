//! Terminal output: the printer, the environment, errors and source snippets.

pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod finding;
pub(crate) mod host;
pub(crate) mod log;
pub(crate) mod printer;
pub(crate) mod snippet;
pub(crate) mod tree_view;
