//! Drops what a schema does not describe, as the API server does before it stores an object.

use serde_json::Value;

use super::{Additional, Schema, meta};

impl Schema {
    /// Drops what the schema does not describe from a whole object; apiVersion, kind and metadata
    /// stay.
    pub fn prune(&self, object: &mut Value) {
        prune(object, Some(self), true, false);
    }

    /// Drops what the schema does not describe from a value inside an object, such as a status.
    pub fn prune_part(&self, value: &mut Value) {
        prune(value, Some(self), false, false);
    }
}

/// `keep` comes from a list around the value that preserves what is unknown.
fn prune(value: &mut Value, schema: Option<&Schema>, whole: bool, keep: bool) {
    let keep = keep || schema.is_some_and(|schema| schema.preserve_unknown);
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(schema) = schema else { return keep };
            if (whole || schema.embedded) && meta::FIELDS.contains(&name.as_str()) {
                return true;
            }
            match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => prune(value, Some(property), false, false),
                (None, Additional::Values(values)) => prune(value, Some(values), false, false),
                // What `true` lets in has no schema of its own, so that nothing below it is
                // described.
                (None, Additional::Anything) => prune(value, None, false, false),
                (None, Additional::Unsaid | Additional::Nothing) => return keep,
            }
            true
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            if schema.is_none() && keep {
                return;
            }
            for item in items {
                prune(item, schema, false, keep);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Schema;

    fn spec(schema: &Value) -> Schema {
        Schema::read(&json!({ "type": "object", "properties": { "spec": schema } })).0
    }

    #[test]
    fn what_is_not_described_goes_and_the_rest_stays() {
        let text = json!({ "type": "string" });
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "a": { "type": "object", "properties": { "b": text } } } });
        for (schema, before, after) in [
            (
                json!({ "type": "object", "properties": { "a": text } }),
                json!({ "a": "1", "b": 2 }),
                json!({ "a": "1" }),
            ),
            (
                open.clone(),
                json!({ "a": { "b": "1", "c": 2 }, "d": { "e": 3 } }),
                json!({ "a": { "b": "1" }, "d": { "e": 3 } }),
            ),
            (
                json!({ "type": "object", "additionalProperties": { "type": "object", "properties": { "a": text } } }),
                json!({ "x": { "a": "1", "b": 2 }, "y": {} }),
                json!({ "x": { "a": "1" }, "y": {} }),
            ),
            (
                json!({ "type": "object", "additionalProperties": true }),
                json!({ "x": 1, "y": { "z": 2 } }),
                json!({ "x": 1, "y": {} }),
            ),
            (
                json!({ "type": "array", "items": { "type": "object", "properties": { "a": text } } }),
                json!([{ "a": "1", "b": 2 }, 3]),
                json!([{ "a": "1" }, 3]),
            ),
            (
                json!({ "x-kubernetes-preserve-unknown-fields": true }),
                json!([{ "a": 1 }]),
                json!([{ "a": 1 }]),
            ),
            (
                json!({ "type": "array", "x-kubernetes-preserve-unknown-fields": true,
                    "items": { "type": "object", "properties": { "a": { "type": "object" } } } }),
                json!([{ "a": { "gone": 1 }, "b": 2 }]),
                json!([{ "a": {}, "b": 2 }]),
            ),
            (
                json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
                json!({ "kind": "Pod", "metadata": { "name": "x" }, "spec": {} }),
                json!({ "kind": "Pod", "metadata": { "name": "x" } }),
            ),
            (text.clone(), json!("kept"), json!("kept")),
        ] {
            let mut object =
                json!({ "apiVersion": "v1", "metadata": { "x": 1 }, "other": 1, "spec": before });
            spec(&schema).prune(&mut object);
            assert_eq!(
                object,
                json!({ "apiVersion": "v1", "metadata": { "x": 1 }, "spec": after }),
                "{schema}"
            );
        }
        let mut status = json!({ "kind": "x", "a": "1" });
        Schema::read(&json!({ "type": "object", "properties": { "a": text } }))
            .0
            .prune_part(&mut status);
        assert_eq!(
            status,
            json!({ "a": "1" }),
            "only a whole object has a kind of its own"
        );
    }
}
