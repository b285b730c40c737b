//! What `app.yaml` says of a package, which the Stack repeats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metadata of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct App {
    /// The human readable title.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// One line of plain text.
    #[serde(alias = "shortOverview", skip_serializing_if = "String::is_empty")]
    pub overview_short: String,
    /// Several lines of plain text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub overview: String,
    /// Markdown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub readme: String,
    /// The version of the package; equal to the tag of its image, and taken from there when absent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Icons, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
    /// Who maintains it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Person>,
    /// Who owns it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Person>,
    /// The human readable name of a company.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub company: String,
    /// The one category that fits best.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub category: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Where to read more.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub website: String,
    /// Where its source is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The SPDX name of its licence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// How far the permissions of the stack reach.
    pub permission_scope: PermissionScope,
    /// Kinds that others have to bring, and that the stack may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
}

/// A picture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Icon {
    /// Its bytes in base 64.
    #[serde(alias = "base64data")]
    pub base64_data: String,
    /// Its media type.
    pub mediatype: String,
}

/// Somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Person {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
}

/// How far the permissions of a stack reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PermissionScope {
    /// The namespace it is installed in.
    #[default]
    Namespaced,
    /// The whole cluster.
    Cluster,
}

impl PermissionScope {
    /// The words that `app.yaml` may use.
    pub const WORDS: [&'static str; 2] = ["Namespaced", "Cluster"];
}

/// A kind that another stack or Kubernetes itself has to bring.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dependency {
    /// The kind, such as `redis.example.org/v1`, `*.example.org/v1` or `deployment.apps/v1`.
    pub crd: String,
}
