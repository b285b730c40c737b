//! The first files of a new stack: a small one to begin with, or one made from manifests. Values
//! in, files out; whoever asks writes them.

mod blank;
mod files;
mod from_manifests;
pub(crate) mod kinds;
pub(crate) mod manifests;
mod missing_resources;
mod names;
pub(crate) mod rewrite;
mod shared_resources;
mod verify;

pub use blank::blank;
pub use from_manifests::{Became, Started, from_manifests};
pub use manifests::split::Manifest;
pub use names::Names;

/// The schema of conditions, at an indentation.
fn conditions(indent: usize) -> String {
    let indent = " ".repeat(indent);
    include_str!("conditions.yaml")
        .lines()
        .map(|line| format!("{indent}{line}\n"))
        .collect()
}
