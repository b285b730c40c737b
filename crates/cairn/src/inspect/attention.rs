//! What a Stack says of an instance that has no place for conditions of its own.

use engine::{Compiled, CompiledKind};
use serde_json::Value;

/// What a Stack says of an instance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said<'l> {
    /// That it does not fail.
    Nothing,
    /// More instances of its kind fail than are named, so that it may be one of them.
    Perhaps,
    /// Why it fails.
    This(&'l str),
}

/// What the Stack among the objects says of an instance.
pub(super) fn attention<'l>(
    compiled: &Compiled,
    kind: &CompiledKind,
    instance: &Value,
    live: &[&'l Value],
) -> Said<'l> {
    let is_stack = |object: &&&Value| {
        let metadata = &object["metadata"];
        object["kind"] == api::Stack::KIND
            && object["apiVersion"] == api::API_VERSION
            && metadata["name"] == *compiled.name
            && metadata["namespace"] == *compiled.namespace
    };
    let Some(stack) = live.iter().copied().find(|object| is_stack(&object)) else {
        return Said::Nothing;
    };
    said(
        &stack["status"],
        &format!("{}.{}", kind.plural, kind.gvk.group),
        instance,
    )
}

/// What a Stack's status says of an instance of a kind, which it names as requests do.
fn said<'l>(status: &'l Value, kind: &str, instance: &Value) -> Said<'l> {
    let own = |field: &str| instance["metadata"][field].as_str().unwrap_or_default();
    let all = status["attention"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let failing: Vec<&'l Value> = all
        .iter()
        .filter(|one| one["kind"] == kind && one["state"] == "Failing")
        .collect();
    let is_it = |one: &&&Value| {
        one["name"] == own("name")
            && one["namespace"].as_str().unwrap_or_default() == own("namespace")
    };
    match failing.iter().find(is_it) {
        // What a template makes of it is found out here, too, and with more words.
        Some(one) if one["reason"] == "RenderFailed" => Said::Nothing,
        Some(one) => Said::This(one["message"].as_str().unwrap_or_default()),
        None if status["instances"][kind]["failing"].as_u64() > Some(failing.len() as u64) => {
            Said::Perhaps
        }
        None => Said::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Said, said};

    #[test]
    fn an_instance_is_found_by_the_exact_name_of_its_kind_and_one_of_many_may_be_among_those_that_are_not_named()
     {
        let one = |kind: &str, name: &str, reason: &str, state: &str| json!({ "kind": kind, "name": name, "namespace": "n", "reason": reason, "message": kind, "state": state });
        let status = json!({
            // Neither the plural's stem nor its ending tells the kind.
            "attention": [
                one("people.example.org", "a", "ApplyFailed", "Failing"), one("persons.example.org", "b", "ApplyFailed", "Failing"),
                one("people.example.org", "c", "RenderFailed", "Failing"), one("people.example.org", "d", "Waits", "Waiting"),
            ],
            "instances": { "people.example.org": { "failing": 2 }, "persons.example.org": { "failing": 7 } },
        });
        for (kind, namespace, name, expected) in [
            (
                "people.example.org",
                "n",
                "a",
                Said::This("people.example.org"),
            ),
            ("people.example.org", "m", "a", Said::Nothing),
            ("people.example.org", "n", "b", Said::Nothing),
            (
                "persons.example.org",
                "n",
                "b",
                Said::This("persons.example.org"),
            ),
            ("persons.example.org", "n", "z", Said::Perhaps),
            ("people.example.org", "n", "c", Said::Nothing),
            ("people.example.org", "n", "d", Said::Nothing),
            ("peoples.example.org", "n", "a", Said::Nothing),
        ] {
            let instance = json!({ "metadata": { "name": name, "namespace": namespace } });
            assert_eq!(
                said(&status, kind, &instance),
                expected,
                "{kind} {namespace} {name}"
            );
        }
        assert_eq!(
            said(&Value::Null, "people.example.org", &json!({})),
            Said::Nothing
        );
    }
}
