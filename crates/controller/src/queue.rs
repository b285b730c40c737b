//! What is to be looked at next: every key once, however often it was named, none by two workers at a time, later if it
//! failed, and those that fail do not hold up those that do not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The first wait after a failure that may be over soon, and after one that will not.
const FIRST: Duration = Duration::from_millis(50);
const SLOW: Duration = Duration::from_secs(1);
/// The longest wait, of which a quarter more may come by chance.
const LONGEST: Duration = Duration::from_secs(240);

/// When to look at a key again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// When something changes.
    OnChange,
    /// At once.
    Now,
    /// After so long, if nothing changes before.
    After(Duration),
    /// Soon, and each time later: what went wrong may be over by then.
    BackOff,
    /// Later, and each time later still: what went wrong is so until somebody changes something.
    Slowly,
}

/// Looks at a key. A panic is a fault of ours, and one key that has it must not end the work on all others.
pub(crate) async fn guarded<K: Debug>(key: &K, look: impl Future<Output = Again>) -> Again {
    AssertUnwindSafe(look).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(?key, "looking at this ended in a panic, which is a fault of cairn: please report it");
        Again::Slowly
    })
}

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    news: Notify,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    /// The same, to find them.
    waiting: BTreeSet<K>,
    /// Those that somebody works on; true if they were named again meanwhile.
    busy: BTreeMap<K, bool>,
    later: BTreeMap<K, Instant>,
    /// The same, by time.
    due: BTreeSet<(Instant, K)>,
    failures: BTreeMap<K, u32>,
    /// How many keys have failed: what each of their waits is lengthened by depends on it.
    failed: u64,
    closed: bool,
}

impl<K: Ord + Clone> Default for Queue<K> {
    fn default() -> Self {
        let state = State {
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            busy: BTreeMap::new(),
            later: BTreeMap::new(),
            due: BTreeSet::new(),
            failures: BTreeMap::new(),
            failed: 0,
            closed: false,
        };
        Self { state: Mutex::new(state), news: Notify::new() }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Something changed about a key.
    pub fn add(&self, key: K) {
        let mut state = self.lock();
        state.not_later(&key);
        state.push(key);
        drop(state);
        self.news.notify_one();
    }

    /// The next key; none once the queue is closed.
    pub async fn next(&self) -> Option<K> {
        loop {
            let news = self.news.notified();
            let soonest = {
                let mut state = self.lock();
                if state.closed {
                    return None;
                }
                state.ripen(Instant::now());
                if let Some(key) = state.ready.pop_front() {
                    state.waiting.remove(&key);
                    state.busy.insert(key.clone(), false);
                    // Another worker may take the next one.
                    self.news.notify_one();
                    return Some(key);
                }
                state.due.first().map(|(time, _)| *time)
            };
            match soonest {
                Some(time) => tokio::select! {
                    () = news => {}
                    () = tokio::time::sleep_until(time) => {}
                },
                None => news.await,
            }
        }
    }

    /// A key was looked at.
    pub fn done(&self, key: K, again: Again) {
        let mut state = self.lock();
        let named = state.busy.remove(&key).unwrap_or_default();
        let first = match again {
            Again::BackOff => Some(FIRST),
            Again::Slowly => Some(SLOW),
            _ => None,
        };
        if let Some(first) = first {
            state.failed = state.failed.wrapping_add(1);
            let chance = state.failed;
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let wait = first.saturating_mul(1 << (*failures - 1).min(20)).min(LONGEST);
            state.put_off(&key, Instant::now() + jittered(wait, chance));
        } else {
            state.failures.remove(&key);
        }
        match again {
            _ if named => {
                state.not_later(&key);
                state.push(key);
            }
            Again::Now => state.push(key),
            Again::After(wait) => {
                state.put_off(&key, Instant::now() + wait);
            }
            Again::OnChange | Again::BackOff | Again::Slowly => {}
        }
        drop(state);
        self.news.notify_one();
    }

    /// Lets all workers go.
    pub fn close(&self) {
        self.lock().closed = true;
        self.news.notify_waiters();
        self.news.notify_one();
    }

    /// Whether the workers were let go.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// How many keys wait to be looked at.
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    /// Whether nothing waits and nobody works: what is later does not count.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.ready.is_empty() && state.busy.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone> State<K> {
    fn push(&mut self, key: K) {
        if let Some(named) = self.busy.get_mut(&key) {
            *named = true;
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn put_off(&mut self, key: &K, until: Instant) {
        self.not_later(key);
        self.later.insert(key.clone(), until);
        self.due.insert((until, key.clone()));
    }

    fn not_later(&mut self, key: &K) {
        if let Some(time) = self.later.remove(key) {
            self.due.remove(&(time, key.clone()));
        }
    }

    fn ripen(&mut self, now: Instant) {
        while self.due.first().is_some_and(|(time, _)| *time <= now) {
            let Some((_, key)) = self.due.pop_first() else { return };
            self.later.remove(&key);
            self.push(key);
        }
    }
}

/// A wait, longer by up to a quarter, so that what failed together does not come back together.
fn jittered(wait: Duration, chance: u64) -> Duration {
    // Multiples of an odd constant spread evenly over the top bits, whatever the numbers are.
    let share = (chance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u32;
    wait + wait / 1024 * share
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Again, Queue, guarded};

    #[tokio::test]
    async fn a_panic_is_a_failure_of_one_key() {
        let boom = async |key: &str| if key == "bad" { unreachable!("{key}") } else { Again::Now };
        assert_eq!(guarded(&"bad", boom("bad")).await, Again::Slowly);
        assert_eq!(guarded(&"good", boom("good")).await, Again::Now);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_there_once_and_never_with_two_workers() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next().await, Some("a"));
        queue.add("a");
        assert_eq!(queue.next().await, Some("b"));
        assert_eq!(queue.depth(), 0, "a is being worked on");
        queue.done("a", Again::OnChange);
        assert_eq!(queue.next().await, Some("a"), "it changed meanwhile");
        queue.done("a", Again::OnChange);
        queue.done("b", Again::OnChange);
        assert!(queue.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_comes_back_later_and_later_and_what_changes_at_once() {
        let queue = Queue::default();
        queue.add("a");
        let mut key = queue.next().await.unwrap();
        for (again, least) in [
            (Again::BackOff, 50),
            (Again::BackOff, 100),
            (Again::Slowly, 4000),
            (Again::After(Duration::from_secs(10)), 10_000),
            // All is well again: the next failure begins anew.
            (Again::Slowly, 1000),
        ] {
            let before = Instant::now();
            queue.done(key, again);
            key = queue.next().await.unwrap();
            let waited = before.elapsed().as_millis();
            // A quarter more at most, and a clock that ticks in milliseconds.
            assert!((least..=least * 5 / 4 + 1).contains(&waited), "{waited} after {again:?}");
        }
        let before = Instant::now();
        queue.done(key, Again::Slowly);
        queue.add("a");
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(before.elapsed(), Duration::ZERO, "what changes is looked at at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_queue_lets_its_workers_go() {
        let queue = Arc::new(Queue::<&str>::default());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                tokio::spawn({
                    let queue = queue.clone();
                    async move { queue.next().await }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        queue.close();
        for worker in workers {
            assert_eq!(worker.await.unwrap(), None);
        }
    }
}
