//! What a fuzzer does with bytes: takes them for a CRD, or for the schema of one, and for an object
//! of it. Nothing may panic; to admit an object twice is to admit it once; a CRD breaks nothing of
//! itself.

use api::Crd;
use objects::Schema;
use objects::check::check_type;
use objects::shape::Shapes;
use serde_json::{Value, json};

/// A schema and an object, both in YAML, parted by a NUL.
pub fn schema(bytes: &[u8]) {
    let mut parts = bytes
        .splitn(2, |byte| *byte == 0)
        .map(|part| yaml::parse(&String::from_utf8_lossy(part)));
    let Some(Ok(schema)) = parts.next() else {
        return;
    };
    let object = parts
        .next()
        .and_then(Result::ok)
        .unwrap_or_else(|| json!({"spec": {"a": [1, null, "x"]}}));
    let whole = match schema["kind"].as_str() {
        Some("CustomResourceDefinition") => schema.clone(),
        _ => definition(&schema),
    };
    let (crd, _) = Crd::read(&whole);
    if let Some(crd) = crd {
        for version in &crd.versions {
            admit(&version.schema, &object);
        }
    }
    admit(&Schema::read(&schema).0, &object);
    let shapes = Shapes::crd(&schema, false);
    let _ = check_type(shapes.root(), &object);
}

fn admit(schema: &Schema, object: &Value) {
    let mut once = object.clone();
    schema.admit(&mut once);
    let mut twice = once.clone();
    schema.admit(&mut twice);
    if let Some(rules) = schema.rules() {
        rules.broken(object, Some(&once));
    }
    assert_eq!(once, twice, "admitted twice");
}

fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "as.b.c"},
        "spec": {"group": "b.c", "scope": "Namespaced", "names": {"kind": "A", "plural": "as"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}},
        ]},
    })
}
