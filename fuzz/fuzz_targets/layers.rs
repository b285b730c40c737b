//! `cargo xtask fuzz layers`
#![no_main]

#[path = "../bodies/layers.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::layers(bytes));
