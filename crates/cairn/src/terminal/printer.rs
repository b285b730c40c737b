//! The only place that prints.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicU8, Ordering};

use engine::Severity;
use objects::Gvk;
use serde_json::{Value, json};

use super::env::{Env, QUIET_LIBRARIES};
use super::error::{Code, Failure};
use super::finding::Finding;
use super::log;
use crate::cli::{Format, Log, Objects};

/// Where a command's words go: results to standard output, everything else to standard error.
pub(crate) struct Printer {
    env: Env,
    /// How the program ends if nobody reads its result to the end.
    unread: AtomicU8,
}

/// What a colour is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Good,
    Coming,
    Waiting,
    Bad,
    Strong,
}

impl Printer {
    pub fn new(env: Env) -> Printer {
        Printer {
            env,
            unread: AtomicU8::new(Code::Ok.number()),
        }
    }

    /// Says how the program ends if nobody reads its result to the end: as if somebody had.
    pub fn ends_with(&self, code: Code) {
        self.unread.store(code.number(), Ordering::Relaxed);
    }

    /// Writes a result. A reader that stopped listening ends the program quietly, as a pipe into
    /// `head` should.
    pub fn result(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                std::process::exit(self.unread.load(Ordering::Relaxed).into())
            }
            Err(error) => Err(Failure::new(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Writes a line of a result.
    pub fn line(&self, text: &str) -> Result<(), Failure> {
        self.result(format!("{text}\n").as_bytes())
    }

    /// A text in a colour, if the terminal that results go to shall have any.
    pub fn painted(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Good => "32",
            Paint::Coming => "33",
            Paint::Waiting => "36",
            Paint::Bad => "1;31",
            Paint::Strong => "1",
        };
        if self.env.paint {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Whether somebody is there to answer.
    pub fn can_ask(&self) -> bool {
        self.env.answers
    }

    /// A line beside the result.
    pub fn say(&self, text: &str) {
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    /// A question, whose answer is typed behind it.
    pub fn ask(&self, text: &str) {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// A heading beside the result, in bold if that may be coloured.
    pub fn heading(&self, text: &str) {
        self.say(&if self.env.colour {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text.to_owned()
        });
    }

    /// Something that is perhaps not meant and has no place in a file.
    pub fn warning(&self, text: &str) {
        let (yellow, reset) = if self.env.colour {
            ("\x1b[1;33m", "\x1b[0m")
        } else {
            ("", "")
        };
        self.say(&format!("{yellow}warning:{reset} {text}"));
    }

    /// What something waits for that does not come by itself.
    pub fn waiting(&self, text: &str) {
        let (yellow, reset) = if self.env.colour {
            ("\x1b[1;33m", "\x1b[0m")
        } else {
            ("", "")
        };
        self.say(&format!("{yellow}waiting:{reset} {text}"));
    }

    /// The width of the terminal that results go to; none if there is no terminal.
    pub fn screen(&self) -> Option<usize> {
        self.env.screen
    }

    /// Draws lines in the place of those that were drawn last, on a terminal.
    pub fn redraw(&self, last: usize, lines: &[String]) -> Result<(), Failure> {
        let up = if last > 0 {
            format!("\x1b[{last}A")
        } else {
            String::new()
        };
        let text: String = lines
            .iter()
            .map(|line| format!("\x1b[2K{line}\n"))
            .collect();
        // What was longer than this goes.
        self.result(format!("{up}\r{text}\x1b[J").as_bytes())
    }

    /// Rows with their columns lined up; the first is the heading.
    pub fn table(&self, rows: &[Vec<String>]) -> Result<(), Failure> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<_> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', width + 3 - cell.chars().count()));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        self.result(text.as_bytes())
    }

    /// A result for programs.
    pub fn json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        let text =
            serde_json::to_string_pretty(value).map_err(|error| Failure::new(error.to_string()))?;
        self.result(format!("{text}\n").as_bytes())
    }

    /// A result for programs, in the format that was asked for.
    pub fn report(&self, value: &impl serde::Serialize, format: Format) -> Result<(), Failure> {
        match format {
            Format::Json => self.json(value),
            Format::Yaml => {
                let value =
                    serde_json::to_value(value).map_err(|error| Failure::new(error.to_string()))?;
                let text = yaml::emit(&value).map_err(|error| Failure::new(error.to_string()))?;
                self.result(text.as_bytes())
            }
        }
    }

    /// What a command made or took away, for programs; its name alone if that was asked for.
    pub fn outcome(&self, what: &Value, name: &str, format: Objects) -> Result<(), Failure> {
        match format {
            Objects::Json => self.report(what, Format::Json),
            Objects::Yaml => self.report(what, Format::Yaml),
            Objects::Name => self.line(name),
        }
    }

    /// One object as kubectl writes it.
    pub fn object(&self, object: &Value, format: Objects) -> Result<(), Failure> {
        self.outcome(&shown(object), &named(object), format)
    }

    /// Objects as kubectl writes them: a list, a stream of documents, or kinds and names.
    pub fn objects(&self, objects: &[Value], format: Objects) -> Result<(), Failure> {
        let objects: &[Value] = &objects.iter().map(shown).collect::<Vec<_>>();
        match format {
            Objects::Json => {
                self.json(&json!({ "apiVersion": "v1", "kind": "List", "items": objects }))
            }
            Objects::Yaml => {
                let text =
                    package::stream(objects).map_err(|error| Failure::new(error.to_string()))?;
                self.result(text.as_bytes())
            }
            Objects::Name => {
                let names: String = objects.iter().map(|object| named(object) + "\n").collect();
                self.result(names.as_bytes())
            }
        }
    }

    /// Begins a controller's log, on standard error; RUST_LOG says how much of it.
    pub fn log(&self, how: &Log) {
        let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| {
            tracing_subscriber::EnvFilter::new(format!("info,{QUIET_LIBRARIES}"))
        });
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_target(false);
        // A second log of one process would be the first.
        let _ = if how.log_json {
            log.json().try_init()
        } else {
            log.with_ansi(self.env.colour).try_init()
        };
    }

    /// Begins a log of what goes wrong, for a command that tells all else in its own words: each
    /// warning once, in a line. If RUST_LOG asks for more, all of it as it is.
    pub fn warnings(&self) {
        let Ok(filter) = tracing_subscriber::EnvFilter::try_from_default_env() else {
            return log::begin(self.env.colour, &format!("warn,{QUIET_LIBRARIES}"));
        };
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_target(false);
        let _ = log.with_ansi(self.env.colour).without_time().try_init();
    }

    /// A line that tells how far something is, in place of the one before; only for somebody who
    /// watches.
    pub fn progress(&self, doing: &str, what: &str, done: u64, total: u64) {
        if self.env.watched {
            let percent = (done * 100).checked_div(total).unwrap_or(100);
            let line = format!(
                "\r\x1b[K{doing} {what} {percent}% of {} KiB",
                total.div_ceil(1024)
            );
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    /// Takes the line of [`Self::progress`] away.
    pub fn clear(&self) {
        if self.env.watched {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }

    /// Something wrong with a package.
    pub fn finding(&self, finding: &Finding, snippet: Option<&str>) {
        let (red, yellow, cyan, reset) = if self.env.colour {
            ("\x1b[1;31m", "\x1b[1;33m", "\x1b[36m", "\x1b[0m")
        } else {
            ("", "", "", "")
        };
        let mut text = match finding.severity {
            Severity::Error => format!("{red}error:{reset} {finding}\n"),
            Severity::Warning => format!("{yellow}warning:{reset} {finding}\n"),
        };
        text.push_str(snippet.unwrap_or_default());
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("{cyan}hint:{reset} {hint}\n"));
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    pub fn failure(&self, failure: &Failure) {
        let (red, cyan, reset) = if self.env.colour {
            ("\x1b[1;31m", "\x1b[36m", "\x1b[0m")
        } else {
            ("", "", "")
        };
        let mut text = format!("{red}error:{reset} {}\n", failure.message);
        if let Some(snippet) = &failure.snippet {
            text.push_str(snippet);
        }
        for hint in &failure.hints {
            text.push_str(&format!("{cyan}hint:{reset} {hint}\n"));
        }
        // There is nobody left to tell if standard error is gone too.
        let _ = std::io::stderr().write_all(text.as_bytes());
        failure.others.iter().for_each(|other| self.failure(other));
    }
}

/// An object without what only servers read, as kubectl shows it.
fn shown(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// An object in a word, as kubectl says it: `deployment.apps/web`.
pub(crate) fn named(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let Gvk { group, kind, .. } = Gvk::of(object).unwrap_or_default();
    let dot = if group.is_empty() { "" } else { "." };
    format!("{}{dot}{group}/{name}", kind.to_lowercase())
}
