//! Instances as a cluster shows them: their children by template, what is to be watched to see
//! them, and the tree of what waits for what.

mod attention;
mod pause;
mod tree;

use std::collections::BTreeSet;

use api::names::label_value;
use api::{Crd, PermissionScope, Stack};
use engine::children::ownership::tie;
use engine::{Compiled, CompiledKind, Observed, Seed, Severity, Shape, Tie, compile};
use install::waits_for_kind;
use objects::{Gvk, Resource};
use serde_json::{Value, json};

pub(crate) use crate::cluster::follow::Follower;
pub(crate) use tree::{Line, Node, OTHER, State, grow, grow_all, roots};

/// The children of an instance among objects of a cluster: those that it owns, as its controller
/// sees it if the seed of the stack is known. Those of a template that the kind does not have are
/// those of one that left the stack.
pub(crate) fn children<'l>(
    kind: &CompiledKind,
    instance: &Value,
    live: impl IntoIterator<Item = &'l Value>,
    seed: Option<&Seed>,
) -> Observed {
    let mut observed = Observed::new();
    for object in live
        .into_iter()
        .filter(|object| tie(object, instance, seed) == Tie::Owned)
    {
        let label = object["metadata"]["labels"][api::labels::TEMPLATE]
            .as_str()
            .unwrap_or_default();
        let child = kind
            .children
            .iter()
            .find(|child| label_value(&child.name) == label);
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

/// A stack at work: what it makes, and where it does so.
pub(crate) struct Working {
    pub compiled: Compiled,
    /// Whether it works in all namespaces, and not in its own only.
    wide: bool,
    /// Whether it waits until another that serves its kind is gone, and makes nothing.
    kept_out: bool,
}

impl Working {
    /// The stack of a Stack; none if it does not compile.
    pub fn of(record: &Stack, crds: &[Crd]) -> Option<Working> {
        Self::compiled(record, crds).ok()
    }

    /// The same, or the first thing that is wrong with it.
    pub fn compiled(record: &Stack, crds: &[Crd]) -> Result<Working, String> {
        let (stack, mut problems) = engine::Stack::recorded(record, crds);
        let (compiled, found) = compile(&stack);
        let wide = record.spec.app.permission_scope == PermissionScope::Cluster;
        let kept_out = is_kept_out(record);
        problems.extend(
            found
                .into_iter()
                .filter(|problem| problem.severity == Severity::Error),
        );
        let wrong = || {
            problems
                .first()
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        Ok(Working {
            compiled: compiled.ok_or_else(wrong)?,
            wide,
            kept_out,
        })
    }

    /// Whether instances in a namespace are its business; the empty one is that of the whole
    /// cluster.
    pub fn serves(&self, namespace: &str) -> bool {
        self.is_in(namespace) && !self.kept_out
    }

    fn is_in(&self, namespace: &str) -> bool {
        self.wide || namespace.is_empty() || self.compiled.namespace == namespace
    }
}

/// Whether a Stack waits until another that serves its kind is gone.
pub(crate) fn is_kept_out(record: &Stack) -> bool {
    waits_for_kind(&json!({ "status": record.status }))
}

/// Why nothing becomes of an instance, where none of the stacks that have its kind serves its
/// namespace.
pub(crate) fn unserved<'s>(
    kind: &str,
    namespace: &str,
    stacks: impl IntoIterator<Item = &'s Working>,
) -> Option<String> {
    let stacks: Vec<&Working> = stacks.into_iter().collect();
    if stacks.iter().any(|stack| stack.serves(namespace)) {
        return None;
    }
    if let Some(Compiled {
        name,
        namespace: place,
        ..
    }) = stacks
        .iter()
        .find(|stack| stack.is_in(namespace))
        .map(|stack| &stack.compiled)
    {
        return Some(format!(
            "the stack `{name}` waits until another that serves {kind} here is gone, which cannot be seen from here: \
             `kubectl describe stack {name} -n {place}` says which"
        ));
    }
    let name = stacks.first().map(|stack| stack.compiled.name.clone())?;
    let places: BTreeSet<&str> = stacks
        .iter()
        .map(|stack| stack.compiled.namespace.as_str())
        .collect();
    let places: Vec<&str> = places.into_iter().collect();
    Some(format!(
        "no stack serves {kind} in the namespace {namespace}: `{name}` is installed in {} only; install it there too, \
         or make it `permissionScope: Cluster`",
        places.join(", ")
    ))
}

/// Which stacks have a part in instances of a kind in a namespace: the one that serves them, and
/// those whose kinds its templates make.
pub(crate) fn involved(stacks: &[&Working], root: &Gvk, namespace: &str) -> Vec<usize> {
    let maker = |gvk: &Gvk| {
        stacks
            .iter()
            .position(|other| other.compiled.kind(gvk).is_some() && other.serves(namespace))
    };
    let mut part: Vec<usize> = maker(root).into_iter().collect();
    let mut next = 0;
    while let Some(at) = part.get(next).copied() {
        next += 1;
        for gvk in stacks[at].compiled.rendered() {
            part.extend(maker(gvk).filter(|maker| !part.contains(maker)));
        }
    }
    part
}

/// How requests name a kind: one of Kubernetes' own, or of these CRDs.
pub(crate) fn resource(gvk: &Gvk, crds: &[Crd]) -> Option<Resource> {
    let named = json!({ "apiVersion": gvk.api_version().to_string(), "kind": gvk.kind });
    Resource::builtin(&named).or_else(|| {
        let crd = crds
            .iter()
            .find(|crd| crd.group == gvk.group && crd.names.kind == gvk.kind)?;
        crd.version(&gvk.version)?;
        let namespaced = crd.scope == api::Scope::Namespaced;
        Some(Resource {
            gvk: gvk.clone(),
            plural: crd.names.plural.clone(),
            namespaced,
        })
    })
}

#[cfg(test)]
mod tests {
    use api::{Crd, Stack};
    use objects::Gvk;
    use serde_json::json;

    use super::{Working, involved, unserved};

    fn working(namespace: &str, name: &str, kept_out: bool) -> Working {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "shops.example.org" },
            "spec": {
                "group": "example.org", "scope": "Namespaced", "names": { "kind": "Shop", "plural": "shops" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        });
        let reason = if kept_out { "KindTaken" } else { "Available" };
        let stack: Stack = serde_json::from_value(json!({
            "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "namespace": namespace, "name": name },
            "spec": {
                "customresourcedefinitions": [{ "kind": "Shop", "apiVersion": "example.org/v1" }],
                "templates": { "shop.example.org/v1": { name: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" } },
            },
            "status": { "conditions": [{ "type": "Ready", "status": "True", "reason": reason }] },
        }))
        .expect("a Stack");
        Working::of(&stack, &[Crd::read(&crd).0.expect("a CRD")]).expect("it compiles")
    }

    #[test]
    fn an_instance_is_of_the_stack_that_serves_its_kind_and_not_of_one_that_is_kept_out() {
        let gvk = Gvk::new("example.org", "v1", "Shop");
        let (out, serving, far) = (
            working("team", "aaa", true),
            working("team", "shop", false),
            working("far", "shop", false),
        );
        for (stacks, expected, why) in [
            (vec![&out, &serving], vec![1], None),
            (vec![&serving, &out], vec![0], None),
            (vec![&far, &out, &serving], vec![2], None),
            (
                vec![&far, &out],
                vec![],
                Some("the stack `aaa` waits until another that serves Shop here is gone"),
            ),
            (
                vec![&far],
                vec![],
                Some("no stack serves Shop in the namespace team: `shop` is installed in far only"),
            ),
        ] {
            let names: Vec<_> = stacks
                .iter()
                .map(|stack| (&stack.compiled.namespace, &stack.compiled.name))
                .collect();
            assert_eq!(involved(&stacks, &gvk, "team"), expected, "{names:?}");
            let told = unserved("Shop", "team", stacks.iter().copied());
            assert_eq!(told.is_some(), why.is_some(), "{names:?}: {told:?}");
            assert!(
                told.unwrap_or_default()
                    .starts_with(why.unwrap_or_default()),
                "{names:?}"
            );
        }
    }
}
