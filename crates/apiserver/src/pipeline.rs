//! The verbs, one file each, and what they have in common.

pub(crate) mod body_object;
pub(crate) mod decode;
pub(crate) mod embedded;
pub(crate) mod managed_fields;
pub(crate) mod object_meta;
pub(crate) mod prepare;
pub(crate) mod retry_on_conflict;
pub(crate) mod selection;

pub(crate) use crate::codec::json::parse as parse_json;
pub(crate) use decode::check_options;
