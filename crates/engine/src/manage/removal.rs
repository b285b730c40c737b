//! The order in which a Stack goes: its instances while its controller still runs, then the controller, then its rights.

use api::conditions::{CONTROLLER_AVAILABLE, READY};
use api::names::CHILDREN_FINALIZER;
use api::{Condition, Stack, Status, annotations, labels};
use serde_json::Value;

use super::progress::{Conditions, Trouble};

/// What is done about an instance of a Stack that is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// It is deleted.
    Delete,
    /// It is going, and somebody sees to it.
    Wait,
    /// It is going, and the controller that would see to it is gone: its children are deleted for it.
    Finish,
}

/// What is done about an instance. `runs` says whether the Stack's controller does.
pub fn farewell(instance: &Value, runs: bool) -> Farewell {
    let metadata = &instance["metadata"];
    if metadata["deletionTimestamp"].is_null() {
        return Farewell::Delete;
    }
    let mut held = metadata["finalizers"].as_array().into_iter().flatten();
    if !runs && held.any(|finalizer| finalizer == CHILDREN_FINALIZER) { Farewell::Finish } else { Farewell::Wait }
}

/// Whether the controller of a Stack runs, as far as its status says.
pub fn is_run(stack: &Stack) -> bool {
    let conditions = stack.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let available = conditions.iter().find(|found| found.r#type == CONTROLLER_AVAILABLE);
    available.is_some_and(|found| found.status == Status::True)
}

/// Whether types and data stay: the Stack or the install that made it says so.
pub fn keeps_data(stack: &Value, install: Option<&Value>) -> bool {
    let says = |object: &Value| object["metadata"]["annotations"][annotations::KEEP_CRDS] == labels::TRUE;
    says(stack) || install.is_some_and(says)
}

/// Whether an instance with this uid made an object, and nobody else.
pub fn is_child(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    owners.iter().any(|owner| owner["uid"] == uid && owner["controller"] == true)
}

/// The kinds that a role grants, by group and plural: of the role that the stack manager created for the kinds of a
/// Stack, those that the Stack was allowed to own.
pub fn owned_kinds(role: &Value) -> Vec<(String, String)> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let rules = role["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |rule: &Value| {
        let resources = texts(&rule["resources"]);
        texts(&rule["apiGroups"])
            .into_iter()
            .flat_map(move |group| resources.clone().into_iter().map(move |resource| (group.clone(), resource)))
    };
    rules.iter().flat_map(of).filter(|(_, resource)| !resource.contains('/') && resource != "*").collect()
}

/// Whether objects of a kind are instances of a Stack that was granted these kinds as its own, and so go with it. Installs
/// and Stacks are never anybody's instances.
pub fn is_instance(group: &str, plural: &str, granted: &[(String, String)]) -> bool {
    group != api::GROUP && granted.iter().any(|(own, resource)| own == group && resource == plural)
}

/// What goes next of all that was made for a Stack: the rights go after the controllers that use them.
pub fn goes_next<T>(made: Vec<T>, is_controller: impl Fn(&T) -> bool) -> Vec<T> {
    let (controllers, rest): (Vec<T>, Vec<T>) = made.into_iter().partition(is_controller);
    if controllers.is_empty() { rest } else { controllers }
}

/// The conditions of a Stack that is going and waits; none if they say so already.
pub fn waiting(before: &[Condition], generation: Option<i64>, now: &str, message: &str) -> Option<Vec<Condition>> {
    let said = before.iter().any(|condition| {
        condition.r#type == READY && condition.status == Status::False && condition.message == message
    });
    if said {
        return None;
    }
    let mut conditions = Conditions::new(before, generation, now);
    conditions.trouble(READY, &Trouble::new("Deleting", message));
    Some(conditions.finish(before).0)
}

#[cfg(test)]
mod tests {
    use api::{Stack, Status};
    use serde_json::{Value, json};

    use super::{Farewell, farewell, goes_next, is_child, is_instance, is_run, keeps_data, owned_kinds, waiting};

    #[test]
    fn an_instance_is_left_to_its_controller_while_that_runs() {
        let instance = |going: bool, finalizers: Value| {
            let time = if going { json!("2020-01-01T00:00:00Z") } else { Value::Null };
            json!({ "metadata": { "deletionTimestamp": time, "finalizers": finalizers } })
        };
        let ours = json!(["a/b", "stacks.crossplane.io/children"]);
        for (instance, runs, expected) in [
            (instance(false, json!([])), true, Farewell::Delete),
            (instance(false, ours.clone()), false, Farewell::Delete),
            (instance(true, ours.clone()), true, Farewell::Wait),
            (instance(true, json!(["a/b"])), false, Farewell::Wait),
            (instance(true, Value::Null), false, Farewell::Wait),
            (instance(true, ours), false, Farewell::Finish),
        ] {
            assert_eq!(farewell(&instance, runs), expected, "{instance} {runs}");
        }
    }

    #[test]
    fn rights_go_after_the_controllers_that_use_them() {
        let is_controller = |kind: &&str| *kind == "Deployment";
        for (made, expected) in [
            (vec!["Deployment", "Role", "Deployment"], vec!["Deployment", "Deployment"]),
            (vec!["Role", "Secret"], vec!["Role", "Secret"]),
            (vec![], vec![]),
        ] {
            assert_eq!(goes_next(made, is_controller), expected);
        }
    }

    #[test]
    fn data_stays_if_the_stack_or_its_install_says_so() {
        let saying = |text: &str| json!({ "metadata": { "annotations": { "stacks.crossplane.io/keep-crds": text } } });
        let silent = json!({ "metadata": {} });
        assert!(!keeps_data(&silent, None));
        assert!(!keeps_data(&saying("false"), Some(&silent)));
        assert!(keeps_data(&saying("true"), None));
        assert!(keeps_data(&silent, Some(&saying("true"))));
    }

    #[test]
    fn only_a_controlling_owner_has_a_child() {
        let owned =
            |controller: bool| json!({ "metadata": { "ownerReferences": [{ "uid": "u", "controller": controller }] } });
        assert!(is_child(&owned(true), "u"));
        assert!(!is_child(&owned(false), "u") && !is_child(&owned(true), "v") && !is_child(&json!({}), "u"));
    }

    #[test]
    fn only_what_a_stack_was_granted_goes_with_it_and_never_an_install() {
        let role = json!({ "rules": [
            { "apiGroups": ["example.org"], "resources": ["redises", "redises/status"], "verbs": ["*"] },
            { "apiGroups": ["stacks.crossplane.io"], "resources": ["stackinstalls"], "verbs": ["*"] },
            { "apiGroups": ["other.org"], "resources": ["*"], "verbs": ["*"] },
        ] });
        let granted = owned_kinds(&role);
        for (group, plural, expected) in [
            ("example.org", "redises", true),
            ("example.org", "others", false),
            ("example.com", "redises", false),
            ("other.org", "anything", false),
            ("stacks.crossplane.io", "stackinstalls", false),
        ] {
            assert_eq!(is_instance(group, plural, &granted), expected, "{plural}.{group}");
        }
        assert!(!is_instance("example.org", "redises", &owned_kinds(&json!({}))), "it never ran");
    }

    #[test]
    fn that_a_stack_waits_is_said_once() {
        let said = waiting(&[], Some(2), "now", "waiting until 2 of its instances are gone").unwrap();
        assert_eq!((said[0].status, said[0].reason.as_str()), (Status::False, "Deleting"));
        assert_eq!(waiting(&said, Some(2), "later", "waiting until 2 of its instances are gone"), None);
        assert!(waiting(&said, Some(2), "later", "waiting until 1 of its instances are gone").is_some());
    }

    #[test]
    fn a_controller_runs_when_the_stack_says_so() {
        let stack = |status: &str| -> Stack {
            serde_json::from_value(json!({
                "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": {}, "spec": {},
                "status": { "conditions": [{ "type": "ControllerAvailable", "status": status, "reason": "R" }] },
            }))
            .unwrap()
        };
        assert!(is_run(&stack("True")) && !is_run(&stack("False")));
    }
}
