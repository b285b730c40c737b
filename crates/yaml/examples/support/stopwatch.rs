//! How long a piece of work takes, for the benchmarks of this crate and of those above it, which
//! compile this file too.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How much processor time a measurement takes, and how many there are; the best counts, as noise
/// only adds.
const ROUND: Duration = Duration::from_millis(300);
const ROUNDS: usize = 3;

/// What a piece of work takes at best, in nanoseconds.
pub fn best(work: impl Fn()) -> u64 {
    (0..ROUNDS).map(|_| measure(&work)).min().unwrap_or(0)
}

fn measure(work: &impl Fn()) -> u64 {
    let mut count: u32 = 1;
    loop {
        let start = processor_time();
        (0..count).for_each(|_| work());
        let elapsed = processor_time().saturating_sub(start);
        if elapsed >= ROUND {
            return (elapsed.as_nanos() / u128::from(count)) as u64;
        }
        count = count.saturating_mul(2);
    }
}

/// What this thread has used, which other programs do not add to; the clock on the wall where the
/// system does not say.
fn processor_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = said.and_then(|said| said.split_whitespace().next()?.parse().ok());
    used.map_or_else(|| START.elapsed(), Duration::from_nanos)
}
