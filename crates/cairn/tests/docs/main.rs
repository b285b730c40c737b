//! The documentation is true: its commands are run as they stand and print what the pages show, its links lead
//! somewhere, and the messages it explains are those of the program.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod links;
mod messages;
mod page;
mod reader;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::io::Write;

use page::steps;
use reader::Reader;
use support::root;

/// Follows a page from its beginning to its end.
fn follow(page: &str, least: usize) {
    let text = fs::read_to_string(root().join(page)).expect("the page is there");
    let mut reader = Reader::new();
    for step in steps(&text) {
        reader.follow(page, &step);
    }
    if reader.left_out > 0 {
        // The test harness keeps what is printed by the usual macros to itself.
        let line = format!(
            "{page}: {} commands with kubectl were left out: `cargo xtask cluster-test` runs them\n",
            reader.left_out
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    assert!(reader.run + reader.left_out >= least, "{page} has only {} commands", reader.run);
}

macro_rules! pages {
    ($($name:ident: $page:literal has $least:literal commands,)*) => {
        $(#[test]
        fn $name() {
            follow($page, $least);
        })*
    };
}

pages! {
    the_readme_works_as_it_stands: "README.md" has 1 commands,
    the_tutorial_works_as_it_stands: "docs/tutorial.md" has 20 commands,
    the_template_reference_works_as_it_stands: "docs/template-reference.md" has 4 commands,
    the_package_format_works_as_it_stands: "docs/package-format.md" has 4 commands,
    operations_work_as_they_stand: "docs/operations.md" has 5 commands,
    templates_work_as_they_stand: "docs/templates.md" has 4 commands,
    eval_works_as_it_stands: "docs/eval.md" has 8 commands,
}
