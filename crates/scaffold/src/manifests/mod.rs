//! Reading manifests: splitting them, dropping noise, and rejecting what cannot become a template.

pub(crate) mod noise;
pub(crate) mod split;
pub(crate) mod stream;
pub(crate) mod unknown_kinds;
pub(crate) mod unsupported;
pub(crate) mod untyped_values;
