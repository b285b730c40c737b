//! What templates evaluated on the command line get from this machine.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gotpl::{Draw, Host};

/// A clock for a budget, which starts now.
pub(crate) fn stopwatch() -> impl Fn() -> Duration {
    let started = Instant::now();
    move || started.elapsed()
}

/// Real randomness and the real time; lookups find nothing, as there is no cluster.
pub(crate) struct Machine;

impl Host for Machine {
    fn random(&self, _draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        getrandom::fill(bytes)
            .map_err(|error| format!("this machine gives no random bytes: {error}"))
    }

    fn now(&self) -> Result<i128, String> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(|error| error.to_string())?;
        i128::try_from(now.as_nanos()).map_err(|error| error.to_string())
    }
}
