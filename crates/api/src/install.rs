//! `StackInstall` and `ClusterStackInstall`: the wish to have a package in a namespace, or in the
//! whole cluster.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::metadata::{ObjectRef, resource};

resource! {
    /// The wish to have a package in a namespace.
    StackInstall, "stackinstalls", InstallSpec, InstallStatus
}

resource! {
    /// The wish to have a package in the whole cluster.
    ClusterStackInstall, "clusterstackinstalls", InstallSpec, InstallStatus
}

/// What to install, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallSpec {
    /// The registry, with an optional prefix, for packages that do not name their own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The image of the package, with `:tag`, `@sha256:...` or both. Either this or `crd`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// A kind whose package is to be found, such as `redis.example.org/v1`. Either this or
    /// `package`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub crd: String,
    /// Secrets beside the install with credentials for the registry.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<SecretRef>,
    /// When to pull the images of the package's controller: `Always`, `IfNotPresent` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image_pull_policy: String,
    /// What the ServiceAccount of the stack carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccountSpec>,
    /// Of a ClusterStackInstall: the namespaces that the stack may act in. None given means all of
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Leaves everything as it is until it is false again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
}

/// A Secret in the same namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretRef {
    /// Its name.
    pub name: String,
}

/// What the ServiceAccount of a stack carries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceAccountSpec {
    /// Its annotations, such as those by which clouds give it an identity.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// How an install is getting on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InstallStatus {
    /// The steps that were taken: `PackageResolved`, `Unpacked`, `DependenciesSatisfied`,
    /// `CRDsEstablished`, `ControllerAvailable` and `Ready`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The namespace that was created for the Stack of a ClusterStackInstall.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The Stack that this install made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_record: Option<ObjectRef>,
    /// The digest of the package that is installed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The version of the package that is installed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
}
