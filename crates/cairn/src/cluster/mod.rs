//! Access of commands to a cluster and its registries.

pub(crate) mod connect;
pub(crate) mod dry_run;
pub(crate) mod follow;
pub(crate) mod registries;
