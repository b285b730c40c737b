//! What the Stack Manager decides: which image an install means, what a stack may touch, which
//! objects make it run, and whether a CRD may take the place of another. Values in, values out; the
//! controllers carry them out.

mod advice;
pub(crate) mod conditions;
mod controller_workload;
pub(crate) mod crd;
mod drift;
mod kind_ownership;
mod limits;
mod ownership;
pub(crate) mod package_check;
mod package_index;
pub(crate) mod rbac;
pub mod reconcile;
mod seed_inheritance;
mod served_kinds;
pub(crate) mod stack_record;

pub use conditions::install::{EventRecord, Step, Trouble, needs_only_time};
pub use conditions::stack::{INVALID_TEMPLATES, crds_hash, report};
pub use controller_workload::{Images, brought, fill_images, templates};
pub use crd::compatibility::{Breakage, breakages, missing};
pub use crd::equivalence::{can_become, takes_unchanged};
pub use crd::live::{
    Break, Leaving, LiveCrd, NamespacedCrds, OWNED, Placement, Wanted, has_objects, place,
};
pub use crd::ownership::{Parent, Record, User, publisher};
pub use drift::{Correction, corrected, corrected_workload, covers, with_metadata};
pub use kind_ownership::{KIND_ALREADY_SERVED, KindOwnership, waits_for_kind};
pub use limits::{Limits, Member, Standing, quantity};
pub use ownership::{Purpose, SigningKey};
pub use package_index::{Entry, Index, Kind};
pub use rbac::policy::{Pattern, Policy, Refusal};
pub use rbac::roles::{Grant, Grants, Identity, bindings, personas, rules};
pub use reconcile::teardown::{
    InstanceTeardown, goes_next, goes_with, instance_teardown, is_child, is_granted, is_instance,
    is_run,
};
pub use reconcile::teardown::{keeps_data, owned_kinds, waiting};
pub use seed_inheritance::{
    Commitment, SEED_BYTES, Seed, accepts_new_seed, has_generated, inherited, is_kept, keeping,
    lost_seed, seed_bytes, whose_seed,
};
pub use served_kinds::{Kinds, Served};
