//! A work queue: every key once, however often it was added, none with two workers at a time, later
//! if it failed. Keys belong to shares, mostly namespaces, which take turns: however many keys one
//! share has, another's next key waits for one turn of each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use objects::Key;

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
pub enum Requeue {
    /// When something changes.
    AwaitChange,
    /// At once.
    Now,
    /// After so long, if nothing changes before.
    After(Duration),
    /// Soon, and each time later: what went wrong may be over by then.
    Backoff,
    /// Later, and each time later still: what went wrong is so until somebody changes something.
    SlowBackoff,
}

/// Looks at a key. A panic is a fault of ours, and one key that has it must not end the work on all
/// others.
pub(crate) async fn guarded<K: Debug>(
    key: &K,
    reconcile: impl Future<Output = Requeue>,
) -> Requeue {
    AssertUnwindSafe(reconcile)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| {
            tracing::error!(
                ?key,
                "looking at this ended in a panic, which is a fault of cairn: please report it"
            );
            Requeue::SlowBackoff
        })
}

/// A key of a queue.
pub trait FairKey {
    /// The share of the work that the key belongs to: a namespace, or nothing for what belongs to
    /// the whole cluster.
    fn share(&self) -> &str;
}

impl FairKey for Key {
    fn share(&self) -> &str {
        &self.namespace
    }
}

impl<T> FairKey for (T, Key) {
    fn share(&self) -> &str {
        &self.1.namespace
    }
}

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    news: Notify,
}

#[derive(Debug)]
struct State<K> {
    /// What is ready, by share; none is empty.
    ready: BTreeMap<Arc<str>, VecDeque<K>>,
    /// The same shares; the first is next.
    turns: VecDeque<Arc<str>>,
    /// The same keys, to find them, and since when they are ready.
    waiting: BTreeMap<K, Instant>,
    busy: BTreeMap<K, Busy>,
    /// How many keys of each share somebody works on.
    working: BTreeMap<Arc<str>, usize>,
    /// How many keys of one share are worked on at a time.
    at_once: usize,
    later: BTreeMap<K, Instant>,
    /// The same, by time.
    due: BTreeSet<(Instant, K)>,
    failures: BTreeMap<K, u32>,
    /// How many keys have failed: what each of their waits is lengthened by depends on it.
    failed: u64,
    closed: bool,
}

/// A key that somebody works on.
#[derive(Debug)]
struct Busy {
    /// Whether it was added again meanwhile.
    named: bool,
    /// How long it was ready before.
    waited: Duration,
}

impl<K: Ord + Clone + FairKey> Default for Queue<K> {
    fn default() -> Self {
        Self::at_once(usize::MAX)
    }
}

impl<K: Ord + Clone + FairKey> Queue<K> {
    /// A queue that gives out at most so many keys of a share at a time, so that some workers stay
    /// free for others.
    pub fn at_once(at_once: usize) -> Self {
        let state = State {
            ready: BTreeMap::new(),
            turns: VecDeque::new(),
            waiting: BTreeMap::new(),
            busy: BTreeMap::new(),
            working: BTreeMap::new(),
            at_once: at_once.max(1),
            later: BTreeMap::new(),
            due: BTreeSet::new(),
            failures: BTreeMap::new(),
            failed: 0,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            news: Notify::new(),
        }
    }

    /// Something changed about a key.
    pub fn add(&self, key: K) {
        let mut state = self.lock();
        state.not_later(&key);
        state.push(key, Instant::now());
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
                let now = Instant::now();
                state.ripen(now);
                if let Some(key) = state.pop() {
                    let since = state.waiting.remove(&key).unwrap_or(now);
                    let busy = Busy {
                        named: false,
                        waited: now.saturating_duration_since(since),
                    };
                    state.busy.insert(key.clone(), busy);
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

    /// How long a key that is being worked on was ready before.
    pub fn waited(&self, key: &K) -> Duration {
        self.lock()
            .busy
            .get(key)
            .map(|busy| busy.waited)
            .unwrap_or_default()
    }

    /// A key was looked at.
    pub fn done(&self, key: K, again: Requeue) {
        let mut state = self.lock();
        let named = state.busy.remove(&key).is_some_and(|busy| busy.named);
        state.leave(key.share());
        let first = match again {
            Requeue::Backoff => Some(FIRST),
            Requeue::SlowBackoff => Some(SLOW),
            _ => None,
        };
        if let Some(first) = first {
            state.failed = state.failed.wrapping_add(1);
            let chance = state.failed;
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            let wait = first
                .saturating_mul(1 << (*failures - 1).min(20))
                .min(LONGEST);
            state.put_off(&key, Instant::now() + jittered(wait, chance));
        } else {
            state.failures.remove(&key);
        }
        match again {
            _ if named => {
                state.not_later(&key);
                state.push(key, Instant::now());
            }
            Requeue::Now => state.push(key, Instant::now()),
            Requeue::After(wait) => {
                state.put_off(&key, Instant::now() + wait);
            }
            Requeue::AwaitChange | Requeue::Backoff | Requeue::SlowBackoff => {}
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
        self.lock().waiting.len()
    }

    /// Whether nothing waits and nobody works: what is later does not count.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.waiting.is_empty() && state.busy.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone + FairKey> State<K> {
    fn push(&mut self, key: K, now: Instant) {
        if let Some(busy) = self.busy.get_mut(&key) {
            busy.named = true;
            return;
        }
        if self.waiting.contains_key(&key) {
            return;
        }
        self.waiting.insert(key.clone(), now);
        match self.ready.get_mut(key.share()) {
            Some(ready) => ready.push_back(key),
            None => {
                let share: Arc<str> = key.share().into();
                self.turns.push_back(share.clone());
                self.ready.insert(share, VecDeque::from([key]));
            }
        }
    }

    /// The next key of the next share that has not as many workers as it may.
    fn pop(&mut self) -> Option<K> {
        // Those that are passed over are at most as many as there are workers.
        let at = self.turns.iter().position(|share| {
            self.working
                .get(share)
                .is_none_or(|count| *count < self.at_once)
        })?;
        let share = self.turns.remove(at)?;
        let ready = self.ready.get_mut(&share)?;
        let key = ready.pop_front();
        if ready.is_empty() {
            self.ready.remove(&share);
        } else {
            self.turns.push_back(share.clone());
        }
        *self.working.entry(share).or_default() += 1;
        key
    }

    /// Somebody no longer works on a key of a share.
    fn leave(&mut self, share: &str) {
        if let Some(count) = self.working.get_mut(share) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.working.remove(share);
            }
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
            let Some((_, key)) = self.due.pop_first() else {
                return;
            };
            self.later.remove(&key);
            self.push(key, now);
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
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Duration;

    use testkit::variants;
    use tokio::time::Instant;

    use super::{FairKey, Queue, Requeue, guarded};

    /// `namespace/name`.
    impl FairKey for &str {
        fn share(&self) -> &str {
            self.split_once('/').map_or("", |(namespace, _)| namespace)
        }
    }

    impl FairKey for String {
        fn share(&self) -> &str {
            self.split_once('/').map_or("", |(namespace, _)| namespace)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn however_many_keys_a_namespace_has_another_waits_for_one_turn() {
        for (index, mut choices) in variants() {
            let queue = Queue::default();
            let attackers = 1 + choices.below(5);
            let many = choices.below(1000);
            for number in 0..many {
                queue.add(format!("attacker-{}/{number}", choices.below(attackers)));
            }
            for _ in 0..choices.below(many + 1) {
                let key = queue.next().await.unwrap();
                queue.done(key, *choices.pick(&[Requeue::Now, Requeue::AwaitChange]));
            }
            let victim = if choices.toss() {
                "victim/one"
            } else {
                "cluster"
            };
            queue.add(victim.to_owned());
            let mut turns = 0;
            while queue.next().await.unwrap() != victim {
                turns += 1;
            }
            assert!(
                turns <= attackers,
                "variant {index}: {turns} turns among {attackers}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn shares_take_turns_and_keys_of_a_share_keep_their_order() {
        let queue = Queue::default();
        for key in ["a/1", "a/2", "a/3", "b/1", "c", "a/4", "b/2"] {
            queue.add(key);
        }
        let mut order = Vec::new();
        while queue.depth() > 0 {
            order.extend(queue.next().await);
        }
        assert_eq!(order, ["a/1", "b/1", "c", "a/2", "b/2", "a/3", "a/4"]);
    }

    #[tokio::test(start_paused = true)]
    async fn some_workers_stay_free_for_other_shares() {
        let queue = Queue::at_once(2);
        for key in ["a/1", "a/2", "a/3"] {
            queue.add(key);
        }
        assert_eq!(
            (queue.next().await, queue.next().await),
            (Some("a/1"), Some("a/2"))
        );
        let nothing = tokio::time::timeout(Duration::from_secs(1), queue.next()).await;
        assert!(nothing.is_err(), "the share has as many workers as it may");
        queue.add("b/1");
        assert_eq!(queue.next().await, Some("b/1"));
        tokio::time::advance(Duration::from_secs(2)).await;
        queue.done("a/1", Requeue::AwaitChange);
        assert_eq!(queue.next().await, Some("a/3"));
        assert!(
            queue.waited(&"a/3") >= Duration::from_secs(3),
            "{:?}",
            queue.waited(&"a/3")
        );
    }

    /// Whatever is added and done in whatever order: no key is out twice, none is lost, and no
    /// share is over its limit.
    #[tokio::test(start_paused = true)]
    async fn nothing_is_lost_and_nothing_is_out_twice() {
        for (index, mut choices) in variants() {
            let at_once = 1 + choices.below(3);
            let queue = Queue::at_once(at_once);
            let (mut out, mut added): (Vec<String>, BTreeMap<String, bool>) = Default::default();
            for _ in 0..400 {
                match choices.below(3) {
                    0 => {
                        let key = format!("{}/{}", choices.below(3), choices.below(6));
                        queue.add(key.clone());
                        added.insert(key, true);
                    }
                    1 => {
                        let Ok(key) =
                            tokio::time::timeout(Duration::from_millis(1), queue.next()).await
                        else {
                            continue;
                        };
                        let key = key.unwrap();
                        assert!(!out.contains(&key), "variant {index}: {key} is out twice");
                        assert_eq!(
                            added.insert(key.clone(), false),
                            Some(true),
                            "variant {index}: {key} for no reason"
                        );
                        out.push(key);
                        let share = out[out.len() - 1].share().to_owned();
                        let busy = out.iter().filter(|key| key.share() == share).count();
                        assert!(busy <= at_once, "variant {index}: {busy} of {share}");
                    }
                    _ if !out.is_empty() => {
                        queue.done(out.remove(choices.below(out.len())), Requeue::AwaitChange);
                    }
                    _ => {}
                }
            }
            out.drain(..)
                .for_each(|key| queue.done(key, Requeue::AwaitChange));
            while queue.depth() > 0 {
                let key = queue.next().await.unwrap();
                assert_eq!(
                    added.insert(key.clone(), false),
                    Some(true),
                    "variant {index}: {key}"
                );
                queue.done(key, Requeue::AwaitChange);
            }
            assert!(
                added.values().all(|waits| !waits),
                "variant {index}: {added:?}"
            );
            assert!(queue.is_idle());
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_of_one_key() {
        let boom = async |key: &str| {
            if key == "bad" {
                unreachable!("{key}")
            } else {
                Requeue::Now
            }
        };
        assert_eq!(guarded(&"bad", boom("bad")).await, Requeue::SlowBackoff);
        assert_eq!(guarded(&"good", boom("good")).await, Requeue::Now);
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
        queue.done("a", Requeue::AwaitChange);
        assert_eq!(queue.next().await, Some("a"), "it changed meanwhile");
        queue.done("a", Requeue::AwaitChange);
        queue.done("b", Requeue::AwaitChange);
        assert!(queue.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_comes_back_later_and_later_and_what_changes_at_once() {
        let queue = Queue::default();
        queue.add("a");
        let mut key = queue.next().await.unwrap();
        for (again, least) in [
            (Requeue::Backoff, 50),
            (Requeue::Backoff, 100),
            (Requeue::SlowBackoff, 4000),
            (Requeue::After(Duration::from_secs(10)), 10_000),
            // All is well again: the next failure begins anew.
            (Requeue::SlowBackoff, 1000),
        ] {
            let before = Instant::now();
            queue.done(key, again);
            key = queue.next().await.unwrap();
            let waited = before.elapsed().as_millis();
            // A quarter more at most, and a clock that ticks in milliseconds.
            assert!(
                (least..=least * 5 / 4 + 1).contains(&waited),
                "{waited} after {again:?}"
            );
        }
        let before = Instant::now();
        queue.done(key, Requeue::SlowBackoff);
        queue.add("a");
        assert_eq!(queue.next().await, Some("a"));
        assert_eq!(
            before.elapsed(),
            Duration::ZERO,
            "what changes is looked at at once"
        );
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
