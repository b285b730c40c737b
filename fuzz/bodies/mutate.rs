//! The bounded fuzz runs of `cargo test` over the seeds of a target: cut up, doubled and mixed, the
//! same in every run with the same seed. Coverage guides `cargo xtask fuzz` alone.

#[path = "seeded.rs"]
mod seeded;

use std::path::Path;

use seeded::Seeded;

/// Runs a body on its seeds and on what becomes of them.
pub fn run(target: &str, runs: u64, body: fn(&[u8])) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (runs, seed) = (
        number("CAIRN_FUZZ_RUNS").unwrap_or(runs),
        number("CAIRN_FUZZ_SEED").unwrap_or(99),
    );
    let place = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let mut files: Vec<_> = std::fs::read_dir(&place)
        .expect("seeds")
        .map(|entry| entry.expect("a seed").path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("a seed"))
        .collect();
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Seeded(seed);
    for _ in 0..runs {
        let mut bytes = random.pick(&seeds).clone();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, &mut random, &seeds);
        }
        if std::panic::catch_unwind(|| body(&bytes)).is_err() {
            panic!(
                "this input broke it (seed {seed}): {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Seeded, seeds: &[Vec<u8>]) {
    let at = random.below(bytes.len() + 1);
    let end = |random: &mut Seeded, length: usize| (at + random.below(60)).min(length);
    match random.below(6) {
        0 => bytes.truncate(at),
        1 => {
            let end = end(random, bytes.len());
            bytes.drain(at..end);
        }
        2 => {
            let end = end(random, bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        3 => {
            let other = random.pick(seeds);
            let from = random.below(other.len());
            let piece = other[from..(from + random.below(80)).min(other.len())].to_vec();
            bytes.splice(at..at, piece);
        }
        4 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}
