//! What the Stack Manager decides: which image an install means, what a stack may touch, which objects make it run,
//! and whether a CRD may take the place of another. Values in, values out; the controllers carry them out.

mod advice;
mod claim;
mod compatible;
mod definition;
mod drift;
mod harmless;
mod index;
mod inheritance;
pub mod install;
mod kinds;
mod ownership;
mod policy;
mod progress;
mod reference;
mod removal;
mod report;
mod roles;
pub mod stack;
mod workload;

pub use claim::{Claim, KIND_TAKEN, waits_for_kind};
pub use compatible::{Breakage, breakages, missing};
pub use definition::{Leaving, LiveCrd, NamespacedCrds, OWNED, Placement, Wanted, place};
pub use drift::covers;
pub use harmless::{can_become, takes_unchanged};
pub use index::{Entry, Index, Kind};
pub use inheritance::{Seed, inherited, is_kept, keeping, whose_seed};
pub use kinds::{Kinds, Served};
pub use ownership::{Parent, Record, User, publisher};
pub use policy::{Pattern, Policy, Refusal};
pub use progress::{Notice, Step, Trouble, needs_only_time};
pub use reference::{BadReference, Reference};
pub use removal::{Farewell, farewell, goes_next, is_child, is_run, keeps_data, waiting};
pub use report::report;
pub use roles::{BASICS, Grant, Grants, Identity, bindings, personas, rules};
pub use workload::{Images, brought, fill_images, templates};
