//! Clusters for tests: a real Kubernetes control plane and the embedded API server, behind the same
//! [`Backend`]. A scenario is written once against [`Cluster`] and runs on every backend of its
//! [`Suite`].
//!
//! ```no_run
//! use std::{process::ExitCode, sync::Arc};
//! use testkit::{Cluster, Suite, scenarios};
//!
//! async fn the_version_is_known(cluster: Arc<Cluster>) -> anyhow::Result<()> {
//!     anyhow::ensure!(cluster.admin()?.apiserver_version().await?.major == "1");
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     Suite::on_kubernetes(scenarios![the_version_is_known]).main()
//! }
//! ```

mod audit;
mod cluster;
mod embedded;
mod identity;
pub mod real;
mod scene;
mod suite;
mod variants;

pub use audit::{Request, Tally};
pub use cluster::{Backend, Cluster, Mark};
pub use embedded::{Embedded, embedded};
pub use identity::Identity;
pub use scene::Scene;
pub use suite::{Scenario, Suite};
pub use variants::{Choices, VARIANTS, variants};

/// Groups that a test answers for inside of the embedded API server, for suites of crates that may
/// not use it themselves.
pub mod extension {
    pub use apiserver::{Answer, Call, Extension};
}

/// What goes wrong on purpose in the embedded API server, for suites of crates that may not use it
/// themselves.
pub mod faults {
    pub use apiserver::{ApiError, Fault, FaultPlan, Filter, Gate, Options, Trouble};
}
