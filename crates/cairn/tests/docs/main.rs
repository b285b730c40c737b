//! The documentation is true: its commands are run as they stand and print what the pages show, its
//! links lead somewhere, and the messages it explains are those of the program.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod blocks;
mod links;
mod messages;
mod named;
mod page;
mod reader;
#[path = "../support/registry.rs"]
mod registry;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::io::Write;

use page::steps;
use reader::Reader;
use support::root;

/// Follows a page from its beginning to its end.
fn follow(page: &str, least: usize, mut reader: Reader) {
    let text = fs::read_to_string(root().join(page)).expect("the page is there");
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
    assert!(
        reader.run + reader.left_out >= least,
        "{page} has only {} commands",
        reader.run
    );
}

macro_rules! pages {
    ($($name:ident: $page:literal has $least:literal commands,)*) => {
        /// The pages whose commands are run.
        const PAGES: &[&str] = &[$($page),*];

        $(#[test]
        fn $name() {
            follow($page, $least, Reader::new());
        })*
    };
}

pages! {
    the_readme_works_as_it_stands: "README.md" has 1 commands,
    the_tutorial_works_as_it_stands: "docs/tutorial.md" has 24 commands,
    concepts_are_as_they_are_told: "docs/concepts.md" has 6 commands,
    testing_works_as_it_stands: "docs/testing.md" has 8 commands,
    the_examples_work_as_they_stand: "examples/README.md" has 3 commands,
    the_template_reference_works_as_it_stands: "docs/template-reference.md" has 4 commands,
    the_package_format_works_as_it_stands: "docs/package-format.md" has 4 commands,
    operations_work_as_they_stand: "docs/operations.md" has 25 commands,
    templates_work_as_they_stand: "docs/templates.md" has 9 commands,
    eval_works_as_it_stands: "docs/eval.md" has 8 commands,
}

/// The pages about a cluster, on a real one.
#[test]
fn operations_work_as_they_stand_on_kubernetes() {
    if reader::kubectl().is_none() {
        let _ = std::io::stderr().write_all(
            b"docs/operations.md on Kubernetes was left out: `cargo xtask cluster-test` runs it\n",
        );
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let cluster = runtime
        .block_on(testkit::Cluster::start())
        .expect("a cluster");
    follow("docs/operations.md", 25, Reader::on(cluster.kubeconfig()));
}
