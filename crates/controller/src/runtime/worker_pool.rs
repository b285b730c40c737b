//! Threads for what may take long: compiling a stack and rendering costly templates. The threads
//! that answer health checks and talk to the API server never do it, so that they stay responsive
//! whatever a template does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::budget::{Limits, Meter};
use tokio::sync::oneshot;

use super::fair_lanes::{Lane, Lanes, Width};

/// How much longer than its budget's time a piece of work is waited for: it asks the clock often,
/// but not everywhere.
const GRACE: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// It took longer than its budget and did not notice.
    #[error("it did not end in time")]
    Late,
    /// The program is about to end.
    #[error("the program is ending")]
    Stopped,
}

/// A few threads of their own. Each piece of work has a budget and belongs to a share, mostly a
/// namespace; the others wait their turn. Shares take turns, and none has all threads, however much
/// work it has.
#[derive(Debug, Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Who waits for a turn.
    lanes: Mutex<Lanes<oneshot::Sender<Turn>>>,
    stopped: AtomicBool,
}

/// The right to work; the next one gets it when it is dropped.
#[derive(Debug)]
struct Turn {
    lane: Lane,
    shared: Arc<Shared>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.lock().leave(&self.lane);
        self.shared.advance();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Lanes<oneshot::Sender<Turn>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Gives out the turns that there are.
    fn advance(self: &Arc<Self>) {
        loop {
            let next = self.lock().next();
            let Some((lane, waiting)) = next else { return };
            if waiting.is_closed() {
                // The caller no longer waits.
                self.lock().leave(&lane);
                continue;
            }
            // If it goes just now, the turn comes back and is dropped.
            let _ = waiting.send(Turn {
                lane,
                shared: self.clone(),
            });
        }
    }

    /// Waits for a turn; none once the pool is stopped.
    async fn turn(self: &Arc<Self>, share: &str) -> Option<Turn> {
        let (waiting, turn) = oneshot::channel();
        {
            let mut lanes = self.lock();
            if self.is_stopped() {
                return None;
            }
            lanes.push(
                Lane {
                    share: share.to_owned(),
                    host: String::new(),
                },
                waiting,
            );
        }
        self.advance();
        turn.await.ok()
    }
}

impl Pool {
    /// So many pieces of work at a time; of one share one less, so that another's never wait for
    /// all of its.
    pub fn new(threads: usize) -> Self {
        let per_share = threads.saturating_sub(1).max(1);
        let lanes = Lanes::new(Width {
            all: threads.max(1),
            per_share,
            per_host: usize::MAX,
        });
        Self {
            shared: Arc::new(Shared {
                lanes: Mutex::new(lanes),
                stopped: AtomicBool::new(false),
            }),
        }
    }

    /// Ends what is being done soon, and starts nothing more.
    pub fn stop(&self) {
        let mut lanes = self.shared.lock();
        self.shared.stopped.store(true, Ordering::Release);
        lanes.remove(|_| true);
    }

    /// Does something for a share on a thread of its own, with a meter that knows the time. A
    /// caller that no longer waits for it ends it; its panics are the caller's.
    ///
    /// # Errors
    /// If it does not end in time, or the pool is stopped.
    pub async fn run<T: Send + 'static>(
        &self,
        share: &str,
        limits: Limits,
        work: impl FnOnce(&Meter<'_>) -> T + Send + 'static,
    ) -> Result<T, Unfinished> {
        let Some(turn) = self.shared.turn(share).await else {
            return Err(Unfinished::Stopped);
        };
        let (done, answer) = oneshot::channel();
        let abandoned = Abandoned::default();
        let (flag, shared) = (abandoned.0.clone(), self.shared.clone());
        let patience = limits.time.saturating_add(GRACE);
        // Not one of the runtime's own: nobody has to wait for it when the program ends.
        std::thread::spawn(move || {
            let started = Instant::now();
            let clock = || match flag.load(Ordering::Acquire) || shared.is_stopped() {
                true => Duration::MAX,
                false => started.elapsed(),
            };
            let result = catch_unwind(AssertUnwindSafe(|| work(&Meter::new(limits).timed(&clock))));
            let _ = done.send(result);
            drop(turn);
        });
        let result = match tokio::time::timeout(patience, answer).await {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(panic))) => resume_unwind(panic),
            Ok(Err(_)) | Err(_) => Err(Unfinished::Late),
        };
        drop(abandoned);
        if self.shared.is_stopped() {
            Err(Unfinished::Stopped)
        } else {
            result
        }
    }
}

/// Says when it is dropped that nobody waits any more.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, Unfinished};
    use engine::budget::{Limits, Meter, Over, RENDER};
    use std::time::Duration;

    fn spin(meter: &Meter<'_>) -> Over {
        loop {
            if let Err(over) = meter.spend(1_000) {
                return over;
            }
        }
    }

    #[tokio::test]
    async fn work_ends_by_its_budget_while_others_go_on() {
        let pool = Pool::new(1);
        let limits = Limits {
            work: u64::MAX,
            time: Duration::from_millis(200),
            ..RENDER
        };
        let over = pool.run("a", limits, spin);
        let ticks = async {
            let mut ticks = 0;
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                ticks += 1;
                if ticks == 3 {
                    return;
                }
            }
        };
        let (over, ()) = tokio::join!(over, ticks);
        assert!(matches!(over, Ok(Over::Time(..))), "{over:?}");
        assert_eq!(
            pool.run("a", RENDER, |_| 7).await,
            Ok(7),
            "the turn is free again"
        );
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        let pool = Pool::new(1);
        let limits = Limits {
            work: u64::MAX,
            time: Duration::from_secs(3600),
            ..RENDER
        };
        let endless = pool.run("a", limits.clone(), spin);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), endless)
                .await
                .is_err()
        );
        assert_eq!(pool.run("a", RENDER, |_| 7).await, Ok(7), "it made place");
        let (stopping, ended) = (pool.clone(), pool.run("a", limits, spin));
        let stop = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stopping.stop();
        };
        let (ended, ()) = tokio::join!(ended, stop);
        assert_eq!(ended, Err(Unfinished::Stopped));
        assert_eq!(pool.run("a", RENDER, |_| 7).await, Err(Unfinished::Stopped));
    }

    #[tokio::test]
    async fn a_panic_is_the_callers() {
        let pool = Pool::new(1);
        let work = pool.run("a", RENDER, |_| -> u8 { panic!("as planned") });
        let caught = futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(work)).await;
        assert!(caught.is_err());
        assert_eq!(pool.run("a", RENDER, |_| 7).await, Ok(7));
    }

    /// Fifty variants: other numbers of threads, shares and jobs.
    #[tokio::test]
    async fn a_share_with_endless_work_holds_up_no_other() {
        for (index, mut choices) in testkit::variants() {
            let threads = 2 + choices.below(3);
            let pool = Pool::new(threads);
            let limits = Limits {
                work: u64::MAX,
                time: Duration::from_secs(3600),
                ..RENDER
            };
            let attacker = choices.name("attacker", 20);
            let endless: Vec<_> = (0..1 + choices.below(20))
                .map(|_| {
                    let (pool, limits, attacker) = (pool.clone(), limits.clone(), attacker.clone());
                    tokio::spawn(async move { pool.run(&attacker, limits, spin).await })
                })
                .collect();
            tokio::task::yield_now().await;
            for _ in 0..1 + choices.below(3) {
                let share = *choices.pick(&["victim", "", "/"]);
                let done =
                    tokio::time::timeout(Duration::from_secs(60), pool.run(share, RENDER, |_| 7))
                        .await;
                assert_eq!(done, Ok(Ok(7)), "variant {index}: {share}");
            }
            // Those that go while they wait leave nothing behind.
            endless.iter().for_each(tokio::task::JoinHandle::abort);
            let done =
                tokio::time::timeout(Duration::from_secs(60), pool.run(&attacker, RENDER, |_| 7))
                    .await;
            assert_eq!(done, Ok(Ok(7)), "variant {index}: the attacker itself");
            pool.stop();
        }
    }

    #[tokio::test]
    async fn shares_take_turns() {
        let pool = Pool::new(1);
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let first = tokio::spawn({
            let pool = pool.clone();
            async move { pool.run("a", RENDER, move |_| gate.recv().is_ok()).await }
        });
        tokio::task::yield_now().await;
        let mut waiting = Vec::new();
        for share in ["a", "a", "a", "b", "c", "b"] {
            let (pool, order) = (pool.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                pool.run(share, RENDER, move |_| order.lock().unwrap().push(share))
                    .await
            }));
            tokio::task::yield_now().await;
        }
        open.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(true));
        for one in waiting {
            assert_eq!(one.await.unwrap(), Ok(()));
        }
        assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "a", "b", "a"]);
    }
}
