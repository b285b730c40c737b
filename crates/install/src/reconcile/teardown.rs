//! The order in which a Stack goes: its instances while its controller still runs, then the
//! controller, then its rights.

use api::conditions::{CONTROLLER_AVAILABLE, READY};
use api::names::CHILDREN_FINALIZER;
use api::{Condition, Stack, Status, annotations, labels};
use serde_json::Value;

use crate::conditions::install::{Conditions, Trouble};
use engine::Seed;
use engine::children::desired::{controller_of, is_orphan};
use engine::children::ownership::tie;

/// What is done about an instance of a Stack that is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstanceTeardown {
    /// It is deleted.
    Delete,
    /// It is going, and somebody sees to it.
    Wait,
    /// It is going, and the controller that would see to it is gone: its children are deleted for
    /// it.
    Finish,
}

/// What is done about an instance. `runs` says whether the Stack's controller does.
pub fn instance_teardown(instance: &Value, runs: bool) -> InstanceTeardown {
    let metadata = &instance["metadata"];
    if metadata["deletionTimestamp"].is_null() {
        return InstanceTeardown::Delete;
    }
    let mut held = metadata["finalizers"].as_array().into_iter().flatten();
    if !runs && held.any(|finalizer| finalizer == CHILDREN_FINALIZER) {
        InstanceTeardown::Finish
    } else {
        InstanceTeardown::Wait
    }
}

/// Whether the controller of a Stack runs, as far as its status says.
pub fn is_run(stack: &Stack) -> bool {
    let conditions = stack
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let available = conditions
        .iter()
        .find(|found| found.r#type == CONTROLLER_AVAILABLE);
    available.is_some_and(|found| found.status == Status::True)
}

/// Whether types and data stay: the Stack or the install that made it says so.
pub fn keeps_data(stack: &Value, install: Option<&Value>) -> bool {
    let says =
        |object: &Value| object["metadata"]["annotations"][annotations::KEEP_CRDS] == labels::TRUE;
    says(stack) || install.is_some_and(says)
}

/// Whether an object is deleted together with an instance whose controller no longer runs: by the
/// same rule that the controller goes by.
pub fn is_child(object: &Value, instance: &Value, seed: Option<&Seed>) -> bool {
    // Without the seed no record can be checked: only the uid of the instance counts.
    let can_tell = seed.is_some() || controller_of(object).is_some();
    can_tell && tie(object, instance, seed).may_delete() && !is_orphan(object)
}

/// Whether an instance goes with a Stack: the Stack ran it, which its controller notes on the
/// instance before anything else, or its kind `came` with the install that goes. Listing a kind is
/// not enough.
pub fn goes_with(instance: &Value, stack: &str, came: bool) -> bool {
    let owners = instance["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let ran =
        |owner: &Value| owner["kind"] == Stack::KIND && owner["uid"] == stack && !stack.is_empty();
    came || owners.iter().any(ran)
}

/// Whether a role grants a kind. What a Stack's status says of the kinds that it rendered, its
/// users may have written.
pub fn is_granted(role: &Value, group: &str, plural: &str) -> bool {
    let has = |list: &Value, wanted: &str| {
        list.as_array()
            .is_some_and(|all| all.iter().any(|found| found == wanted || found == "*"))
    };
    let mut rules = role["rules"].as_array().into_iter().flatten();
    rules.any(|rule| has(&rule["apiGroups"], group) && has(&rule["resources"], plural))
}

/// The kinds that a role grants, by group and plural: of the role that the stack manager created
/// for the kinds of a Stack, those that the Stack was allowed to own.
pub fn owned_kinds(role: &Value) -> Vec<(String, String)> {
    let texts = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let rules = role["rules"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let of = |rule: &Value| {
        let resources = texts(&rule["resources"]);
        texts(&rule["apiGroups"])
            .into_iter()
            .flat_map(move |group| {
                resources
                    .clone()
                    .into_iter()
                    .map(move |resource| (group.clone(), resource))
            })
    };
    rules
        .iter()
        .flat_map(of)
        .filter(|(_, resource)| !resource.contains('/') && resource != "*")
        .collect()
}

/// Whether objects of a kind are instances of a Stack that was granted these kinds as its own, and
/// so go with it. Installs and Stacks are never anybody's instances.
pub fn is_instance(group: &str, plural: &str, granted: &[(String, String)]) -> bool {
    group != api::GROUP
        && granted
            .iter()
            .any(|(own, resource)| own == group && resource == plural)
}

/// What goes next of all that was made for a Stack: the rights go after the controllers that use
/// them.
pub fn goes_next<T>(made: Vec<T>, is_controller: impl Fn(&T) -> bool) -> Vec<T> {
    let (controllers, rest): (Vec<T>, Vec<T>) = made.into_iter().partition(is_controller);
    if controllers.is_empty() {
        rest
    } else {
        controllers
    }
}

/// The conditions of a Stack that is going and waits; none if they say so already.
pub fn waiting(
    before: &[Condition],
    generation: Option<i64>,
    now: &str,
    message: &str,
) -> Option<Vec<Condition>> {
    let said = before.iter().any(|condition| {
        condition.r#type == READY
            && condition.status == Status::False
            && condition.message == message
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

    use super::{
        InstanceTeardown, goes_next, goes_with, instance_teardown, is_child, is_granted,
        is_instance, is_run, keeps_data, owned_kinds, waiting,
    };
    use engine::Seed;
    use engine::children::ownership::record;

    #[test]
    fn an_instance_is_left_to_its_controller_while_that_runs() {
        let instance = |going: bool, finalizers: Value| {
            let time = if going {
                json!("2020-01-01T00:00:00Z")
            } else {
                Value::Null
            };
            json!({ "metadata": { "deletionTimestamp": time, "finalizers": finalizers } })
        };
        let ours = json!(["a/b", "stacks.crossplane.io/children"]);
        for (instance, runs, expected) in [
            (instance(false, json!([])), true, InstanceTeardown::Delete),
            (
                instance(false, ours.clone()),
                false,
                InstanceTeardown::Delete,
            ),
            (instance(true, ours.clone()), true, InstanceTeardown::Wait),
            (
                instance(true, json!(["a/b"])),
                false,
                InstanceTeardown::Wait,
            ),
            (instance(true, Value::Null), false, InstanceTeardown::Wait),
            (instance(true, ours), false, InstanceTeardown::Finish),
        ] {
            assert_eq!(
                instance_teardown(&instance, runs),
                expected,
                "{instance} {runs}"
            );
        }
    }

    #[test]
    fn rights_go_after_the_controllers_that_use_them() {
        let is_controller = |kind: &&str| *kind == "Deployment";
        for (made, expected) in [
            (
                vec!["Deployment", "Role", "Deployment"],
                vec!["Deployment", "Deployment"],
            ),
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
    fn a_child_is_what_its_controller_would_delete_too() {
        let instance = json!({ "apiVersion": "a.b/v1", "kind": "K", "metadata": { "name": "x", "namespace": "ns", "uid": "u" } });
        let owner = |uid: &str, controller: bool| json!([{ "apiVersion": "a.b/v1", "kind": "K", "name": "x", "uid": uid, "controller": controller }]);
        let object = |namespace: Option<&str>, owners: Value| {
            let mut object = json!({ "apiVersion": "v1", "kind": "Z", "metadata": { "name": "z", "uid": "z", "ownerReferences": owners } });
            if let Some(namespace) = namespace {
                object["metadata"]["namespace"] = json!(namespace);
            }
            object
        };
        let seed = Seed::new("seed");
        let mut recorded = object(None, Value::Null);
        recorded["metadata"]["annotations"] = json!({ "stacks.crossplane.io/record": record(&seed, &instance, &recorded, Some("z")) });
        let mut made_up = recorded.clone();
        made_up["metadata"]["annotations"] = json!({ "stacks.crossplane.io/record": record(&Seed::new(""), &instance, &recorded, Some("z")) });
        made_up["metadata"]["labels"] = json!({ "stacks.crossplane.io/stack": "s" });
        for (key, value) in engine::children::desired::parent_labels(&instance) {
            made_up["metadata"]["labels"][key] = json!(value);
        }
        let mut stays = object(Some("ns"), owner("u", true));
        stays["metadata"]["annotations"] =
            json!({ "stacks.crossplane.io/deletion-policy": "Orphan" });
        for (what, object, expected) in [
            ("a controller", object(Some("ns"), owner("u", true)), true),
            ("an owner", object(Some("ns"), owner("u", false)), false),
            ("another's", object(Some("ns"), owner("v", true)), false),
            (
                "in another namespace",
                object(Some("other"), owner("u", true)),
                false,
            ),
            (
                "outside of namespaces",
                object(None, owner("u", true)),
                false,
            ),
            (
                "outside of namespaces, with its record",
                recorded.clone(),
                true,
            ),
            (
                "outside of namespaces, with a record made without the seed",
                made_up.clone(),
                false,
            ),
            ("one that is to stay", stays, false),
            ("without an owner", object(Some("ns"), Value::Null), false),
        ] {
            assert_eq!(
                is_child(&object, &instance, Some(&seed)),
                expected,
                "{what}"
            );
        }
        assert!(
            !is_child(&recorded, &instance, None) && !is_child(&made_up, &instance, None),
            "without the seed a record proves nothing"
        );
    }

    #[test]
    fn an_instance_goes_with_the_stack_that_ran_it_or_the_install_that_brought_its_kind() {
        let owned = |kind: &str, uid: &str| json!({ "metadata": { "ownerReferences": [{ "kind": kind, "uid": uid }] } });
        for (instance, stack, came, expected) in [
            (owned("Stack", "s"), "s", false, true),
            (owned("Stack", "s"), "t", false, false),
            (owned("ConfigMap", "s"), "s", false, false),
            (owned("Stack", ""), "", false, false),
            (json!({}), "s", false, false),
            (json!({}), "s", true, true),
        ] {
            assert_eq!(
                goes_with(&instance, stack, came),
                expected,
                "{instance} {stack} {came}"
            );
        }
    }

    #[test]
    fn a_role_grants_what_its_rules_name() {
        let role = json!({ "rules": [
            { "apiGroups": [""], "resources": ["configmaps"] }, { "apiGroups": ["apps"], "resources": ["*"] },
        ] });
        for (group, plural, expected) in [
            ("", "configmaps", true),
            ("", "secrets", false),
            ("apps", "deployments", true),
            ("apps.example.org", "deployments", false),
        ] {
            assert_eq!(
                is_granted(&role, group, plural),
                expected,
                "{plural}.{group}"
            );
        }
        assert!(!is_granted(&Value::Null, "", "configmaps"));
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
            assert_eq!(
                is_instance(group, plural, &granted),
                expected,
                "{plural}.{group}"
            );
        }
        assert!(
            !is_instance("example.org", "redises", &owned_kinds(&json!({}))),
            "it never ran"
        );
    }

    #[test]
    fn that_a_stack_waits_is_said_once() {
        let said = waiting(
            &[],
            Some(2),
            "now",
            "waiting until 2 of its instances are gone",
        )
        .unwrap();
        assert_eq!(
            (said[0].status, said[0].reason.as_str()),
            (Status::False, "Deleting")
        );
        assert_eq!(
            waiting(
                &said,
                Some(2),
                "later",
                "waiting until 2 of its instances are gone"
            ),
            None
        );
        assert!(
            waiting(
                &said,
                Some(2),
                "later",
                "waiting until 1 of its instances are gone"
            )
            .is_some()
        );
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
