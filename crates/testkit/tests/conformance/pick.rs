//! Looking into answers: paths such as `items.*.metadata.name`, of which `*` is every item of a
//! list.

use serde_json::{Map, Value};

/// What is at a path; what is not there is told so.
pub fn at(value: &Value, path: &str) -> Value {
    find(value, path).unwrap_or_else(|| "<absent>".into())
}

/// What is at a path, if anything is.
pub fn find(value: &Value, path: &str) -> Option<Value> {
    let (head, rest) = match path.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (path, None),
    };
    let deeper = |value: &Value| rest.map_or_else(|| Some(value.clone()), |rest| find(value, rest));
    match value {
        _ if head.is_empty() => Some(value.clone()),
        Value::Array(items) if head == "*" => Some(
            items
                .iter()
                .map(|item| deeper(item).unwrap_or_else(|| "<absent>".into()))
                .collect(),
        ),
        Value::Array(items) => deeper(items.get(head.parse::<usize>().ok()?)?),
        Value::Object(fields) => deeper(fields.get(head)?),
        _ => None,
    }
}

/// Only what is at these paths.
pub fn show(value: &Value, paths: &str) -> Value {
    let fields: Map<String, Value> = paths
        .split_whitespace()
        .map(|path| (path.to_owned(), at(value, path)))
        .collect();
    Value::Object(fields)
}

/// Removes what is at a path; `*` is every item.
pub fn hide(value: &mut Value, path: &str) {
    let (head, rest) = match path.split_once('.') {
        Some((head, rest)) => (head, Some(rest)),
        None => (path, None),
    };
    match (value, rest) {
        (Value::Array(items), Some(rest)) if head == "*" => {
            items.iter_mut().for_each(|item| hide(item, rest));
        }
        (Value::Array(items), Some(rest)) => {
            if let Some(item) = head
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index))
            {
                hide(item, rest);
            }
        }
        (Value::Object(fields), Some(rest)) => {
            if let Some(field) = fields.get_mut(head) {
                hide(field, rest);
            }
        }
        (Value::Object(fields), None) => drop(fields.remove(head)),
        _ => {}
    }
}
