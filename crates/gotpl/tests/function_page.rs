//! The page of template functions says something of every function there is, and what it says is
//! so.
#![allow(clippy::expect_used, reason = "a test may panic")]

#[path = "../examples/functions/page.rs"]
mod page;

#[test]
fn the_page_of_functions_is_what_the_code_says() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let written = std::fs::read_to_string(path).expect("docs/functions.md");
    let page = page::page().expect("a page");
    assert!(
        written == page,
        "docs/functions.md is older than the functions: run `cargo xtask docs`"
    );
}
