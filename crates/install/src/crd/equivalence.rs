//! Whether a type that would break what uses it breaks nothing that is there.

use api::Crd;
use objects::Schema;
use serde_json::Value;

/// Whether the API server lets one definition take the place of the other at all.
pub fn can_become(live: &Crd, crd: &Crd, stored: &[String]) -> bool {
    let same = (
        live.scope,
        &live.group,
        &live.names.kind,
        &live.names.plural,
    ) == (crd.scope, &crd.group, &crd.names.kind, &crd.names.plural);
    same && stored.iter().all(|version| crd.version(version).is_some())
}

/// Whether a schema takes an object as it is. Its status does not count: it is written anew.
pub fn takes_unchanged(schema: &Schema, object: &Value) -> bool {
    let mut before = object.clone();
    if let Some(fields) = before.as_object_mut() {
        fields.remove("status");
    }
    let mut after = before.clone();
    schema.prune(&mut after);
    after == before && schema.admit(&mut after).is_empty()
}

#[cfg(test)]
mod tests {
    use objects::Schema;
    use serde_json::json;

    use super::takes_unchanged;

    #[test]
    fn an_object_is_kept_if_it_loses_nothing_and_is_not_refused() {
        let schema =
            |spec| Schema::read(&json!({ "type": "object", "properties": { "spec": spec } })).0;
        let object = json!({
            "apiVersion": "example.org/v1", "kind": "Shop", "metadata": { "name": "a" },
            "spec": { "banner": "x", "replicas": 2 }, "status": { "old": 1 },
        });
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        for (spec, expected) in [
            (
                json!({ "type": "object", "properties": { "banner": text, "replicas": number } }),
                true,
            ),
            (
                json!({ "type": "object", "properties": { "banner": text, "replicas": { "type": "integer", "minimum": 2 } } }),
                true,
            ),
            (
                json!({ "type": "object", "properties": { "banner": text, "replicas": { "type": "integer", "minimum": 3 } } }),
                false,
            ),
            (
                json!({ "type": "object", "properties": { "baner": text, "replicas": number } }),
                false,
            ),
            (
                json!({ "type": "object", "properties": { "banner": number, "replicas": number } }),
                false,
            ),
            (
                json!({ "type": "object", "required": ["more"], "properties": { "banner": text, "replicas": number, "more": text } }),
                false,
            ),
        ] {
            assert_eq!(
                takes_unchanged(&schema(spec.clone()), &object),
                expected,
                "{spec}"
            );
        }
    }
}
