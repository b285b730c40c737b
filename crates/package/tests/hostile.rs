//! Packages that would exhaust their reader.
#![allow(clippy::panic, reason = "a test may panic")]

use package::{Files, Severity};
use serde_json::json;

/// A few hundred bytes, once they are packed, that would take all memory or all time.
#[test]
fn a_schema_that_costs_too_much_is_an_error_that_names_the_field() {
    let of = |spec: &serde_json::Value| {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "redises.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced", "names": {"kind": "Redis", "plural": "redises"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": spec},
                }}}]},
        });
        let files = Files::from([
            ("app.yaml".to_owned(), Vec::new()),
            (
                "resources/redis.crd.yaml".to_owned(),
                crd.to_string().into_bytes(),
            ),
        ]);
        package::read(&files).1
    };
    let fields: serde_json::Map<String, serde_json::Value> = (0..2_000)
        .map(|index| {
            (
                format!("f{index}"),
                json!({"type": "string", "pattern": format!(r"x{index}\pL{{200}}")}),
            )
        })
        .collect();
    let nested = (0..15).fold("true".to_owned(), |inner, index| {
        format!("[0,1,2,3,4,5,6,7,8,9].all(x{index}, {inner})")
    });
    for (spec, place, why) in [
        (
            json!({"type": "object", "properties": fields}),
            "pattern",
            "together take too much memory",
        ),
        (
            json!({"type": "object", "x-kubernetes-validations": [{ "rule": nested }]}),
            "rule",
            "estimated rule cost exceeds budget",
        ),
    ] {
        let problems = of(&spec);
        let found = problems
            .iter()
            .find(|problem| problem.severity == Severity::Error && problem.what.contains(why));
        let found = found.unwrap_or_else(|| panic!("{:?}", problems.first()));
        assert!(
            found.what.contains("properties.spec") && found.what.contains(place),
            "{found}"
        );
    }
}
