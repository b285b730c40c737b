//! Whether an object already is as it should be: everything that is wanted is there. What others added does not count.

use std::collections::HashMap;

use serde_json::Value;

/// Whether all that is wanted is in `live`. Items of lists are matched by name where they have one, else by place.
pub fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| match live.get(key) {
            Some(live) => covers(live, wanted),
            // An empty thing that was left out is still empty.
            None => is_nothing(wanted),
        }),
        (Value::Array(live), Value::Array(wanted)) => match named(wanted) {
            Some(names) => {
                let live = by_name(live);
                wanted.iter().zip(names).all(|(wanted, name)| live.get(name).is_some_and(|live| covers(live, wanted)))
            }
            None => live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted)),
        },
        (Value::Number(live), Value::Number(wanted)) => live.as_f64() == wanted.as_f64(),
        _ => live == wanted || (live.is_null() && is_nothing(wanted)),
    }
}

/// Whether two definitions of versions of a CRD are the same. The API server adds nothing to them; it only leaves out
/// what says nothing.
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
    items.iter().rev().filter_map(|item| Some((item.get("name")?.as_str()?, item))).collect()
}

fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let says = |key: &str, value: &Value| !is_left_out(key, value);
            // Each key once: to compare those of both sides twice would double the work at every level.
            one.iter().all(|(key, own)| match two.get(key) {
                Some(other) => is_same(own, other),
                None => !says(key, own),
            }) && two.iter().all(|(key, own)| one.contains_key(key) || !says(key, own))
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
        _ if ["default", "example", "additionalProperties", "served", "storage"].contains(&key) => false,
        Value::Object(fields) => fields.is_empty() && ["properties", "patternProperties", "definitions"].contains(&key),
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
    let names: Vec<&str> = items.iter().map(|item| item.get("name").and_then(Value::as_str)).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len() && !names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{covers, same_versions};

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
            (json!({"verbs": ["get", "list"]}), json!({"verbs": ["get"]}), false),
            (
                json!([{"name": "injected"}, {"name": "main", "image": "a", "terminationMessagePath": "/x"}]),
                json!([{"name": "main", "image": "a"}]),
                true,
            ),
            (json!([{"name": "main", "image": "b"}]), json!([{"name": "main", "image": "a"}]), false),
            (json!({"replicas": 1}), json!({"replicas": 1.0}), true),
        ] {
            assert_eq!(covers(&live, &wanted), expected, "{live} {wanted}");
        }
    }
    #[test]
    fn versions_of_a_crd_are_the_same_but_for_what_the_server_leaves_out() {
        let versions = |columns: serde_json::Value, schema: serde_json::Value| {
            json!([{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "additionalPrinterColumns": columns, "schema": { "openAPIV3Schema": schema },
            }])
        };
        let plain = || versions(json!([]), json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
        let mut without_status = plain();
        without_status[0]["subresources"] = json!({});
        let mut two = plain();
        two.as_array_mut().unwrap().push(json!({ "name": "v2" }));
        let of = |schema: serde_json::Value| versions(json!([]), schema);
        for (what, live, wanted, expected) in [
            ("the same", plain(), plain(), true),
            ("a limit", of(json!({ "type": "integer", "maximum": 3 })), of(json!({ "type": "integer" })), false),
            ("a limit gone", of(json!({ "type": "integer" })), of(json!({ "type": "integer", "maximum": 3 })), false),
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
            ("one more name", of(json!({ "enum": ["a", "b"] })), of(json!({ "enum": ["a"] })), false),
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
                versions(json!([{ "name": "A", "type": "string", "jsonPath": ".a" }]), json!({})),
                versions(json!([{ "name": "A", "type": "string", "jsonPath": ".a", "priority": 0 }]), json!({})),
                true,
            ),
            ("a column by hand", versions(json!([{ "name": "A" }]), json!({})), versions(json!([]), json!({})), false),
            ("a number", of(json!({ "minimum": 1 })), of(json!({ "minimum": 1.0 })), true),
        ] {
            assert_eq!(same_versions(&live, &wanted), expected, "{what}");
        }
    }
}
