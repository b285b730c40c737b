//! The controllers: they watch a Kubernetes API, have `engine` decide, and carry its plans out.

mod blocking;
mod cache;
mod cluster;
mod handover;
mod health;
mod lanes;
mod lease;
mod metrics;
mod queue;
mod raw;
mod resource;
pub mod stack_manager;
pub mod template_stack_manager;

pub use blocking::{Pool, Unfinished};
pub use cache::{Cache, Change, Scope};
pub use cluster::{Cluster, Error, unanswered};
pub use handover::{Endpoint, supervised};
pub use health::{Readiness, serve};
pub use lease::Lease;
pub use metrics::Metrics;
pub use queue::{Again, FairKey, Queue};
pub use resource::{Key, Resource};
