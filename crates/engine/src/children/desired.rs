//! What whoever carries a plan out has to decide: how an object is marked as ours, whether it has
//! drifted, what may go next, and what of a status has to be written.

use std::collections::BTreeSet;

use api::names::label_value;
use api::{API_VERSION, Stack, annotations, labels};
use objects::{Gvk, Schema};
use serde_json::{Map, Value, json};

use super::ownership::record;
use crate::compile::CompiledKind;
use crate::limits::depth_of;
use crate::random::Seed;

/// An object of a plan as it is applied: with the labels of its parent, a record of it and the hash
/// of all that is wanted, and owned only where the garbage collector can see both. `uid` is that of
/// the object, once there is one.
pub fn desired(
    object: &Value,
    instance: &Value,
    child_namespaced: bool,
    seed: &Seed,
    uid: Option<&str>,
) -> Value {
    let mut object = marked(object, instance, child_namespaced);
    // A reference has no uid of the child either; without one, the record takes its place.
    let is_unowned = has_no_owner(&object, instance, child_namespaced);
    let record = record(seed, instance, &object, uid.filter(|_| is_unowned));
    object["metadata"]["annotations"][annotations::RECORD] = json!(record);
    let hash = seed.fingerprint(object.to_string().as_bytes());
    object["metadata"]["annotations"][annotations::DESIRED_HASH] = json!(hash);
    object
}

/// The same without the record and the hash, which only the stack's own seed gives: what a preview
/// can show.
pub fn marked(object: &Value, instance: &Value, child_namespaced: bool) -> Value {
    let mut object = object.clone();
    let is_unowned = has_no_owner(&object, instance, child_namespaced);
    let is_builtin = Gvk::of(&object).is_some_and(|gvk| objects::builtin_kind(&gvk).is_some());
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if !child_namespaced {
            metadata.remove("namespace");
        }
        if is_unowned {
            metadata.remove("ownerReferences");
        }
        let marks = metadata.entry("labels").or_insert_with(|| json!({}));
        for (key, value) in parent_labels(instance) {
            marks[key] = json!(value);
        }
    }
    if !is_builtin {
        let depth = (depth_of(instance) + 1).to_string();
        object["metadata"]["annotations"][annotations::DEPTH] = json!(depth);
    }
    object
}

/// Whether a child cannot, or is not to, name the instance as its owner: the garbage collector does
/// not see both, or the child is to stay.
pub fn has_no_owner(object: &Value, instance: &Value, child_namespaced: bool) -> bool {
    let is_outside = !child_namespaced
        && instance["metadata"]["namespace"]
            .as_str()
            .is_some_and(|own| !own.is_empty());
    is_outside || is_orphan(object)
}

/// The merge patch that takes a stale controller off a live object and puts the wanted one in its
/// place; none if there is no such controller. An apply alone would add a second one, which the API
/// server rejects.
pub fn put_right(live: &Value, wanted: &Value) -> Option<Value> {
    let stale = controller_of(live)?;
    let own = controller_of(wanted).filter(|own| own["uid"] != stale["uid"]);
    let metadata = &live["metadata"];
    let mut owners: Vec<&Value> = metadata["ownerReferences"]
        .as_array()?
        .iter()
        .filter(|one| *one != stale)
        .collect();
    owners.retain(|one| own.is_none_or(|own| own["uid"] != one["uid"]));
    owners.extend(own);
    (own.is_some() || wanted["metadata"]["ownerReferences"].is_null()).then(|| {
        json!({ "metadata": {
            "ownerReferences": owners, "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
        } })
    })
}

/// The labels that tell whose child an object is.
pub fn parent_labels(instance: &Value) -> [(&'static str, String); 5] {
    let gvk = Gvk::of(instance);
    let (group, version, kind) = gvk
        .map(|gvk| (gvk.group, gvk.version, gvk.kind))
        .unwrap_or_default();
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
    object["metadata"]["ownerReferences"]
        .as_array()?
        .iter()
        .find(|owner| owner["controller"] == true)
}

/// The name of another Stack whose instance an object is. Whoever was there first is its first
/// owner of that kind; a Stack that goes takes itself off what it leaves to others.
pub fn other_stack<'o>(instance: &'o Value, uid: &str, name: &str) -> Option<&'o str> {
    let owners = instance["metadata"]["ownerReferences"].as_array()?;
    let first = owners
        .iter()
        .find(|owner| owner["kind"] == Stack::KIND && owner["apiVersion"] == API_VERSION)?;
    // One of the same name came before this one, and is gone.
    let is_other = first["uid"] != uid && first["name"] != name;
    first["name"].as_str().filter(|_| is_other)
}

/// Why an object that is there already is not touched, and what to do. `owner` is whose it is, if
/// anybody's.
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

/// Whether a manager owns what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owns {
    /// A field of it is somebody else's.
    No,
    /// An entry of a map is owned, and nothing tells whether its fields are.
    Unclear,
    /// All of it is.
    All,
}

impl From<bool> for Owns {
    fn from(all: bool) -> Self {
        if all { Owns::All } else { Owns::No }
    }
}

/// Whether every field of what is wanted is among the fields that a manager owns, as `fieldsV1`
/// writes them. Whoever changes a field takes it from its manager, so that values need not be
/// compared. The schema is that of the object, as far as it is known.
pub fn owns(fields: &Value, wanted: &Value, schema: Option<&Schema>) -> Owns {
    let Some(parts) = wanted.as_object() else {
        return Owns::All;
    };
    let of_part = |(name, value): (&String, &Value)| match name.as_str() {
        "apiVersion" | "kind" => Owns::All,
        "metadata" => {
            let server = [
                "name",
                "namespace",
                "uid",
                "resourceVersion",
                "generation",
                "managedFields",
            ];
            let all = value.as_object().into_iter().flatten();
            let own = all.filter(|(name, _)| !server.contains(&name.as_str()));
            own.map(|(name, value)| has(&fields["f:metadata"], name, value, (None, false), 0))
                .min()
                .unwrap_or(Owns::All)
        }
        _ => has(fields, name, value, inner(schema, name), 0),
    };
    parts.iter().map(of_part).min().unwrap_or(Owns::All)
}

/// Objects nest less deeply than this.
const DEPTH: usize = 64;

/// The schema of a field, as far as it is known, and whether the field is an entry of a map.
type Part<'s> = (Option<&'s Schema>, bool);

fn inner<'s>(schema: Option<&'s Schema>, name: &str) -> Part<'s> {
    let Some(schema) = schema else {
        return (None, false);
    };
    match schema.properties.get(name) {
        Some(field) => (Some(field), false),
        None => (schema.additional.values(), true),
    }
}

fn has(fields: &Value, name: &str, wanted: &Value, part: Part<'_>, depth: usize) -> Owns {
    if wanted.is_null() || depth > DEPTH {
        return Owns::All;
    }
    fields
        .get(format!("f:{name}"))
        .map_or(Owns::No, |below| has_all(below, wanted, part, depth + 1))
}

fn has_all(fields: &Value, wanted: &Value, part: Part<'_>, depth: usize) -> Owns {
    let Some(known) = fields
        .as_object()
        .filter(|known| known.keys().any(|key| key != "."))
    else {
        let is_empty = wanted.as_object().is_none_or(Map::is_empty);
        return match part {
            _ if is_empty => Owns::All,
            // Of a field that the schema names there is an entry only as long as something in it is
            // owned: all of it is.
            (Some(schema), is_entry)
                if !is_entry || schema.map_type.as_deref() == Some("atomic") =>
            {
                Owns::All
            }
            (Some(_), _) => Owns::No,
            (None, _) => Owns::Unclear,
        };
    };
    match wanted {
        Value::Object(parts) => {
            let each = parts
                .iter()
                .map(|(name, value)| has(fields, name, value, inner(part.0, name), depth));
            each.min().unwrap_or(Owns::All)
        }
        Value::Array(items) => {
            let schema = part.0.and_then(|schema| schema.items.as_deref());
            let of_item = |item: &Value| {
                let elements = known
                    .iter()
                    .map(|(element, below)| match element.split_once(':') {
                        Some(("k", keys)) => {
                            let keys: Map<String, Value> =
                                serde_json::from_str(keys).unwrap_or_default();
                            // A key that is left out has a default, which the server knows.
                            let same = keys
                                .iter()
                                .all(|(key, value)| item.get(key).is_none_or(|own| own == value));
                            // Of an item at least the fields that tell it from others are owned
                            // with it, or it is one value.
                            let is_whole = below
                                .as_object()
                                .is_none_or(|below| below.keys().all(|key| key == "."));
                            match same {
                                true if is_whole => Owns::All,
                                true => has_all(below, item, (schema, false), depth + 1),
                                false => Owns::No,
                            }
                        }
                        Some(("v", value)) => serde_json::from_str::<Value>(value)
                            .is_ok_and(|value| value == *item)
                            .into(),
                        Some(("i", _)) => Owns::All,
                        _ => Owns::No,
                    });
                elements.max().unwrap_or(Owns::No)
            };
            items.iter().map(of_item).min().unwrap_or(Owns::All)
        }
        _ => Owns::All,
    }
}

/// Which of the remaining children may go now, by their templates: those that no other of them
/// reads.
pub fn next_to_go(kind: Option<&CompiledKind>, remaining: &[String]) -> BTreeSet<String> {
    let is_read = |name: &String| {
        remaining
            .iter()
            .filter(|other| *other != name)
            .any(|other| {
                let reader = kind.and_then(|kind| {
                    kind.children
                        .iter()
                        .find(|child| label_value(&child.name) == *other)
                });
                reader.is_some_and(|reader| {
                    reader.reads.iter().any(|read| label_value(read) == *name)
                })
            })
    };
    let free: BTreeSet<String> = remaining
        .iter()
        .filter(|name| !is_read(name))
        .cloned()
        .collect();
    // Templates may read each other where they can do without; then the order does not matter.
    if free.is_empty() {
        remaining.iter().cloned().collect()
    } else {
        free
    }
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
    if let (Some(first), Some(conditions)) = (failures.first(), status["conditions"].as_array_mut())
    {
        for condition in conditions {
            let rendered = condition["type"] == "Synced" && condition["reason"] == "Rendered";
            let reasons = ["Available", "Creating", "ChildNotReady"];
            let settled = condition["type"] == "Ready"
                && reasons.iter().any(|reason| condition["reason"] == *reason);
            if rendered || settled {
                condition["status"] = json!("False");
                condition["reason"] = json!(first.reason);
                condition["message"] = json!(first.message);
            }
        }
    }
    Some(status)
}

/// The merge patch that makes a status what it should be; none if it is. Conditions of others stay,
/// times change only with what they tell of, and fields go only if `owned`, the `fieldsV1` of the
/// status, says that they are ours.
pub fn status_patch(live: &Value, wanted: &Value, owned: &Value, now: &str) -> Option<Value> {
    let mut wanted = wanted.clone();
    if let Some(conditions) = wanted.get_mut("conditions").and_then(Value::as_array_mut) {
        let before = live["conditions"].as_array().cloned().unwrap_or_default();
        for condition in conditions.iter_mut() {
            let old = before.iter().find(|old| old["type"] == condition["type"]);
            let time = old
                .filter(|old| old["status"] == condition["status"])
                .map(|old| &old["lastTransitionTime"]);
            let time = time
                .filter(|time| time.is_string())
                .cloned()
                .unwrap_or_else(|| json!(now));
            if condition["lastTransitionTime"].is_null() {
                condition["lastTransitionTime"] = time;
            }
        }
        let mine: Vec<Value> = conditions
            .iter()
            .map(|condition| condition["type"].clone())
            .collect();
        conditions.extend(
            before
                .into_iter()
                .filter(|old| !mine.contains(&old["type"])),
        );
        // The order is that of before, so that nothing changes that says the same.
        let place = |condition: &Value| {
            let all = live["conditions"].as_array();
            all.and_then(|all| all.iter().position(|old| old["type"] == condition["type"]))
                .unwrap_or(usize::MAX)
        };
        conditions.sort_by_key(place);
    }
    let patch = difference(live, &wanted, owned);
    patch
        .as_object()
        .is_some_and(|patch| !patch.is_empty())
        .then_some(patch)
}

fn difference(live: &Value, wanted: &Value, owned: &Value) -> Value {
    let (Some(from), Some(to)) = (live.as_object(), wanted.as_object()) else {
        return wanted.clone();
    };
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
    for name in from
        .keys()
        .filter(|name| !to.contains_key(*name) && owned.get(format!("f:{name}")).is_some())
    {
        patch.insert(name.clone(), Value::Null);
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use objects::Schema;

    use super::{Owns, not_ours, other_stack, owns, put_right, status_patch};

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
            let wanted =
                json!({ "apiVersion": "v1", "kind": "K", "metadata": metadata, "spec": spec });
            assert_eq!(owns(&fields, &wanted, None), Owns::from(expected), "{spec}");
        }
        assert_eq!(
            owns(
                &fields,
                &json!({ "metadata": { "labels": { "b": "1" } } }),
                None
            ),
            Owns::No
        );
    }

    #[test]
    fn an_entry_of_a_map_is_owned_only_with_its_fields() {
        let schema = |map_type: Option<&str>| {
            let mut entry =
                json!({ "type": "object", "properties": { "size": { "type": "integer" } } });
            if let Some(map_type) = map_type {
                entry["x-kubernetes-map-type"] = json!(map_type);
            }
            let things = json!({ "type": "object", "additionalProperties": entry });
            let selector =
                json!({ "type": "object", "additionalProperties": { "type": "string" } });
            let spec = json!({ "type": "object", "properties": { "things": things, "selector": selector } });
            Schema::read(&json!({ "type": "object", "properties": { "spec": spec } })).0
        };
        let wanted =
            json!({ "spec": { "things": { "a": { "size": 1 } }, "selector": { "b": "c" } } });
        let fields = |entry: Value, selector: Value| json!({ "f:spec": { "f:things": { "f:a": entry }, "f:selector": selector } });
        let (whole, taken) = (json!({ ".": {}, "f:size": {} }), json!({}));
        let selector = json!({ "f:b": {} });
        for (entry, selector, map_type, known, unknown) in [
            (&whole, &selector, None, Owns::All, Owns::All),
            (&taken, &selector, None, Owns::No, Owns::Unclear),
            (&taken, &selector, Some("atomic"), Owns::All, Owns::Unclear),
            // Of a field that the schema names, an entry without fields is all of it.
            (&whole, &json!({}), None, Owns::All, Owns::Unclear),
        ] {
            let fields = fields(entry.clone(), selector.clone());
            assert_eq!(
                owns(&fields, &wanted, Some(&schema(map_type))),
                known,
                "{fields}"
            );
            assert_eq!(owns(&fields, &wanted, None), unknown, "{fields}");
        }
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
        assert_eq!(
            patch(json!({ "a": 1, "old": 1, "conditions": [condition("Ready", "True", "")] })),
            None
        );
        assert_eq!(
            patch(json!({ "a": 2 })),
            Some(json!({ "a": 2, "old": null }))
        );
        assert_eq!(
            patch(json!({ "a": 1, "old": 1, "conditions": [condition("Ready", "False", "")] })),
            Some(
                json!({ "conditions": [condition("Ready", "False", "t1"), condition("Other", "True", "t0")] })
            )
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
            (
                Some("Till a/one"),
                "ConfigMap a/b belongs to Till a/one: give it another name in the template",
            ),
        ] {
            assert_eq!(not_ours("ConfigMap a/b", owner, &instance), expected);
        }
    }

    #[test]
    fn an_instance_is_its_first_stacks_until_that_leaves_it() {
        let owner = |kind: &str, name: &str, uid: &str| {
            let group = if kind == "Stack" {
                "stacks.crossplane.io/v1alpha1"
            } else {
                "v1"
            };
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
    fn a_stale_controller_makes_room_for_ours() {
        let owner = |uid: &str, controller: bool| json!({ "uid": uid, "controller": controller });
        let live = |owners: &[Value]| json!({ "metadata": { "uid": "c", "resourceVersion": "7", "ownerReferences": owners } });
        let wanted = json!({ "metadata": { "ownerReferences": [owner("new", true)] } });
        for (owners, expected) in [
            (vec![owner("old", true)], Some(vec![owner("new", true)])),
            (
                vec![owner("a", false), owner("old", true)],
                Some(vec![owner("a", false), owner("new", true)]),
            ),
            (
                vec![owner("new", false), owner("old", true)],
                Some(vec![owner("new", true)]),
            ),
            (vec![owner("new", true)], None),
            (vec![owner("a", false)], None),
            (vec![], None),
        ] {
            assert_eq!(
                put_right(&live(&owners), &wanted),
                expected.map(|owners| live(&owners)),
                "{owners:?}"
            );
        }
        let unowned = json!({ "metadata": {} });
        assert_eq!(
            put_right(&live(&[owner("old", true)]), &unowned),
            Some(live(&[]))
        );
    }
}
