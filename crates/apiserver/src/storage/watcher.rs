//! Follows the changes of one resource, or of all. A watcher costs a place in the history and a
//! waker; an object is serialized once, whoever watches.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Event, Gone, Store};

/// The most events that are taken at once, so that a watcher from long ago does not hold everything
/// twice.
const BATCH: usize = 256;

/// Something that happened, and how far that is.
#[derive(Debug)]
pub struct Batch {
    /// The changes, oldest first.
    pub events: Vec<Arc<Event>>,
    /// Everything up to this revision has been told.
    pub revision: u64,
}

/// A place in the history that moves on.
pub struct Watcher {
    store: Arc<Store>,
    resource: Option<Arc<str>>,
    signal: watch::Receiver<u64>,
    told: u64,
}

impl Store {
    /// Follows a resource from after a revision on.
    ///
    /// # Errors
    ///
    /// If the revision is older than what is remembered.
    pub fn watch(self: &Arc<Self>, resource: &Arc<str>, from: u64) -> Result<Watcher, Gone> {
        let mut state = self
            .state
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let oldest = state.past.oldest();
        if from < oldest {
            return Err(Gone {
                asked: from,
                oldest,
            });
        }
        let signal = state
            .tables
            .entry(resource.clone())
            .or_default()
            .signal
            .subscribe();
        Ok(Watcher {
            store: self.clone(),
            resource: Some(resource.clone()),
            signal,
            told: from,
        })
    }

    /// Follows everything from after a revision on.
    ///
    /// # Errors
    ///
    /// If the revision is older than what is remembered.
    pub fn watch_all(self: &Arc<Self>, from: u64) -> Result<Watcher, Gone> {
        let oldest = self.oldest();
        if from < oldest {
            return Err(Gone {
                asked: from,
                oldest,
            });
        }
        Ok(Watcher {
            store: self.clone(),
            resource: None,
            signal: self.settling.subscribe(),
            told: from,
        })
    }
}

impl Watcher {
    /// Everything up to this revision has been told.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Whether something has happened that was not told yet; asking costs next to nothing.
    pub fn is_behind(&self) -> bool {
        *self.signal.borrow() > self.told
    }

    /// What has happened since the last call, if anything; with no event, how far it is sure that
    /// there was none.
    ///
    /// # Errors
    ///
    /// If so much has happened that some of it is forgotten.
    pub fn take(&mut self) -> Result<Batch, Gone> {
        let settled = self.store.revision();
        let state = self.store.read();
        if self.told < state.past.oldest() && self.forgotten(&state) {
            return Err(Gone {
                asked: self.told,
                oldest: state.past.oldest(),
            });
        }
        let events: Vec<Arc<Event>> = match &self.resource {
            Some(resource) => match state.tables.get(resource) {
                Some(table) => table
                    .history
                    .after(self.told)
                    .take_while(|event| event.revision <= settled)
                    .take(BATCH)
                    .cloned()
                    .collect(),
                None => Vec::new(),
            },
            None => state
                .past
                .after(self.told)
                .take_while(|event| event.revision <= settled)
                .take(BATCH)
                .cloned()
                .collect(),
        };
        drop(state);
        self.told = match events.last() {
            Some(last) if events.len() == BATCH => last.revision,
            _ => settled.max(self.told),
        };
        Ok(Batch {
            events,
            revision: self.told,
        })
    }

    /// Waits for something to happen. Dropping it loses nothing.
    ///
    /// # Errors
    ///
    /// If so much has happened that some of it is forgotten.
    pub async fn next(&mut self) -> Result<Batch, Gone> {
        loop {
            self.signal.borrow_and_update();
            let batch = self.take()?;
            if !batch.events.is_empty() {
                return Ok(batch);
            }
            if self.signal.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether something that this watcher was to tell is forgotten. A resource at rest loses
    /// nothing when others push the window on: whatever it had was told when it happened.
    fn forgotten(&self, state: &super::State) -> bool {
        let Some(resource) = &self.resource else {
            return true;
        };
        let lost = state
            .tables
            .get(resource)
            .map_or(0, |table| table.history.lost());
        lost > self.told
    }
}
