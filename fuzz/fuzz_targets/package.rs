//! `cargo xtask fuzz package`
#![no_main]

#[path = "../bodies/package.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::package(bytes));
