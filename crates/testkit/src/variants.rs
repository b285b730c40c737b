//! Seeded variants of a scenario: the rule is tested, not the example that found the bug.

use std::fmt::Write as _;

/// Variants of an attack that a scenario runs by default.
pub const VARIANTS: usize = 50;

/// A deterministic source of choices. The same seed makes the same choices, so that a failure can
/// be repeated.
#[derive(Debug, Clone)]
pub struct Choices {
    state: u64,
}

impl Choices {
    /// Choices that depend on `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number; splitmix64.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 {
            0
        } else {
            (self.number() % end as u64) as usize
        }
    }

    /// True or false.
    pub fn toss(&mut self) -> bool {
        self.number() & 1 == 1
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// The same values in another order.
    pub fn shuffled<T>(&mut self, mut all: Vec<T>) -> Vec<T> {
        for last in (1..all.len()).rev() {
            all.swap(last, self.below(last + 1));
        }
        all
    }

    /// A valid DNS label of up to `longest` characters that starts with `prefix`.
    pub fn name(&mut self, prefix: &str, longest: usize) -> String {
        let mut name = prefix.to_owned();
        let more = longest.saturating_sub(prefix.len());
        for _ in 0..self.below(more) + usize::from(more > 0) {
            let _ = name.write_char(*self.pick(&['a', 'b', 'k', 'z', '0', '7']));
        }
        name
    }
}

/// One [`Choices`] per variant: [`VARIANTS`] of them, or as many as `CAIRN_VARIANTS` says, starting
/// at the seed `CAIRN_VARIANTS_SEED`. Name the variant's index in every assertion, so that it can
/// be repeated alone.
pub fn variants() -> impl Iterator<Item = (usize, Choices)> {
    let set = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let seed = set("CAIRN_VARIANTS_SEED").unwrap_or(0x1504);
    let count = set("CAIRN_VARIANTS").map_or(VARIANTS, |count| count as usize);
    (0..count).map(move |index| {
        (
            index,
            Choices::new(seed.wrapping_add((index as u64).wrapping_mul(0x51_7cc1))),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Choices, variants};

    #[test]
    fn a_seed_says_everything_and_variants_differ() {
        let first: Vec<u64> = variants()
            .map(|(_, mut choices)| choices.number())
            .collect();
        let again: Vec<u64> = variants()
            .map(|(_, mut choices)| choices.number())
            .collect();
        assert_eq!(first, again);
        assert!(first.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn names_are_labels_of_at_most_the_given_length() {
        let mut choices = Choices::new(7);
        for _ in 0..200 {
            let name = choices.name("x-", 20);
            assert!(
                (3..=20).contains(&name.len()) && name.starts_with("x-"),
                "{name}"
            );
        }
    }
}
