//! `cargo xtask fuzz yaml`
#![no_main]

#[path = "../bodies/yaml.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::yaml(bytes));
