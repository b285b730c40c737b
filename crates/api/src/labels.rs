//! Every label that Cairn writes or reads.

/// Which tool manages an object; on CRDs that the stack manager may change and delete, and only on
/// those.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`] on what the stack manager makes.
pub const MANAGED_BY_STACK_MANAGER: &str = "stack-manager";

/// On a CRD: whether a namespaced or a cluster-wide package brought it.
pub const SCOPE: &str = "crossplane.io/scope";
/// The value of [`SCOPE`] for packages with the permission scope `Namespaced`.
pub const SCOPE_NAMESPACE: &str = "namespace";
/// The value of [`SCOPE`] for packages with the permission scope `Cluster`.
pub const SCOPE_ENVIRONMENT: &str = "environment";

/// Before the name of a namespace: on CRDs and roles that are in use there. The value is `"true"`.
pub const NAMESPACE_PREFIX: &str = "namespace.crossplane.io/";
/// Before `<namespace>-<name>` of an install: on the CRDs that it needs. The value is `"true"`.
pub const PARENT_PREFIX: &str = "parent.stacks.crossplane.io/";
/// The value of labels that are only there or not.
pub const TRUE: &str = "true";

/// The group of the object that another was made for.
pub const PARENT_GROUP: &str = "core.crossplane.io/parent-group";
/// The version of the object that another was made for.
pub const PARENT_VERSION: &str = "core.crossplane.io/parent-version";
/// The kind of the object that another was made for.
pub const PARENT_KIND: &str = "core.crossplane.io/parent-kind";
/// The name of the object that another was made for.
pub const PARENT_NAME: &str = "core.crossplane.io/parent-name";
/// The namespace of the object that another was made for.
pub const PARENT_NAMESPACE: &str = "core.crossplane.io/parent-namespace";

/// On a rendered object: the Stack whose template made it.
pub const STACK: &str = "stacks.crossplane.io/stack";
/// On a rendered object: the template that made it.
pub const TEMPLATE: &str = "stacks.crossplane.io/template";

/// On a namespace that wants roles for its personas. The value is `"true"`.
pub const MANAGED_ROLES: &str = "rbac.crossplane.io/managed-roles";
/// Before `namespace-admin`, `namespace-default-view`, `environment-edit`, `crossplane-admin` and
/// the like: on a role that is part of another. The value is `"true"`.
pub const AGGREGATE_PREFIX: &str = "rbac.crossplane.io/aggregate-to-";

/// By convention of packages: the name of the controller, on its Deployment and pods.
pub const CORE_NAME: &str = "core.crossplane.io/name";
