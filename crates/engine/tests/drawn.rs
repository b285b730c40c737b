//! Drawn values stay: the same instance gets the same on every pass, another instance others.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use engine::Observed;
use serde_json::json;
use support::{compiled, config_map, instance, planned};

fn drawn(text: &str, name: &str, rotate: Option<&str>) -> String {
    let compiled = compiled(&[("app", &config_map("app", text))]);
    let mut instance = instance(&json!({}));
    instance["metadata"]["name"] = json!(name);
    if let Some(rotate) = rotate {
        instance["metadata"]["annotations"] = json!({"stacks.crossplane.io/rotate": rotate});
    }
    let plan = planned(&compiled, &instance, &Observed::new());
    plan.applies[0].object["data"]["v"]
        .as_str()
        .unwrap()
        .to_string()
}

#[test]
fn a_drawn_value_depends_on_its_instance_and_its_call_only() {
    let password = "{{ randAlphaNum 12 }}";
    let first = drawn(password, "web", None);
    assert_eq!(first.len(), 12);
    assert_eq!(
        first,
        drawn(password, "web", None),
        "every pass gives the same"
    );
    assert_ne!(
        first,
        drawn(password, "other", None),
        "each instance has its own"
    );
    assert_ne!(
        first,
        drawn(password, "web", Some("1")),
        "rotation gives a new one"
    );
    let edited = drawn(
        "\"{{ \"x\" | upper }}{{ randAlphaNum 7 }}{{ randAlphaNum 12 }}\"",
        "web",
        None,
    );
    assert!(
        edited.ends_with(&first),
        "edits elsewhere in the template change nothing: {edited} {first}"
    );
    let twice = drawn(
        "\"{{ randAlphaNum 12 }}{{ randAlphaNum 12 }}\"",
        "web",
        None,
    );
    assert_ne!(twice[..12], twice[12..], "two equal calls draw twice");
}

#[test]
fn a_named_value_keeps_its_name_wherever_it_stands() {
    let first = drawn("{{ generated \"pw\" \"randAlphaNum\" 9 }}", "web", None);
    assert_eq!(first.len(), 9);
    let moved = drawn(
        "\"{{ randAlphaNum 9 }}{{ generated \"pw\" \"randAlphaNum\" 9 }}\"",
        "web",
        None,
    );
    assert!(moved.ends_with(&first));
    assert_ne!(
        first,
        drawn("{{ generated \"other\" \"randAlphaNum\" 9 }}", "web", None)
    );
}

#[test]
fn now_is_when_the_instance_was_made() {
    assert_eq!(
        drawn("{{ now | date \"2006-01-02T15:04\" | quote }}", "web", None),
        "2026-01-02T03:04"
    );
}
