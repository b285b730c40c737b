//! JSON Merge Patch.

use serde_json::{Map, Value};

use super::{PatchError, kind};

/// The object after the patch: null removes, objects are merged, all else replaces.
pub fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            kind(patch)
        )));
    };
    let mut merged = object.as_object().cloned().unwrap_or_default();
    merge(&mut merged, patch);
    Ok(Value::Object(merged))
}

fn merge(object: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (object.get_mut(name), value) {
            (_, Value::Null) => {
                object.remove(name);
            }
            (Some(Value::Object(current)), Value::Object(value)) => merge(current, value),
            // Lists replace maps as they are; what comes to a place without a map loses its nulls.
            (Some(Value::Object(_)), value) => {
                object.insert(name.clone(), value.clone());
            }
            (_, value) => {
                object.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

/// The value without fields that are null; items of lists may be.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::merge_patch;

    #[test]
    fn maps_are_merged_and_nulls_remove() {
        for (object, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!({"a": 1}),
                json!({"a": {"b": null, "l": [{"c": null}, null]}}),
                json!({"a": {"l": [{}, null]}}),
            ),
        ] {
            assert_eq!(merge_patch(&object, &patch).unwrap(), expected, "{patch}");
        }
        let error = merge_patch(&json!({}), &json!([])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
