//! The verbs, one file each, and what they have in common.

pub(crate) mod create;
mod decode;
pub(crate) mod delete;
mod embedded;
pub(crate) mod get;
mod json;
pub(crate) mod list;
mod managed;
mod metadata;
mod modify;
pub(crate) mod object;
pub(crate) mod patch;
mod prepare;
pub(crate) mod scale;
pub(crate) mod selection;
pub(crate) mod update;

pub(crate) use decode::check_options;
pub(crate) use json::parse as parse_json;
