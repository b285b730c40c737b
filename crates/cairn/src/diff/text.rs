//! Objects made comparable: without what the server keeps for itself and without secrets, and as
//! lines.

use api::annotations;
use serde_json::{Map, Value};
use similar::TextDiff;

/// An object without what only the server writes, and without what only we write for ourselves.
pub(super) fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "managedFields",
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        if let Some(notes) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            notes.remove(annotations::DESIRED_HASH);
            notes.remove(annotations::RECORD);
            notes.remove(annotations::DEPTH);
            // It holds all of the object once more.
            notes.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        metadata.retain(|_, value| !value.as_object().is_some_and(Map::is_empty));
    }
    timeless(&mut object);
    object
}

/// Conditions tell when they changed; that is no difference.
fn timeless(object: &mut Value) {
    let conditions = object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        condition.remove("lastTransitionTime");
        condition.remove("observedGeneration");
    }
}

/// Two states of an object without the values of a Secret: only whether they differ can be seen.
pub(super) fn masked(
    before: Option<&Value>,
    after: Option<&Value>,
) -> (Option<Value>, Option<Value>) {
    let hidden = |own: Option<&Value>, other: Option<&Value>, word: &str| {
        let mut own = own?.clone();
        if own["kind"] != "Secret" {
            return Some(own);
        }
        for field in ["data", "stringData"] {
            let Some(values) = own.get_mut(field).and_then(Value::as_object_mut) else {
                continue;
            };
            for (key, value) in values {
                let differs = other
                    .and_then(|other| other.get(field)?.get(key))
                    .is_some_and(|other| other != value);
                *value = if differs {
                    format!("*** ({word})").into()
                } else {
                    "***".into()
                };
            }
        }
        Some(own)
    };
    (
        hidden(before, after, "before"),
        hidden(after, before, "after"),
    )
}

/// The lines in which two states of something differ, with some around them.
pub(super) fn lines(before: Option<&Value>, after: Option<&Value>) -> String {
    let emitted = |value: Option<&Value>| {
        value
            .and_then(|value| yaml::emit(value).ok())
            .unwrap_or_default()
    };
    unified(&emitted(before), &emitted(after))
}

/// The same of texts.
pub(super) fn unified(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    let text = unified
        .context_radius(2)
        .missing_newline_hint(false)
        .to_string();
    // Of an object that is new or gone, all lines are shown: where they stand says nothing.
    if before.is_empty() || after.is_empty() {
        return text
            .split_once('\n')
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{lines, masked, plain};

    #[test]
    fn of_a_secret_only_whether_a_value_changes_can_be_seen() {
        let secret = |a: &str, b: &str| json!({ "kind": "Secret", "data": { "a": a, "b": b }, "stringData": { "c": a } });
        let (before, after) = masked(Some(&secret("eA==", "eQ==")), Some(&secret("eg==", "eQ==")));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!(before["data"], json!({ "a": "*** (before)", "b": "***" }));
        assert_eq!(after["data"], json!({ "a": "*** (after)", "b": "***" }));
        assert_eq!(after["stringData"], json!({ "c": "*** (after)" }));
        let (none, new) = masked(None, Some(&secret("eA==", "eQ==")));
        assert_eq!((none, &new.unwrap()["data"]["a"]), (None, &json!("***")));
        let map = json!({ "kind": "ConfigMap", "data": { "a": "b" } });
        assert_eq!(masked(Some(&map), None), (Some(map), None));
    }

    #[test]
    fn what_only_the_server_writes_is_no_difference() {
        let live = json!({
            "kind": "ConfigMap",
            "metadata": {
                "name": "x", "uid": "1", "resourceVersion": "7", "generation": 2, "managedFields": [],
                "annotations": { "stacks.crossplane.io/desired-hash": "1" },
            },
            "status": { "conditions": [{ "type": "Ready", "lastTransitionTime": "t" }] },
        });
        let expected = json!({
            "kind": "ConfigMap", "metadata": { "name": "x" }, "status": { "conditions": [{ "type": "Ready" }] },
        });
        assert_eq!(plain(&live), expected);
        let status = json!({ "status": { "ready": 1 } });
        assert_eq!(plain(&status), status, "nothing is added");
    }

    #[test]
    fn lines_show_what_differs_and_all_of_what_is_new() {
        let object = |image: &str| json!({ "a": 1, "b": 2, "c": 3, "image": image, "x": 1 });
        let text = lines(Some(&object("nginx:1")), Some(&object("nginx:2")));
        assert_eq!(
            text,
            "@@ -2,4 +2,4 @@\n b: 2\n c: 3\n-image: nginx:1\n+image: nginx:2\n x: 1\n"
        );
        assert_eq!(lines(None, Some(&json!({ "a": 1 }))), "+a: 1\n");
        assert_eq!(
            lines(Some(&json!({ "a": 1 })), Some(&json!({ "a": 1 }))),
            ""
        );
    }
}
