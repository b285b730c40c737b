//! What the Stack Manager decides: which image an install means, what a stack may touch, which objects make it run,
//! and whether a CRD may take the place of another. Values in, values out; the controllers carry them out.

mod advice;
mod claim;
mod compatible;
mod crd_owner;
mod definition;
mod drift;
mod harmless;
mod index;
mod inheritance;
pub mod install;
mod kinds;
mod limits;
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
pub use crd_owner::{Parent, Record, User, publisher};
pub use definition::{Break, Leaving, LiveCrd, NamespacedCrds, OWNED, Placement, Wanted, has_objects, place};
pub use drift::{Correction, corrected, corrected_workload, covers, with_metadata};
pub use harmless::{can_become, takes_unchanged};
pub use index::{Entry, Index, Kind};
pub use inheritance::{
    Commitment, SEED_BYTES, Seed, accepts_new_seed, has_generated, inherited, is_kept, keeping, lost_seed, seed_bytes,
    whose_seed,
};
pub use kinds::{Kinds, Served};
pub use limits::{Limits, Member, Standing, quantity};
pub use ownership::{Purpose, SigningKey};
pub use policy::{Pattern, Policy, Refusal};
pub use progress::{Notice, Step, Trouble, needs_only_time};
pub use reference::{BadReference, Reference};
pub use removal::{Farewell, farewell, goes_next, goes_with, is_child, is_granted, is_instance, is_run};
pub use removal::{keeps_data, owned_kinds, waiting};
pub use report::{INVALID_TEMPLATES, crds_hash, report};
pub use roles::{Grant, Grants, Identity, bindings, personas, rules};
pub use workload::{Images, brought, fill_images, templates};
