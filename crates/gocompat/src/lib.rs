//! The parts of Go's standard library, and of the libraries sprig rests on, that template functions
//! need. Plain Rust types in and out: nothing here knows template values, and nothing reads a
//! clock, a file or a random source.

pub mod base;
pub mod crypto;
pub mod decimal;
pub mod duration;
pub mod json;
pub mod path;
pub mod regexp;
pub mod semver;
pub mod strconv;
pub mod strings;
mod tables;
pub mod time;
pub mod toml;
pub mod unicode;
pub mod url;
pub mod words;
pub mod zone;
