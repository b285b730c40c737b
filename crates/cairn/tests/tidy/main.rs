//! The rules of the house as a test: who may use whom, what a pure crate may not touch, what a
//! source file looks like. Each rule is a function from facts to complaints, so that beside the
//! real tree it is shown a tree that breaks it.
#![allow(clippy::expect_used, reason = "a test may panic")]

mod generated;
mod graph;
#[path = "../../../../xtask/src/generated.rs"]
mod list;
mod policy;
mod sources;

use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/cairn is two deep")
}

/// Fails with all complaints at once.
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n  {}\n", complaints.join("\n  "));
}

/// For a rule's own test: that it complains once, in these words.
fn assert_complains(complaints: &[String], part: &str) {
    assert!(
        complaints.len() == 1 && complaints[0].contains(part),
        "`{part}` expected once, not {complaints:?}"
    );
}
