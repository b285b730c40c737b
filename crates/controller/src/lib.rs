//! The controllers: they watch a Kubernetes API, have `engine` decide, and carry its plans out.

mod credentials;
pub(crate) mod runtime;
pub mod stack_manager;
pub mod template_stack_manager;

pub use credentials::{Endpoint, supervised};
pub use runtime::client::{Cluster, Error, unanswered};
pub use runtime::health::{Readiness, serve};
pub use runtime::informer::{Cache, Change, Scope};
pub use runtime::leader::Lease;
pub use runtime::metrics::Metrics;
pub use runtime::work_queue::{FairKey, Queue, Requeue};
pub use runtime::worker_pool::{Pool, Unfinished};
