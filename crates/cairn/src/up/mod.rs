//! What `cairn up` consists of: the directory it lives in, the packages it installs whenever they are saved, and what
//! it tells of the instances.

mod duplicate;
mod ending;
mod files;
mod house;
mod installer;
mod shares;
mod teller;

pub(crate) use ending::Ending;
pub(crate) use files::Watch;
pub(crate) use house::House;
pub(crate) use installer::{Installer, is_kept_out, names, take_back_all};
pub(crate) use teller::tell;
