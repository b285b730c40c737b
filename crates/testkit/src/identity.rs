//! Who a client acts as.

/// A subject that a backend can make a client for, so that requests are authorized and recorded as
/// that subject's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A member of `system:masters`, whom nothing is denied.
    Admin,
    /// A user, and its groups beside `system:authenticated`.
    User {
        /// The user's name.
        name: String,
        /// The user's groups.
        groups: Vec<String>,
    },
    /// Whoever this bearer token belongs to, such as a service account.
    Bearer(String),
    /// A client without credentials.
    Anonymous,
}
