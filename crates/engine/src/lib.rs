//! Decisions, as functions from values to plans: a stack is compiled once, an instance planned any
//! number of times.
//!
//! Nothing here touches a cluster, a clock or a file. `cairn render` and the controllers call the
//! very same functions.

mod at;
pub mod budget;
pub mod children;
mod compile;
mod explain;
mod forbidden_kinds;
pub mod limits;
mod problem;
mod random;
mod readiness;
mod reconcile;
mod simulate;
mod stack;

pub use children::ownership::{Parent, Tie, stack_label};
pub use children::record::ChildRecord;
pub use compile::projection::Projection;
pub use compile::schema_check::{Quotes, path as object_path};
pub use compile::secret_sources::{TextName, makes_secret, secret_texts};
pub use compile::{
    Child, Compiled, CompiledKind, Known, Shape, compile, compile_knowing, compile_within,
};
pub use explain::{Explanation, Maker, explain};
pub use forbidden_kinds::{Forbidden, forbidden};
pub use problem::{Place, Problem, Severity};
pub use random::Seed;
pub use readiness::{Readiness, readiness};
pub use reconcile::{
    Apply, Context, Delete, Event, Hold, Observed, Plan, Refusal, TemplateProblem, Unready, Wait,
    decide, halted, hidden, kept_by, not_applied, plan, refused, tell, withheld,
};
pub use simulate::workloads::{SIMULATED, play};
pub use simulate::{Pass, Report, Rule, Simulation, simulate};
pub use stack::{Kind, Source, Stack};
