//! `cargo xtask`: the chores of this repository.

fn main() {}
