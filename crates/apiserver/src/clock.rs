//! The time as objects carry it.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// The last second that was asked for, and its text: many objects are written in one second.
static LAST: Mutex<(i64, String)> = Mutex::new((i64::MIN, String::new()));

/// Now, to the second: `2026-11-15T23:59:59Z`.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.0 != now.as_second() {
        *last = (now.as_second(), text(now));
    }
    last.1.clone()
}

/// A time, to the second.
pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
