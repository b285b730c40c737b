//! What a machine that is busy with other things adds to every time that is measured.

use std::fs;
use std::time::{Duration, Instant};

/// One test that measures time runs at once.
pub static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// How long a thread has run, and how long it has waited for a processor, in nanoseconds; none
/// where Linux does not say.
fn schedule() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// However busy the machine is, no more is allowed for.
const MOST: f64 = 5.0;

/// How many times longer work takes than on a machine that has nothing else to do: 1 where a
/// processor is free.
pub fn overload() -> f64 {
    let before = schedule();
    let begin = Instant::now();
    let mut count = 0_u64;
    while begin.elapsed() < Duration::from_millis(100) {
        count = std::hint::black_box(count.wrapping_add(1));
    }
    let (Some(before), Some(after)) = (before, schedule()) else {
        return 1.0;
    };
    let (ran, waited) = (after.0 - before.0, after.1 - before.1);
    if ran > 0.0 {
        (1.0 + waited / ran).min(MOST)
    } else {
        1.0
    }
}

/// The processor time that a process has used, in seconds.
pub fn used(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or_default()
    };
    // Of user and system, in hundredths of a second.
    (ticks(11) + ticks(12)) / 100.0
}
