//! What `stacks.crossplane.io/v1alpha1` consists of: its types, labels, annotations, names and
//! conditions, CRDs as far as stacks need them, and how a key names a kind. It decides nothing
//! about a cluster.

pub mod annotations;
mod app;
mod condition;
mod crd;
mod definition;
mod install;
pub mod key;
pub mod labels;
mod metadata;
pub mod names;
mod never;
mod stack;
pub mod template;

pub use app::{App, Dependency, Icon, PermissionScope, Person};
pub use condition::{Condition, Status, conditions, set_condition};
pub use crd::{Column, Crd, CrdProblem, CrdVersion, Names, Scale, Scope, Severity};
pub use definition::definitions;
pub use install::{
    ClusterStackInstall, InstallSpec, InstallStatus, SecretRef, ServiceAccountSpec, StackInstall,
};
pub use metadata::{KindRef, Metadata, ObjectRef};
pub use never::is_never_granted;
pub use stack::{
    Attention, Controller, Counts, Diagnostic, Permissions, Stack, StackSpec, StackStatus,
};

/// The API group of stacks.
pub const GROUP: &str = "stacks.crossplane.io";
/// The version of the API.
pub const VERSION: &str = "v1alpha1";
/// What objects of the API write as `apiVersion`.
pub const API_VERSION: &str = "stacks.crossplane.io/v1alpha1";

/// The most bytes that a Stack may have as JSON, so that etcd takes it with room for its status.
pub const STACK_BYTES: usize = 1 << 20;
/// The most bytes that all annotations of a CRD may have together; the API server takes no more.
pub const ANNOTATION_BYTES: usize = 256 << 10;
