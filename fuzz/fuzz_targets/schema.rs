//! `cargo xtask fuzz schema`
#![no_main]

#[path = "../bodies/schema.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::schema(bytes));
