//! `cargo xtask fuzz answers`
#![no_main]

#[path = "../bodies/answers.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::answers(bytes));
