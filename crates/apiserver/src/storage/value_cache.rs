//! Which objects keep their values beside their JSON: those that were written or used lately. A
//! value takes several times the room of its JSON, so there is a bound, however many objects there
//! are.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, Weak},
};

use super::entry::{Entry, Kept};

/// How many bytes of JSON have values beside them.
const MOST: usize = 2 << 20;

/// The objects with values, in the order in which they are to be asked whether they still need
/// them.
#[derive(Default)]
pub(super) struct Parsed(Mutex<Round>);

#[derive(Default)]
struct Round {
    objects: VecDeque<(Weak<Kept>, usize)>,
    bytes: usize,
}

impl Parsed {
    /// An object has a value from now on; others lose theirs for it.
    pub(super) fn hold(&self, entry: &Entry) {
        let mut freed = Vec::new();
        let mut round = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        round.bytes += entry.bytes.len();
        round
            .objects
            .push_back((entry.downgrade(), entry.bytes.len()));
        // Each is spared once if it was used, so this ends.
        while round.bytes > MOST && round.objects.len() > 1 {
            let Some((object, size)) = round.objects.pop_front() else {
                break;
            };
            match Entry::upgrade(&object).map(|entry| entry.forget()) {
                Some(Err(())) => round.objects.push_back((object, size)),
                gone => {
                    round.bytes -= size;
                    freed.push(gone);
                }
            }
        }
        drop(round);
        // Freeing a value takes longer than taking it, and nobody waits for this.
        drop(freed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_are_used_stay_and_the_others_are_made_again() {
        let parsed = Arc::new(Parsed::default());
        let entry = |name: &str| {
            let value = json!({"metadata": {"name": name}, "data": "x".repeat(MOST / 8)});
            Entry::read(serde_json::to_vec(&value).unwrap().into(), 1, &parsed).unwrap()
        };
        let (often, once) = (entry("often"), entry("once"));
        let (kept, lost) = (often.value(), once.value());
        for number in 0..20 {
            drop(entry(&number.to_string()).value());
            assert!(Arc::ptr_eq(&often.value(), &kept), "{number}");
        }
        assert!(!Arc::ptr_eq(&once.value(), &lost));
        assert_eq!(once.value(), lost);
        assert!(parsed.0.lock().unwrap().bytes <= MOST);
    }
}
