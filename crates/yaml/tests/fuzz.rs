//! A bounded fuzz run on stable: golden texts, cut up and put together again from a seed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

#[path = "../../../fuzz/bodies/yaml.rs"]
mod body;
#[path = "mutate/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod mutate;

#[test]
fn what_is_read_from_pieces_of_texts_is_written_and_read_back_and_nothing_panics() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (runs, seed) = (
        number("CAIRN_FUZZ_RUNS").unwrap_or(2_000),
        number("CAIRN_FUZZ_SEED").unwrap_or(21),
    );
    let mut random = mutate::Random::new(seed);
    let seeds = mutate::seeds();
    for _ in 0..runs {
        let text = mutate::text(&mut random, &seeds);
        if std::panic::catch_unwind(|| body::yaml(text.as_bytes())).is_err() {
            panic!("this text broke it (seed {seed}): {text:?}");
        }
    }
}
