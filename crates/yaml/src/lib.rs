//! YAML read and written exactly as Kubernetes does.

mod analysis;
mod chars;
mod decode;
mod documents;
mod emitter;
mod error;
mod exact;
mod gojson;
mod gosyntax;
mod letters;
mod limits;
mod natural;
mod number;
mod parser;
mod resolve;
mod scan_block;
mod scan_scalar;
mod scan_tag;
mod scanner;
mod timestamp;
mod token;
mod tree;

pub use documents::{Document, documents};
pub use emitter::{emit, emit_pretty, emit_pretty_to, emit_to};
pub use error::Error;
pub use limits::Limits;
use serde_json::Value;

/// Reads the first document of `text`; the last of several equal keys wins. No document at all is null.
pub fn parse(text: &str) -> Result<Value, Error> {
    parse_with(text, &Limits::default())
}

/// Reads the first document of `text`; the same key twice in one mapping is an error.
pub fn parse_strict(text: &str) -> Result<Value, Error> {
    parse_strict_with(text, &Limits::default())
}

/// Reads as [`parse`] does, within other limits.
pub fn parse_with(text: &str, limits: &Limits) -> Result<Value, Error> {
    decode::decode(&parser::parse(text, limits)?, limits, false)
}

/// Reads as [`parse_strict`] does, within other limits.
pub fn parse_strict_with(text: &str, limits: &Limits) -> Result<Value, Error> {
    decode::decode(&parser::parse(text, limits)?, limits, true)
}
