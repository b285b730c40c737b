//! Sets of fields: who owns what, as `metadata.managedFields` keeps it. What an object has by its
//! shape is found in `typed`; who may change what is decided in `apply`.

mod element;
mod json;
mod set;

pub use element::{Element, FieldPath};
pub use json::FieldsError;
pub use set::{Entry, FieldSet};
