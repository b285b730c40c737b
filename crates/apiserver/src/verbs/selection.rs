//! Which objects of a list or a watch are wanted, by their labels and fields.

use serde_json::Value;

use crate::{kinds::Served, request::QueryPairs, status::ApiError};

/// Selectors by labels and by fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    name: Option<String>,
}

impl Selection {
    /// Reads the selectors of a query.
    pub(crate) fn read(_served: &Served, query: &QueryPairs, name: Option<&str>) -> Result<Self, ApiError> {
        let selected = query.get("fieldSelector").and_then(|selector| selector.strip_prefix("metadata.name="));
        Ok(Self { name: name.or(selected).map(str::to_owned) })
    }

    /// Whether everything is wanted.
    pub(crate) fn is_everything(&self) -> bool {
        self.name.is_none()
    }

    /// Whether an object is wanted.
    pub(crate) fn wants(&self, object: &Value) -> bool {
        self.name.as_deref().is_none_or(|name| object["metadata"]["name"] == name)
    }
}
