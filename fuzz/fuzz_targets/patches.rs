//! `cargo xtask fuzz patches`
#![no_main]

#[path = "../bodies/patches.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::patches(bytes));
