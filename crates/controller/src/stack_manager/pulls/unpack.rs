//! Unpacking, reading and compiling packages on the threads for it, each once for the same content.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::budget::{Meter, Over};
use install::Trouble;
use install::reconcile::install::Verdict;
use package::Package;
use package::image::Reference;
use tokio::time::Instant;

use super::super::compile_pool::NoResult;
use super::super::{Fetched, StackManager, read};
use super::{Brought, Content, NEVER, State, TOO_COSTLY, VERDICTS};
use objects::Key;

impl StackManager {
    /// Unpacks, reads and compiles a package, each once for the same content.
    pub(super) async fn unpack(
        &self,
        key: &Key,
        number: u64,
        reference: Reference,
        fetched: Fetched,
    ) -> Result<Brought, Trouble> {
        let content = (
            reference.digest.clone().unwrap_or_default(),
            reference.tag.clone().unwrap_or_default(),
        );
        let named = reference.clone();
        let read = self.once(&key.namespace, State::read, content.clone(), move |stop| {
            let files = fetched(&|| !stop.load(Ordering::Acquire))?;
            let bytes = files.values().map(|file| file.len() as u64).sum();
            Ok((read(&files, &named)?, bytes))
        });
        let (package, bytes) = read.await?;
        // Its size counts from now on, and what is too much for the namespace is not compiled.
        if let Some(entry) = self
            .pulls
            .lock()
            .entries
            .get_mut(key)
            .filter(|entry| entry.number == number)
        {
            entry.bytes = bytes;
        }
        if let Some(trouble) = self.install_limit(key) {
            return Err(trouble);
        }
        let verdict = self.judge(key, content, &package).await?;
        Ok(Brought {
            reference,
            package,
            verdict,
            bytes,
        })
    }

    /// Compiles a package, once for the same content: many installs of a costly one cost no more
    /// than one does.
    async fn judge(
        &self,
        key: &Key,
        content: Content,
        package: &Arc<Package>,
    ) -> Result<Arc<Verdict>, Trouble> {
        let (package, key) = (package.clone(), key.clone());
        let share = key.namespace.clone();
        let limits = self.parts.bounds.compile.clone();
        let (pulls, place) = (self.pulls.clone(), (content.clone(), share.clone()));
        let compile = move |stop: &AtomicBool| {
            if let Some(trouble) = pulls
                .lock()
                .slow
                .get(&place)
                .filter(|(until, _)| Instant::now() < *until)
            {
                return Err(trouble.1.clone());
            }
            let begin = std::time::Instant::now();
            let clock = || {
                if stop.load(Ordering::Acquire) {
                    Duration::MAX
                } else {
                    begin.elapsed()
                }
            };
            let meter = Meter::new(limits).timed(&clock);
            let verdict = Verdict::of(&package, &key.name, &key.namespace, &meter);
            match (meter.over(), &verdict.new) {
                // By work it is always so for this package; by time it may be otherwise on another
                // day.
                (Some(Over::Time(..)), Some(trouble)) => {
                    let mut state = pulls.lock();
                    while state.slow.len() >= VERDICTS {
                        state.slow.pop_first();
                    }
                    state
                        .slow
                        .insert(place, (Instant::now() + NEVER, trouble.clone()));
                    Err(trouble.clone())
                }
                _ => Ok(Arc::new(verdict)),
            }
        };
        self.once(&share, State::verdict, content, compile).await
    }

    /// Computes something about a content on the threads for it, unless it is known, or has become
    /// known by the time that it is its turn: of many that wait for the same, one does it.
    async fn once<T: Clone + Send + 'static>(
        &self,
        share: &str,
        memory: fn(&mut State, &Content, Option<&T>) -> Option<T>,
        content: Content,
        work: impl FnOnce(&AtomicBool) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        if let Some(known) = memory(&mut self.pulls.lock(), &content, None) {
            return Ok(known);
        }
        let pulls = self.pulls.clone();
        let done = self.pool.run(share, move |stop| {
            if let Some(known) = memory(&mut pulls.lock(), &content, None) {
                return Ok(known);
            }
            let found = work(stop)?;
            memory(&mut pulls.lock(), &content, Some(&found));
            Ok(found)
        });
        done.await.map_err(|why| unread(why, self.pool.timeout()))?
    }
}

fn unread(why: NoResult, timeout: Duration) -> Trouble {
    match why {
        NoResult::TooLong => {
            let what = format!(
                "reading the package took longer than {} s: make it smaller",
                timeout.as_secs_f32()
            );
            Trouble::new(TOO_COSTLY, what)
        }
        NoResult::Panicked => Trouble::new(
            "PullFailed",
            "reading the package panicked; this is a bug in cairn, please report it",
        ),
        NoResult::Closed => Trouble::new("Stopping", "the stack manager is stopping"),
    }
}
