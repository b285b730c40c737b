//! Objects seen by their shapes: what fields they have, how two of them differ, how one is merged
//! into another. Who owns the fields is not known here.

mod atom;
mod compare;
mod merge;
mod owned;
mod remove;
mod schema_change;
mod validate;

pub use compare::{Comparison, compare};
pub use merge::merge;
pub use owned::fields_of;
pub use remove::{extract, name_fields, remove};
pub use schema_change::follow_schema;
pub use validate::{TypeErrors, validate};
