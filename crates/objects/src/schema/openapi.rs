//! The schema of a kind that Kubernetes describes by an OpenAPI document: which fields there are, and of which types.
//! What the document says of required fields and defaults is left out, since the API server fills in before it looks.

use serde_json::{Map, Value, json};

use super::Schema;
use crate::gvk::Gvk;

/// Types inside types; those of real documents go less than half as deep.
const DEPTH: usize = 60;

/// The schema of a kind among the types of a document (`components.schemas`); none if it has no such kind.
pub fn openapi_schema(types: &Value, gvk: &Gvk) -> Option<Schema> {
    let is_meant = |kind: &Value| {
        kind["kind"] == gvk.kind.as_str()
            && kind["version"] == gvk.version.as_str()
            && kind["group"].as_str().unwrap_or_default() == gvk.group
    };
    let named = |found: &&Value| {
        found["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.iter().any(is_meant))
    };
    let found = types.as_object()?.values().find(named)?;
    let whole = Types { types, open: Vec::new() }.described(found);
    Some(Schema::read(&whole).0)
}

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
            Some("array") => json!({"type": "array", "nullable": true, "items": self.described(&place["items"])}),
            Some(kind) => {
                // Null is nothing to Kubernetes' own kinds. Among a few values it is not one of them, so that it goes.
                let mut schema = json!({"type": kind, "nullable": place.get("enum").is_none()});
                for word in ["format", "enum"] {
                    if let Some(said) = place.get(word) {
                        schema[word] = said.clone();
                    }
                }
                schema
            }
            None => anything(),
        }
    }

    fn named(&mut self, name: &'d str) -> Value {
        let types = self.types;
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
        let described = |(name, field): (&String, &'d Value), types: &mut Self| (name.clone(), types.described(field));
        let fields: Option<Map<String, Value>> =
            place["properties"].as_object().map(|fields| fields.iter().map(|field| described(field, self)).collect());
        match (fields, place.get("additionalProperties")) {
            (Some(fields), _) => json!({"type": "object", "nullable": true, "properties": fields}),
            (None, Some(values)) if values.is_object() => {
                json!({"type": "object", "nullable": true, "additionalProperties": self.described(values)})
            }
            (None, _) => anything(),
        }
    }
}

/// The type that a place names, alone or as the only part of `allOf` beside a default and a description.
fn reference(place: &Value) -> Option<&str> {
    let named = place.get("$ref").or_else(|| match place["allOf"].as_array()?.as_slice() {
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
                "amount": named("Quantity"),
                "inner": {"type": "array", "items": named("Spec")},
                "gone": named("NoSuchType"),
            }},
            "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
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
            (json!({"replicas": null, "labels": null, "policy": null, "port": null}), 0),
            (json!({"replicas": 3, "port": "http", "amount": "1Gi", "policy": "Never"}), 0),
            (json!({"port": 80, "amount": 2, "inner": [{"replicas": 1, "inner": [{"x": 1}]}]}), 0),
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
}
