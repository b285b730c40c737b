//! `cargo xtask fuzz parameters`
#![no_main]

#[path = "../bodies/parameters.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::parameters(bytes));
