//! Kinds that no stack may have, whatever its package or an administrator says: with them it could
//! give itself more rights.

/// Groups of such kinds.
const GROUPS: [&str; 6] = [
    "rbac.authorization.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "authentication.k8s.io",
];
/// Those of the core group.
const CORE: [&str; 4] = [
    "nodes",
    "namespaces",
    "persistentvolumes",
    "serviceaccounts",
];

/// Whether no stack may have a kind, by its group and plural.
pub fn is_never_granted(group: &str, resource: &str) -> bool {
    GROUPS.contains(&group) || (group.is_empty() && CORE.contains(&resource))
}
