//! A log for people: what goes wrong in the controllers, each thing once and in a line, without
//! what only programs read.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, registry};

/// So many different warnings are known; who has more reads none of them twice.
const MOST: usize = 1000;

/// Begins the log, on standard error.
pub(crate) fn begin(colour: bool, filter: &str) {
    let layer = Words {
        colour,
        told: Mutex::default(),
    };
    // A second log of one process would be the first.
    let _ = registry()
        .with(layer.with_filter(EnvFilter::new(filter)))
        .try_init();
}

struct Words {
    colour: bool,
    told: Mutex<BTreeSet<String>>,
}

impl<S: Subscriber> Layer<S> for Words {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Some(text) = fields.told() else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= MOST || !told.insert(text.clone()) {
            return;
        }
        let (word, colour) = match *event.metadata().level() {
            Level::ERROR => ("error:", "\x1b[1;31m"),
            _ => ("warning:", "\x1b[1;33m"),
        };
        let (colour, reset) = if self.colour {
            (colour, "\x1b[0m")
        } else {
            ("", "")
        };
        let _ = std::io::stderr().write_all(format!("{colour}{word}{reset} {text}\n").as_bytes());
    }
}

/// What of an event is for people.
#[derive(Default)]
struct Fields {
    message: String,
    error: String,
    reason: String,
    stack: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            "error" | "why" => value.clone_into(&mut self.error),
            "reason" => value.clone_into(&mut self.reason),
            "stack" => value.clone_into(&mut self.stack),
            _ => {}
        }
    }
}

impl Fields {
    /// The line; none for what is settled at once.
    fn told(mut self) -> Option<String> {
        // What another process said comes with its fields behind it, as JSON.
        let passed_on = |name: &str| {
            let (_, rest) = self.message.split_once(&format!(" {name}=\""))?;
            let rest = format!("\"{rest}");
            let value = serde_json::Deserializer::from_str(&rest)
                .into_iter::<Value>()
                .next()?
                .ok()?;
            value.as_str().map(str::to_owned)
        };
        let (error, reason) = (passed_on("error"), passed_on("reason"));
        self.error = error.unwrap_or(self.error);
        self.reason = reason.unwrap_or(self.reason);
        if self.reason == "Conflict" {
            return None;
        }
        let end = ["error", "key", "kind", "reason", "work", "why"].iter();
        let end = end
            .filter_map(|name| self.message.find(&format!(" {name}=\"")))
            .min();
        self.message.truncate(end.unwrap_or(self.message.len()));
        let stack = if self.stack.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.stack)
        };
        let error = if self.error.is_empty() {
            String::new()
        } else {
            format!(": {}", self.error)
        };
        Some(format!("{stack}{}{error}", self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn a_warning_is_what_happened_and_why_and_a_conflict_is_none() {
        let passed_on = "this did not go well error=\"no \\\"x\\\"\" reason=\"Refused\" work=\"Instance(Id { a: 1 })\"";
        for (message, error, reason, stack, expected) in [
            (
                "this did not go well",
                "it is full",
                "Refused",
                "",
                Some("this did not go well: it is full"),
            ),
            ("this did not go well", "changed", "Conflict", "", None),
            (
                "its process ended",
                "",
                "",
                "default/web",
                Some("default/web: its process ended"),
            ),
            (
                passed_on,
                "",
                "",
                "default/web",
                Some("default/web: this did not go well: no \"x\""),
            ),
            (
                "this error=\"a\" reason=\"Conflict\"",
                "",
                "",
                "default/web",
                None,
            ),
        ] {
            let [message, error, reason, stack] =
                [message, error, reason, stack].map(str::to_owned);
            let fields = Fields {
                message,
                error,
                reason,
                stack,
            };
            assert_eq!(fields.told().as_deref(), expected);
        }
    }
}
