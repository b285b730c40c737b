//! Why a registry could not be used, with a word for programs and what to do about it.

use package::image::Refused;

/// Why a registry could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing answers there.
    #[error("the registry {host} cannot be reached: {cause}")]
    Unreachable {
        /// The host.
        host: String,
        /// What went wrong.
        cause: String,
    },
    /// The operator does not allow it.
    #[error("{cause}")]
    NotAllowed {
        /// The host.
        host: String,
        /// Why not.
        cause: String,
    },
    /// It wants to know who asks, or does not let them.
    #[error("the registry {host} denies access to {repository}: {cause}")]
    Denied {
        /// The host.
        host: String,
        /// What was asked for.
        repository: String,
        /// What it said.
        cause: String,
    },
    /// It has no such image.
    #[error("there is no image {reference}")]
    NotFound {
        /// The image.
        reference: String,
    },
    /// It answered something that no registry should.
    #[error("the registry {host} gave a wrong answer for {what}: {cause}")]
    Wrong {
        /// The host.
        host: String,
        /// What was asked for.
        what: String,
        /// What is wrong with the answer.
        cause: String,
    },
    /// It could not do what was asked, for now.
    #[error("the registry {host} failed with {status} for {what}: {cause}")]
    Failed {
        /// The host.
        host: String,
        /// What was asked for.
        what: String,
        /// The status of its answer.
        status: u16,
        /// What it said.
        cause: String,
    },
    /// The image was pulled and is not taken.
    #[error("{reference} is no package that can be read: {refused}")]
    Refused {
        /// The image.
        reference: String,
        /// Why.
        refused: Refused,
    },
    /// The store of what was pulled cannot be used.
    #[error("the store {path} cannot be used: {cause}")]
    Store {
        /// Where it is.
        path: String,
        /// What went wrong.
        cause: String,
    },
    /// Credentials cannot be read.
    #[error("credentials cannot be read from {from}: {cause}")]
    Credentials {
        /// Where they should be.
        from: String,
        /// What is wrong.
        cause: String,
    },
}

impl Error {
    /// One word for programs: the reason of conditions and Events, and the label of metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "RegistryUnreachable",
            Self::NotAllowed { .. } => "RegistryNotAllowed",
            Self::Denied { .. } => "RegistryDenied",
            Self::NotFound { .. } => "PackageNotFound",
            Self::Wrong { .. } => "RegistryInvalid",
            Self::Failed { .. } => "RegistryFailed",
            Self::Refused { .. } => "PackageInvalid",
            Self::Store { .. } => "StoreFailed",
            Self::Credentials { .. } => "CredentialsInvalid",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { cause, .. } if cause.contains("certificate") => {
                Some("its certificate is not trusted: add the authority that signed it to this machine's".to_owned())
            }
            Self::Unreachable { .. } => Some("is its name right, and is it running?".to_owned()),
            Self::NotAllowed { .. } => {
                Some("use a registry of that list, or ask your cluster administrator".to_owned())
            }
            Self::Denied { host, .. } => Some(format!("log in to it (`docker login {host}`), or give a pull secret")),
            Self::NotFound { .. } => Some("are its name and tag right, and was it pushed?".to_owned()),
            Self::Wrong { .. } => Some("is this the address of a registry?".to_owned()),
            Self::Refused { refused, .. } => refused.hint.clone(),
            Self::Failed { .. } | Self::Store { .. } | Self::Credentials { .. } => None,
        }
    }

    /// Whether the same may go well later without anybody doing anything.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Failed { .. } | Self::Store { .. }
        )
    }
}
