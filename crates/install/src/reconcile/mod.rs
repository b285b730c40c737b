//! What is done about an install and about a Stack, and how both go.

pub mod install;
pub(crate) mod removal;
pub mod stack;
pub(crate) mod teardown;
pub(crate) mod uninstall;
