//! Threads for what may take long: compiling a stack and rendering costly templates. The threads that answer health
//! checks and talk to the API server never do it, so that they stay responsive whatever a template does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::budget::{Limits, Meter};
use tokio::sync::{Semaphore, oneshot};

/// How much longer than its budget's time a piece of work is waited for: it asks the clock often, but not everywhere.
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

/// A few threads of their own. Each piece of work has a budget; the others wait their turn.
#[derive(Debug, Clone)]
pub struct Pool {
    turns: Arc<Semaphore>,
    stopped: Arc<AtomicBool>,
}

impl Pool {
    /// So many pieces of work at a time.
    pub fn new(threads: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(threads)), stopped: Arc::default() }
    }

    /// Ends what is being done soon, and starts nothing more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.turns.close();
    }

    /// Does something on a thread of its own, with a meter that knows the time. Whoever no longer waits for it ends it;
    /// its panics are the caller's.
    ///
    /// # Errors
    /// If it does not end in time, or the pool is stopped.
    pub async fn run<T: Send + 'static>(
        &self,
        limits: Limits,
        work: impl FnOnce(&Meter<'_>) -> T + Send + 'static,
    ) -> Result<T, Unfinished> {
        let Ok(turn) = self.turns.clone().acquire_owned().await else { return Err(Unfinished::Stopped) };
        let (done, answer) = oneshot::channel();
        let abandoned = Abandoned::default();
        let (flag, stopped) = (abandoned.0.clone(), self.stopped.clone());
        let patience = limits.time.saturating_add(GRACE);
        // Not one of the runtime's own: nobody has to wait for it when the program ends.
        std::thread::spawn(move || {
            let started = Instant::now();
            let clock = || match flag.load(Ordering::Acquire) || stopped.load(Ordering::Acquire) {
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
        if self.stopped.load(Ordering::Acquire) { Err(Unfinished::Stopped) } else { result }
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
        let limits = Limits { work: u64::MAX, time: Duration::from_millis(200), ..RENDER };
        let over = pool.run(limits, spin);
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
        assert_eq!(pool.run(RENDER, |_| 7).await, Ok(7), "the turn is free again");
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_ends() {
        let pool = Pool::new(1);
        let limits = Limits { work: u64::MAX, time: Duration::from_secs(3600), ..RENDER };
        let endless = pool.run(limits.clone(), spin);
        assert!(tokio::time::timeout(Duration::from_millis(50), endless).await.is_err());
        assert_eq!(pool.run(RENDER, |_| 7).await, Ok(7), "it made place");
        let (stopping, ended) = (pool.clone(), pool.run(limits, spin));
        let stop = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            stopping.stop();
        };
        let (ended, ()) = tokio::join!(ended, stop);
        assert_eq!(ended, Err(Unfinished::Stopped));
        assert_eq!(pool.run(RENDER, |_| 7).await, Err(Unfinished::Stopped));
    }

    #[tokio::test]
    async fn a_panic_is_the_callers() {
        let pool = Pool::new(1);
        let work = pool.run(RENDER, |_| -> u8 { panic!("as planned") });
        let caught = futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(work)).await;
        assert!(caught.is_err());
        assert_eq!(pool.run(RENDER, |_| 7).await, Ok(7));
    }
}
