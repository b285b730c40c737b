//! Whether an object already is as it should be: everything that is wanted is there. What others added does not count.

use serde_json::Value;

/// Whether all that is wanted is in `live`. Items of lists are matched by name where they have one, else by place.
pub fn covers(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => wanted.iter().all(|(key, wanted)| match live.get(key) {
            Some(live) => covers(live, wanted),
            // An empty thing that was left out is still empty.
            None => is_nothing(wanted),
        }),
        (Value::Array(live), Value::Array(wanted)) => match named(wanted) {
            Some(names) => wanted.iter().zip(names).all(|(wanted, name)| {
                live.iter().find(|live| live["name"] == name).is_some_and(|live| covers(live, wanted))
            }),
            None => live.len() == wanted.len() && live.iter().zip(wanted).all(|(live, wanted)| covers(live, wanted)),
        },
        (Value::Number(live), Value::Number(wanted)) => live.as_f64() == wanted.as_f64(),
        _ => live == wanted || (live.is_null() && is_nothing(wanted)),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(_) => false,
    }
}

/// The names of all items, if all have one and no two the same.
fn named(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(|item| item.get("name").and_then(Value::as_str)).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    (sorted.len() == names.len() && !names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::covers;

    #[test]
    fn what_others_add_is_no_drift_and_what_they_change_is() {
        for (live, wanted, expected) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1}), true),
            (json!({"a": 1}), json!({"a": 2}), false),
            (json!({"a": 1}), json!({"b": 1}), false),
            (json!({"a": 1}), json!({"b": {}}), true),
            (json!({"a": 1}), json!({"b": false}), true),
            (json!([1, 2]), json!([1, 2]), true),
            (json!([1, 2, 3]), json!([1, 2]), false),
            (json!({"verbs": ["get", "list"]}), json!({"verbs": ["get"]}), false),
            (
                json!([{"name": "injected"}, {"name": "main", "image": "a", "terminationMessagePath": "/x"}]),
                json!([{"name": "main", "image": "a"}]),
                true,
            ),
            (json!([{"name": "main", "image": "b"}]), json!([{"name": "main", "image": "a"}]), false),
            (json!({"replicas": 1}), json!({"replicas": 1.0}), true),
        ] {
            assert_eq!(covers(&live, &wanted), expected, "{live} {wanted}");
        }
    }
}
