//! Turning a manifest into a template: which values become fields, and where else they are
//! mentioned.

pub(crate) mod common_name;
pub(crate) mod edit;
pub(crate) mod field_meaning;
pub(crate) mod fields;
pub(crate) mod namespace;
pub(crate) mod substitute;
pub(crate) mod text_references;
