//! How far something has come: conditions that are set step by step, and the Events that follow
//! from their changes.

use api::conditions::{READY, UP_TO_DATE};
use api::{Condition, Status, set_condition};

/// A step that may be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<T> {
    /// It is under way.
    Pending(String),
    /// It went wrong, and is tried again.
    Failed(Trouble),
    /// It is done.
    Done(T),
}

/// Why something does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// One CamelCase word for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Trouble {
    /// Trouble with a reason.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }
}

/// Something that should be known to whoever looks at an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Whether somebody should do something.
    pub warning: bool,
    /// One CamelCase word for programs.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// The conditions of an object while they are set.
#[derive(Debug)]
pub(crate) struct Conditions<'c> {
    all: Vec<Condition>,
    generation: Option<i64>,
    now: &'c str,
}

impl<'c> Conditions<'c> {
    pub(crate) fn new(all: &[Condition], generation: Option<i64>, now: &'c str) -> Self {
        Self {
            all: all.to_vec(),
            generation,
            now,
        }
    }

    pub(crate) fn set(
        &mut self,
        kind: &str,
        status: Status,
        reason: &str,
        message: impl Into<String>,
    ) {
        let condition = Condition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.into(),
            last_transition_time: self.now.to_owned(),
            observed_generation: self.generation,
        };
        set_condition(&mut self.all, condition);
    }

    /// Whether there is such a condition, whatever it says.
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.all.iter().any(|condition| condition.r#type == kind)
    }

    pub(crate) fn done(&mut self, kind: &str, reason: &str, message: impl Into<String>) {
        self.set(kind, Status::True, reason, message);
    }

    pub(crate) fn trouble(&mut self, kind: &str, trouble: &Trouble) {
        self.set(kind, Status::False, trouble.reason, &trouble.message);
    }

    /// The conditions, and what to say of those that changed since `before`.
    pub(crate) fn finish(self, before: &[Condition]) -> (Vec<Condition>, Vec<EventRecord>) {
        // That Ready does not hold for the reason that another condition gives is no news beside
        // that.
        let repeats = |condition: &Condition| {
            condition.r#type == READY
                && condition.status == Status::False
                && self.all.iter().any(|other| {
                    ![READY, UP_TO_DATE].contains(&other.r#type.as_str())
                        && other.reason == condition.reason
                })
        };
        // What all steps come to is told by them.
        let steps = self
            .all
            .iter()
            .filter(|condition| condition.r#type != UP_TO_DATE);
        let news = steps.filter(|condition| {
            let old = before.iter().find(|old| old.r#type == condition.r#type);
            let changed = old.is_none_or(|old| {
                let same = (old.status, &old.reason) == (condition.status, &condition.reason);
                let patient = PATIENT.contains(&condition.reason.as_str());
                !same
                    || (old.message != condition.message
                        && condition.status == Status::False
                        && !patient)
            });
            changed && !repeats(condition)
        });
        let notices = news.map(|condition| EventRecord {
            warning: condition.status == Status::False
                && !PATIENT.contains(&condition.reason.as_str()),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        });
        let notices = notices.collect();
        (self.all, notices)
    }
}

/// Whether something that does not hold for this reason needs nothing but time.
pub fn needs_only_time(reason: &str) -> bool {
    PATIENT.contains(&reason)
}

/// Reasons for which something does not hold that need nothing but time.
const PATIENT: [&str; 6] = [
    "Pending",
    "Pulling",
    "Compiling",
    "Waiting",
    "Starting",
    "Deleting",
];
