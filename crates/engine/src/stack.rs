//! What the engine is given: the kinds a stack owns, their schemas and their templates.

pub(crate) mod from_package;
pub(crate) mod from_record;

use std::collections::BTreeMap;

use api::PermissionScope;
use api::key::Reference;
use objects::{Gvk, Schema};

/// A stack, read from a package or from a `Stack` object.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// The namespace it is in.
    pub namespace: String,
    /// The kinds it owns.
    pub kinds: Vec<Kind>,
    /// The kinds it may use besides its own.
    pub depends_on: Vec<Reference>,
    /// Whether these are all; if not, what it may make is not known.
    pub all_dependencies: bool,
    /// How far its permissions reach.
    pub scope: PermissionScope,
    /// Templates that others include, by key and name.
    pub partials: BTreeMap<(String, String), Source>,
    /// Whether a cluster has it, where somebody may have given it more rights than it asks for.
    pub recorded: bool,
}

/// A kind that a stack owns.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Its name in URLs.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What its objects look like; none if the CRD does not say.
    pub schema: Option<Schema>,
    /// Whether status is a subresource.
    pub status_subresource: bool,
    /// The templates of its children, by name.
    pub templates: BTreeMap<String, Source>,
    /// The template of its own status.
    pub status: Option<Source>,
}

impl Kind {
    /// Whether the controller of the stack says of each of its objects whether it is ready.
    pub(crate) fn tells_ready(&self) -> bool {
        let status = self
            .schema
            .as_ref()
            .and_then(|schema| schema.properties.get("status"));
        let has_place = status.is_some_and(|status| status.properties.contains_key("conditions"));
        has_place && (!self.templates.is_empty() || self.status.is_some())
    }
}

/// A template and the file it is known by in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The text.
    pub text: String,
}
