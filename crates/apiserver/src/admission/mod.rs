//! What is checked before an object is stored, beyond its own validity: the namespace it goes to,
//! the account of a pod, and roles that grant more than their author has.

pub(crate) mod namespace_lifecycle;
pub(crate) mod rbac_escalation;
pub(crate) mod service_account;
