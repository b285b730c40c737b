//! Whether an object already is as it should be: everything that is wanted is there. What others
//! added does not count, except to what grants permissions.

use std::collections::{BTreeSet, HashMap};

use api::annotations::APPLIED_ANNOTATIONS as APPLIED;
use serde_json::Value;

/// Whether all that is wanted is in `live`. Items of lists are matched by name where they have one,
/// else by place.
pub fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| match live.get(key) {
                Some(live) => covers(live, wanted),
                // An empty thing that was left out is still empty.
                None => is_nothing(wanted),
            })
        }
        (Value::Array(live), Value::Array(wanted)) => match named(wanted) {
            Some(names) => {
                let live = by_name(live);
                wanted
                    .iter()
                    .zip(names)
                    .all(|(wanted, name)| live.get(name).is_some_and(|live| covers(live, wanted)))
            }
            None => {
                live.len() == wanted.len()
                    && live
                        .iter()
                        .zip(wanted)
                        .all(|(live, wanted)| covers(live, wanted))
            }
        },
        (Value::Number(live), Value::Number(wanted)) => live.as_f64() == wanted.as_f64(),
        _ => live == wanted || (live.is_null() && is_nothing(wanted)),
    }
}

/// Whether two definitions of versions of a CRD are the same. The API server adds nothing to them;
/// it only leaves out what says nothing.
pub(super) fn same_versions(live: &Value, wanted: &Value) -> bool {
    let versions = |spec| Value::as_array(spec).map(Vec::as_slice).unwrap_or_default();
    let (live, wanted) = (versions(live), versions(wanted));
    let names = by_name(live);
    let is_there = |own: &Value| {
        let name = own["name"].as_str().unwrap_or_default();
        names.get(name).is_some_and(|live| is_same(live, own))
    };
    live.len() == wanted.len() && wanted.iter().all(is_there)
}

/// Items by their names, the first of each.
fn by_name(items: &[Value]) -> HashMap<&str, &Value> {
    items
        .iter()
        .rev()
        .filter_map(|item| Some((item.get("name")?.as_str()?, item)))
        .collect()
}

fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let says = |key: &str, value: &Value| !is_left_out(key, value);
            // Each key once: to compare those of both sides twice would double the work at every
            // level.
            one.iter().all(|(key, own)| match two.get(key) {
                Some(other) => is_same(own, other),
                None => !says(key, own),
            }) && two
                .iter()
                .all(|(key, own)| one.contains_key(key) || !says(key, own))
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (Value::Number(one), Value::Number(two)) => one.as_f64() == two.as_f64(),
        _ => one == two,
    }
}

/// Whether the API server leaves such a field out of what it stores.
fn is_left_out(key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        // What may be anything is stored as it is, and a closed object is not an open one.
        _ if [
            "default",
            "example",
            "additionalProperties",
            "served",
            "storage",
        ]
        .contains(&key) =>
        {
            false
        }
        Value::Object(fields) => {
            fields.is_empty() && ["properties", "patternProperties", "definitions"].contains(&key)
        }
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(number) => key == "priority" && number.as_i64() == Some(0),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(_) => false,
    }
}

/// The names of all items, if all have one and no two the same.
fn named(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items
        .iter()
        .map(|item| item.get("name").and_then(Value::as_str))
        .collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len() && !names.is_empty()).then_some(names)
}

/// What to do about an object of the stack manager's.
#[derive(Debug, Clone, PartialEq)]
pub enum Correction {
    /// Nothing: it is as it should be.
    None,
    /// Replace it by this.
    Replace(Value),
    /// Delete it and create it again: what differs cannot be changed.
    Recreate,
}

/// Compares an object that grants permissions with what it should be: exactly, so that additions
/// count. Labels and annotations of others stay, except labels by which other roles take up its
/// rules.
pub fn corrected(live: &Value, wanted: &Value) -> Correction {
    let mut object = with_metadata(live, wanted);
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    // Other controllers write the Secrets of an account, and the rules of a role that gathers
    // others.
    let is_compared = |key: &str| match key {
        "apiVersion" | "kind" | "metadata" | "status" => false,
        "rules" => wanted["aggregationRule"].is_null(),
        _ => wanted["kind"] != "ServiceAccount" && wanted["kind"] != "Namespace",
    };
    let keys: BTreeSet<String> = fields(live)
        .into_iter()
        .chain(fields(wanted))
        .map(|(key, _)| key)
        .collect();
    for key in keys.into_iter().filter(|key| is_compared(key)) {
        let (is, should) = (&live[&key], &wanted[&key]);
        if is_same(is, should) || (is_nothing(is) && is_nothing(should)) {
            continue;
        }
        if key == "roleRef" {
            return Correction::Recreate;
        }
        match should {
            Value::Null => drop(
                object
                    .as_object_mut()
                    .and_then(|object| object.remove(&key)),
            ),
            should => object[&key] = should.clone(),
        }
    }
    if object == *live {
        Correction::None
    } else {
        Correction::Replace(object)
    }
}

/// The same for a workload: what the cluster or others added to its spec is no difference, but goes
/// with the next change.
pub fn corrected_workload(live: &Value, wanted: &Value) -> Correction {
    let mut object = with_metadata(live, wanted);
    if !covers(&live["spec"], &wanted["spec"]) {
        object["spec"] = wanted["spec"].clone();
        // Whoever scales it owns the number, unless it is given.
        if wanted["spec"]["replicas"].is_null() && !live["spec"]["replicas"].is_null() {
            object["spec"]["replicas"] = live["spec"]["replicas"].clone();
        }
    }
    if object == *live {
        Correction::None
    } else {
        Correction::Replace(object)
    }
}

/// An object with the labels, annotations and owners that it should have.
pub fn with_metadata(live: &Value, wanted: &Value) -> Value {
    let mut object = live.clone();
    let of = |object: &Value, part: &str| {
        object["metadata"][part]
            .as_object()
            .cloned()
            .unwrap_or_default()
    };
    let wanted_labels = of(wanted, "labels");
    let mut labels = of(live, "labels");
    labels.retain(|key, _| !is_ours(key) || wanted_labels.contains_key(key));
    labels.extend(wanted_labels);
    let wanted_annotations = of(wanted, "annotations");
    let mut annotations = of(live, "annotations");
    let before = annotations
        .get(APPLIED)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    annotations.retain(|key, _| {
        wanted_annotations.contains_key(key)
            || !(is_ours(key) || before.split(',').any(|before| before == key))
    });
    annotations.extend(wanted_annotations);
    for (part, value) in [
        ("labels", Value::Object(labels)),
        ("annotations", Value::Object(annotations)),
    ] {
        if !is_nothing(&value) || !is_nothing(&live["metadata"][part]) {
            object["metadata"][part] = value;
        }
    }
    let owners = &wanted["metadata"]["ownerReferences"];
    match owners {
        Value::Null => drop(
            object["metadata"]
                .as_object_mut()
                .and_then(|metadata| metadata.remove("ownerReferences")),
        ),
        owners if is_same(&live["metadata"]["ownerReferences"], owners) => {}
        owners => object["metadata"]["ownerReferences"] = owners.clone(),
    }
    object
}

/// Whether a label or annotation is one of ours, or one by which Kubernetes adds the rules of a
/// role to others.
fn is_ours(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').unwrap_or_default();
    prefix == "crossplane.io"
        || prefix.ends_with(".crossplane.io")
        || (prefix == "rbac.authorization.k8s.io" && name.starts_with("aggregate-to-"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Correction, corrected, corrected_workload, covers, same_versions};

    #[test]
    fn what_others_add_is_no_drift_and_what_they_change_is() {
        for (live, wanted, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 2}), false),
            (json!({"a": 1}), json!({"b": 1}), false),
            (json!({"a": 1}), json!({"b": {}}), true),
            (json!({"a": 1}), json!({"b": false}), true),
            (json!([1, 2]), json!([1, 2]), true),
            (json!([1, 2, 3]), json!([1, 2]), false),
            (
                json!({"verbs": ["get", "list"]}),
                json!({"verbs": ["get"]}),
                false,
            ),
            (
                json!([{"name": "injected"}, {"name": "main", "image": "a", "terminationMessagePath": "/x"}]),
                json!([{"name": "main", "image": "a"}]),
                true,
            ),
            (
                json!([{"name": "main", "image": "b"}]),
                json!([{"name": "main", "image": "a"}]),
                false,
            ),
            (json!({"replicas": 1}), json!({"replicas": 1.0}), true),
        ] {
            assert_eq!(covers(&live, &wanted), expected, "{live} {wanted}");
        }
    }
    #[test]
    fn versions_of_a_crd_are_the_same_but_for_what_the_server_leaves_out() {
        let versions = |columns: Value, schema: Value| {
            json!([{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "additionalPrinterColumns": columns, "schema": { "openAPIV3Schema": schema },
            }])
        };
        let plain = || {
            versions(
                json!([]),
                json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
            )
        };
        let mut without_status = plain();
        without_status[0]["subresources"] = json!({});
        let mut two = plain();
        two.as_array_mut().unwrap().push(json!({ "name": "v2" }));
        let of = |schema: Value| versions(json!([]), schema);
        for (what, live, wanted, expected) in [
            ("the same", plain(), plain(), true),
            (
                "a limit",
                of(json!({ "type": "integer", "maximum": 3 })),
                of(json!({ "type": "integer" })),
                false,
            ),
            (
                "a limit gone",
                of(json!({ "type": "integer" })),
                of(json!({ "type": "integer", "maximum": 3 })),
                false,
            ),
            ("one more version", two.clone(), plain(), false),
            ("one version less", plain(), two, false),
            ("no status", without_status, plain(), false),
            (
                "a default gone",
                of(json!({ "type": "boolean" })),
                of(json!({ "type": "boolean", "default": false })),
                false,
            ),
            (
                "closed",
                of(json!({ "type": "object" })),
                of(json!({ "type": "object", "additionalProperties": false })),
                false,
            ),
            (
                "one more name",
                of(json!({ "enum": ["a", "b"] })),
                of(json!({ "enum": ["a"] })),
                false,
            ),
            (
                "left out",
                of(json!({ "type": "object" })),
                of(json!({
                    "type": "object", "properties": {}, "required": [], "nullable": false, "description": "",
                })),
                true,
            ),
            (
                "a column",
                versions(
                    json!([{ "name": "A", "type": "string", "jsonPath": ".a" }]),
                    json!({}),
                ),
                versions(
                    json!([{ "name": "A", "type": "string", "jsonPath": ".a", "priority": 0 }]),
                    json!({}),
                ),
                true,
            ),
            (
                "a column by hand",
                versions(json!([{ "name": "A" }]), json!({})),
                versions(json!([]), json!({})),
                false,
            ),
            (
                "a number",
                of(json!({ "minimum": 1 })),
                of(json!({ "minimum": 1.0 })),
                true,
            ),
        ] {
            assert_eq!(same_versions(&live, &wanted), expected, "{what}");
        }
    }

    #[test]
    fn what_is_added_to_what_grants_permissions_is_taken_off() {
        let binding = json!({
            "kind": "RoleBinding", "metadata": { "name": "a", "labels": { "app.kubernetes.io/managed-by": "stack-manager" } },
            "roleRef": { "kind": "Role", "name": "r" }, "subjects": [{ "kind": "ServiceAccount", "name": "s" }],
        });
        let changed = |path: &str, value: Value| {
            let mut object = binding.clone();
            let (parent, key) = path.rsplit_once('/').unwrap();
            object.pointer_mut(parent).unwrap()[key] = value;
            object
        };
        assert_eq!(corrected(&binding, &binding), Correction::None);
        for live in [
            changed(
                "/subjects",
                json!([{ "kind": "ServiceAccount", "name": "s" }, { "kind": "User", "name": "m" }]),
            ),
            changed(
                "/subjects",
                json!([{ "kind": "User", "name": "m" }, { "kind": "ServiceAccount", "name": "s" }]),
            ),
            changed("/subjects", json!([])),
            changed("/metadata/labels", json!({})),
            changed(
                "/metadata/labels",
                json!({
                    "app.kubernetes.io/managed-by": "stack-manager", "rbac.authorization.k8s.io/aggregate-to-admin": "true",
                }),
            ),
            changed(
                "/metadata/labels",
                json!({
                    "app.kubernetes.io/managed-by": "stack-manager", "rbac.crossplane.io/aggregate-to-environment-admin": "true",
                }),
            ),
            changed("/metadata/ownerReferences", json!([{ "uid": "other" }])),
        ] {
            let Correction::Replace(object) = corrected(&live, &binding) else {
                panic!("{live} is left as it is")
            };
            assert_eq!(object, binding, "{live}");
        }
        assert_eq!(
            corrected(
                &changed("/roleRef", json!({ "kind": "Role", "name": "x" })),
                &binding
            ),
            Correction::Recreate
        );
        let labelled = changed(
            "/metadata/labels",
            json!({ "app.kubernetes.io/managed-by": "stack-manager", "a": "b" }),
        );
        assert_eq!(
            corrected(&labelled, &binding),
            Correction::None,
            "labels of others stay"
        );
    }

    #[test]
    fn an_account_loses_what_was_put_there_for_its_install_and_keeps_what_others_need() {
        let account = |annotations: Value| json!({ "kind": "ServiceAccount", "metadata": { "name": "a", "annotations": annotations } });
        let applied = "stacks.crossplane.io/applied-annotations";
        let mut live = account(json!({ applied: "cloud/role", "cloud/role": "r", "theirs": "1" }));
        live["imagePullSecrets"] = json!([{ "name": "theirs" }]);
        let Correction::Replace(object) = corrected(&live, &account(json!({ applied: "" }))) else {
            panic!("no change")
        };
        assert_eq!(
            object["metadata"]["annotations"],
            json!({ applied: "", "theirs": "1" })
        );
        assert_eq!(object["imagePullSecrets"], live["imagePullSecrets"]);
        assert_eq!(
            corrected(&object, &account(json!({ applied: "" }))),
            Correction::None
        );
    }

    #[test]
    fn a_role_that_gathers_others_keeps_what_it_gathered() {
        let wanted = json!({ "kind": "ClusterRole", "metadata": {}, "aggregationRule": { "clusterRoleSelectors": [{}] } });
        let mut live = wanted.clone();
        live["rules"] = json!([{ "verbs": ["get"] }]);
        assert_eq!(corrected(&live, &wanted), Correction::None);
        let plain = json!({ "kind": "ClusterRole", "metadata": {}, "rules": [] });
        let Correction::Replace(object) = corrected(&live, &plain) else {
            panic!("no change")
        };
        assert_eq!(
            object,
            json!({ "kind": "ClusterRole", "metadata": {}, "rules": [] })
        );
    }

    #[test]
    fn what_others_added_to_a_workload_goes_with_the_next_change_alone() {
        let wanted = |image: &str| json!({ "metadata": {}, "spec": { "containers": [{ "name": "a", "image": image }] } });
        let mut live = wanted("1");
        live["spec"]["replicas"] = json!(3);
        live["spec"]["containers"] = json!([{ "name": "a", "image": "1" }, { "name": "sidecar" }]);
        assert_eq!(corrected_workload(&live, &wanted("1")), Correction::None);
        let Correction::Replace(object) = corrected_workload(&live, &wanted("2")) else {
            panic!("no change")
        };
        assert_eq!(
            object["spec"],
            json!({ "replicas": 3, "containers": [{ "name": "a", "image": "2" }] })
        );
    }
}
