//! What holds for every template: nothing changes but what was referred to or labelled, a result is
//! its own result, and labels merge as mappings do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use templates::{Given, process};

/// Names of parameters; what is put in their place has none of the letters of a reference.
const NAMES: [&str; 3] = ["A", "B_2", "c"];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z ]{0,6}",
        1 => Just("$(A)".to_owned()),
        1 => Just("$((B_2))".to_owned()),
        1 => Just("x$(c)y".to_owned()),
        1 => Just("$(undeclared) $A ${x} $(".to_owned()),
        1 => Just("$".to_owned()),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.join(" "))
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9]{0,8}",
        Just("12".to_owned()),
        Just("true".to_owned()),
        Just("\"}, {\"".to_owned())
    ]
}

fn label() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map("[a-d]", "[a-z]{0,3}", 0..4)
}

/// A template with these values for its parameters.
fn template(objects: &[Value], labels: &BTreeMap<String, String>, values: &[String]) -> Value {
    let parameters: Vec<Value> = NAMES
        .iter()
        .zip(values)
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let objects: Vec<Value> = objects
        .iter()
        .map(|data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}))
        .collect();
    json!({"apiVersion": "v1", "kind": "Template", "objects": objects, "labels": labels, "parameters": parameters})
}

fn run(template: Value, given: &Given) -> Value {
    process(template, given, &mut || Err("nothing is drawn".to_owned()))
        .unwrap()
        .into_template()
}

/// Whether a text may have changed.
fn refers(text: &str) -> bool {
    ["$(A)", "$((B_2))", "$(c)"]
        .iter()
        .any(|reference| text.contains(reference))
}

/// Whether two trees differ only in texts with references.
fn same_shape(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::String(text), after) if refers(text) => !after.is_array() && !after.is_object(),
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len()
                && before
                    .iter()
                    .zip(after)
                    .all(|(before, after)| same_shape(before, after))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before.iter().all(|(key, before)| {
                    after
                        .get(key)
                        .is_some_and(|after| same_shape(before, after))
                })
        }
        (before, after) => before == after,
    }
}

proptest! {
    #[test]
    fn nothing_but_texts_with_references_changes(
        objects in prop::collection::vec(tree(), 0..3),
        values in prop::collection::vec(value(), 3),
    ) {
        let before = template(&objects, &BTreeMap::new(), &values);
        let after = run(before.clone(), &Given::default());
        prop_assert!(same_shape(&before, &after), "{before}\n{after}");
        let text = after["objects"].to_string();
        prop_assert!(!refers(&text), "{text}");
    }

    #[test]
    fn a_result_is_its_own_result(
        objects in prop::collection::vec(tree(), 0..3),
        labels in label(),
        values in prop::collection::vec(value(), 3),
    ) {
        let once = run(template(&objects, &labels, &values), &Given::default());
        let twice = run(once.clone(), &Given::default());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn labels_merge_as_mappings_do(own in label(), first in label(), second in label()) {
        let labelled = |labels: &BTreeMap<String, String>, given: &BTreeMap<String, String>| {
            let mut template = template(&[json!({})], labels, &[]);
            template["objects"][0]["metadata"]["labels"] = json!(own);
            let given = Given { labels: given.clone(), ..Given::default() };
            run(template, &given)["objects"][0]["metadata"]["labels"].clone()
        };
        let merged = |maps: &[&BTreeMap<String, String>]| {
            let mut all = BTreeMap::new();
            for map in maps {
                all.extend(map.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            all
        };
        let none = BTreeMap::new();
        // Nothing changes nothing; the template's win over the object's, and those given over both.
        prop_assert_eq!(labelled(&none, &none), json!(own));
        prop_assert_eq!(labelled(&first, &second), json!(merged(&[&own, &first, &second])));
        // Once is enough, and what is given could as well be the template's own.
        prop_assert_eq!(labelled(&first, &first), labelled(&first, &none));
        prop_assert_eq!(labelled(&first, &second), labelled(&merged(&[&first, &second]), &none));
    }

    #[test]
    fn selectors_still_select_the_pods_they_selected(own in label(), labels in label()) {
        let mut template = template(&[json!({})], &labels, &[]);
        template["objects"][0] = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"selector": {"matchLabels": own}, "template": {"metadata": {"labels": own}}},
        });
        let after = run(template, &Given::default());
        let spec = &after["objects"][0]["spec"];
        let selector = spec["selector"]["matchLabels"].as_object().unwrap();
        let pod = &spec["template"]["metadata"]["labels"];
        prop_assert!(selector.iter().all(|(key, value)| pod[key] == *value), "{spec}");
    }
}
