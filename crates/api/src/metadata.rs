//! The parts that all objects of the API have.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The metadata of an object, as far as Cairn reads it; the rest is kept as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// What tells the object from others of the same name, before and after it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Counts the changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A reference to an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// Its group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Its kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// A kind of objects.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct KindRef {
    /// The kind, as objects write it.
    pub kind: String,
    /// The group and version. Among what a stack owns also `redis.example.org/v1` and the like.
    pub api_version: String,
}

/// Defines an object of the API.
macro_rules! resource {
    ($(#[$doc:meta])* $name:ident, $plural:literal, $spec:ty, $status:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// The group and version, always [`crate::API_VERSION`].
            pub api_version: String,
            /// The kind.
            pub kind: String,
            /// Name, namespace, labels and the like.
            #[serde(default)]
            pub metadata: $crate::Metadata,
            /// What is wanted.
            pub spec: $spec,
            /// What is.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub status: Option<$status>,
        }

        impl $name {
            /// The kind.
            pub const KIND: &'static str = stringify!($name);
            /// The name of the resource in URLs and roles.
            pub const PLURAL: &'static str = $plural;

            /// An object with this spec and nothing else.
            pub fn new(spec: $spec) -> Self {
                Self {
                    api_version: $crate::API_VERSION.to_owned(),
                    kind: Self::KIND.to_owned(),
                    metadata: $crate::Metadata::default(),
                    spec,
                    status: None,
                }
            }
        }
    };
}

pub(crate) use resource;
