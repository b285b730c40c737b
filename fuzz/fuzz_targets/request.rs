//! `cargo xtask fuzz request`
#![no_main]

#[path = "../bodies/request.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::request(bytes));
