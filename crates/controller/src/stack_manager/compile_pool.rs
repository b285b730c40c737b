//! Threads for what takes long to compute: reading packages and compiling their templates. They are
//! not those of the async runtime, so that whatever a package costs, the API, health and the end of
//! the program do not wait for it. They are shared fairly between namespaces, and every job has a
//! deadline.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::runtime::fair_lanes::{Lane, Lanes, Width};

/// The most threads that go on with something that nobody waits for any more. Beyond, they are not
/// replaced.
const ABANDONED: usize = 8;
/// Templates may nest deeply.
const STACK: usize = 16 << 20;

/// Why a job has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoResult {
    /// It took longer than it may.
    TooLong,
    /// It panicked.
    Panicked,
    /// The pool is closed.
    Closed,
}

struct Task {
    work: Box<dyn FnOnce() + Send>,
    flags: Arc<Flags>,
}

#[derive(Default)]
struct Flags {
    /// Nobody waits for it any more.
    stop: AtomicBool,
    /// It has ended; only with the lock of the pool.
    ended: AtomicBool,
    /// Another thread has taken the place of its own; only with the lock of the pool.
    replaced: AtomicBool,
}

/// A pool of threads.
pub(super) struct Pool {
    shared: Arc<Shared>,
    timeout: Duration,
}

struct Shared {
    state: Mutex<State>,
    news: Condvar,
    most: usize,
}

struct State {
    lanes: Lanes<Task>,
    /// Threads that take jobs.
    threads: usize,
    idle: usize,
    /// Threads whose job nobody waits for any more.
    abandoned: usize,
    closed: bool,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.news.notify_all();
    }
}

impl Pool {
    /// A pool of so many threads, at least two; one of them stays free for other namespaces. Jobs
    /// may take so long.
    pub(super) fn new(threads: usize, timeout: Duration) -> Self {
        let most = threads.max(2);
        let lanes = Lanes::new(Width {
            all: usize::MAX,
            per_share: most - 1,
            per_host: usize::MAX,
        });
        let state = State {
            lanes,
            threads: 0,
            idle: 0,
            abandoned: 0,
            closed: false,
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                news: Condvar::new(),
                most,
            }),
            timeout,
        }
    }

    /// How long a job may take.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Computes something for a namespace. `work` gets a flag that is set once nobody waits for it
    /// any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        share: &str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> Result<T, NoResult> {
        let (begin, begun) = oneshot::channel();
        let (done, result) = oneshot::channel();
        let flags = Arc::new(Flags::default());
        let own = flags.clone();
        let work = Box::new(move || {
            let _ = begin.send(());
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| work(&own.stop)));
            // Whoever asked may have gone.
            let _ = done.send(outcome);
        });
        self.shared.push(
            share,
            Task {
                work,
                flags: flags.clone(),
            },
        );
        begun.await.map_err(|_| NoResult::Closed)?;
        match tokio::time::timeout(self.timeout, result).await {
            Ok(Ok(Ok(value))) => Ok(value),
            Ok(Ok(Err(_))) => Err(NoResult::Panicked),
            Ok(Err(_)) => Err(NoResult::Closed),
            Err(_) => {
                self.shared.abandon(&flags);
                Err(NoResult::TooLong)
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(self: &Arc<Self>, share: &str, task: Task) {
        let mut state = self.lock();
        state.lanes.push(
            Lane {
                share: share.to_owned(),
                host: String::new(),
            },
            task,
        );
        if state.idle == 0 {
            self.grow(&mut state);
        }
        drop(state);
        self.news.notify_one();
    }

    fn grow(self: &Arc<Self>, state: &mut State) {
        if state.threads >= self.most || state.closed {
            return;
        }
        let shared = self.clone();
        let builder = std::thread::Builder::new()
            .name("compile".to_owned())
            .stack_size(STACK);
        // Without another thread the others do it, later.
        if builder.spawn(move || shared.serve()).is_ok() {
            state.threads += 1;
        }
    }

    /// A job goes on though nobody waits for it: another thread takes its place.
    fn abandon(self: &Arc<Self>, flags: &Flags) {
        flags.stop.store(true, Ordering::Release);
        let mut state = self.lock();
        if state.abandoned >= ABANDONED || flags.ended.load(Ordering::Acquire) {
            return;
        }
        flags.replaced.store(true, Ordering::Release);
        state.abandoned += 1;
        state.threads = state.threads.saturating_sub(1);
        self.grow(&mut state);
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if state.closed {
                return;
            }
            let Some((lane, task)) = state.lanes.next() else {
                state.idle += 1;
                state = self
                    .news
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle = state.idle.saturating_sub(1);
                continue;
            };
            drop(state);
            (task.work)();
            state = self.lock();
            task.flags.ended.store(true, Ordering::Release);
            state.lanes.leave(&lane);
            // What waited for this share may begin.
            self.news.notify_one();
            if task.flags.replaced.load(Ordering::Acquire) {
                state.abandoned = state.abandoned.saturating_sub(1);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::{NoResult, Pool};

    fn spin(stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_namespace_with_endless_jobs_holds_up_only_itself() {
        let pool = std::sync::Arc::new(Pool::new(2, Duration::from_secs(3600)));
        let endless: Vec<_> = (0..20)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move { pool.run("attacker", spin).await })
            })
            .collect();
        let waits = |share: &'static str| {
            let pool = pool.clone();
            async move { tokio::time::timeout(Duration::from_secs(60), pool.run(share, |_| 7)).await }
        };
        for share in ["victim", "", "victim"] {
            assert_eq!(waits(share).await.unwrap(), Ok(7), "{share}");
        }
        endless.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn what_takes_too_long_or_panics_has_no_result_and_harms_no_later_job() {
        let pool = Pool::new(2, Duration::from_millis(50));
        for _ in 0..12 {
            assert_eq!(pool.run("attacker", spin).await, Err(NoResult::TooLong));
        }
        let patient = Pool::new(2, Duration::from_secs(60));
        let outcome = patient
            .run("attacker", |_| {
                assert!(std::hint::black_box(false), "on purpose");
            })
            .await;
        assert_eq!(outcome, Err(NoResult::Panicked));
        assert_eq!(patient.run("victim", |_| 1).await, Ok(1));
    }
}
