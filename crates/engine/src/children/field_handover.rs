//! Fields that a stack applied which served an instance before: they become those of the stack that
//! serves it now, so that its next apply takes away what its own templates no longer say. Nobody
//! else ever would.

use serde_json::{Map, Value, json};

/// What the names of all stacks' field managers begin with.
const STACKS: &str = "stack:";

/// Whether another stack has fields of a live object by applying them.
pub fn is_held(live: &Value, manager: &str) -> bool {
    entries(live).iter().any(|entry| is_others(entry, manager))
}

/// The `managedFields` of a live object with what other stacks applied as this manager's; none if
/// that is nothing. The fields are handed over rather than given up after an apply: in between, an
/// object may have two ports where only one is allowed, and be refused.
pub fn taken_over(live: &Value, manager: &str) -> Option<Vec<Value>> {
    let all = entries(live);
    let first = all.iter().find(|entry| is_others(entry, manager))?;
    let own = all
        .iter()
        .find(|entry| is_applied(entry) && entry["manager"] == manager);
    let mut ours = own.unwrap_or(first).clone();
    ours["manager"] = json!(manager);
    // The same field may be another in another version.
    let is_taken =
        |entry: &&Value| is_others(entry, manager) && entry["apiVersion"] == ours["apiVersion"];
    let (taken, rest): (Vec<&Value>, Vec<&Value>) = all.iter().partition(is_taken);
    if taken.is_empty() {
        return None;
    }
    let mut fields = ours["fieldsV1"].as_object().cloned().unwrap_or_default();
    taken
        .iter()
        .filter_map(|entry| entry["fieldsV1"].as_object())
        .for_each(|more| unite(&mut fields, more));
    ours["fieldsV1"] = Value::Object(fields);
    let mut rest: Vec<Value> = rest
        .into_iter()
        .filter(|entry| own != Some(*entry))
        .cloned()
        .collect();
    rest.push(ours);
    Some(rest)
}

fn entries(live: &Value) -> &[Value] {
    live["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Whether it is of an apply to the object itself, and to no part of it such as its status.
fn is_applied(entry: &Value) -> bool {
    entry["operation"] == "Apply" && entry["subresource"].as_str().unwrap_or_default().is_empty()
}

fn is_others(entry: &Value, manager: &str) -> bool {
    is_applied(entry)
        && entry["manager"]
            .as_str()
            .is_some_and(|name| name.starts_with(STACKS) && name != manager)
}

/// Adds fields to fields, as `fieldsV1` writes them.
fn unite(fields: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, below) in more {
        match (fields.get_mut(name), below) {
            (Some(Value::Object(known)), Value::Object(below)) => unite(known, below),
            (Some(_), _) => {}
            (None, below) => drop(fields.insert(name.clone(), below.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{is_held, taken_over};

    const NEW: &str = "stack:team:new";
    const OLD: &str = "stack:team:old";

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields })
    }

    fn with(mut entry: Value, key: &str, value: &str) -> Value {
        entry[key] = json!(value);
        entry
    }

    #[test]
    fn what_other_stacks_applied_becomes_ours_and_nothing_else() {
        let (a, b) = (
            json!({ "f:data": { "f:a": {} } }),
            json!({ "f:data": { "f:b": {}, "f:c": { ".": {} } } }),
        );
        let both = json!({ "f:data": { "f:a": {}, "f:b": {}, "f:c": { ".": {} } } });
        let apply = |manager: &str, fields: &Value| entry(manager, "Apply", fields);
        let person = apply("kubectl", &a);
        let updated = entry(OLD, "Update", &a);
        let status = with(apply(OLD, &a), "subresource", "status");
        let elder = with(apply(OLD, &b), "apiVersion", "v1beta1");
        for (what, live, held, expected) in [
            ("nobody", vec![], false, None),
            ("ours alone", vec![apply(NEW, &a)], false, None),
            (
                "others",
                vec![apply(NEW, &a), person.clone(), updated.clone(), status],
                false,
                None,
            ),
            (
                "a stack before us",
                vec![apply(OLD, &a)],
                true,
                Some(vec![apply(NEW, &a)]),
            ),
            (
                "and people",
                vec![person.clone(), apply(OLD, &a)],
                true,
                Some(vec![person, apply(NEW, &a)]),
            ),
            (
                "and ours",
                vec![apply(NEW, &a), apply(OLD, &b)],
                true,
                Some(vec![apply(NEW, &both)]),
            ),
            (
                "two before us",
                vec![
                    apply(OLD, &a),
                    updated.clone(),
                    apply("stack:team:older", &b),
                ],
                true,
                Some(vec![updated, apply(NEW, &both)]),
            ),
            (
                "another version",
                vec![elder.clone()],
                true,
                Some(vec![with(elder.clone(), "manager", NEW)]),
            ),
            (
                "another version than ours",
                vec![apply(NEW, &a), elder],
                true,
                None,
            ),
        ] {
            let live = json!({ "metadata": { "managedFields": live } });
            assert_eq!(
                (is_held(&live, NEW), taken_over(&live, NEW)),
                (held, expected),
                "{what}"
            );
        }
    }
}
