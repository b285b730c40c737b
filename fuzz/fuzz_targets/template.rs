//! `cargo xtask fuzz template`
#![no_main]

#[path = "../bodies/template.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::template(bytes));
