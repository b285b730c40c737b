//! Who serves which kinds, and where: two stacks that act on the same objects would undo each
//! other's work for ever, so that only one of them acts, and the other waits until that is gone.
//! Stacks of cluster installs come before all others, which anybody in a namespace can make; among
//! equals, whoever came first goes on.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use api::conditions::{CONTROLLER_AVAILABLE, DEPENDENCIES_SATISFIED, READY};
use api::key::{self, Resolution};
use api::{ClusterStackInstall, Crd, KindRef, Stack, StackInstall, annotations, labels};
use serde_json::Value;

/// The reason for which an install or a Stack waits until another that serves its kind is gone.
pub const KIND_ALREADY_SERVED: &str = "KindTaken";

/// Whether an install or a Stack waits until another that serves its kind is gone, as far as it
/// says so.
pub fn waits_for_kind(object: &Value) -> bool {
    let conditions = object["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    // What else it says may be of an earlier time.
    let is_current = |condition: &Value| {
        condition["type"] == DEPENDENCIES_SATISFIED || condition["type"] == READY
    };
    conditions
        .iter()
        .any(|condition| is_current(condition) && condition["reason"] == KIND_ALREADY_SERVED)
}

/// What a Stack serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindOwnership {
    namespace: String,
    name: String,
    /// The kind of the install that made the Stack; none if somebody wrote it.
    install: Option<&'static str>,
    /// Whether it acts in all namespaces.
    everywhere: bool,
    /// When the Stack was made; empty if it is not there yet.
    since: String,
    deleting: bool,
    standing: Standing,
    /// By group and kind.
    kinds: BTreeSet<(String, String)>,
}

/// How far a Stack has come with what it would serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// It serves, or is about to.
    Serves,
    /// It never did, and waits for one that does.
    Waits,
    /// It never did, and may not, or lacks something: it is in nobody's way.
    Blocked,
}

impl Standing {
    fn of(stack: &Value) -> Self {
        let conditions = stack["status"]["conditions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let found = |kind: &str| {
            conditions
                .iter()
                .find(|condition| condition["type"] == kind)
        };
        let kept_out = |condition: &Value| condition["reason"] == KIND_ALREADY_SERVED;
        let never_ran = found(CONTROLLER_AVAILABLE).is_none_or(kept_out);
        match found(DEPENDENCIES_SATISFIED)
            .filter(|condition| never_ran && condition["status"] == "False")
        {
            Some(condition) if kept_out(condition) => Self::Waits,
            Some(_) => Self::Blocked,
            None => Self::Serves,
        }
    }
}

impl KindOwnership {
    /// What a Stack serves: the kinds that it has templates for, and with a controller of its own
    /// all that it owns. `everywhere` says whether it may act in all namespaces.
    pub fn of<C: Borrow<Crd>>(stack: &Value, everywhere: bool, crds: &[C]) -> Self {
        let (metadata, spec) = (&stack["metadata"], &stack["spec"]);
        let entries: Vec<KindRef> =
            serde_json::from_value(spec["customresourcedefinitions"].clone()).unwrap_or_default();
        let (owned, _) = key::owned(&entries, crds);
        let keys = ["templates", "template", "templateStatus"].into_iter();
        let keys = keys
            .filter_map(|part| spec[part].as_object())
            .flat_map(|part| part.keys());
        let templated: BTreeSet<usize> = keys
            .filter_map(|key| match key::resolve(key, &owned, true) {
                Resolution::Match { index, .. } => Some(index),
                _ => None,
            })
            .collect();
        let brought = !spec["controller"]["deployment"].is_null();
        let served = owned
            .iter()
            .enumerate()
            .filter(|(index, _)| brought || templated.contains(index));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let install = match metadata["labels"][labels::PARENT_KIND].as_str() {
            Some(StackInstall::KIND) => Some(StackInstall::KIND),
            Some(ClusterStackInstall::KIND) => Some(ClusterStackInstall::KIND),
            _ => None,
        };
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            install,
            everywhere,
            since: text(&metadata["creationTimestamp"]),
            deleting: !metadata["deletionTimestamp"].is_null(),
            standing: Standing::of(stack),
            kinds: served
                .map(|(_, own)| (own.group.clone(), own.kind.clone()))
                .collect(),
        }
    }

    /// What the Stack of a package would serve, whose install has this name; it would be in this
    /// namespace.
    pub fn wished<C: Borrow<Crd>>(
        stack: &Stack,
        namespace: &str,
        name: &str,
        everywhere: bool,
        crds: &[C],
    ) -> Self {
        let mut object = serde_json::to_value(stack).unwrap_or_default();
        object["metadata"] = serde_json::json!({ "namespace": namespace, "name": name });
        Self::of(&object, everywhere, crds)
    }

    /// Why it may not act, if another serves one of its kinds and was there first. `all` are the
    /// claims of all Stacks, this one's included, if it has one.
    pub fn taken(&self, all: &[KindOwnership]) -> Option<String> {
        let before = all.iter().find(|own| self.is_same(own));
        let in_the_way = |other: &&KindOwnership| {
            let is_behind = self.everywhere && !other.everywhere;
            other.standing != Standing::Blocked && self.meets(other) && !is_behind
        };
        let others = all
            .iter()
            .filter(|other| !self.is_same(other))
            .filter(in_the_way);
        let rival = others.filter_map(|other| {
            // A kind that it did not serve until now is whoever's that does.
            let held = |kind: &&(String, String)| {
                before.is_some_and(|own| own.kinds.contains(*kind) && own.is_before(other))
            };
            let kind = self
                .kinds
                .intersection(&other.kinds)
                .find(|kind| !held(kind))?;
            Some((other, kind))
        });
        let (other, (group, kind)) =
            rival.min_by(|(one, _), (two, _)| one.order().cmp(&two.order()))?;
        let place = if self.everywhere || other.everywhere {
            "here".to_owned()
        } else {
            format!("in the namespace {}", self.namespace)
        };
        let (whose, way) = other.named();
        let drawn = if self.is_in(&other.namespace) || (self.everywhere && other.everywhere) {
            ""
        } else {
            "; what its templates drew, such as passwords, is drawn anew then, since a seed stays in its namespace"
        };
        Some(format!(
            "the kind {kind} ({group}) is served {place} by {whose}, and two stacks would undo each other's work: nothing \
             of this one is put in place until that one is gone; {way}{drawn}"
        ))
    }

    /// The Stacks of namespaces that have to stop acting before this one, which a cluster install
    /// made, may begin: by namespace and name.
    pub fn displaces<'c>(&self, all: &'c [KindOwnership]) -> Vec<(&'c str, &'c str)> {
        let loses = |other: &&KindOwnership| self.beats(other);
        all.iter()
            .filter(loses)
            .map(|other| (other.namespace.as_str(), other.name.as_str()))
            .collect()
    }

    /// The kinds that the Stack of a cluster install serves in place of this one, by group and
    /// name.
    pub fn yields(&self, all: &[KindOwnership]) -> BTreeSet<(String, String)> {
        let winners = all.iter().filter(|other| other.beats(self));
        winners
            .flat_map(|other| self.kinds.intersection(&other.kinds))
            .cloned()
            .collect()
    }

    fn beats(&self, other: &KindOwnership) -> bool {
        let wins = self.everywhere && !other.everywhere && self.standing != Standing::Blocked;
        wins && !self.kinds.is_disjoint(&other.kinds)
    }

    /// A kind that another would serve in the same place, and only one of the two can.
    pub fn shared_with(&self, other: &KindOwnership) -> Option<&str> {
        let meets = !self.is_same(other) && self.meets(other);
        self.kinds
            .iter()
            .find(|kind| meets && other.kinds.contains(kind))
            .map(|(_, kind)| kind.as_str())
    }

    /// Whether another Stack that stays serves a kind where this one does, so that its objects are
    /// not this one's to delete.
    pub fn shares(&self, group: &str, kind: &str, all: &[KindOwnership]) -> bool {
        let mut stay = all
            .iter()
            .filter(|other| !self.is_same(other) && self.meets(other) && !other.deleting);
        stay.any(|other| other.serves(group, kind))
    }

    /// Whether the Stack serves a kind.
    pub fn serves(&self, group: &str, kind: &str) -> bool {
        self.kinds
            .iter()
            .any(|(own, name)| own == group && name == kind)
    }

    /// Whether the Stack is in this namespace.
    fn is_in(&self, namespace: &str) -> bool {
        self.namespace == namespace
    }

    /// Whether it is the one of this Stack.
    pub fn is_of(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    fn is_same(&self, other: &KindOwnership) -> bool {
        self.is_of(&other.namespace, &other.name)
    }

    /// Whether there may be an object that both act on.
    fn meets(&self, other: &KindOwnership) -> bool {
        self.everywhere || other.everywhere || self.namespace == other.namespace
    }

    fn is_before(&self, other: &KindOwnership) -> bool {
        self.order() < other.order()
    }

    /// Those of cluster installs first; then first come, first served; what came in the same
    /// second, by name. Whoever waits comes after all that do not.
    fn order(&self) -> (bool, Standing, &str, &str, &str) {
        (
            !self.everywhere,
            self.standing,
            &self.since,
            &self.namespace,
            &self.name,
        )
    }

    /// How it is called, and how another can take its place without losing anything.
    fn named(&self) -> (String, String) {
        let Self {
            namespace, name, ..
        } = self;
        let keep = annotations::KEEP_CRDS;
        let (what, place, cluster) = match self.install {
            Some(ClusterStackInstall::KIND) => ("clusterstackinstall", String::new(), " --cluster"),
            Some(_) => ("stackinstall", format!(" -n {namespace}"), ""),
            None => {
                let way = format!(
                    "to put this one in its place and keep the objects, `kubectl annotate stack {name} -n {namespace} \
                     {keep}=true` and then `kubectl delete stack {name} -n {namespace}`"
                );
                return (format!("the Stack {namespace}/{name}"), way);
            }
        };
        let whose = if cluster.is_empty() {
            "the install"
        } else {
            "the install of the whole cluster"
        };
        let way = format!(
            "to put this one in its place and keep the objects, `kubectl annotate {what} {name}{place} {keep}=true` and \
             then `cairn uninstall {name}{place}{cluster}`; or give the package to that install, as its `package`"
        );
        (format!("{whose} {name}"), way)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use api::Crd;
    use serde_json::{Value, json};

    use super::{KindOwnership, waits_for_kind};

    /// The types `Shop` and `Till`.
    pub fn crds() -> Vec<Crd> {
        let crd = |kind: &str| {
            let plural = format!("{}s", kind.to_lowercase());
            let object = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("{plural}.example.org") },
                "spec": {
                    "group": "example.org", "scope": "Namespaced", "names": { "kind": kind, "plural": plural },
                    "versions": [{
                        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
                    }],
                },
            });
            Crd::read(&object).0.unwrap()
        };
        vec![crd("Shop"), crd("Till")]
    }

    /// A Stack that owns both kinds, with what else is in its spec.
    pub fn stack(namespace: &str, name: &str, since: &str, more: &Value) -> Value {
        let owned =
            ["Shop", "Till"].map(|kind| json!({ "kind": kind, "apiVersion": "example.org/v1" }));
        let mut stack = json!({
            "metadata": {
                "namespace": namespace, "name": name, "creationTimestamp": since,
                "labels": { "core.crossplane.io/parent-kind": "StackInstall" },
            },
            "spec": { "customresourcedefinitions": owned },
        });
        for (key, value) in more.as_object().unwrap() {
            stack["spec"][key] = value.clone();
        }
        stack
    }

    fn shops() -> Value {
        json!({ "templates": { "shop.example.org/v1": { "a": "" }, "partials": { "b": "" } } })
    }

    fn claim(stack: &Value, everywhere: bool) -> KindOwnership {
        KindOwnership::of(stack, everywhere, &crds())
    }

    #[test]
    fn a_stack_serves_what_it_has_templates_or_a_controller_for() {
        for (more, expected) in [
            (json!({}), vec![]),
            (shops(), vec!["Shop"]),
            (
                json!({ "templateStatus": { "tills.example.org/v1": "" } }),
                vec!["Till"],
            ),
            (
                json!({ "controller": { "deployment": { "name": "x", "spec": {} } } }),
                vec!["Shop", "Till"],
            ),
        ] {
            let claim = claim(&stack("team", "one", "1", &more), false);
            let kinds: Vec<&str> = claim.kinds.iter().map(|(_, kind)| kind.as_str()).collect();
            assert_eq!(kinds, expected, "{more}");
        }
    }

    #[test]
    fn whoever_came_first_serves_a_kind_where_two_would_meet() {
        let one = claim(
            &stack("team", "one", "2026-01-01T00:00:01Z", &shops()),
            false,
        );
        let later = "2026-01-01T00:00:02Z";
        for (what, namespace, name, since, more, everywhere, first, second) in [
            (
                "a later one",
                "team",
                "two",
                later,
                shops(),
                false,
                false,
                true,
            ),
            (
                "in the same second, by name",
                "team",
                "two",
                "2026-01-01T00:00:01Z",
                shops(),
                false,
                false,
                true,
            ),
            (
                "in the same second, by name",
                "team",
                "a",
                "2026-01-01T00:00:01Z",
                shops(),
                false,
                true,
                false,
            ),
            (
                "an earlier one",
                "team",
                "two",
                "2026-01-01T00:00:00Z",
                shops(),
                false,
                true,
                false,
            ),
            (
                "in another namespace",
                "other",
                "one",
                later,
                shops(),
                false,
                false,
                false,
            ),
            (
                "of the whole cluster",
                "cairn-stacks",
                "one",
                later,
                shops(),
                true,
                true,
                false,
            ),
            (
                "that only owns it",
                "team",
                "two",
                later,
                json!({}),
                false,
                false,
                false,
            ),
            (
                "with another kind",
                "team",
                "two",
                later,
                json!({ "templates": { "till.example.org/v1": {} } }),
                false,
                false,
                false,
            ),
        ] {
            let two = claim(&stack(namespace, name, since, &more), everywhere);
            let all = [one.clone(), two.clone()];
            assert_eq!(
                (one.taken(&all).is_some(), two.taken(&all).is_some()),
                (first, second),
                "{what}"
            );
            // Whoever came first, both would serve it.
            assert_eq!(
                two.shared_with(&one),
                (first || second).then_some("Shop"),
                "{what}"
            );
        }
    }

    #[test]
    fn only_who_waits_for_a_kind_now_is_woken_when_one_is_free() {
        let said = |conditions: &[(&str, &str)]| {
            let all: Vec<Value> = conditions
                .iter()
                .map(|(kind, reason)| json!({ "type": kind, "status": "False", "reason": reason }))
                .collect();
            waits_for_kind(&json!({ "status": { "conditions": all } }))
        };
        let (depends, available) = ("DependenciesSatisfied", "ControllerAvailable");
        assert!(said(&[
            (depends, "KindTaken"),
            (available, "KindTaken"),
            ("Ready", "KindTaken")
        ]));
        assert!(!said(&[
            (depends, "Waiting"),
            (available, "KindTaken"),
            ("Ready", "Waiting")
        ]));
    }

    #[test]
    fn the_stack_of_a_cluster_install_comes_before_all_of_namespaces() {
        let serving = json!([{ "type": "DependenciesSatisfied", "status": "True", "reason": "Satisfied" },
            { "type": "ControllerAvailable", "status": "True", "reason": "Available" }]);
        let kept_out =
            json!([{ "type": "DependenciesSatisfied", "status": "False", "reason": "KindTaken" }]);
        let blocked =
            json!([{ "type": "DependenciesSatisfied", "status": "False", "reason": "NotAllowed" }]);
        let claimed =
            |namespace: &str, name: &str, since: &str, conditions: &Value, everywhere: bool| {
                let mut stack = stack(namespace, name, since, &shops());
                stack["status"] = json!({ "conditions": conditions });
                claim(&stack, everywhere)
            };
        for (what, conditions, wins) in [
            ("new", json!([]), true),
            ("at work", serving.clone(), true),
            ("blocked", blocked, false),
        ] {
            let wide = claimed("cairn-stacks", "wide", "9", &conditions, true);
            for (theirs, others) in [
                ("at work", &serving),
                ("kept out", &kept_out),
                ("new", &json!([])),
            ] {
                let own = claimed("team", "own", "1", others, false);
                let all = [own.clone(), wide.clone()];
                assert_eq!(wide.taken(&all), None, "{what}, {theirs}");
                assert_eq!(own.taken(&all).is_some(), wins, "{what}, {theirs}");
                assert_eq!(
                    wide.displaces(&all),
                    if wins { vec![("team", "own")] } else { vec![] },
                    "{what}, {theirs}"
                );
                assert_eq!(
                    own.yields(&all).len(),
                    usize::from(wins),
                    "{what}, {theirs}"
                );
                assert!(own.displaces(&all).is_empty() && wide.yields(&all).is_empty());
                // Nor does one wait that is only wished for.
                let wished = claimed("cairn-stacks", "wished", "", &json!([]), true);
                assert_eq!(wished.taken(std::slice::from_ref(&own)), None);
            }
        }
        // Among themselves, the first stays.
        let (one, two) = (
            claimed("c", "one", "1", &serving, true),
            claimed("c", "two", "2", &json!([]), true),
        );
        let all = [one.clone(), two.clone()];
        assert!(
            one.taken(&all).is_none()
                && two.taken(&all).is_some()
                && one.displaces(&all).is_empty()
        );
    }

    #[test]
    fn a_stack_that_never_ran_is_in_nobodys_way_and_comes_after_those_that_do() {
        let said = |stack: &mut Value, conditions: &[(&str, &str, &str)]| {
            let conditions = conditions.iter();
            let conditions = conditions.map(
                |(kind, status, why)| json!({ "type": kind, "status": status, "reason": why }),
            );
            stack["status"] = json!({ "conditions": conditions.collect::<Vec<_>>() });
        };
        let (depends, available) = ("DependenciesSatisfied", "ControllerAvailable");
        let two = claim(&stack("team", "two", "2", &shops()), false);
        for (what, conditions, first, second) in [
            ("new", vec![], false, true),
            (
                "at work",
                vec![
                    (depends, "True", "Satisfied"),
                    (available, "True", "Available"),
                ],
                false,
                true,
            ),
            (
                "not allowed",
                vec![(depends, "False", "NotAllowed")],
                true,
                false,
            ),
            (
                "waiting for a type",
                vec![(depends, "False", "Waiting")],
                true,
                false,
            ),
            (
                "kept out",
                vec![
                    (depends, "False", "KindTaken"),
                    (available, "False", "KindTaken"),
                ],
                true,
                false,
            ),
            (
                "no longer allowed, and still at work",
                vec![
                    (depends, "False", "NotAllowed"),
                    (available, "True", "Available"),
                ],
                false,
                true,
            ),
        ] {
            let mut one = stack("team", "one", "1", &shops());
            said(&mut one, &conditions);
            let one = claim(&one, false);
            let all = [one.clone(), two.clone()];
            assert_eq!(
                (one.taken(&all).is_some(), two.taken(&all).is_some()),
                (first, second),
                "{what}"
            );
        }
    }

    #[test]
    fn a_kind_that_a_stack_takes_up_later_stays_with_whoever_serves_it_now() {
        let old = claim(
            &stack(
                "team",
                "old",
                "1",
                &json!({ "templates": { "till.example.org/v1": {} } }),
            ),
            false,
        );
        let all = [old, claim(&stack("team", "new", "2", &shops()), false)];
        let wished = claim(&stack("team", "old", "", &shops()), false);
        assert_eq!(
            wished.taken(&all).unwrap(),
            "the kind Shop (example.org) is served in the namespace team by the install new, and two stacks would undo each \
             other's work: nothing of this one is put in place until that one is gone; to put this one in its place and \
             keep the objects, `kubectl annotate stackinstall new -n team stacks.crossplane.io/keep-crds=true` and then \
             `cairn uninstall new -n team`; or give the package to that install, as its `package`"
        );
        // What it serves already is its own.
        let all = [
            claim(&stack("team", "old", "1", &shops()), false),
            claim(&stack("team", "new", "2", &shops()), false),
        ];
        assert_eq!(wished.taken(&all), None);
    }

    #[test]
    fn that_drawn_values_change_is_said_where_the_seed_cannot_follow() {
        for (namespace, everywhere, expected) in
            [("team", false, false), ("cairn-stacks", true, true)]
        {
            let old = claim(&stack(namespace, "old", "1", &shops()), everywhere);
            let new = claim(&stack("team", "new", "2", &shops()), false);
            let why = new.taken(&[old.clone(), new.clone()]).unwrap();
            assert_eq!(why.contains("is drawn anew"), expected, "{why}");
        }
    }

    #[test]
    fn objects_that_a_stack_which_stays_serves_too_are_not_deleted() {
        let one = claim(&stack("team", "one", "1", &shops()), false);
        let mut going = stack("team", "two", "2", &shops());
        let two = claim(&going, false);
        going["metadata"]["deletionTimestamp"] = json!("3");
        for (what, other, kind, expected) in [
            ("served by another", two.clone(), "Shop", true),
            ("not served by another", two, "Till", false),
            (
                "another that goes, too",
                claim(&going, false),
                "Shop",
                false,
            ),
            (
                "elsewhere",
                claim(&stack("other", "two", "2", &shops()), false),
                "Shop",
                false,
            ),
            (
                "everywhere",
                claim(&stack("other", "two", "2", &shops()), true),
                "Shop",
                true,
            ),
        ] {
            assert_eq!(
                one.shares("example.org", kind, &[one.clone(), other]),
                expected,
                "{what}"
            );
        }
    }
}
