//! The schema of a kind that Kubernetes describes by an OpenAPI document: which fields there are,
//! and of which types. What the document says of required fields and defaults is left out, since
//! the API server fills in before it looks.

use serde_json::{Map, Value, json};

use super::{Additional, Schema};
use crate::gvk::Gvk;
use crate::shape::{QUANTITY, Scalar};

/// Types inside types; those of real documents go less than half as deep.
const DEPTH: usize = 60;

/// The schema of a kind among the types of a document (`components.schemas`); none if it has no
/// such kind.
pub fn openapi_schema(types: &Value, gvk: &Gvk) -> Option<Schema> {
    let is_meant = |kind: &Value| {
        kind["kind"] == gvk.kind.as_str()
            && kind["version"] == gvk.version.as_str()
            && kind["group"].as_str().unwrap_or_default() == gvk.group
    };
    let named = |found: &&Value| {
        found["x-kubernetes-group-version-kind"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(is_meant))
    };
    let found = types.as_object()?.values().find(named)?;
    let whole = Types {
        types,
        open: Vec::new(),
    }
    .described(found);
    let mut schema = Schema::read(&whole).0;
    mark(&mut schema, &whole);
    Some(schema)
}

/// Notes where the decoder reads more than the type says. No schema of a CRD can ask for that.
fn mark(schema: &mut Schema, described: &Value) {
    schema.scalar = match described[DECODED].as_str() {
        Some("quantity") => Some(Scalar::Quantity),
        Some("bytes") => Some(Scalar::Bytes),
        _ => None,
    };
    for (name, field) in &mut schema.properties {
        mark(field, &described["properties"][name]);
    }
    if let Some(items) = &mut schema.items {
        mark(items, &described["items"]);
    }
    if let Additional::Values(values) = &mut schema.additional {
        mark(values, &described["additionalProperties"]);
    }
}

/// The word by which a place that is written out says how it is decoded.
const DECODED: &str = "x-decoded";

struct Types<'d> {
    types: &'d Value,
    /// The types that are being written out, each inside the one before.
    open: Vec<&'d str>,
}

impl<'d> Types<'d> {
    /// The place as a structural schema has it, with every type written out.
    fn described(&mut self, place: &'d Value) -> Value {
        if let Some(name) = reference(place) {
            return self.named(name);
        }
        let kind = place["type"].as_str();
        if place["format"] == "int-or-string" {
            return json!({"x-kubernetes-int-or-string": true});
        }
        match kind {
            Some("object") => self.object(place),
            Some("array") => {
                json!({"type": "array", "nullable": true, "items": self.described(&place["items"])})
            }
            Some(kind) => {
                // Null is nothing to Kubernetes' own kinds. Among a few values it is not one of
                // them, so that it goes.
                let mut schema = json!({"type": kind, "nullable": place.get("enum").is_none()});
                for word in ["format", "enum"] {
                    if let Some(said) = place.get(word) {
                        schema[word] = said.clone();
                    }
                }
                if place["format"] == "byte" {
                    schema[DECODED] = "bytes".into();
                }
                schema
            }
            None => anything(),
        }
    }

    fn named(&mut self, name: &'d str) -> Value {
        let types = self.types;
        if name == QUANTITY {
            let mut quantity = anything();
            quantity[DECODED] = "quantity".into();
            return quantity;
        }
        // A type that holds itself (the schema of a CRD does) is not written out again.
        if self.open.contains(&name) || self.open.len() >= DEPTH {
            return anything();
        }
        let Some(found) = types.get(name) else {
            return anything();
        };
        self.open.push(name);
        let described = self.described(found);
        self.open.pop();
        described
    }

    fn object(&mut self, place: &'d Value) -> Value {
        let described = |(name, field): (&String, &'d Value), types: &mut Self| {
            (name.clone(), types.described(field))
        };
        let fields: Option<Map<String, Value>> = place["properties"]
            .as_object()
            .map(|fields| fields.iter().map(|field| described(field, self)).collect());
        match (fields, place.get("additionalProperties")) {
            (Some(fields), _) => json!({"type": "object", "nullable": true, "properties": fields}),
            (None, Some(values)) if values.is_object() => {
                json!({"type": "object", "nullable": true, "additionalProperties": self.described(values)})
            }
            (None, _) => anything(),
        }
    }
}

/// The type that a place names, alone or as the only part of `allOf` beside a default and a
/// description.
fn reference(place: &Value) -> Option<&str> {
    let named = place
        .get("$ref")
        .or_else(|| match place["allOf"].as_array()?.as_slice() {
            [only] => only.get("$ref"),
            _ => None,
        });
    named?.as_str()?.strip_prefix("#/components/schemas/")
}

fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true, "nullable": true})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use crate::schema::Lookup;

    fn deployment() -> Schema {
        let named = |name: &str| json!({"default": {}, "allOf": [{"$ref": format!("#/components/schemas/{name}")}]});
        let types = json!({
            "Deployment": {"type": "object", "properties": {"spec": named("Spec")}, "required": ["spec"],
                "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}]},
            "Spec": {"type": "object", "required": ["replicas"], "properties": {
                "replicas": {"type": "integer", "format": "int32"},
                "policy": {"type": "string", "enum": ["Always", "Never"]},
                "port": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "raw": {"type": "object"},
                "amount": named(QUANTITY),
                "limits": {"type": "object", "additionalProperties": named(QUANTITY)},
                "secret": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
                "inner": {"type": "array", "items": named("Spec")},
                "gone": named("NoSuchType"),
            }},
            QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
        });
        assert!(openapi_schema(&types, &Gvk::new("apps", "v1", "StatefulSet")).is_none());
        openapi_schema(&types, &Gvk::new("apps", "v1", "Deployment")).unwrap()
    }

    #[test]
    fn fields_that_no_type_has_are_found_with_what_was_probably_meant() {
        let schema = deployment();
        for (path, suggestion) in [
            (&["spec", "replcas"][..], Some("replicas")),
            (&["spce"], Some("spec")),
            (&["spec", "labels", "anything"], None),
            (&["spec", "raw", "anything"], None),
            (&["spec", "amount"], None),
            (&["spec", "gone", "anything"], None),
        ] {
            let found = match schema.lookup(&Path::fields(path)) {
                Lookup::Missing(missing) => Some(missing.suggestion.unwrap_or_default()),
                Lookup::Known(_) | Lookup::Open => None,
            };
            assert_eq!(found.as_deref(), suggestion, "{path:?}");
        }
    }

    #[test]
    fn types_and_the_only_values_are_held_to_and_nothing_is_required() {
        let schema = deployment();
        for (spec, refused) in [
            (json!({}), 0),
            (
                json!({"replicas": null, "labels": null, "policy": null, "port": null}),
                0,
            ),
            (
                json!({"replicas": 3, "port": "http", "amount": "1Gi", "policy": "Never"}),
                0,
            ),
            (
                json!({"port": 80, "amount": 2, "inner": [{"replicas": 1, "inner": [{"x": 1}]}]}),
                0,
            ),
            (json!({"replicas": "three"}), 1),
            (json!({"policy": "Sometimes"}), 1),
            (json!({"labels": {"a": 1}}), 1),
            (json!({"inner": {}}), 1),
        ] {
            let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            schema.fill(&mut object);
            let found = schema.validate(&object);
            assert_eq!(found.len(), refused, "{spec} {found:?}");
        }
    }

    #[test]
    fn quantities_and_bytes_are_held_to_what_the_decoder_reads() {
        let schema = deployment();
        let quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        for (spec, expected) in [
            (
                json!({"amount": "1.5Gi", "limits": {"cpu": "100m", "memory": 2, "x": null}, "secret": {"a": "aGk="}}),
                vec![],
            ),
            (json!({"secret": {"a": "aG\nk=", "b": "", "c": null}}), vec![]),
            (json!({"amount": "big"}), vec![format!("spec.amount: Invalid value: \"big\": {quantity}")]),
            (
                json!({"limits": {"cpu": "5 gigs"}}),
                vec![format!("spec.limits.cpu: Invalid value: \"5 gigs\": {quantity}")],
            ),
            (json!({"limits": {"cpu": true}}), vec![format!("spec.limits.cpu: Invalid value: true: {quantity}")]),
            (
                json!({"limits": {"cpu": {"a": 1}}}),
                vec![format!("spec.limits.cpu: Invalid value: {{\"a\":1}}: {quantity}")],
            ),
            (
                json!({"limits": {"cpu": "1Kii"}}),
                vec!["spec.limits.cpu: Invalid value: \"1Kii\": unable to parse quantity's suffix".to_owned()],
            ),
            (
                json!({"secret": {"a": "hello world"}}),
                vec!["spec.secret.a: Invalid value: \"hello world\": illegal base64 data at input byte 5".to_owned()],
            ),
        ] {
            let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec});
            let found: Vec<String> = schema.admit(&mut object).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{spec}");
        }
        let (custom, _) = Schema::read(&json!({"type": "object", "properties": {
            "amount": {"x-kubernetes-preserve-unknown-fields": true, "x-decoded": "quantity"},
        }}));
        assert_eq!(custom.validate(&json!({"amount": "big"})), []);
    }
}
