//! Kinds that need more than their fields rewritten.

pub(crate) mod autoscaler;
pub(crate) mod checksum;
pub(crate) mod helm;
pub(crate) mod job;
pub(crate) mod main_workload;
pub(crate) mod secret;
