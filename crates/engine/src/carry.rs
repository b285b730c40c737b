//! What whoever carries a plan out has to decide: how an object is marked as ours, whether it has drifted, what may go
//! next, and what of a status has to be written.

use std::collections::BTreeSet;

use api::names::label_value;
use api::{API_VERSION, Stack, annotations, labels};
use objects::Gvk;
use serde_json::{Map, Value, json};

use crate::compile::CompiledKind;
use crate::seed::Seed;

/// An object of a plan as it is applied: with the labels of its parent and the hash of all that is wanted, and owned
/// only where the garbage collector can see both.
pub fn dressed(object: &Value, instance: &Value, child_namespaced: bool, seed: &Seed) -> Value {
    let mut object = marked(object, instance, child_namespaced);
    let hash = seed.fingerprint(object.to_string().as_bytes());
    object["metadata"]["annotations"][annotations::DESIRED_HASH] = json!(hash);
    object
}

/// The same without the hash, which only the stack's own seed gives: what a preview can show.
pub fn marked(object: &Value, instance: &Value, child_namespaced: bool) -> Value {
    let mut object = object.clone();
    let parent_namespace = instance["metadata"]["namespace"].as_str().unwrap_or_default();
    let orphan = is_orphan(&object);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        let outside = !child_namespaced && !parent_namespace.is_empty();
        if !child_namespaced {
            metadata.remove("namespace");
        }
        if outside || orphan {
            metadata.remove("ownerReferences");
        }
        let marks = metadata.entry("labels").or_insert_with(|| json!({}));
        for (key, value) in parent_labels(instance) {
            marks[key] = json!(value);
        }
    }
    object
}

/// The labels that tell whose child an object is.
pub fn parent_labels(instance: &Value) -> [(&'static str, String); 5] {
    let gvk = Gvk::of(instance);
    let (group, version, kind) = gvk.map(|gvk| (gvk.group, gvk.version, gvk.kind)).unwrap_or_default();
    let text = |field: &str| label_value(instance["metadata"][field].as_str().unwrap_or_default());
    [
        (labels::PARENT_GROUP, label_value(&group)),
        (labels::PARENT_VERSION, version),
        (labels::PARENT_KIND, kind),
        (labels::PARENT_NAME, text("name")),
        (labels::PARENT_NAMESPACE, text("namespace")),
    ]
}

/// Whether an object stays when its parent or its template goes.
pub fn is_orphan(object: &Value) -> bool {
    object["metadata"]["annotations"][annotations::DELETION_POLICY] == annotations::ORPHAN
}

/// The uid of the controller of an object.
pub fn controller_of(object: &Value) -> Option<&Value> {
    object["metadata"]["ownerReferences"].as_array()?.iter().find(|owner| owner["controller"] == true)
}

/// The name of another Stack whose instance an object is. Whoever was there first is its first owner of that kind; a
/// Stack that goes takes itself off what it leaves to others.
pub fn other_stack<'o>(instance: &'o Value, uid: &str, name: &str) -> Option<&'o str> {
    let owners = instance["metadata"]["ownerReferences"].as_array()?;
    let first = owners.iter().find(|owner| owner["kind"] == Stack::KIND && owner["apiVersion"] == API_VERSION)?;
    // One of the same name came before this one, and is gone.
    let is_other = first["uid"] != uid && first["name"] != name;
    first["name"].as_str().filter(|_| is_other)
}

/// Whether a live object is a child of the instance: by its controller or, if it can have none, by its labels. Which stack
/// made it does not matter: one that takes the place of another has its children, too.
pub fn is_ours(live: &Value, instance: &Value) -> bool {
    match controller_of(live) {
        Some(owner) => owner["uid"] == instance["metadata"]["uid"],
        None => {
            let marks = &live["metadata"]["labels"];
            marks[labels::STACK].is_string()
                && parent_labels(instance)
                    .iter()
                    .filter(|(key, _)| *key != labels::PARENT_VERSION)
                    .all(|(key, value)| marks[*key].as_str().unwrap_or_default() == value)
        }
    }
}

/// Why an object that is there already is not touched, and what to do. `owner` is whose it is, if anybody's.
pub fn not_ours(object: &str, owner: Option<&str>, instance: &Value) -> String {
    let adopt = annotations::ADOPT;
    let Some(owner) = owner else {
        return format!(
            "{object} exists and is not ours: delete it, or let it be taken over with the annotation {adopt}: \"true\""
        );
    };
    let kind = instance["kind"].as_str().unwrap_or_default();
    let way = if owner.split_once(' ').is_some_and(|(own, _)| own == kind) {
        "put `{{ .metadata.name }}` into its name in the template, so that each instance has one of its own"
    } else {
        "give it another name in the template"
    };
    format!("{object} belongs to {owner}: {way}")
}

/// Whether a live object may be taken over although others made it.
pub fn may_adopt(live: &Value) -> bool {
    live["metadata"]["annotations"][annotations::ADOPT] == "true" && controller_of(live).is_none()
}

/// Whether every field of what is wanted is among the fields that a manager owns, as `fieldsV1` writes them. Whoever
/// changes a field takes it from its manager, so that values need not be compared.
pub fn owns(fields: &Value, wanted: &Value) -> bool {
    let Some(parts) = wanted.as_object() else { return true };
    parts.iter().all(|(name, value)| match name.as_str() {
        "apiVersion" | "kind" => true,
        "metadata" => value.as_object().is_none_or(|metadata| {
            let server = ["name", "namespace", "uid", "resourceVersion", "generation", "managedFields"];
            metadata
                .iter()
                .filter(|(name, _)| !server.contains(&name.as_str()))
                .all(|(name, value)| has(&fields["f:metadata"], name, value, 0))
        }),
        _ => has(fields, name, value, 0),
    })
}

/// Objects nest less deeply than this.
const DEPTH: usize = 64;

fn has(fields: &Value, name: &str, wanted: &Value, depth: usize) -> bool {
    if wanted.is_null() || depth > DEPTH {
        return true;
    }
    fields.get(format!("f:{name}")).is_some_and(|below| has_all(below, wanted, depth + 1))
}

fn has_all(fields: &Value, wanted: &Value, depth: usize) -> bool {
    let Some(known) = fields.as_object().filter(|known| known.keys().any(|key| key != ".")) else {
        // Owned as a whole.
        return true;
    };
    match wanted {
        Value::Object(parts) => parts.iter().all(|(name, value)| has(fields, name, value, depth)),
        Value::Array(items) => items.iter().all(|item| {
            known.iter().any(|(element, below)| match element.split_once(':') {
                Some(("k", keys)) => {
                    let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                    // A key that is left out has a default, which the server knows.
                    let same = keys.iter().all(|(key, value)| item.get(key).is_none_or(|own| own == value));
                    same && has_all(below, item, depth + 1)
                }
                Some(("v", value)) => serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item),
                Some(("i", _)) => true,
                _ => false,
            })
        }),
        _ => true,
    }
}

/// Which of the remaining children may go now, by their templates: those that no other of them reads.
pub fn next_to_go(kind: Option<&CompiledKind>, remaining: &[String]) -> BTreeSet<String> {
    let is_read = |name: &String| {
        remaining.iter().filter(|other| *other != name).any(|other| {
            let reader = kind.and_then(|kind| kind.children.iter().find(|child| label_value(&child.name) == *other));
            reader.is_some_and(|reader| reader.reads.iter().any(|read| label_value(read) == *name))
        })
    };
    let free: BTreeSet<String> = remaining.iter().filter(|name| !is_read(name)).cloned().collect();
    // Templates may read each other where they can do without; then the order does not matter.
    if free.is_empty() { remaining.iter().cloned().collect() } else { free }
}

/// What was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The template of the object.
    pub template: String,
    /// One CamelCase word for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// The status with what could not be carried out, where it has conditions that speak of it.
pub(crate) fn blamed(status: Option<Value>, failures: &[Failure]) -> Option<Value> {
    let mut status = status?;
    if let (Some(first), Some(conditions)) = (failures.first(), status["conditions"].as_array_mut()) {
        for condition in conditions {
            let rendered = condition["type"] == "Synced" && condition["reason"] == "Rendered";
            let reasons = ["Available", "Creating", "ChildNotReady"];
            let settled = condition["type"] == "Ready" && reasons.iter().any(|reason| condition["reason"] == *reason);
            if rendered || settled {
                condition["status"] = json!("False");
                condition["reason"] = json!(first.reason);
                condition["message"] = json!(first.message);
            }
        }
    }
    Some(status)
}

/// The merge patch that makes a status what it should be; none if it is. Conditions of others stay, times change only
/// with what they tell of, and fields go only if `owned`, the `fieldsV1` of the status, says that they are ours.
pub fn status_patch(live: &Value, wanted: &Value, owned: &Value, now: &str) -> Option<Value> {
    let mut wanted = wanted.clone();
    if let Some(conditions) = wanted.get_mut("conditions").and_then(Value::as_array_mut) {
        let before = live["conditions"].as_array().cloned().unwrap_or_default();
        for condition in conditions.iter_mut() {
            let old = before.iter().find(|old| old["type"] == condition["type"]);
            let time = old.filter(|old| old["status"] == condition["status"]).map(|old| &old["lastTransitionTime"]);
            let time = time.filter(|time| time.is_string()).cloned().unwrap_or_else(|| json!(now));
            if condition["lastTransitionTime"].is_null() {
                condition["lastTransitionTime"] = time;
            }
        }
        let mine: Vec<Value> = conditions.iter().map(|condition| condition["type"].clone()).collect();
        conditions.extend(before.into_iter().filter(|old| !mine.contains(&old["type"])));
        // The order is that of before, so that nothing changes that says the same.
        let place = |condition: &Value| {
            let all = live["conditions"].as_array();
            all.and_then(|all| all.iter().position(|old| old["type"] == condition["type"])).unwrap_or(usize::MAX)
        };
        conditions.sort_by_key(place);
    }
    let patch = difference(live, &wanted, owned);
    patch.as_object().is_some_and(|patch| !patch.is_empty()).then_some(patch)
}

fn difference(live: &Value, wanted: &Value, owned: &Value) -> Value {
    let (Some(from), Some(to)) = (live.as_object(), wanted.as_object()) else { return wanted.clone() };
    let mut patch = Map::new();
    for (name, value) in to {
        match from.get(name) {
            Some(live) if live == value => {}
            Some(live) if live.is_object() && value.is_object() => {
                let below = difference(live, value, &owned[format!("f:{name}")]);
                if below.as_object().is_some_and(|below| !below.is_empty()) {
                    patch.insert(name.clone(), below);
                }
            }
            None if value.is_null() => {}
            _ => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    for name in from.keys().filter(|name| !to.contains_key(*name) && owned.get(format!("f:{name}")).is_some()) {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_ours, not_ours, other_stack, owns, parent_labels, status_patch};

    #[test]
    fn what_somebody_else_changed_is_no_longer_owned() {
        let fields = json!({
            "f:metadata": { "f:labels": { "f:a": {} }, "f:ownerReferences": { "k:{\"uid\":\"1\"}": {} } },
            "f:spec": {
                "f:replicas": {},
                "f:args": {},
                "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } },
                "f:finalizers": { "v:\"x\"": {} },
            },
        });
        let metadata = json!({ "name": "x", "labels": { "a": "1" }, "ownerReferences": [{ "uid": "1", "name": "n" }] });
        for (spec, expected) in [
            (json!({ "replicas": 1 }), true),
            (json!({ "image": "x" }), false),
            (json!({ "args": ["a", "b"] }), true),
            (json!({ "ports": [{ "port": 80 }] }), true),
            (json!({ "ports": [{ "port": 81 }] }), false),
            (json!({ "ports": [{ "port": 80, "name": "x" }] }), false),
            (json!({ "finalizers": ["x"] }), true),
            (json!({ "finalizers": ["y"] }), false),
            (json!({ "image": null }), true),
        ] {
            let wanted = json!({ "apiVersion": "v1", "kind": "K", "metadata": metadata, "spec": spec });
            assert_eq!(owns(&fields, &wanted), expected, "{spec}");
        }
        assert!(!owns(&fields, &json!({ "metadata": { "labels": { "b": "1" } } })));
    }

    #[test]
    fn a_status_is_patched_by_what_differs_and_keeps_what_others_say() {
        let condition = |kind: &str, status: &str, time: &str| {
            let mut condition = json!({ "type": kind, "status": status });
            if !time.is_empty() {
                condition["lastTransitionTime"] = json!(time);
            }
            condition
        };
        let live = json!({
            "a": 1, "old": 1, "theirs": 2,
            "conditions": [condition("Ready", "True", "t0"), condition("Other", "True", "t0")],
        });
        let owned = json!({ "f:a": {}, "f:old": {} });
        let patch = |wanted: Value| status_patch(&live, &wanted, &owned, "t1");
        assert_eq!(patch(json!({ "a": 1, "old": 1, "conditions": [condition("Ready", "True", "")] })), None);
        assert_eq!(patch(json!({ "a": 2 })), Some(json!({ "a": 2, "old": null })));
        assert_eq!(
            patch(json!({ "a": 1, "old": 1, "conditions": [condition("Ready", "False", "")] })),
            Some(json!({ "conditions": [condition("Ready", "False", "t1"), condition("Other", "True", "t0")] }))
        );
    }

    #[test]
    fn an_object_in_the_way_is_told_with_whose_it_is_and_what_to_do() {
        let instance = json!({ "kind": "Shop" });
        for (owner, expected) in [
            (
                None,
                "ConfigMap a/b exists and is not ours: delete it, or let it be taken over with the annotation \
                 stacks.crossplane.io/adopt: \"true\"",
            ),
            (
                Some("Shop a/one"),
                "ConfigMap a/b belongs to Shop a/one: put `{{ .metadata.name }}` into its name in the template, so that each \
                 instance has one of its own",
            ),
            (Some("Till a/one"), "ConfigMap a/b belongs to Till a/one: give it another name in the template"),
        ] {
            assert_eq!(not_ours("ConfigMap a/b", owner, &instance), expected);
        }
    }

    #[test]
    fn an_instance_is_its_first_stacks_until_that_leaves_it() {
        let owner = |kind: &str, name: &str, uid: &str| {
            let group = if kind == "Stack" { "stacks.crossplane.io/v1alpha1" } else { "v1" };
            json!({ "apiVersion": group, "kind": kind, "name": name, "uid": uid })
        };
        let (mine, other) = (owner("Stack", "mine", "1"), owner("Stack", "other", "2"));
        for (owners, expected) in [
            (vec![], None),
            (vec![mine.clone()], None),
            (vec![mine.clone(), other.clone()], None),
            (vec![other.clone(), mine.clone()], Some("other")),
            (vec![other], Some("other")),
            (vec![owner("Stack", "mine", "0")], None),
            (vec![owner("ConfigMap", "other", "3"), mine], None),
        ] {
            let instance = json!({ "metadata": { "ownerReferences": owners } });
            assert_eq!(other_stack(&instance, "1", "mine"), expected, "{instance}");
        }
        assert_eq!(other_stack(&json!({ "metadata": {} }), "1", "mine"), None);
    }

    #[test]
    fn an_object_is_ours_by_its_controller_and_never_by_a_label_alone() {
        let instance = json!({ "apiVersion": "a.b/v1", "kind": "K", "metadata": { "name": "x", "uid": "1" } });
        let owner = |uid: &str| json!({ "metadata": { "ownerReferences": [{ "uid": uid, "controller": true }] } });
        assert!(is_ours(&owner("1"), &instance));
        assert!(!is_ours(&owner("2"), &instance));
        let labelled = json!({ "metadata": { "labels": { "stacks.crossplane.io/stack": "s" } } });
        assert!(!is_ours(&labelled, &instance));
        let mut made = json!({ "metadata": { "labels": { "stacks.crossplane.io/stack": "before" } } });
        for (key, value) in parent_labels(&instance) {
            made["metadata"]["labels"][key] = json!(value);
        }
        assert!(is_ours(&made, &instance));
    }
}
