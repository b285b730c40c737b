//! Fills in the values that were not given, as the API server does.

use serde_json::Value;

use super::{Additional, Schema};

/// The most bytes of defaults that are filled into one object, about: a default in the items of a
/// list is there once for each item, so that a small list and a small schema can make more than
/// memory holds.
const MOST: usize = 16 << 20;

impl Schema {
    /// Fills in defaults. A null that is not allowed is taken for absent. Answers whether all were
    /// filled in, which they are unless they are larger than any object may be.
    pub fn fill(&self, value: &mut Value) -> bool {
        let mut left = MOST;
        self.fill_within(value, &mut left);
        left > 0
    }

    fn fill_within(&self, value: &mut Value, left: &mut usize) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, value| {
                    let schema = self.properties.get(name).or(self.additional.values());
                    !(value.is_null()
                        && schema
                            .is_some_and(|schema| !schema.nullable && schema.default.is_none()))
                });
                for (name, schema) in &self.properties {
                    if let Some(default) = &schema.default
                        && fields
                            .get(name)
                            .is_none_or(|value| value.is_null() && !schema.nullable)
                        && spend(left, name.len() + bytes(default))
                    {
                        fields.insert(name.clone(), default.clone());
                    }
                }
                for (name, value) in fields {
                    if let Some(schema) = self.properties.get(name).or(self.additional.values()) {
                        schema.fill_null(value, left);
                        schema.fill_within(value, left);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = &self.items {
                    for item in items {
                        schema.fill_null(item, left);
                        schema.fill_within(item, left);
                    }
                }
            }
            _ => {}
        }
    }

    fn fill_null(&self, value: &mut Value, left: &mut usize) {
        if value.is_null()
            && !self.nullable
            && let Some(default) = &self.default
            && spend(left, bytes(default))
        {
            *value = default.clone();
        }
    }
}

fn spend(left: &mut usize, bytes: usize) -> bool {
    *left = left.saturating_sub(bytes);
    *left > 0
}

/// About how many bytes a value takes.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 8 + text.len(),
        Value::Array(items) => 8 + items.iter().map(bytes).sum::<usize>(),
        Value::Object(fields) => {
            8 + fields
                .iter()
                .map(|(name, value)| 8 + name.len() + bytes(value))
                .sum::<usize>()
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
    fn defaults_in_a_list_make_no_more_than_memory_holds() {
        let field = json!({ "type": "string", "default": "x".repeat(100_000) });
        let (schema, flaws) = Schema::read(&json!({ "type": "object", "properties": { "list": {
            "type": "array", "items": { "type": "object", "properties": { "a": field } } } } }));
        assert_eq!(flaws, []);
        let mut few = json!({ "list": [{}, {}] });
        assert!(schema.fill(&mut few));
        assert_eq!(few["list"][1]["a"].as_str().map(str::len), Some(100_000));
        let mut many = json!({ "list": vec![json!({}); 100_000] });
        assert!(!schema.fill(&mut many));
        assert!(many.to_string().len() < 20 << 20);
        let said: Vec<String> = schema
            .admit(&mut many)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            ["<nil>: Invalid value: \"\": the defaults of the schema make the object too large"]
        );
    }

    #[test]
    fn defaults_are_filled_in_where_nothing_was_given() {
        let number = json!({ "type": "integer", "default": 1 });
        let nested = json!({ "type": "object", "default": {}, "properties": { "n": number } });
        for (schema, before, after) in [
            (
                json!({ "properties": { "n": number } }),
                json!({}),
                json!({ "n": 1 }),
            ),
            (
                json!({ "properties": { "n": number } }),
                json!({ "n": 2 }),
                json!({ "n": 2 }),
            ),
            (
                json!({ "properties": { "n": number } }),
                json!({ "n": null }),
                json!({ "n": 1 }),
            ),
            (
                json!({ "properties": { "n": { "type": "integer", "default": 1, "nullable": true } } }),
                json!({ "n": null }),
                json!({ "n": null }),
            ),
            (
                json!({ "properties": { "n": { "type": "integer" } } }),
                json!({ "n": null }),
                json!({}),
            ),
            (
                json!({ "properties": { "a": nested } }),
                json!({}),
                json!({ "a": { "n": 1 } }),
            ),
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
            (
                json!({ "properties": { "a": nested } }),
                json!("no object"),
                json!("no object"),
            ),
        ] {
            let mut value = before.clone();
            Schema::read(&schema).0.fill(&mut value);
            assert_eq!(value, after, "{schema} {before}");
        }
    }
}
