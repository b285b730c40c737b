//! What `cairn up` consists of: the directory it lives in, the packages it installs whenever they
//! are saved, and what it tells of the instances.

mod ending;
mod file_watch;
mod installer;
mod kind_owners;
mod kubeconfig_copy;
mod progress;
mod state_dir;

pub(crate) use ending::Ending;
pub(crate) use file_watch::Watch;
pub(crate) use installer::{Installer, is_kept_out, names, take_back_all};
pub(crate) use progress::tell;
pub(crate) use state_dir::StateDir;
