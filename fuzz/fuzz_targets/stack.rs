//! `cargo xtask fuzz stack`
#![no_main]

#[path = "../bodies/stack.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::stack(bytes));
