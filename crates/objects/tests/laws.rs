//! Laws that hold for all objects and sets of fields, not only for those that were recorded.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use objects::apply::{Change, apply, owned_fields, update};
use objects::check::{check_type, strict_fields};
use objects::fields::{Element, FieldPath, FieldSet};
use objects::name::{NameRule, generate_name, label_key_errors};
use objects::patch::{json_patch, merge_patch, strategic_merge_patch};
use objects::selector::{FieldSelector, LabelSelector};
use objects::shape::Shapes;
use objects::typed::{compare, extract, merge, remove};
use proptest::prelude::*;
use serde_json::{Value, json};

fn shapes() -> Shapes {
    let document = include_str!("golden/shapes.json");
    Shapes::openapi(&serde_json::from_str(document).unwrap())
}

/// Values with the names that the shapes use, so that they often fit and often do not.
fn value() -> impl Strategy<Value = Value> {
    let name = || {
        prop::sample::select(vec![
            "a", "name", "spec", "boxes", "ports", "port", "plain", "names", "text", "anything",
            "$patch", "env",
        ])
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(vec!["a", "b", "delete", "replace", ""]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Objects of the kind of the shapes.
fn thing() -> impl Strategy<Value = Value> {
    let words = || prop::sample::subsequence(vec!["a", "b", "c", "d"], 0..4).prop_shuffle();
    let boxes = words().prop_map(|names| {
        names
            .iter()
            .map(|name| json!({"name": name, "args": ["x"]}))
            .collect::<Vec<_>>()
    });
    (words(), boxes, words(), 0..3_i64).prop_map(|(names, boxes, keys, count)| {
        let plain: serde_json::Map<String, Value> = keys
            .iter()
            .map(|key| ((*key).to_owned(), json!("v")))
            .collect();
        json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"},
            "spec": {"names": names, "boxes": boxes, "plain": plain, "count": count}})
    })
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![
        prop::sample::select(vec!["a", "b", "c"]).prop_map(Element::field),
        (0..3_i64).prop_map(|port| Element::key(vec![
            ("port".into(), json!(port)),
            ("name".into(), json!("x"))
        ])),
        prop::sample::select(vec![json!(1), json!("a\"<"), json!(true), json!(1.5)])
            .prop_map(|value| Element::Value(value.into())),
        (0..3_i64).prop_map(Element::Index),
    ]
}

fn set() -> impl Strategy<Value = FieldSet> {
    let path = prop::collection::vec(element(), 1..4).prop_map(FieldPath);
    prop::collection::vec(path, 0..8).prop_map(|paths| paths.into_iter().collect())
}

proptest! {
    #[test]
    fn sets_obey_the_laws_of_sets(one in set(), other in set(), third in set()) {
        prop_assert_eq!(one.union(&other), other.union(&one));
        prop_assert_eq!(one.union(&other).union(&third), one.union(&other.union(&third)));
        prop_assert_eq!(one.intersection(&other), other.intersection(&one));
        prop_assert_eq!(one.difference(&other).union(&one.intersection(&other)), one.clone());
        prop_assert!(one.difference(&other).intersection(&other).is_empty());
        prop_assert!(one.is_subset(&one.union(&other)) && one.intersection(&other).is_subset(&one));
        prop_assert_eq!(one.overlaps(&other), !one.intersection(&other).is_empty());
        prop_assert!(one.recursive_difference(&other).is_subset(&one.difference(&other)));
        prop_assert!(one.leaves().is_subset(&one));
        prop_assert_eq!(one.paths().len(), one.len());
        prop_assert!(one.paths().iter().all(|path| one.has(&path.0)));
        prop_assert_eq!(one.paths().into_iter().collect::<FieldSet>(), one);
    }

    #[test]
    fn a_set_is_what_it_is_written_as(set in set()) {
        prop_assert_eq!(FieldSet::from_value(&set.to_value()).unwrap(), set.clone());
        let text: Value = serde_json::from_str(&set.to_json()).unwrap();
        prop_assert_eq!(text, set.to_value());
    }

    #[test]
    fn to_apply_twice_is_to_apply_once(first in thing(), second in thing(), forced in any::<bool>()) {
        let shapes = shapes();
        let shape = shapes.of_kind("example.org", "v1", "Thing").unwrap();
        let reset = FieldSet::new();
        let change = |manager: &'static str, now: &'static str| Change {
            manager, version: "example.org/v1", subresource: "", now, shape, reset: &reset,
        };
        let live = apply(None, &first, &change("a", "2026-01-01T00:00:00Z"), false).unwrap().object;
        if let Ok(applied) = apply(Some(&live), &second, &change("b", "2026-01-01T00:00:01Z"), forced) {
            let again = apply(Some(&applied.object), &second, &change("b", "2026-01-01T00:00:02Z"), false).unwrap();
            prop_assert!(!again.changed);
            prop_assert_eq!(&again.object, &applied.object);
            // What was applied is there, whoever else manages something.
            let owned = owned_fields(shape, &second);
            let before = extract(shape, &second, &owned);
            prop_assert!(compare(shape, &before, &extract(shape, &applied.object, &owned)).modified.is_empty());
            // The last to let go takes away what nobody else manages.
            let none = json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}});
            let gone = apply(Some(&applied.object), &none, &change("b", "2026-01-01T00:00:03Z"), false).unwrap().object;
            let gone = apply(Some(&gone), &none, &change("a", "2026-01-01T00:00:04Z"), false).unwrap().object;
            prop_assert!(gone["spec"].as_object().is_none_or(|spec| spec.values().all(|value| value.as_object().is_some_and(serde_json::Map::is_empty))), "{}", gone);
        }
        let mut same = live.clone();
        update(Some(&live), &mut same, &change("c", "2026-01-01T00:00:05Z"));
        prop_assert_eq!(same, live);
    }

    #[test]
    fn nothing_that_comes_in_ends_it(one in value(), other in value(), set in set(), text in "\\PC{0,40}") {
        let shapes = shapes();
        let deduced = Shapes::deduced();
        for shape in [shapes.of_kind("example.org", "v1", "Thing").unwrap(), deduced.root()] {
            let reset = FieldSet::new();
            let change = Change { manager: "a", version: "v1", subresource: "", now: "", shape, reset: &reset };
            let _ = apply(Some(&one), &other, &change, true);
            let mut new = other.clone();
            update(Some(&one), &mut new, &change);
            let difference = compare(shape, &one, &other);
            prop_assert!(one != other || difference.is_same());
            merge(shape, one.clone(), &other);
            remove(shape, &one, &set);
            extract(shape, &one, &set);
            let _ = check_type(shape, &one);
            strict_fields(&one.to_string(), shape);
            let _ = strategic_merge_patch(&one, &other, shape);
        }
        let _ = json_patch(&one, &json!([{"op": "add", "path": text, "value": 1}, {"op": "copy", "from": "/a", "path": text}]));
        let _ = merge_patch(&one, &other);
        let _ = FieldSet::from_value(&one);
        Shapes::crd(&one, true);
        Shapes::openapi(&one);
        let _ = LabelSelector::from_value(&one);
        generate_name(&text, 7);
        label_key_errors(&text);
        NameRule::Label.errors(&text);
        if let Ok(selector) = LabelSelector::parse(&text) {
            prop_assert_eq!(LabelSelector::parse(&selector.to_string()).unwrap(), selector);
        }
        if let Ok(selector) = FieldSelector::parse(&text) {
            prop_assert_eq!(FieldSelector::parse(&selector.to_string()).unwrap(), selector);
        }
    }
}
