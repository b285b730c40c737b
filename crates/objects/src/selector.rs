//! Label and field selectors, as requests write them and as objects do.

mod field;
mod label;
mod lexer;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelSelector, Operator, Requirement};

/// Why a selector is refused: 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);
