//! Tests that are kept with a package: what is given, what is expected, and how the two differ.

pub(crate) mod case;
pub(crate) mod controllers;
pub(crate) mod error_match;
pub(crate) mod expect;
pub(crate) mod field_names;
pub(crate) mod golden;
pub(crate) mod observed;
