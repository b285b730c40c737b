//! Instances as a cluster shows them: their children by template, what is to be watched to see them, and the tree of
//! what waits for what.

mod follow;
mod tree;

use api::Crd;
use api::names::label_value;
use controller::Resource;
use engine::carry::is_ours;
use engine::{CompiledKind, Observed, Shape};
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
