//! Instances as a cluster shows them: their children by template, what is to be watched to see them, and the tree of
//! what waits for what.

mod follow;
mod tree;

use std::collections::BTreeSet;

use api::Crd;
use api::names::label_value;
use controller::Resource;
use engine::carry::is_ours;
use engine::{Compiled, CompiledKind, Observed, Shape};
use objects::Gvk;
use serde_json::{Value, json};

pub(crate) use follow::Follower;
pub(crate) use tree::{Line, Node, State, grow, grow_all, roots};

/// The children of an instance among objects of a cluster. Those of a template that the kind does not have are those of
/// one that left the stack.
pub(crate) fn children<'l>(
    kind: &CompiledKind,
    instance: &Value,
    stack: &str,
    live: impl IntoIterator<Item = &'l Value>,
) -> Observed {
    let mut observed = Observed::new();
    for object in live.into_iter().filter(|object| is_ours(object, instance, stack)) {
        let label = object["metadata"]["labels"][api::labels::TEMPLATE].as_str().unwrap_or_default();
        let child = kind.children.iter().find(|child| label_value(&child.name) == label);
        match child {
            Some(child) if child.shape == Shape::One => {
                let same = Gvk::of(object).as_ref() == Some(&child.gvk);
                if same || !observed.contains_key(&child.name) {
                    observed.insert(child.name.clone(), object.clone());
                }
            }
            child => {
                let name = child.map_or(label, |child| child.name.as_str()).to_owned();
                if let Value::Array(list) = observed.entry(name).or_insert_with(|| json!([])) {
                    list.push(object.clone());
                }
            }
        }
    }
    observed
}

/// A stack at work: what it makes, and whether it does so in all namespaces or in its own.
pub(crate) struct Working {
    pub compiled: Compiled,
    pub wide: bool,
}

impl Working {
    /// Whether instances in a namespace are its business; the empty one is that of the whole cluster.
    pub fn serves(&self, namespace: &str) -> bool {
        self.wide || namespace.is_empty() || self.compiled.namespace == namespace
    }
}

/// Why nothing becomes of an instance, where none of the stacks that have its kind serves its namespace.
pub(crate) fn unserved<'s>(
    kind: &str,
    namespace: &str,
    stacks: impl IntoIterator<Item = &'s Working>,
) -> Option<String> {
    let stacks: Vec<&Working> = stacks.into_iter().collect();
    if stacks.iter().any(|stack| stack.serves(namespace)) {
        return None;
    }
    let name = stacks.first().map(|stack| stack.compiled.name.clone())?;
    let places: BTreeSet<&str> = stacks.iter().map(|stack| stack.compiled.namespace.as_str()).collect();
    let places: Vec<&str> = places.into_iter().collect();
    Some(format!(
        "no stack serves {kind} in the namespace {namespace}: `{name}` is installed in {} only; install it there too, \
         or make it `permissionScope: Cluster`",
        places.join(", ")
    ))
}

/// How requests name a kind: one of Kubernetes' own, or of these CRDs.
pub(crate) fn resource(gvk: &Gvk, crds: &[Crd]) -> Option<Resource> {
    let named = json!({ "apiVersion": gvk.api_version().to_string(), "kind": gvk.kind });
    Resource::builtin(&named).or_else(|| {
        let crd = crds.iter().find(|crd| crd.group == gvk.group && crd.names.kind == gvk.kind)?;
        crd.version(&gvk.version)?;
        let namespaced = crd.scope == api::Scope::Namespaced;
        Some(Resource { gvk: gvk.clone(), plural: crd.names.plural.clone(), namespaced })
    })
}
