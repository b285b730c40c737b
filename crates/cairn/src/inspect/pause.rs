//! Whether an instance is left alone, and how that is told.

use api::annotations;
use serde_json::Value;

/// What an instance says of being left alone.
#[derive(PartialEq, Eq)]
pub(super) enum Pause {
    Off,
    On,
    /// What it says is not taken.
    Misspelt(String),
}

impl Pause {
    pub(super) fn of(instance: &Value) -> Self {
        match instance["metadata"]["annotations"][annotations::PAUSED].as_str() {
            Some("true") => Self::On,
            None | Some("" | "false") => Self::Off,
            Some(other) => Self::Misspelt(other.to_owned()),
        }
    }

    /// What is told of an instance, with that.
    pub(super) fn told(&self, note: String) -> String {
        match self {
            Self::Off => note,
            Self::On => format!("paused: {note}"),
            Self::Misspelt(word) => {
                format!(
                    "{note} (not paused: write {}: \"true\" instead of {word:?})",
                    annotations::PAUSED
                )
            }
        }
    }
}
