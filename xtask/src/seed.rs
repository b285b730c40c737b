//! Seeds of random choices. CI derives them from the tree, so that what passed on a commit passes
//! again; `cargo xtask explore` generates fresh ones.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    process::Command,
};

use anyhow::{Context, Result};

use crate::cache;

/// The seed of the committed tree: equal for equal files.
pub fn of_tree() -> Result<u64> {
    let output = Command::new("git")
        .current_dir(cache::repository())
        .args(["rev-parse", "HEAD^{tree}"])
        .output()
        .context("cannot run git to name the tree\nhint: give a --seed")?;
    let said = String::from_utf8_lossy(&output.stdout);
    of_hash(said.trim()).with_context(|| {
        format!(
            "`git rev-parse` does not name the tree ({})\nhint: give a --seed",
            output.status
        )
    })
}

/// Of the beginning of a hash in hexadecimal digits; `.ci/run` takes the same of it.
fn of_hash(hash: &str) -> Option<u64> {
    u64::from_str_radix(hash.get(..15)?, 16).ok()
}

/// A different seed on each call.
pub fn fresh() -> u64 {
    // The standard library's only source of random bits.
    RandomState::new().build_hasher().finish() >> 4
}

#[cfg(test)]
mod tests {
    use super::{fresh, of_hash};

    #[test]
    fn a_seed_is_that_of_the_tree_and_a_fresh_one_is_another() {
        for (hash, expected) in [
            (
                "0123456789abcdef0123456789abcdef01234567",
                Some(0x0012_3456_789a_bcde),
            ),
            ("ffffffffffffffff", Some(0x0fff_ffff_ffff_ffff)),
            ("HEAD^{tree}", None),
            ("", None),
        ] {
            assert_eq!(of_hash(hash), expected, "{hash}");
        }
        assert_ne!(fresh(), fresh());
    }
}
