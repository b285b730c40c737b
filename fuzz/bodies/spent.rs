//! How much processor time a thread has spent: what a budget is held against, however busy the
//! machine is.

use std::time::{Duration, Instant};

/// The time of the processor, or by the clock where the system does not tell that of a thread.
pub struct Spent {
    processor: Option<u64>,
    clock: Instant,
}

impl Spent {
    /// From now on.
    pub fn start() -> Self {
        Spent {
            processor: nanoseconds(),
            clock: Instant::now(),
        }
    }

    /// Until now.
    pub fn time(&self) -> Duration {
        match (self.processor, nanoseconds()) {
            (Some(then), Some(now)) => Duration::from_nanos(now.saturating_sub(then)),
            _ => self.clock.elapsed(),
        }
    }
}

fn nanoseconds() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()?
        .split(' ')
        .next()?
        .parse()
        .ok()
}
