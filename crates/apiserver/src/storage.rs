//! Objects in memory, with one revision for everything, a bounded past, and a journal where they
//! have to survive. It knows nothing of HTTP, nor of kinds beyond the name of a resource.

mod entry;
mod history;
mod journal;
mod watcher;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use entry::Draft;
pub use entry::{Entry, Kept};
pub use history::{Event, Window};
use history::{History, Past};
pub use journal::file::FileJournal;
pub use journal::{Journal, JournalError, Record, Snapshot};
pub use list::{Listing, Query};
use value_cache::Parsed;
pub use watcher::{Batch, Watcher};

/// Where an object is: its resource, as `deployments.apps` or `pods`, its namespace and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The resource and its group.
    pub resource: Arc<str>,
    /// `namespace/name`, or the name alone where there is no namespace.
    path: Arc<str>,
}

impl Key {
    /// Puts the parts together; an empty namespace is none.
    pub fn new(resource: &Arc<str>, namespace: &str, name: &str) -> Self {
        let path = if namespace.is_empty() {
            Arc::from(name)
        } else {
            Arc::from(format!("{namespace}/{name}"))
        };
        Self {
            resource: resource.clone(),
            path,
        }
    }

    /// The namespace; empty for objects of the whole cluster.
    pub fn namespace(&self) -> &str {
        self.path
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.path
            .split_once('/')
            .map_or(&*self.path, |(_, name)| name)
    }

    /// Namespace and name as objects are sorted by.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// What has to be true of an object for a change to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It is not there.
    Absent,
    /// It is as this revision made it.
    Revision(u64),
    /// Nothing in particular.
    Any,
}

/// One object that is to be written or deleted.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which object.
    pub key: Key,
    /// What has to be true of it.
    pub expect: Expect,
    /// What it shall be; none to delete it. The store writes `metadata.resourceVersion` itself.
    pub to: Option<Value>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Somebody was quicker: the object is not as expected.
    #[error("{} is not as expected", .0.path())]
    Conflict(Key),
    /// The journal could not be written; from now on nothing is kept.
    #[error("{0}")]
    Broken(String),
}

/// What was asked for is older than what is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} is gone; the oldest that is remembered is {oldest}")]
pub struct Gone {
    /// The revision that was asked for.
    pub asked: u64,
    /// The oldest one that can be asked for.
    pub oldest: u64,
}

/// The store. Share it with [`Arc`].
pub struct Store {
    state: RwLock<State>,
    /// The newest revision that may be shown: with a journal, one that is on the disk.
    settled: AtomicU64,
    settling: watch::Sender<u64>,
    /// Why the journal has failed, once it has.
    broken: OnceLock<Arc<JournalError>>,
    parsed: Arc<Parsed>,
    /// The journal's thread, until it is waited for.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Where commits go to be kept.
enum Sink {
    /// Nowhere: the store lives as long as the process.
    Memory,
    /// To the journal's thread.
    Journal(mpsc::UnboundedSender<Written>),
    /// The journal is closed, and nothing can be written any more.
    Closed,
}

struct State {
    sink: Sink,
    revision: u64,
    tables: HashMap<Arc<str>, Table>,
    past: Past,
}

struct Table {
    objects: BTreeMap<Arc<str>, Entry>,
    history: History,
    signal: watch::Sender<u64>,
}

/// What the journal's thread takes from a commit.
struct Written {
    revision: u64,
    records: Vec<Record>,
    signals: Vec<watch::Sender<u64>>,
    /// Whoever made the commit waits for this.
    done: Option<oneshot::Sender<()>>,
}

/// A change with all that can be prepared while nobody waits.
struct Prepared {
    key: Key,
    expect: Expect,
    to: Option<Draft>,
}

/// A commit that was made, and may not be kept yet.
struct Applied {
    entries: Vec<Entry>,
    /// Ends once it is kept; none if it is.
    kept: Option<oneshot::Receiver<()>>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            history: History::default(),
            signal: watch::Sender::new(0),
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// A store that lives as long as the process.
    pub fn in_memory(window: Window) -> Arc<Self> {
        let state = State {
            sink: Sink::Memory,
            revision: 1,
            tables: HashMap::new(),
            past: Past::new(window, 1),
        };
        Arc::new(Self {
            state: RwLock::new(state),
            settled: AtomicU64::new(1),
            settling: watch::Sender::new(1),
            broken: OnceLock::new(),
            parsed: Arc::default(),
            thread: Mutex::default(),
        })
    }

    /// A store with everything a journal holds, which from now on keeps everything that is written.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read, or its thread cannot be started.
    pub fn with_journal(
        mut journal: Box<dyn Journal>,
        window: Window,
    ) -> Result<Arc<Self>, JournalError> {
        let mut tables: HashMap<Arc<str>, Table> = HashMap::new();
        let parsed = Arc::<Parsed>::default();
        let mut load = |key: Key, revision: u64, bytes: Bytes| {
            let entry = Entry::read(bytes, revision, &parsed)
                .map_err(|error| JournalError::new("parse", &error))?;
            tables
                .entry(key.resource)
                .or_default()
                .objects
                .insert(key.path, entry);
            Ok(())
        };
        let revision = journal.load(&mut load)?.max(1);
        let (sender, receiver) = mpsc::unbounded_channel();
        let state = State {
            sink: Sink::Journal(sender),
            revision,
            tables,
            past: Past::new(window, revision),
        };
        let store = Arc::new(Self {
            state: RwLock::new(state),
            settled: AtomicU64::new(revision),
            settling: watch::Sender::new(revision),
            broken: OnceLock::new(),
            parsed,
            thread: Mutex::default(),
        });
        let thread = journal::spawn(journal, receiver, Arc::downgrade(&store))?;
        *store.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(store)
    }

    /// Writes what is on its way and lets go of the journal. Nothing can be written after that.
    pub async fn close(&self) {
        self.shut();
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It ends as soon as it has written everything; a panic of it has been noticed by those
            // who waited.
            _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    /// The newest revision that may be shown.
    pub fn revision(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// The oldest revision a watch can start from.
    pub fn oldest(&self) -> u64 {
        self.read().past.oldest()
    }

    /// An object as it is. Whoever shows it to others waits with [`Self::settled`] until it is
    /// kept.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.read()
            .tables
            .get(&key.resource)?
            .objects
            .get(&key.path)
            .cloned()
    }

    /// Waits until everything up to a revision is kept.
    ///
    /// # Errors
    ///
    /// If the journal has failed before that.
    pub async fn settled(&self, revision: u64) -> Result<(), CommitError> {
        if self.settled.load(Ordering::Acquire) < revision {
            let mut settling = self.settling.subscribe();
            // The sender is in self, so it is there as long as this waits.
            _ = settling
                .wait_for(|&settled| settled >= revision || self.is_broken())
                .await;
        }
        // What was kept before the journal failed still is.
        if self.settled.load(Ordering::Acquire) < revision {
            Err(self.refusal())
        } else {
            Ok(())
        }
    }

    /// Whether the journal has failed.
    pub fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// Why the journal has failed, if it has.
    pub fn trouble(&self) -> Option<Arc<JournalError>> {
        self.broken.get().cloned()
    }

    /// Waits until the journal has failed, and answers why; that may never be.
    pub async fn failed(&self) -> Arc<JournalError> {
        let mut settling = self.settling.subscribe();
        _ = settling.wait_for(|_| self.is_broken()).await;
        match self.trouble() {
            Some(trouble) => trouble,
            // The sender is in self: without a failure the wait does not end.
            None => std::future::pending().await,
        }
    }

    /// What whoever wants to write or to read is told once the journal has failed.
    fn refusal(&self) -> CommitError {
        let why = self
            .trouble()
            .map_or_else(|| "it is closed".to_owned(), |trouble| trouble.to_string());
        let full = self.trouble().is_some_and(|trouble| trouble.is_full());
        let hint = if full {
            "make room on the disk and start the server again"
        } else {
            "start the server again"
        };
        CommitError::Broken(format!(
            "{why}; nothing of this is kept, all that was acknowledged before is: {hint}"
        ))
    }

    /// Makes all changes, or none, and returns the objects as they are then, in the same order: the
    /// last state with the revision of its end for one that was deleted. When it returns, the
    /// journal has them.
    ///
    /// # Errors
    ///
    /// If an object is not as expected, or the journal has failed.
    pub async fn commit(&self, changes: Vec<Change>) -> Result<Vec<Entry>, CommitError> {
        let prepare = |Change { key, expect, to }| Prepared {
            key,
            expect,
            to: to.map(Draft::new),
        };
        let Applied { entries, kept } = self.apply(changes.into_iter().map(prepare).collect())?;
        if let Some(kept) = kept
            && kept.await.is_err()
        {
            return Err(self.refusal());
        }
        Ok(entries)
    }

    /// Everything as it is, whether it is kept already or not.
    fn snapshot(&self) -> Snapshot {
        let state = self.read();
        let objects = state.tables.iter().flat_map(|(resource, table)| {
            table.objects.iter().map(|(path, entry)| Record {
                revision: entry.revision,
                key: Key {
                    resource: resource.clone(),
                    path: path.clone(),
                },
                bytes: Some(entry.bytes.clone()),
            })
        });
        Snapshot {
            revision: state.revision,
            objects: objects.collect(),
        }
    }

    /// Nothing more goes to the journal.
    fn shut(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(state.sink, Sink::Journal(_)) {
            state.sink = Sink::Closed;
        }
    }

    fn apply(&self, changes: Vec<Prepared>) -> Result<Applied, CommitError> {
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if matches!(state.sink, Sink::Closed) {
            return Err(CommitError::Broken("it is closed".to_owned()));
        }
        if self.is_broken() {
            return Err(self.refusal());
        }
        for change in &changes {
            let current = state
                .tables
                .get(&change.key.resource)
                .and_then(|table| table.objects.get(&change.key.path));
            let fits = match (change.expect, current) {
                (Expect::Absent, None) => change.to.is_some(),
                (Expect::Revision(revision), Some(entry)) => entry.revision == revision,
                (Expect::Any, current) => change.to.is_some() || current.is_some(),
                (Expect::Absent, Some(_)) | (Expect::Revision(_), None) => false,
            };
            if !fits {
                return Err(CommitError::Conflict(change.key.clone()));
            }
        }
        let mut entries = Vec::with_capacity(changes.len());
        let mut written = Written {
            revision: 0,
            records: Vec::new(),
            signals: Vec::new(),
            done: None,
        };
        for change in changes {
            let revision = state.revision + 1;
            let table = state.tables.entry(change.key.resource.clone()).or_default();
            let deleted = change.to.is_none();
            let (entry, before) = match change.to {
                Some(draft) => {
                    let entry = draft.stamped(revision, &self.parsed);
                    let before = table.objects.insert(change.key.path.clone(), entry.clone());
                    (entry, before)
                }
                // That it is there was seen above.
                None => match table.objects.remove(&change.key.path) {
                    Some(before) => (before.ended(revision, &self.parsed), Some(before)),
                    None => continue,
                },
            };
            state.revision = revision;
            let event = Arc::new(Event {
                revision,
                key: change.key,
                deleted,
                entry: entry.clone(),
                before,
            });
            if matches!(state.sink, Sink::Journal(_)) {
                let bytes = (!deleted).then(|| entry.bytes.clone());
                written.records.push(Record {
                    revision,
                    key: event.key.clone(),
                    bytes,
                });
            }
            if !written
                .signals
                .iter()
                .any(|signal| signal.same_channel(&table.signal))
            {
                written.signals.push(table.signal.clone());
            }
            table.history.push(event.clone());
            state.past.push(event);
            entries.push(entry);
        }
        while let Some(event) = state.past.surplus() {
            if let Some(table) = state.tables.get_mut(&event.key.resource) {
                table.history.forget(event.revision);
            }
        }
        written.revision = state.revision;
        let mut kept = None;
        match &state.sink {
            // Sent with the lock held, so that the journal has everything in order.
            Sink::Journal(journal) => {
                let (done, wait) = oneshot::channel();
                written.done = Some(done);
                kept = Some(wait);
                if journal.send(written).is_err() {
                    _ = self.broken.set(Arc::new(JournalError::new(
                        "write",
                        &"its thread has ended",
                    )));
                }
            }
            Sink::Memory | Sink::Closed => self.settle(&mut vec![written]),
        }
        Ok(Applied { entries, kept })
    }

    /// Everything in a group of commits is kept: whoever waits for it may go on.
    fn settle(&self, group: &mut Vec<Written>) {
        let Some(revision) = group.last().map(|written| written.revision) else {
            return;
        };
        self.settled.store(revision, Ordering::Release);
        self.settling.send_replace(revision);
        let mut told: Vec<watch::Sender<u64>> = Vec::new();
        for signal in group
            .iter_mut()
            .flat_map(|written| std::mem::take(&mut written.signals))
        {
            if !told.iter().any(|other| other.same_channel(&signal)) {
                signal.send_replace(revision);
                told.push(signal);
            }
        }
        for written in group.drain(..) {
            // Whoever does not wait any more need not be told.
            _ = written.done.map(|done| done.send(()));
        }
    }

    fn fail(&self, why: JournalError) {
        // The first cause counts.
        _ = self.broken.set(Arc::new(why));
        self.settling.send_modify(|_| {});
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

mod list;
#[cfg(test)]
mod tests;
mod value_cache;
