//! What happened lately, for watches that start in the past and for lists as they were.

use std::{collections::VecDeque, sync::Arc};

use super::{Entry, Key};

/// How much of the past is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The most events.
    pub events: usize,
    /// The most bytes of objects, as JSON.
    pub bytes: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            events: 65_536,
            bytes: 32 << 20,
        }
    }
}

/// A change that was made.
#[derive(Debug)]
pub struct Event {
    /// The revision that it made.
    pub revision: u64,
    /// Which object.
    pub key: Key,
    /// Whether the object is gone.
    pub deleted: bool,
    /// The object since then; of one that is gone its last state, with the revision of its end.
    pub entry: Entry,
    /// The object until then.
    pub before: Option<Entry>,
}

/// The events of all resources, oldest first, as many as the window holds.
pub(super) struct Past {
    window: Window,
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// The newest revision that is forgotten, or that was there at the start.
    forgotten: u64,
}

impl Past {
    pub(super) fn new(window: Window, revision: u64) -> Self {
        Self {
            window,
            events: VecDeque::new(),
            bytes: 0,
            forgotten: revision,
        }
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.bytes += event.entry.bytes.len();
        self.events.push_back(event);
    }

    /// Takes out the oldest event, if there are more than the window holds.
    pub(super) fn surplus(&mut self) -> Option<Arc<Event>> {
        if self.events.len() <= self.window.events && self.bytes <= self.window.bytes {
            return None;
        }
        let event = self.events.pop_front()?;
        self.bytes = self.bytes.saturating_sub(event.entry.bytes.len());
        self.forgotten = event.revision;
        Some(event)
    }

    /// The oldest revision whose every successor is remembered.
    pub(super) fn oldest(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn after(&self, revision: u64) -> impl Iterator<Item = &Arc<Event>> {
        after(&self.events, revision)
    }
}

/// The events of one resource, oldest first.
#[derive(Default)]
pub(super) struct History {
    events: VecDeque<Arc<Event>>,
    /// The newest revision of this resource that is forgotten.
    lost: u64,
}

impl History {
    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.events.push_back(event);
    }

    pub(super) fn forget(&mut self, revision: u64) {
        if self
            .events
            .front()
            .is_some_and(|event| event.revision == revision)
        {
            self.events.pop_front();
            self.lost = revision;
        }
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn after(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        after(&self.events, revision)
    }
}

/// How far back from the end is looked one by one: nearly all who watch are nearly up to date.
const NEAR: usize = 32;

fn after(
    events: &VecDeque<Arc<Event>>,
    revision: u64,
) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
    let near = events
        .iter()
        .rev()
        .take(NEAR)
        .take_while(|event| event.revision > revision)
        .count();
    let start = if near < NEAR {
        events.len() - near
    } else {
        events.partition_point(|event| event.revision <= revision)
    };
    events.range(start..)
}
