//! Patches: JSON Patch (RFC 6902), JSON Merge Patch (RFC 7386) and Kubernetes' strategic merge
//! patch, each with the API server's own refusals. Who manages the patched fields is kept track of
//! in `apply`.

mod json;
mod merge;
mod order;
mod strategic;

pub use json::{JSON_PATCH_COPY_LIMIT, JSON_PATCH_LIMIT, json_patch};
pub use merge::merge_patch;
pub use strategic::strategic_merge_patch;

/// Why a patch is refused, with the code of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It cannot be read: 400.
    #[error("{0}")]
    BadRequest(String),
    /// It asks for too much: 413.
    #[error("{0}")]
    TooLarge(String),
    /// It does not fit the object: 422.
    #[error("{0}")]
    Unprocessable(String),
    /// It does not fit the type of the object: 500, as the API server answers.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// The message of the status. Of what does not fit the object the API server says no more than
    /// that.
    pub fn status_message(&self) -> String {
        match self {
            Self::Unprocessable(_) => {
                "the server rejected our request due to an error in our request".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// The HTTP status.
    pub const fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::TooLarge(_) => 413,
            Self::Unprocessable(_) => 422,
            Self::Internal(_) => 500,
        }
    }
}

/// What Go calls a JSON value that it cannot read.
pub(crate) const fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}
