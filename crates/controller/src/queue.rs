//! What is to be looked at next: every key once, however often it was named, none by two workers at a time, later if it
//! failed, and those that fail do not hold up those that do not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The first and the longest wait after a failure.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(300);

/// When to look at a key again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// When something changes.
    OnChange,
    /// At once.
    Now,
    /// After so long, if nothing changes before.
    After(Duration),
    /// Later, and each time later still.
    BackOff,
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
    failures: BTreeMap<K, u32>,
    closed: bool,
}

impl<K: Ord + Clone> Default for Queue<K> {
    fn default() -> Self {
        let state = State {
            ready: VecDeque::new(),
            waiting: BTreeSet::new(),
            busy: BTreeMap::new(),
            later: BTreeMap::new(),
            failures: BTreeMap::new(),
            closed: false,
        };
        Self { state: Mutex::new(state), news: Notify::new() }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Something changed about a key.
    pub fn add(&self, key: K) {
        let mut state = self.lock();
        state.later.remove(&key);
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
                state.later.values().min().copied()
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
        if again == Again::BackOff {
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let wait = FIRST.saturating_mul(1 << (*failures - 1).min(20)).min(LONGEST);
            state.later.insert(key.clone(), Instant::now() + wait);
        } else {
            state.failures.remove(&key);
        }
        match again {
            _ if named => {
                state.later.remove(&key);
                state.push(key);
            }
            Again::Now => state.push(key),
            Again::After(wait) => {
                state.later.insert(key, Instant::now() + wait);
            }
            Again::OnChange | Again::BackOff => {}
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

    fn ripen(&mut self, now: Instant) {
        let ripe: Vec<K> = self.later.iter().filter(|(_, time)| **time <= now).map(|(key, _)| key.clone()).collect();
        for key in ripe {
            self.later.remove(&key);
            self.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Again, Queue};

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
        let begin = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..4 {
            let key = queue.next().await.unwrap();
            waits.push(begin.elapsed().as_millis());
            queue.done(key, Again::BackOff);
        }
        assert_eq!(waits, [0, 50, 150, 350]);
        queue.add("a");
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(begin.elapsed().as_millis(), 350);
        queue.done("a", Again::After(Duration::from_secs(10)));
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(begin.elapsed().as_millis(), 10_350);
        // All is well again: the next failure begins anew.
        queue.done("a", Again::BackOff);
        queue.next().await;
        assert_eq!(begin.elapsed().as_millis(), 10_400);
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
