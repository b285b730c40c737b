//! How much compiling a stack and rendering an instance may cost. The defaults are here and nowhere
//! else; `docs/limits.md` describes them, and the managers have options to change them.
//!
//! A unit of work is about a nanosecond of one processor. A template that a person wrote for a
//! manifest takes well under a millisecond, so that the defaults leave room for a thousand times as
//! much.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

pub use gotpl::{Limits, Meter, Over};

use crate::problem::{Place, Problem};

/// Rendering one instance once: all its templates and its status together.
pub const RENDER: Limits = Limits {
    work: 2_000_000_000,
    bytes: 64 << 20,
    time: Duration::from_secs(10),
    depth: 1_000,
    nesting: 1_000,
};

/// Compiling one stack: all its templates, each of which is run several times.
pub const COMPILE: Limits = Limits {
    work: 4_000_000_000,
    bytes: 128 << 20,
    time: Duration::from_secs(10),
    depth: 1_000,
    nesting: 1_000,
};

/// The budgets of a stack, as the stack manager passes them on to the controllers of templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Rendering one instance once.
    pub render: Limits,
    /// Compiling one stack.
    pub compile: Limits,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            render: RENDER,
            compile: COMPILE,
        }
    }
}

impl Budgets {
    /// The options of `cairn template-stack-manager` that say the same; the defaults go without
    /// saying.
    pub fn options(&self) -> Vec<String> {
        let Self { render, compile } = self;
        let options = [
            ("--render-budget", render.work, RENDER.work),
            (
                "--render-timeout",
                render.time.as_secs(),
                RENDER.time.as_secs(),
            ),
            ("--compile-budget", compile.work, COMPILE.work),
            (
                "--compile-timeout",
                compile.time.as_secs(),
                COMPILE.time.as_secs(),
            ),
        ];
        let other = options
            .into_iter()
            .filter(|(_, value, default)| value != default);
        other
            .flat_map(|(name, value, _)| [name.to_owned(), value.to_string()])
            .collect()
    }
}

/// What to do about a template that is over its budget.
pub const HINT: &str =
    "let it loop less, or over smaller texts and lists, or generate fewer password hashes";

/// The budget of a compile or a render, and where it went.
pub(crate) struct Purse<'p> {
    pub meter: &'p Meter<'p>,
    /// The work of each file.
    spent: RefCell<BTreeMap<String, u64>>,
    over: RefCell<Option<Problem>>,
}

impl<'p> Purse<'p> {
    pub fn new(meter: &'p Meter<'p>) -> Self {
        Purse {
            meter,
            spent: RefCell::default(),
            over: RefCell::default(),
        }
    }

    /// What went over the budget, if anything did. Whatever comes after it fails, too, and is not
    /// to blame.
    pub fn over(&self) -> Option<Problem> {
        self.over.borrow().clone()
    }

    /// Does something for a file, and notes what it cost.
    pub fn spending<T>(&self, file: &str, work: impl FnOnce() -> T) -> T {
        let before = self.meter.work();
        let done = work();
        let spent = self.meter.work() - before;
        let mut files = self.spent.borrow_mut();
        match files.get_mut(file) {
            Some(total) => *total += spent,
            None => {
                files.insert(file.to_string(), spent);
            }
        }
        done
    }

    /// Counts work on a file that no template does itself; answers whether there is any budget
    /// left.
    pub fn spend(&self, file: &str, work: u64) -> bool {
        match self.spending(file, || self.meter.spend(work)) {
            Ok(()) => true,
            Err(over) => {
                let place = Place {
                    file: file.to_string(),
                    line: 1,
                    column: None,
                };
                self.note(Problem::at(place, over.to_string()));
                false
            }
        }
    }

    /// Takes note of a failure that was over the budget, and answers whether it was.
    pub fn is_over(&self, error: &gotpl::Error) -> bool {
        let Some(over) = error.over() else {
            return false;
        };
        self.note(Problem {
            what: told(error, over),
            ..Problem::of(error)
        });
        true
    }

    fn note(&self, problem: Problem) {
        if self.over.borrow().is_some() {
            return;
        }
        let at = problem.place.as_ref().map(|place| place.file.as_str());
        let files = self.spent.borrow();
        let most = files
            .iter()
            .max_by_key(|(_, spent)| **spent)
            .filter(|(file, _)| Some(file.as_str()) != at);
        let hint = match most {
            Some((file, spent)) => {
                format!("`{file}` has spent most of it, {spent} units of work: {HINT}")
            }
            None => HINT.to_string(),
        };
        *self.over.borrow_mut() = Some(problem.hint(hint));
    }
}

/// That a budget was spent, and in which function. The whole message may quote data: `tpl` names
/// the text that it runs.
fn told(error: &gotpl::Error, over: Over) -> String {
    let function = error
        .message()
        .strip_prefix("error calling ")
        .and_then(|rest| Some(rest.split_once(':')?.0));
    match function.filter(|name| name.chars().all(char::is_alphanumeric)) {
        Some(name) => format!("error calling {name}: {over}"),
        None => over.to_string(),
    }
}
