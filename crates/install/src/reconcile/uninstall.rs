//! What an uninstall will take along, told before it is asked for: by the rules that the stack
//! manager goes by.

use std::collections::{BTreeMap, BTreeSet};

use api::{PermissionScope, Stack, annotations, key};
use serde_json::json;

use super::install::Install;
use crate::stack_record::is_ours;
use crate::{KindOwnership, Leaving, LiveCrd, keeps_data};

/// An install that is to go, and what is around it.
#[derive(Debug)]
pub struct Uninstall<'u> {
    /// The install.
    pub install: &'u Install,
    /// All Stacks.
    pub stacks: &'u [Stack],
    /// All CRDs.
    pub crds: &'u [LiveCrd],
}

/// What goes with an install.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The kinds that nobody else needs and that have no objects then.
    pub kinds: Vec<String>,
    /// How many instances go.
    pub instances: usize,
    /// Whether the install or its Stack says that types and data stay.
    pub kept: bool,
}

impl<'u> Uninstall<'u> {
    /// The Stack that goes with it.
    pub fn stack(&self) -> Option<&'u Stack> {
        self.stacks
            .iter()
            .find(|stack| is_ours(stack, self.install))
    }

    /// The CRDs of the Stack, whose objects have to be known.
    pub fn owned(&self) -> Vec<&'u LiveCrd> {
        let crds: Vec<&api::Crd> = self.crds.iter().map(|live| &live.crd).collect();
        let entries = self
            .stack()
            .map(|stack| stack.spec.customresourcedefinitions.as_slice())
            .unwrap_or_default();
        let (owned, _) = key::owned(entries, &crds);
        let of = |own: &key::Owned| {
            self.crds
                .iter()
                .find(|live| live.crd.group == own.group && live.crd.names.kind == own.kind)
        };
        owned.iter().filter_map(of).collect()
    }

    /// What goes, given the namespaces of the objects of each CRD by its name.
    pub fn takes(&self, objects: &BTreeMap<String, Vec<String>>) -> Taken {
        let Some(stack) = self.stack() else {
            return Taken::default();
        };
        let crds: Vec<&api::Crd> = self.crds.iter().map(|live| &live.crd).collect();
        let is_wide = |stack: &Stack| stack.spec.app.permission_scope == PermissionScope::Cluster;
        let claim = |stack: &Stack| KindOwnership::of(&json!(stack), is_wide(stack), &crds);
        let (own, claims) = (
            claim(stack),
            self.stacks.iter().map(claim).collect::<Vec<_>>(),
        );
        let kept = keeps_data(
            &json!(stack),
            Some(&json!({ "metadata": self.install.metadata })),
        );
        let parent = self.install.parent();
        let mut taken = Taken {
            kept,
            ..Taken::default()
        };
        for live in self.owned() {
            let all = objects
                .get(&live.crd.name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            // What it served has it for an owner; what it only defined goes unless another install
            // needs it there.
            let served = own.serves(&live.crd.group, &live.crd.names.kind);
            let record = live.record();
            let is_its = |place: &&String| {
                let reaches =
                    is_wide(stack) || place.is_empty() || **place == stack.metadata.namespace;
                reaches && (served || (live.is_ours() && record.came_with(&parent, place)))
            };
            let going = match kept || own.shares(&live.crd.group, &live.crd.names.kind, &claims) {
                true => 0,
                false => all.iter().filter(is_its).count(),
            };
            taken.instances += going;
            let is_given_up = live.is_needed_by(&parent) && !live.deleting;
            let has_objects = self.install.annotated(annotations::KEEP_CRDS) || going < all.len();
            if is_given_up
                && live.without(&parent, &BTreeSet::new(), has_objects) == Leaving::Delete
            {
                taken.kinds.push(live.crd.names.kind.clone());
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use api::{Stack, StackInstall, annotations, labels};
    use serde_json::{Value, json};

    use super::{Taken, Uninstall};
    use crate::LiveCrd;
    use crate::reconcile::install::Install;

    struct Case {
        install: Value,
        stacks: Vec<Value>,
        parents: &'static [&'static str],
        managed: bool,
        objects: &'static [&'static str],
    }

    impl Case {
        fn new() -> Self {
            let [install, stacks] = [json!({}), stack("team", "shop", "i")];
            Self {
                install,
                stacks: vec![stacks],
                parents: &["shop"],
                managed: true,
                objects: &["team"],
            }
        }

        fn taken(&self) -> Taken {
            let object = json!({
                "apiVersion": api::API_VERSION, "kind": "StackInstall", "spec": { "package": "a/b:1" },
                "metadata": { "name": "shop", "namespace": "team", "uid": "i", "annotations": self.install },
            });
            let install: Install = serde_json::from_value::<StackInstall>(object)
                .unwrap()
                .into();
            let stacks: Vec<Stack> = self
                .stacks
                .iter()
                .map(|stack| serde_json::from_value(stack.clone()).unwrap())
                .collect();
            let mut marks: serde_json::Map<String, Value> = self
                .parents
                .iter()
                .map(|name| (api::names::parent_label("team", name), json!("team")))
                .collect();
            if self.managed {
                marks.insert(
                    labels::MANAGED_BY.to_owned(),
                    json!(labels::MANAGED_BY_STACK_MANAGER),
                );
            }
            let mut crd = crate::kind_ownership::tests::crds().remove(0).object;
            crd["metadata"]["labels"] = Value::Object(marks);
            let crds = [LiveCrd::read(&crd).unwrap()];
            let uninstall = Uninstall {
                install: &install,
                stacks: &stacks,
                crds: &crds,
            };
            let objects = self
                .objects
                .iter()
                .map(|place| (*place).to_owned())
                .collect();
            uninstall.takes(&BTreeMap::from([("shops.example.org".to_owned(), objects)]))
        }
    }

    fn stack(namespace: &str, name: &str, install: &str) -> Value {
        json!({
            "apiVersion": api::API_VERSION, "kind": "Stack",
            "metadata": {
                "namespace": namespace, "name": name, "ownerReferences": [{ "uid": install, "controller": true }],
            },
            "spec": {
                "customresourcedefinitions": [{ "kind": "Shop", "apiVersion": "example.org/v1" }],
                "templates": { "shop.example.org/v1": { "a": "" } },
            },
        })
    }

    fn keep() -> Value {
        json!({ annotations::KEEP_CRDS: "true" })
    }

    fn kept_by_stack() -> Vec<Value> {
        let mut stack = stack("team", "shop", "i");
        stack["metadata"]["annotations"] = keep();
        vec![stack]
    }

    #[test]
    fn what_an_uninstall_takes_along_is_what_the_stack_manager_deletes() {
        let taken = |kinds: &[&str], instances: usize, kept: bool| Taken {
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            instances,
            kept,
        };
        let shared = || vec![stack("team", "shop", "i"), stack("team", "other", "j")];
        let mut wide = stack("team", "shop", "i");
        wide["spec"]["permissionScope"] = json!("Cluster");
        for (why, case, expected) in [
            ("all of it", Case::new(), taken(&["Shop"], 1, false)),
            (
                "the install keeps",
                Case {
                    install: keep(),
                    ..Case::new()
                },
                taken(&[], 0, true),
            ),
            (
                "and what has no objects",
                Case {
                    install: keep(),
                    objects: &[],
                    ..Case::new()
                },
                taken(&[], 0, true),
            ),
            (
                "the Stack keeps",
                Case {
                    stacks: kept_by_stack(),
                    ..Case::new()
                },
                taken(&[], 0, true),
            ),
            (
                "the Stack keeps objects, and there are none",
                Case {
                    stacks: kept_by_stack(),
                    objects: &[],
                    ..Case::new()
                },
                taken(&["Shop"], 0, true),
            ),
            (
                "objects elsewhere",
                Case {
                    objects: &["team", "far"],
                    ..Case::new()
                },
                taken(&[], 1, false),
            ),
            (
                "a stack of the whole cluster",
                Case {
                    stacks: vec![wide],
                    objects: &["team", "far"],
                    ..Case::new()
                },
                taken(&["Shop"], 2, false),
            ),
            (
                "another needs it",
                Case {
                    parents: &["shop", "other"],
                    ..Case::new()
                },
                taken(&[], 1, false),
            ),
            (
                "another serves it",
                Case {
                    stacks: shared(),
                    ..Case::new()
                },
                taken(&[], 0, false),
            ),
            (
                "somebody else's",
                Case {
                    managed: false,
                    ..Case::new()
                },
                taken(&[], 1, false),
            ),
            (
                "no Stack yet",
                Case {
                    stacks: Vec::new(),
                    ..Case::new()
                },
                taken(&[], 0, false),
            ),
        ] {
            assert_eq!(case.taken(), expected, "{why}");
        }
    }
}
