//! The time as objects carry it.

use jiff::Timestamp;

/// Now, to the second: `2026-11-15T23:59:59Z`.
pub(crate) fn now() -> String {
    text(Timestamp::now())
}

/// A time, to the second.
pub(crate) fn text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
