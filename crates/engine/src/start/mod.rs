//! The first files of a new stack: a small one to begin with, or one made from manifests. Values in, files out; whoever
//! asks writes them.

mod base;
mod blank;
mod check;
mod checksum;
mod edit;
mod field;
mod from;
mod helm;
mod job;
mod mention;
mod missing;
mod mistaken;
mod names;
mod namespace;
mod noise;
mod piece;
mod principal;
mod scale;
mod second;
mod secret;
mod sense;
mod stream;
mod substitute;
mod texts;
mod unfit;
mod write;

pub use blank::blank;
pub use from::{Became, Started, from};
pub use names::Names;
pub use piece::Manifest;

/// The schema of conditions, at an indentation.
fn conditions(indent: usize) -> String {
    let indent = " ".repeat(indent);
    include_str!("conditions.yaml").lines().map(|line| format!("{indent}{line}\n")).collect()
}
