//! Files of this user: reading them, with the place of every part, and keeping them from others.

pub(crate) mod fields;
pub(crate) mod located_yaml;
pub(crate) mod private;
pub(crate) mod read;
