//! What keeps the objects beyond the process: a thread writes whatever has come together in one go,
//! so that one flush of the disk serves all who wait.

pub(crate) mod file;
pub(crate) mod frame;

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
    /// There is no room for it.
    full: bool,
}

impl JournalError {
    /// What was being done, and what went wrong.
    pub fn new(doing: &'static str, why: &dyn std::fmt::Display) -> Self {
        Self {
            doing,
            why: why.to_string(),
            full: false,
        }
    }

    /// What was being done with a file, and what the system says.
    pub fn io(doing: &'static str, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        Self {
            full,
            ..Self::new(doing, error)
        }
    }

    /// Whether there is no room for it.
    pub fn is_full(&self) -> bool {
        self.full
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

    /// Whether it has become so long that it had better begin anew with what is there now.
    fn is_long(&mut self) -> bool {
        false
    }

    /// Begins anew: with everything as it is, which includes all that was appended and may be ahead
    /// of it.
    fn shorten(&mut self, _: Snapshot) {}
}

/// Everything as it is at a revision.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The revision.
    pub revision: u64,
    /// All objects; each has the revision that made it so.
    pub objects: Vec<Record>,
}

/// Writes what comes in until the store is gone.
pub(super) fn spawn(
    mut journal: Box<dyn Journal>,
    mut incoming: mpsc::UnboundedReceiver<Written>,
    store: Weak<Store>,
) -> Result<JoinHandle<()>, JournalError> {
    let write = move || {
        let (mut group, mut records) = (Vec::new(), Vec::new());
        while incoming.blocking_recv_many(&mut group, GROUP) > 0 {
            records.clear();
            records.extend(
                group
                    .iter_mut()
                    .flat_map(|written| std::mem::take(&mut written.records)),
            );
            let kept = journal.append(&records);
            let Some(store) = store.upgrade() else { return };
            if let Err(error) = kept {
                store.fail(error);
                return;
            }
            store.settle(&mut group);
            if journal.is_long() {
                journal.shorten(store.snapshot());
            }
        }
    };
    let thread = std::thread::Builder::new()
        .name("journal".to_owned())
        .spawn(write);
    thread.map_err(|error| JournalError::new("start a thread for", &error))
}
