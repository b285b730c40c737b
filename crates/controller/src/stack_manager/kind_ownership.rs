//! What the Stacks of the cluster serve. It is found out once for each Stack: a reconcile must not
//! cost more because others have many Stacks and CRDs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use api::Crd;
use install::{KindOwnership, LiveCrd};
use serde_json::Value;

use super::StackManager;
use objects::Key;

/// The claims that are known, and what each was found out from.
#[derive(Default)]
pub(super) struct Claims {
    known: BTreeMap<Key, Known>,
}

struct Known {
    stack: Arc<Value>,
    everywhere: bool,
    /// The CRDs that its entries may mean.
    crds: Vec<Arc<LiveCrd>>,
    claim: KindOwnership,
}

impl Known {
    fn is_of(&self, stack: &Arc<Value>, everywhere: bool, crds: &[&Arc<LiveCrd>]) -> bool {
        Arc::ptr_eq(&self.stack, stack)
            && self.everywhere == everywhere
            && self.crds.len() == crds.len()
            && self
                .crds
                .iter()
                .zip(crds)
                .all(|(one, other)| Arc::ptr_eq(one, other))
    }
}

impl Claims {
    /// The claims of all Stacks, each with whether it acts in all namespaces.
    fn of(
        &mut self,
        stacks: Vec<(Key, Arc<Value>, bool)>,
        definitions: &[Arc<LiveCrd>],
    ) -> Vec<KindOwnership> {
        let groups = by_group(definitions);
        let mut before = std::mem::take(&mut self.known);
        let mut all = Vec::with_capacity(stacks.len());
        for (key, stack, everywhere) in stacks {
            let near = meant(&stack, &groups);
            let known = before
                .remove(&key)
                .filter(|known| known.is_of(&stack, everywhere, &near));
            let known = known.unwrap_or_else(|| {
                let crds: Vec<&Crd> = near.iter().map(|live| &live.crd).collect();
                let claim = KindOwnership::of(&stack, everywhere, &crds);
                Known {
                    stack,
                    everywhere,
                    crds: near.into_iter().cloned().collect(),
                    claim,
                }
            });
            all.push(known.claim.clone());
            self.known.insert(key, known);
        }
        all
    }
}

fn by_group(definitions: &[Arc<LiveCrd>]) -> HashMap<&str, Vec<&Arc<LiveCrd>>> {
    let mut groups: HashMap<&str, Vec<&Arc<LiveCrd>>> = HashMap::new();
    for live in definitions {
        groups.entry(&live.crd.group).or_default().push(live);
    }
    groups
}

/// The CRDs that a Stack may own.
pub(super) fn near<'c>(stack: &Value, definitions: &'c [Arc<LiveCrd>]) -> Vec<&'c Arc<LiveCrd>> {
    meant(stack, &by_group(definitions))
}

/// The CRDs of the groups that the entries of a Stack may mean: an `apiVersion` may have anything
/// before the group.
fn meant<'c>(
    stack: &Value,
    groups: &HashMap<&str, Vec<&'c Arc<LiveCrd>>>,
) -> Vec<&'c Arc<LiveCrd>> {
    let entries = stack["spec"]["customresourcedefinitions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut found: Vec<&Arc<LiveCrd>> = Vec::new();
    for entry in entries {
        let domain = entry["apiVersion"]
            .as_str()
            .and_then(|text| text.split_once('/'))
            .map(|(domain, _)| domain);
        let mut rest = domain;
        while let Some(group) = rest {
            for live in groups.get(group).into_iter().flatten() {
                if !found.iter().any(|known| Arc::ptr_eq(known, live)) {
                    found.push(live);
                }
            }
            rest = group.split_once('.').map(|(_, shorter)| shorter);
        }
    }
    found
}

impl StackManager {
    /// What the Stacks of the cluster serve.
    pub(super) fn claims(&self, definitions: &[Arc<LiveCrd>]) -> Vec<KindOwnership> {
        let stacks = self.informers.stacks.all().into_iter();
        let stacks = stacks.map(|(key, stack)| {
            let everywhere = self.is_cluster_wide(&stack);
            (key, stack, everywhere)
        });
        self.known_claims
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .of(stacks.collect(), definitions)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use install::{KindOwnership, LiveCrd};
    use serde_json::{Value, json};

    use super::Claims;
    use objects::Key;

    fn live(group: &str) -> Arc<LiveCrd> {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("notes.{group}") },
            "spec": { "group": group, "scope": "Namespaced", "names": { "kind": "Note", "plural": "notes" },
                "versions": [{ "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } } }] },
        });
        Arc::new(LiveCrd::read(&crd).expect("a CRD"))
    }

    fn stack(name: &str, version: &str) -> (Key, Arc<Value>, bool) {
        let stack = json!({
            "metadata": { "name": name, "namespace": "ns" },
            "spec": {
                "customresourcedefinitions": [{ "kind": "Note", "apiVersion": version }],
                "templates": { version: { "a": "" } },
            },
        });
        (Key::new("ns", name), Arc::new(stack), false)
    }

    #[test]
    fn what_is_remembered_is_what_would_be_found_out() {
        let mut claims = Claims::default();
        let mut definitions = vec![live("example.org"), live("other.org"), live("org")];
        let mut stacks = vec![
            stack("a", "example.org/v1"),
            stack("b", "note.example.org/v1"),
            stack("c", "gone.org/v1"),
        ];
        let afresh = |stacks: &[(Key, Arc<Value>, bool)],
                      definitions: &[Arc<LiveCrd>]|
         -> Vec<KindOwnership> {
            let crds: Vec<&api::Crd> = definitions.iter().map(|live| &live.crd).collect();
            stacks
                .iter()
                .map(|(_, stack, everywhere)| KindOwnership::of(stack, *everywhere, &crds))
                .collect()
        };
        let check = |claims: &mut Claims,
                     stacks: &[(Key, Arc<Value>, bool)],
                     definitions: &[Arc<LiveCrd>]| {
            assert_eq!(
                claims.of(stacks.to_vec(), definitions),
                afresh(stacks, definitions)
            );
        };
        check(&mut claims, &stacks, &definitions);
        check(&mut claims, &stacks, &definitions);
        // A CRD comes, another changes, a Stack changes, one becomes cluster-wide, one goes.
        definitions.push(live("gone.org"));
        check(&mut claims, &stacks, &definitions);
        definitions[0] = live("example.org");
        check(&mut claims, &stacks, &definitions);
        stacks[0] = stack("a", "other.org/v1");
        check(&mut claims, &stacks, &definitions);
        stacks[1].2 = true;
        check(&mut claims, &stacks, &definitions);
        stacks.remove(1);
        check(&mut claims, &stacks, &definitions);
        assert_eq!(claims.known.len(), 2, "deleted Stacks are forgotten");
        definitions.clear();
        check(&mut claims, &stacks, &definitions);
    }
}
