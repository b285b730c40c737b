//! Which Stacks this stack manager has started and stopped, so that no two act on the same objects
//! at once. Nothing here comes from an object that somebody else can write.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use objects::Key;

/// The Stacks that were started and stopped.
#[derive(Default)]
pub(super) struct Handover {
    /// Those that were started last.
    pub(super) running: BTreeSet<Key>,
    /// Those that were stopped last, since another serves their kinds.
    pub(super) stopped: BTreeMap<Key, Stopped>,
}

/// A Stack that was stopped.
pub(super) struct Stopped {
    /// When that was.
    pub(super) since: Instant,
    /// The kinds whose instances were left to another, by group and name.
    pub(super) released: BTreeSet<(String, String)>,
}

impl Handover {
    pub(super) fn start(&mut self, stack: &Key) {
        self.stopped.remove(stack);
        self.running.insert(stack.clone());
    }

    pub(super) fn stop(&mut self, stack: &Key) {
        self.running.remove(stack);
        let new = || Stopped {
            since: Instant::now(),
            released: BTreeSet::new(),
        };
        self.stopped.entry(stack.clone()).or_insert_with(new);
    }

    pub(super) fn forget(&mut self, stack: &Key) {
        self.running.remove(stack);
        self.stopped.remove(stack);
    }
}
