//! Whole objects inside custom ones: they have a kind and a version, and metadata as all objects
//! have.

use objects::{Additional, Schema, shape::Shape};
use serde_json::Value;

use crate::defaults;
use crate::handlers::status::Cause;

/// Calls for every whole object inside a value, with its place.
fn each(schema: &Schema, value: &mut Value, path: &str, call: &mut dyn FnMut(&str, &mut Value)) {
    if schema.embedded && value.is_object() {
        call(path, value);
    }
    let place = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let inner = schema.properties.get(name).or(match &schema.additional {
                    Additional::Values(values) => Some(&**values),
                    _ => None,
                });
                if let Some(inner) = inner {
                    each(inner, value, &place(name), call);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    each(inner, item, &format!("{path}[{index}]"), call);
                }
            }
        }
        _ => {}
    }
}

/// Drops from the metadata of whole objects what metadata does not have.
pub(super) fn decode(schema: &Schema, object: &mut Value, meta: Shape<'_>) {
    each(schema, object, "", &mut |_, whole| {
        if let Some(metadata) = whole.get_mut("metadata") {
            defaults::decode::decode(meta, metadata);
        }
    });
}

/// Whole objects that do not say what they are.
pub(super) fn faults(schema: &Schema, object: &mut Value) -> Vec<Cause> {
    let mut faults = Vec::new();
    each(schema, object, "", &mut |path, whole| {
        for field in ["apiVersion", "kind"] {
            if whole
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .is_empty()
            {
                faults.push(Cause::required(&format!("{path}.{field}"), ""));
            }
        }
    });
    faults
}
