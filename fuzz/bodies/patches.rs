//! What a fuzzer does with bytes: takes them for a schema, an object and a change to it, and
//! patches and applies the change in every way there is. Nothing may panic, and to apply twice is
//! to apply once.

use objects::apply::{self, Change};
use objects::fields::FieldSet;
use objects::patch::{json_patch, merge_patch, strategic_merge_patch};
use objects::shape::Shapes;
use serde_json::{Value, json};

/// A schema, an object and a change, all in YAML, parted by NULs.
pub fn patches(bytes: &[u8]) {
    let mut parts = bytes
        .splitn(3, |byte| *byte == 0)
        .map(|part| yaml::parse(&String::from_utf8_lossy(part)));
    let (Some(Ok(schema)), Some(Ok(object)), Some(Ok(change))) =
        (parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let shapes = Shapes::crd(&schema, false);
    let _ = json_patch(&object, &change);
    let _ = merge_patch(&object, &change);
    let _ = strategic_merge_patch(&object, &change, shapes.root());
    let (object, change) = (named(object), named(change));
    let reset = FieldSet::default();
    let by = |manager| Change {
        manager,
        version: "b.c/v1",
        subresource: "",
        now: "2026-01-02T03:04:05Z",
        shape: shapes.root(),
        reset: &reset,
    };
    let Ok(first) = apply::apply(None, &object, &by("a"), false) else {
        return;
    };
    let _ = apply::apply(Some(&first.object), &change, &by("b"), false);
    let Ok(forced) = apply::apply(Some(&first.object), &change, &by("b"), true) else {
        return;
    };
    let again = apply::apply(Some(&forced.object), &change, &by("b"), true)
        .expect("what was applied before");
    assert_eq!(again.object, forced.object, "applied twice");
    let mut updated = change;
    apply::update(Some(&forced.object), &mut updated, &by("c"));
}

fn named(mut object: Value) -> Value {
    if !object.is_object() {
        object = json!({ "spec": object });
    }
    object["apiVersion"] = json!("b.c/v1");
    object["kind"] = json!("A");
    object["metadata"] = json!({"name": "a", "namespace": "n"});
    object
}
