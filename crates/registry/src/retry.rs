//! When to ask again: a request that changes nothing, after a broken connection or an answer that
//! says "not now".

use std::time::Duration;

/// The most times that something is asked.
const ATTEMPTS: u32 = 4;
/// The first wait, which doubles.
const FIRST: Duration = Duration::from_millis(200);
/// The longest wait that a registry may ask for.
const LONGEST: Duration = Duration::from_secs(60);

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There was no answer.
    NoAnswer,
    /// An answer with a status, and how long it asks to wait.
    Answer(u16, Option<Duration>),
}

/// How long to wait before asking again; none if that is of no use. `attempt` counts from one,
/// `chance` is any number.
pub(crate) fn pause(attempt: u32, outcome: Outcome, chance: u64) -> Option<Duration> {
    if attempt >= ATTEMPTS {
        return None;
    }
    let asked = match outcome {
        Outcome::NoAnswer => None,
        Outcome::Answer(429 | 500 | 502 | 503 | 504, asked) => asked,
        Outcome::Answer(..) => return None,
    };
    let wait = FIRST * (1 << (attempt - 1));
    // Up to half as much again, so that those that failed together do not come back together.
    let wait = wait + wait / 512 * (chance % 256) as u32;
    Some(asked.map_or(wait, |asked| asked.max(wait).min(LONGEST)))
}

/// The seconds of a `Retry-After` header. One that gives a date counts as none.
pub(crate) fn retry_after(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Outcome, pause, retry_after};

    #[test]
    fn what_may_pass_is_asked_again_later_and_later() {
        let seconds = |text: &str| retry_after(text);
        for (attempt, outcome, least) in [
            (1, Outcome::NoAnswer, Some(200)),
            (2, Outcome::NoAnswer, Some(400)),
            (3, Outcome::Answer(503, None), Some(800)),
            (4, Outcome::NoAnswer, None),
            (1, Outcome::Answer(429, seconds("7")), Some(7000)),
            (1, Outcome::Answer(429, seconds("86400")), Some(60_000)),
            (
                1,
                Outcome::Answer(429, seconds("Wed, 21 Oct 2015 07:28:00 GMT")),
                Some(200),
            ),
            (1, Outcome::Answer(404, None), None),
            (1, Outcome::Answer(401, None), None),
            (1, Outcome::Answer(501, None), None),
        ] {
            for chance in [0, 7, u64::MAX] {
                let found = pause(attempt, outcome, chance);
                let range = least.map(|least| {
                    let least = Duration::from_millis(least);
                    (least, least * 3 / 2)
                });
                match (found, range) {
                    (Some(found), Some((least, most))) => {
                        assert!(least <= found && found <= most, "{outcome:?}");
                    }
                    (found, range) => {
                        assert_eq!(found.is_some(), range.is_some(), "{attempt} {outcome:?}");
                    }
                }
            }
        }
    }
}
