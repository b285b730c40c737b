//! CustomResourceDefinitions as far as stacks need them: as the v1 object that is applied, and as a
//! typed view of it.

mod convert;
mod extras;
mod names;
mod read;

use std::fmt;

use objects::{Gvk, Path, Schema};
use serde_json::Value;

/// A CRD.
#[derive(Debug, Clone)]
pub struct Crd {
    /// The object as `apiextensions.k8s.io/v1`.
    pub object: Value,
    /// Its name, `<plural>.<group>`.
    pub name: String,
    /// The group of its kind.
    pub group: String,
    /// The names of its kind.
    pub names: Names,
    /// Where its objects live.
    pub scope: Scope,
    /// The versions, in the order they are written.
    pub versions: Vec<CrdVersion>,
}

/// The names of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// As objects write it.
    pub kind: String,
    /// As URLs and roles write it.
    pub plural: String,
    /// One of it, in small letters.
    pub singular: String,
    /// Other names on the command line.
    pub short_names: Vec<String>,
    /// Groups of kinds on the command line.
    pub categories: Vec<String>,
}

/// Where the objects of a kind live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// In namespaces.
    #[default]
    Namespaced,
    /// In the cluster as a whole.
    Cluster,
}

/// A version of a CRD.
#[derive(Debug, Clone)]
pub struct CrdVersion {
    /// Its name.
    pub name: String,
    /// Whether it can be used.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// What its objects look like.
    pub schema: Schema,
    /// Whether the status is written on its own.
    pub status: bool,
    /// How its objects are scaled.
    pub scale: Option<Scale>,
    /// What `kubectl get` shows.
    pub columns: Vec<Column>,
}

/// How objects of a kind are scaled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scale {
    /// Where the wanted number of replicas is.
    pub spec_replicas: String,
    /// Where the actual number of replicas is.
    pub status_replicas: String,
    /// Where the selector of the pods is.
    pub selector: String,
}

/// A column that `kubectl get` shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// The type of what is in it.
    pub r#type: String,
    /// Where that is in the object.
    pub json_path: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It will not work.
    Error,
    /// It works, but was hardly meant so.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// What is wrong with a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdProblem {
    /// Whether the API server would refuse it.
    pub severity: Severity,
    /// Where in the document that was read, before any conversion.
    pub path: Path,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Crd {
    /// Reads a CRD of `apiextensions.k8s.io/v1`, or of v1beta1 which it converts, with everything
    /// that is wrong with it. None when not even its kind can be told.
    pub fn read(document: &Value) -> (Option<Self>, Vec<CrdProblem>) {
        read::read(document, false)
    }

    /// Reads some of the versions of a CRD, which others are to be put beside: which of them is
    /// stored is not checked.
    pub fn read_part(document: &Value) -> (Option<Self>, Vec<CrdProblem>) {
        read::read(document, true)
    }

    /// The version with this name.
    pub fn version(&self, name: &str) -> Option<&CrdVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The version that objects are stored in; the first if none says so.
    pub fn storage(&self) -> Option<&CrdVersion> {
        self.versions
            .iter()
            .find(|version| version.storage)
            .or(self.versions.first())
    }

    /// Group, version and kind of its objects in a version.
    pub fn gvk(&self, version: &str) -> Gvk {
        Gvk::new(&self.group, version, &self.names.kind)
    }
}
