//! Reconciliation of installs and Stacks, and their deletion.

pub mod install;
pub(crate) mod removal;
pub mod stack;
pub(crate) mod teardown;
pub(crate) mod uninstall;
