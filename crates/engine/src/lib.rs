//! Decisions, as functions from values to plans: a stack is compiled once, an instance planned any number of times.
//!
//! Nothing here touches a cluster, a clock or a file. `cairn render` and the controllers call the very same functions.

mod at;
mod blame;
pub mod budget;
pub mod carry;
mod compile;
mod forbidden;
mod functions;
mod hide;
mod kept;
pub mod limits;
mod origin;
pub mod ours;
mod plan;
mod play;
mod problem;
mod readiness;
mod record;
pub mod release;
mod secrecy;
mod seed;
mod simulate;
mod source;
mod stack;
mod structure;
pub mod succession;
mod surface;
mod view;

pub use compile::fields::{Quotes, path as object_path};
pub use compile::{Child, Compiled, CompiledKind, Known, Shape, compile, compile_knowing, compile_within};
pub use forbidden::{Forbidden, forbidden};
pub use kept::Kept;
pub use ours::{Parent, Tie, stack_label};
pub use plan::{
    Apply, Context, Delete, Event, Explanation, Hold, Maker, Observed, Plan, Refusal, TemplateProblem, Unready, Wait,
    decide, explain, halted, hidden, kept_by, not_applied, plan, refused, tell, withheld,
};
pub use play::{PLAYED, play};
pub use problem::{Place, Problem, Severity};
pub use readiness::{Readiness, readiness};
pub use secrecy::{TextName, makes_secret, secret_texts};
pub use seed::Seed;
pub use simulate::{Pass, Report, Rule, Simulation, simulate};
pub use stack::{Kind, Source, Stack};
pub use view::View;
