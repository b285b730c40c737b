//! Fills in the values that were not given, as the API server does.

use serde_json::Value;

use super::{Additional, Schema};

impl Schema {
    /// Fills in defaults. A null that is not allowed is taken for absent.
    pub fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    let schema = self.properties.get(name).or(self.additional.values());
                    !(value.is_null() && schema.is_some_and(|schema| !schema.nullable && schema.default.is_none()))
                });
                for (name, schema) in &self.properties {
                    if let Some(default) = &schema.default
                        && fields.get(name).is_none_or(|value| value.is_null() && !schema.nullable)
                    {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                for (name, value) in fields {
                    if let Some(schema) = self.properties.get(name).or(self.additional.values()) {
                        schema.fill_null(value);
                        schema.fill(value);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    for item in items {
                        schema.fill_null(item);
                        schema.fill(item);
                    }
                }
            }
            _ => {}
        }
    }

    fn fill_null(&self, value: &mut Value) {
        if value.is_null()
            && !self.nullable
            && let Some(default) = &self.default
        {
            *value = default.clone();
        }
    }
}

impl Additional {
    /// The schema of the values, if there is one.
    pub fn values(&self) -> Option<&Schema> {
        match self {
            Self::Values(values) => Some(values),
            Self::Unsaid | Self::Anything | Self::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Schema;

    #[test]
    fn defaults_are_filled_in_where_nothing_was_given() {
        let number = json!({ "type": "integer", "default": 1 });
        let nested = json!({ "type": "object", "default": {}, "properties": { "n": number } });
        for (schema, before, after) in [
            (json!({ "properties": { "n": number } }), json!({}), json!({ "n": 1 })),
            (json!({ "properties": { "n": number } }), json!({ "n": 2 }), json!({ "n": 2 })),
            (json!({ "properties": { "n": number } }), json!({ "n": null }), json!({ "n": 1 })),
            (
                json!({ "properties": { "n": { "type": "integer", "default": 1, "nullable": true } } }),
                json!({ "n": null }),
                json!({ "n": null }),
            ),
            (json!({ "properties": { "n": { "type": "integer" } } }), json!({ "n": null }), json!({})),
            (json!({ "properties": { "a": nested } }), json!({}), json!({ "a": { "n": 1 } })),
            (
                json!({ "properties": { "a": { "type": "object", "properties": { "n": number } } } }),
                json!({}),
                json!({}),
            ),
            (
                json!({ "additionalProperties": nested }),
                json!({ "x": {}, "y": null }),
                json!({ "x": { "n": 1 }, "y": { "n": 1 } }),
            ),
            (
                json!({ "properties": { "l": { "type": "array", "items": nested } } }),
                json!({ "l": [{}, null, { "n": 3 }] }),
                json!({ "l": [{ "n": 1 }, { "n": 1 }, { "n": 3 }] }),
            ),
            (json!({ "properties": { "a": nested } }), json!("no object"), json!("no object")),
        ] {
            let mut value = before.clone();
            Schema::read(&schema).0.fill(&mut value);
            assert_eq!(value, after, "{schema} {before}");
        }
    }
}
