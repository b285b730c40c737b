//! What keeps the objects beyond the process: a thread writes whatever has come together in one go, so that one flush
//! of the disk serves all who wait.

use std::{sync::Weak, thread::JoinHandle};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{Key, Store, Written};

/// The most commits that are written in one go.
const GROUP: usize = 1024;

/// A change to be kept.
#[derive(Clone, Debug)]
pub struct Record {
    /// The revision that it made.
    pub revision: u64,
    /// The revision of the object until then, if it was there.
    pub replaces: Option<u64>,
    /// Which object.
    pub key: Key,
    /// The object as JSON; none if it is gone.
    pub bytes: Option<Bytes>,
}

/// Why the journal could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} the journal: {why}")]
pub struct JournalError {
    doing: &'static str,
    why: String,
}

impl JournalError {
    /// What was being done, and what went wrong.
    pub fn new(doing: &'static str, why: &dyn std::fmt::Display) -> Self {
        Self { doing, why: why.to_string() }
    }
}

/// Takes an object out of the journal: where it is, its revision, its JSON.
pub type Load<'a> = dyn FnMut(Key, u64, Bytes) -> Result<(), JournalError> + 'a;

/// Keeps objects.
pub trait Journal: Send {
    /// Hands over every object, and returns the newest revision there ever was.
    ///
    /// # Errors
    ///
    /// If something cannot be read; then nothing is served.
    fn load(&mut self, each: &mut Load<'_>) -> Result<u64, JournalError>;

    /// Keeps a batch, all or nothing. When it returns, a loss of power does not lose it.
    ///
    /// # Errors
    ///
    /// If it may not have been kept.
    fn append(&mut self, batch: &[Record]) -> Result<(), JournalError>;
}

/// Writes what comes in until the store is gone.
pub(super) fn spawn(
    mut journal: Box<dyn Journal>,
    mut incoming: mpsc::UnboundedReceiver<Written>,
    store: Weak<Store>,
) -> Result<JoinHandle<()>, JournalError> {
    let write = move || {
        let mut group = Vec::new();
        while incoming.blocking_recv_many(&mut group, GROUP) > 0 {
            let records: Vec<Record> =
                group.iter_mut().flat_map(|written| std::mem::take(&mut written.records)).collect();
            let kept = journal.append(&records);
            let Some(store) = store.upgrade() else { return };
            if kept.is_err() {
                store.fail();
                return;
            }
            for written in group.drain(..) {
                store.settle(&written);
            }
        }
    };
    let thread = std::thread::Builder::new().name("journal".to_owned()).spawn(write);
    thread.map_err(|error| JournalError::new("start a thread for", &error))
}
