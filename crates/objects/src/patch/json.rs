//! JSON Patch as the API server's library reads it, which is a little wider than RFC 6902: places
//! may be counted from the end, and what is not there may be replaced.

use serde_json::{Map, Value};

use super::{PatchError, kind};

/// The most operations of a patch.
pub const JSON_PATCH_LIMIT: usize = 10_000;
/// The most bytes, as JSON, that the copies of a patch may add.
pub const JSON_PATCH_COPY_LIMIT: usize = 3 * 1024 * 1024;

const MISSING: &str = "missing value";
const INVALID: &str = "invalid index detected";
const FAILED: &str = "test failed";

/// The object after all operations, or the first that does not apply.
pub fn json_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            kind(patch)
        )));
    };
    if let Some(wrong) = operations.iter().find(|operation| !operation.is_object()) {
        return Err(PatchError::BadRequest(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type handlers.jsonPatchOp",
            kind(wrong)
        )));
    }
    if operations.len() > JSON_PATCH_LIMIT {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {JSON_PATCH_LIMIT}, got {}",
            operations.len()
        )));
    }
    let mut document = object.clone();
    let mut copied = 0;
    for operation in operations {
        step(&mut document, operation, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    Ok(document)
}

fn step(document: &mut Value, operation: &Value, copied: &mut usize) -> Result<(), String> {
    let word = operation
        .get("op")
        .and_then(Value::as_str)
        .unwrap_or("unknown");
    let path = operation.get("path").and_then(Value::as_str);
    let from = operation.get("from").and_then(Value::as_str);
    let value = operation.get("value");
    let no_path = || {
        format!("{word} operation failed to decode path: operation missing path field: {MISSING}")
    };
    let no_from = || {
        format!("{word} operation failed to decode from: operation, missing from field: {MISSING}")
    };
    match word {
        "add" => {
            let path =
                path.ok_or_else(|| format!("add operation failed to decode path: {MISSING}"))?;
            let missing = || {
                format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}")
            };
            let place = find(document, path).ok_or_else(missing)?;
            place
                .add(value.cloned().unwrap_or_default())
                .map_err(|error| format!("error in add for path: '{path}': {error}"))
        }
        "remove" => {
            let path =
                path.ok_or_else(|| format!("remove operation failed to decode path: {MISSING}"))?;
            let missing = || {
                format!(
                    "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
                )
            };
            let place = find(document, path).ok_or_else(missing)?;
            place
                .remove()
                .map(drop)
                .map_err(|error| format!("error in remove for path: '{path}': {error}"))
        }
        "replace" => {
            let path = path.ok_or_else(no_path)?;
            let value = value.cloned().unwrap_or_default();
            if path.is_empty() {
                if !value.is_object() && !value.is_array() {
                    return Err(
                        "replace operation value must be object or array: %!w(<nil>)".to_owned(),
                    );
                }
                *document = value;
                return Ok(());
            }
            let missing = |what: &str| {
                format!(
                    "replace operation does not apply: doc is missing {what}: {path}: {MISSING}"
                )
            };
            let mut place = find(document, path).ok_or_else(|| missing("path"))?;
            place.get().map_err(|_| missing("key"))?;
            place
                .set(value)
                .map_err(|error| format!("error in remove for path: '{path}': {error}"))
        }
        "move" => {
            let from = from.ok_or_else(no_from)?;
            let missing = || {
                format!(
                    "move operation does not apply: doc is missing from path: {from}: {MISSING}"
                )
            };
            let mut place = find(document, from).ok_or_else(missing)?;
            let key = place.key();
            let wrong = |error: String| format!("error in move for path: '{key}': {error}");
            place.get().map_err(wrong)?;
            let value = place.remove().map_err(wrong)?;
            let path = path.ok_or_else(no_path)?;
            let missing = || {
                format!(
                    "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
                )
            };
            let place = find(document, path).ok_or_else(missing)?;
            place
                .add(value)
                .map_err(|error| format!("error in move for path: '{path}': {error}"))
        }
        "test" => {
            let path = path.ok_or_else(no_path)?;
            let failed = || Err(format!("testing value {path} failed: {FAILED}"));
            if path.is_empty() {
                return if Some(&*document) == value {
                    Ok(())
                } else {
                    failed()
                };
            }
            let missing =
                || format!("test operation does not apply: is missing path: {path}: {MISSING}");
            let mut place = find(document, path).ok_or_else(missing)?;
            let found = place
                .get()
                .map_err(|error| format!("error in test for path: '{path}': {error}"))?;
            // What is not there is null.
            if found.unwrap_or(&Value::Null) == value.unwrap_or(&Value::Null) {
                Ok(())
            } else {
                failed()
            }
        }
        "copy" => {
            let from = from.ok_or_else(no_from)?;
            let missing = || {
                format!(
                    "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
                )
            };
            let mut place = find(document, from).ok_or_else(missing)?;
            let found = place
                .get()
                .map_err(|error| format!("error in copy for from: '{from}': {error}"))?;
            let value = found.cloned().unwrap_or_default();
            let path =
                path.ok_or_else(|| format!("copy operation failed to decode path: {MISSING}"))?;
            let missing = || {
                format!(
                    "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
                )
            };
            let place = find(document, path).ok_or_else(missing)?;
            *copied = copied.saturating_add(value.to_string().len());
            if *copied > JSON_PATCH_COPY_LIMIT {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the \
                     limit {JSON_PATCH_COPY_LIMIT}"
                ));
            }
            place
                .add(value)
                .map_err(|error| format!("error while adding value during copy: {error}"))
        }
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// A key of an object or a place in a list, whether something is there or not.
enum Place<'d> {
    Field(&'d mut Map<String, Value>, String),
    Item(&'d mut Vec<Value>, String),
}

fn find<'d>(document: &'d mut Value, path: &str) -> Option<Place<'d>> {
    let (before, key) = path.rsplit_once('/')?;
    let mut current = document;
    for part in before.split('/').skip(1) {
        let part = decoded(part);
        current = match current {
            Value::Object(fields) => fields.get_mut(&part)?,
            Value::Array(items) => {
                let index = position(&part, items.len())
                    .ok()
                    .filter(|index| *index < items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    match current {
        Value::Object(fields) => Some(Place::Field(fields, decoded(key))),
        Value::Array(items) => Some(Place::Item(items, decoded(key))),
        _ => None,
    }
}

fn decoded(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The index that a key is, counted from the end if it is negative; it may lie beyond the end.
fn position(key: &str, length: usize) -> Result<usize, String> {
    let index: i64 = key
        .parse()
        .map_err(|_| format!("strconv.Atoi: parsing \"{key}\": invalid syntax"))?;
    let outside = || format!("Unable to access invalid index: {index}: {INVALID}");
    if index < 0 {
        return usize::try_from(index.unsigned_abs())
            .ok()
            .and_then(|back| length.checked_sub(back))
            .ok_or_else(outside);
    }
    usize::try_from(index).map_err(|_| outside())
}

impl Place<'_> {
    fn key(&self) -> String {
        match self {
            Self::Field(_, key) | Self::Item(_, key) => key.clone(),
        }
    }

    fn get(&mut self) -> Result<Option<&Value>, String> {
        match self {
            Self::Field(fields, key) => Ok(fields.get(key)),
            Self::Item(items, key) => {
                let index = inside(key, items.len())?;
                Ok(items.get(index))
            }
        }
    }

    fn set(self, value: Value) -> Result<(), String> {
        match self {
            Self::Field(fields, key) => {
                fields.insert(key, value);
            }
            Self::Item(items, key) => {
                let index = inside(&key, items.len())?;
                items[index] = value;
            }
        }
        Ok(())
    }

    fn add(self, value: Value) -> Result<(), String> {
        match self {
            Self::Field(fields, key) => {
                fields.insert(key, value);
            }
            Self::Item(items, key) if key == "-" => items.push(value),
            Self::Item(items, key) => {
                let index = position(&key, items.len() + 1).map_err(|error| {
                    if key.parse::<i64>().is_ok() {
                        error
                    } else {
                        format!("value was not a proper array index: '{key}': {error}")
                    }
                })?;
                if index > items.len() {
                    return Err(format!(
                        "Unable to access invalid index: {index}: {INVALID}"
                    ));
                }
                items.insert(index, value);
            }
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, String> {
        match self {
            Self::Field(fields, key) => fields
                .remove(&key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}")),
            Self::Item(items, key) => {
                let index = inside(&key, items.len())?;
                Ok(items.remove(index))
            }
        }
    }
}

fn inside(key: &str, length: usize) -> Result<usize, String> {
    let index = position(key, length)?;
    if index < length {
        Ok(index)
    } else {
        Err(format!(
            "Unable to access invalid index: {index}: {INVALID}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{JSON_PATCH_LIMIT, json_patch};

    #[test]
    fn operations_apply_one_after_the_other() {
        let object = json!({"a": {"b": 1, "c/d": 2, "~": 3}, "l": [1, 2, 3]});
        for (patch, expected) in [
            (json!([]), object.clone()),
            (
                json!([{"op": "add", "path": "/a/x", "value": null}]),
                json!({"a": {"b": 1, "c/d": 2, "x": null, "~": 3}, "l": [1, 2, 3]}),
            ),
            (
                json!([{"op": "add", "path": "/l/-", "value": 4}, {"op": "add", "path": "/l/0", "value": 0}, {"op": "remove", "path": "/a"}]),
                json!({"l": [0, 1, 2, 3, 4]}),
            ),
            (
                json!([{"op": "remove", "path": "/a/c~1d"}, {"op": "remove", "path": "/a/~0"}, {"op": "remove", "path": "/l/-1"}]),
                json!({"a": {"b": 1}, "l": [1, 2]}),
            ),
            (
                json!([{"op": "replace", "path": "/a/new", "value": 1}, {"op": "replace", "path": "/l", "value": 1}, {"op": "remove", "path": "/a/~0"}]),
                json!({"a": {"b": 1, "c/d": 2, "new": 1}, "l": 1}),
            ),
            (
                json!([{"op": "move", "from": "/a", "path": "/l/1"}]),
                json!({"l": [1, {"b": 1, "c/d": 2, "~": 3}, 2, 3]}),
            ),
            (
                json!([{"op": "copy", "from": "/l", "path": "/a"}, {"op": "test", "path": "/a", "value": [1, 2, 3]}, {"op": "test", "path": "/none", "value": null}]),
                json!({"a": [1, 2, 3], "l": [1, 2, 3]}),
            ),
            (
                json!([{"op": "replace", "path": "", "value": {}}]),
                json!({}),
            ),
        ] {
            assert_eq!(json_patch(&object, &patch).unwrap(), expected, "{patch}");
        }
    }

    #[test]
    fn what_does_not_apply_is_refused_in_the_words_of_the_server() {
        let object = json!({"a": {"b": 1}, "l": [1]});
        for (patch, code, message) in [
            (
                json!({}),
                400,
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                json!([{"op": "add", "path": "/x/y", "value": 1}]),
                422,
                "add operation does not apply: doc is missing path: \"/x/y\": missing value",
            ),
            (
                json!([{"op": "add", "path": "/l/2", "value": 1}]),
                422,
                "error in add for path: '/l/2': Unable to access invalid index: 2: invalid index detected",
            ),
            (
                json!([{"op": "add", "path": "/l/x", "value": 1}]),
                422,
                "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
            ),
            (
                json!([{"op": "remove", "path": "/a/x"}]),
                422,
                "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value",
            ),
            (
                json!([{"op": "remove", "path": "/l/1"}]),
                422,
                "error in remove for path: '/l/1': Unable to access invalid index: 1: invalid index detected",
            ),
            (
                json!([{"op": "replace", "path": "/l/1", "value": 1}]),
                422,
                "replace operation does not apply: doc is missing key: /l/1: missing value",
            ),
            (
                json!([{"op": "replace", "path": "/x/y", "value": 1}]),
                422,
                "replace operation does not apply: doc is missing path: /x/y: missing value",
            ),
            (
                json!([{"op": "test", "path": "/a/b", "value": 2}]),
                422,
                "testing value /a/b failed: test failed",
            ),
            (
                json!([{"op": "copy", "from": "/x/y", "path": "/a"}]),
                422,
                "copy operation does not apply: doc is missing from path: /x/y: missing value",
            ),
            (
                json!([{"op": "move", "from": "/a/x", "path": "/a"}]),
                422,
                "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
            ),
            (
                json!([{"op": "frob", "path": "/a"}]),
                422,
                "Unexpected kind: frob",
            ),
        ] {
            let error = json_patch(&object, &patch).unwrap_err();
            assert_eq!(
                (error.code(), &*error.to_string()),
                (code, message),
                "{patch}"
            );
        }
    }

    #[test]
    fn a_patch_that_asks_for_too_much_is_refused() {
        let many = Value::Array(vec![
            json!({"op": "remove", "path": "/a"});
            JSON_PATCH_LIMIT + 1
        ]);
        let error = json_patch(&json!({}), &many).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The allowed maximum operations in a JSON patch is 10000, got 10001"
        );
        assert_eq!(error.code(), 413);
        // Each copy doubles what is there.
        let doubling = Value::Array(vec![
            json!({"op": "copy", "from": "/a", "path": "/a/-"});
            64
        ]);
        let error = json_patch(&json!({"a": ["x".repeat(1024)]}), &doubling).unwrap_err();
        assert!(
            error.to_string().starts_with("Unable to complete the copy"),
            "{error}"
        );
    }
}
