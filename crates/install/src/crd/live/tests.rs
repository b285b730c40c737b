//! Who may do what with a CRD, as tables.

use std::collections::BTreeSet;

use api::{Crd, PermissionScope};
use serde_json::{Value, json};

use super::{Break, Leaving, LiveCrd, NamespacedCrds, Parent, Placement, Wanted, place};
use crate::User;

fn parent(namespace: &str, name: &str) -> Parent {
    let scope = if namespace.is_empty() {
        PermissionScope::Cluster
    } else {
        PermissionScope::Namespaced
    };
    Parent {
        scope,
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("uid-{namespace}-{name}"),
    }
}

fn crd(fields: &[&str]) -> Crd {
    let fields: Value = fields
        .iter()
        .map(|name| ((*name).to_owned(), json!({ "type": "string" })))
        .collect();
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "as.b.c", "labels": { "team": "x" } },
        "spec": {
            "group": "b.c", "scope": "Namespaced", "names": { "kind": "A", "plural": "as" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": fields } },
            } } }],
        },
    });
    Crd::read(&object).0.unwrap()
}

/// What a test says of a placement; the rest is usual.
#[derive(Clone, Copy)]
struct Case<'c> {
    version: &'c str,
    publisher: &'c str,
    breaking: bool,
    group: &'c [LiveCrd],
    gone: &'c [&'c str],
    instances: &'c [&'c str],
    reserved: Option<&'c str>,
    namespaced: NamespacedCrds,
}

const USUAL: Case<'static> = Case {
    version: "1.0.0",
    publisher: "r/p",
    breaking: false,
    group: &[],
    gone: &[],
    instances: &[],
    reserved: None,
    namespaced: NamespacedCrds::Allow,
};

impl Case<'_> {
    fn place(&self, new: &Crd, live: Option<&LiveCrd>, parent: &Parent) -> Placement {
        let gone: BTreeSet<String> = self.gone.iter().map(|uid| (*uid).to_owned()).collect();
        let instances: Vec<String> = self
            .instances
            .iter()
            .map(|place| (*place).to_owned())
            .collect();
        place(&Wanted {
            new,
            version: self.version,
            live,
            parent,
            publisher: self.publisher,
            allow_breaking: self.breaking,
            group: self.group,
            gone: &gone,
            in_use: !instances.is_empty(),
            instances: &instances,
            reserved: self.reserved,
            namespaced: self.namespaced,
        })
    }
}

/// A CRD as the cluster has it after it was applied so.
fn live(placement: &Placement) -> LiveCrd {
    let (Placement::Apply(object) | Placement::Inherit(object, _)) = placement else {
        panic!("{placement:?}")
    };
    let mut object = object.clone();
    object["status"] = json!({ "storedVersions": ["v1"] });
    LiveCrd::read(&object).unwrap()
}

fn refused(placement: &Placement) -> (&'static str, &str) {
    let (Placement::Refuse(trouble) | Placement::Break(Break { trouble, .. })) = placement else {
        panic!("{placement:?}")
    };
    (trouble.reason, &trouble.message)
}

fn without(live: &LiveCrd, parent: &Parent, has_objects: bool) -> Leaving {
    live.without(parent, &BTreeSet::new(), has_objects)
}

fn left(live: &LiveCrd, parent: &Parent) -> LiveCrd {
    let Leaving::Apply(object) = without(live, parent, true) else {
        panic!("it is needed")
    };
    self::live(&Placement::Apply(object))
}

fn owner(live: &LiveCrd) -> String {
    live.record()
        .owner()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn field_names(live: &LiveCrd) -> Vec<&str> {
    let schema = &live.crd.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn a_new_crd_is_marked_with_who_needs_it() {
    let Placement::Apply(object) = USUAL.place(&crd(&["a"]), None, &parent("team", "redis")) else {
        panic!("not applied")
    };
    let hash = &object["metadata"]["annotations"]["stacks.crossplane.io/spec-hash"];
    assert!(
        hash.as_str()
            .is_some_and(|hash| hash.starts_with("sha256:")),
        "{hash}"
    );
    assert_eq!(
        object["metadata"],
        json!({
            "name": "as.b.c",
            "labels": {
                "team": "x",
                "app.kubernetes.io/managed-by": "stack-manager",
                "parent.stacks.crossplane.io/team.redis": "team",
                "namespace.crossplane.io/team": "true",
            },
            "annotations": {
                "stacks.crossplane.io/parents": "[{\"kind\":\"StackInstall\",\"namespace\":\"team\",\
                    \"name\":\"redis\",\"uid\":\"uid-team-redis\",\"publisher\":\"r/p\"}]",
                "stacks.crossplane.io/publisher": "r/p",
                "stacks.crossplane.io/spec-owner": "StackInstall/team/redis",
                "stacks.crossplane.io/spec-version": "1.0.0",
                "stacks.crossplane.io/spec-hash": hash,
            },
        })
    );
}

#[test]
fn a_package_says_nothing_of_who_owns_its_crds() {
    let mut forged = crd(&["a"]).object;
    forged["metadata"] = json!({
        "name": "as.b.c",
        "labels": { "parent.stacks.crossplane.io/victim.x": "victim", "namespace.crossplane.io/victim": "true" },
        "annotations": {
            "stacks.crossplane.io/parents": "[]", "stacks.crossplane.io/publisher": "r/victim",
            "stacks.crossplane.io/spec-owner": "StackInstall/victim/x",
            "stacks.crossplane.io/allow-breaking-changes": "true",
        },
    });
    let me = parent("team", "redis");
    let made = live(&USUAL.place(&Crd::read(&forged).0.unwrap(), None, &me));
    assert_eq!(
        (owner(&made).as_str(), made.record().users().len()),
        ("StackInstall team/redis", 1)
    );
    assert!(!made.may_break() && made.record().publisher == "r/p");
}

#[test]
fn what_a_package_no_longer_says_is_a_difference_and_what_the_server_added_is_none() {
    let usual = Case {
        breaking: true,
        ..USUAL
    };
    let (me, other) = (parent("one", "redis"), parent("two", "redis"));
    let wanted = |placement: &Placement| match placement {
        Placement::Apply(object) => object.clone(),
        _ => panic!("{placement:?}"),
    };
    let before = usual.place(&crd(&["a", "b"]), None, &me);
    let mut served = wanted(&before);
    served["spec"]["conversion"] = json!({ "strategy": "None" });
    let served = LiveCrd::read(&served).unwrap();
    let again = usual.place(&crd(&["a", "b"]), Some(&served), &me);
    assert!(served.is_like(&wanted(&again)));
    let less = usual.place(&crd(&["a"]), Some(&served), &me);
    assert!(!served.is_like(&wanted(&less)));
    // Who only uses it leaves that to its owner.
    let shared = live(&usual.place(&crd(&["a"]), Some(&served), &other));
    assert!(shared.is_like(&wanted(&usual.place(&crd(&["a", "b"]), Some(&shared), &me))));
    assert!(shared.is_like(&wanted(&usual.place(&crd(&["a"]), Some(&shared), &other))));
}

#[test]
fn what_somebody_changed_by_hand_is_put_back() {
    let me = parent("one", "redis");
    let served = live(&USUAL.place(&crd(&["a"]), None, &me)).crd.object;
    let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 3] = [
        ("a limit", |fields| fields["a"]["maxLength"] = json!(3)),
        ("a field", |fields| {
            fields["b"] = json!({ "type": "string" });
        }),
        ("a field gone", |fields| *fields = json!({})),
    ];
    for (what, change) in changes {
        let mut drifted = served.clone();
        change(drifted.pointer_mut(field).unwrap());
        let drifted = LiveCrd::read(&drifted).unwrap();
        let Placement::Apply(wanted) = USUAL.place(&crd(&["a"]), Some(&drifted), &me) else {
            panic!("{what} is not put back")
        };
        assert!(!drifted.is_like(&wanted), "{what}");
        assert!(
            live(&Placement::Apply(wanted.clone())).is_like(&wanted),
            "{what} is put back once"
        );
    }
}

#[test]
fn only_the_owner_writes_the_spec_and_the_crd_goes_with_the_last() {
    let (one, two) = (parent("one", "redis"), parent("two", "redis"));
    let first = live(&USUAL.place(&crd(&["a"]), None, &one));
    for version in ["99.0.0", "v9", "0.0.1", "garbage", ""] {
        let theirs = Case {
            version,
            breaking: true,
            ..USUAL
        };
        let refusal = theirs.place(&crd(&["a", "b"]), Some(&first), &two);
        let (reason, why) = refused(&refusal);
        assert_eq!(reason, "CRDOwnedBy");
        assert!(
            why.contains("owned by StackInstall one/redis")
                && why.contains("`spec.b` does not exist"),
            "{why}"
        );
    }
    let shared = live(&USUAL.place(&crd(&["a"]), Some(&first), &two));
    assert_eq!(owner(&shared), "StackInstall one/redis");
    let more = live(&USUAL.place(&crd(&["a", "b"]), Some(&shared), &one));
    assert_eq!(field_names(&more), ["a", "b"]);
    // Once the owner is gone, the oldest that is left owns it; the spec stays until that brings a
    // compatible one.
    let left = left(&more, &one);
    assert_eq!(
        (owner(&left).as_str(), field_names(&left)),
        ("StackInstall two/redis", vec!["a", "b"])
    );
    let placed = USUAL.place(&crd(&["a"]), Some(&left), &two);
    let Placement::Inherit(_, note) = &placed else {
        panic!("{placed:?}")
    };
    assert!(note.contains("`spec.b` would be gone"), "{note}");
    assert_eq!(field_names(&live(&placed)), ["a", "b"]);
    assert_eq!(
        field_names(&live(&USUAL.place(
            &crd(&["a", "b", "c"]),
            Some(&live(&placed)),
            &two
        )))
        .len(),
        3
    );
    let meant = Case {
        breaking: true,
        ..USUAL
    };
    assert_eq!(
        field_names(&live(&meant.place(
            &crd(&["a"]),
            Some(&live(&placed)),
            &two
        ))),
        ["a"]
    );
    assert_eq!(without(&left, &two, false), Leaving::Delete);
    assert!(
        matches!(without(&left, &two, true), Leaving::Apply(_)),
        "objects keep it"
    );
}

#[test]
fn a_breaking_change_needs_the_owner_and_nobody_else_with_instances_or_an_administrator() {
    let (one, two, all) = (
        parent("one", "redis"),
        parent("two", "redis"),
        parent("", "redis"),
    );
    let first = live(&USUAL.place(&crd(&["a"]), None, &one));
    let shared = live(&USUAL.place(&crd(&["a"]), Some(&first), &two));
    let mut blessed = shared.crd.object.clone();
    blessed["metadata"]["annotations"]["stacks.crossplane.io/allow-breaking-changes"] =
        json!("true");
    let blessed = LiveCrd::read(&blessed).unwrap();
    for (what, breaking, live, instances, by, allowed) in [
        ("alone, unsaid", false, &first, vec![], &one, false),
        ("alone, said", true, &first, vec!["one"], &one, true),
        ("nobody has instances", true, &shared, vec![], &one, true),
        (
            "only its own instances",
            true,
            &shared,
            vec!["one"],
            &one,
            true,
        ),
        (
            "instances of another",
            true,
            &shared,
            vec!["two"],
            &one,
            false,
        ),
        (
            "instances that somebody kept",
            true,
            &first,
            vec!["three"],
            &one,
            false,
        ),
        ("an administrator", false, &blessed, vec!["two"], &one, true),
        ("who does not own it", true, &shared, vec![], &two, false),
        (
            "who does not own it, with an administrator",
            true,
            &blessed,
            vec![],
            &two,
            false,
        ),
        (
            "a cluster install where there are no objects",
            false,
            &shared,
            vec![],
            &all,
            true,
        ),
        (
            "a cluster install",
            false,
            &shared,
            vec!["two"],
            &all,
            false,
        ),
        (
            "a cluster install that means it",
            true,
            &shared,
            vec!["two"],
            &all,
            false,
        ),
        (
            "a cluster install and an administrator",
            false,
            &blessed,
            vec!["two"],
            &all,
            true,
        ),
    ] {
        let case = Case {
            breaking,
            instances: &instances,
            ..USUAL
        };
        let placed = case.place(&crd(&["b"]), Some(live), by);
        assert_eq!(
            matches!(placed, Placement::Apply(_)),
            allowed,
            "{what}: {placed:?}"
        );
    }
    let refusal = Case {
        breaking: true,
        instances: &["two"],
        ..USUAL
    }
    .place(&crd(&["b"]), Some(&shared), &one);
    assert_eq!(
        refused(&refusal),
        (
            "CRDConflict",
            "the CRD as.b.c would change so that objects or their users break: v1: `spec.a` would be gone; it is also \
             used by StackInstall two/redis (with instances); an administrator can allow it with `kubectl annotate crd \
             as.b.c stacks.crossplane.io/allow-breaking-changes=true`, and should take that off again afterwards"
        )
    );
}

#[test]
fn a_cluster_install_owns_what_namespaced_ones_had() {
    let (one, all) = (parent("one", "redis"), parent("", "redis"));
    let first = live(&USUAL.place(&crd(&["a"]), None, &one));
    let platform = Case {
        publisher: "r/platform",
        instances: &["one"],
        ..USUAL
    };
    let taken = live(&platform.place(&crd(&["a", "b"]), Some(&first), &all));
    assert_eq!(
        (owner(&taken).as_str(), field_names(&taken)),
        ("ClusterStackInstall redis", vec!["a", "b"])
    );
    // The other uses it as it is, whoever publishes its package.
    let used = live(&USUAL.place(&crd(&["a"]), Some(&taken), &one));
    assert_eq!(
        (owner(&used).as_str(), field_names(&used)),
        ("ClusterStackInstall redis", vec!["a", "b"])
    );
    assert_eq!(
        refused(&USUAL.place(&crd(&["c"]), Some(&used), &one)).0,
        "CRDOwnedBy"
    );
}

#[test]
fn a_group_belongs_to_the_publisher_who_has_it() {
    let (one, two, all) = (
        parent("one", "redis"),
        parent("two", "other"),
        parent("", "redis"),
    );
    let first = live(&USUAL.place(&crd(&["a"]), None, &one));
    let foreign = LiveCrd::read(&crd(&["a"]).object).unwrap();
    let named = |name: &str, group: &str| {
        let text = crd(&["a"])
            .object
            .to_string()
            .replace("as.b.c", &format!("{name}.{group}"));
        let text = text
            .replace("\"b.c\"", &format!("\"{group}\""))
            .replace("\"as\"", &format!("\"{name}\""));
        Crd::read(&serde_json::from_str(&text).unwrap()).0.unwrap()
    };
    let evil = Case {
        publisher: "r/evil",
        ..USUAL
    };
    let unpublished = Case {
        publisher: "",
        ..USUAL
    };
    for (what, case, new, group, by, expected) in [
        (
            "the same publisher",
            USUAL,
            named("es", "b.c"),
            &first,
            &two,
            None,
        ),
        (
            "another",
            evil,
            named("es", "b.c"),
            &first,
            &two,
            Some("GroupOwnedBy"),
        ),
        (
            "an unpublished package",
            unpublished,
            named("es", "b.c"),
            &first,
            &two,
            Some("GroupOwnedBy"),
        ),
        (
            "a cluster install of another",
            evil,
            named("es", "b.c"),
            &first,
            &all,
            None,
        ),
        (
            "a group below",
            evil,
            named("es", "d.b.c"),
            &first,
            &two,
            None,
        ),
        (
            "beside what is not ours",
            USUAL,
            named("es", "b.c"),
            &foreign,
            &two,
            Some("GroupOwnedBy"),
        ),
        (
            "Kubernetes' own",
            USUAL,
            named("es", "gateway.networking.k8s.io"),
            &first,
            &two,
            Some("GroupReserved"),
        ),
        (
            "by a cluster install",
            USUAL,
            named("es", "gateway.networking.k8s.io"),
            &first,
            &all,
            None,
        ),
        (
            "our own",
            USUAL,
            named("es", "templates.stacks.crossplane.io"),
            &first,
            &two,
            Some("GroupReserved"),
        ),
        (
            "of samples",
            USUAL,
            named("es", "web.samples.stacks.crossplane.io"),
            &first,
            &two,
            None,
        ),
    ] {
        let placed = Case {
            group: std::slice::from_ref(group),
            ..case
        }
        .place(&new, None, by);
        match expected {
            Some(reason) => assert_eq!(refused(&placed).0, reason, "{what}"),
            None => assert!(matches!(placed, Placement::Apply(_)), "{what}: {placed:?}"),
        }
    }
    // The very same CRD of another publisher is not used either, while that could change it.
    let placed = evil.place(&crd(&["a"]), Some(&first), &two);
    let (reason, why) = refused(&placed);
    assert!(
        reason == "CRDOwnedBy" && why.contains("r/p, and owned by StackInstall one/redis"),
        "{why}"
    );
    // What nobody owns any more stays its publisher's, too.
    assert_eq!(
        refused(&evil.place(&crd(&["a"]), Some(&left(&first, &one)), &two)).0,
        "CRDOwnedBy"
    );
    assert!(matches!(
        USUAL.place(&crd(&["a"]), Some(&left(&first, &one)), &two),
        Placement::Apply(_)
    ));
    // Whoever has it alone may move.
    let moved = live(&evil.place(&crd(&["a"]), Some(&first), &one));
    assert_eq!(moved.record().publisher, "r/evil");
    let shared = live(&USUAL.place(&crd(&["a"]), Some(&first), &two));
    assert_eq!(
        refused(&evil.place(&crd(&["a"]), Some(&shared), &one)).0,
        "CRDOwnedBy"
    );
    // A package without a publisher gains nothing by that, and keeps nothing from others.
    assert_eq!(
        refused(&unpublished.place(&crd(&["a"]), Some(&first), &two)).0,
        "CRDOwnedBy"
    );
    let local = live(&unpublished.place(&crd(&["a"]), None, &one));
    assert!(matches!(
        USUAL.place(&crd(&["a"]), Some(&local), &two),
        Placement::Apply(_)
    ));
    assert_eq!(
        refused(&USUAL.place(&crd(&["a", "b"]), Some(&local), &two)).0,
        "CRDOwnedBy",
        "it owns the spec"
    );
}

#[test]
fn an_administrator_says_which_crds_namespaced_installs_may_bring() {
    let (one, two, all) = (
        parent("one", "redis"),
        parent("two", "redis"),
        parent("", "redis"),
    );
    let namespaced = live(&USUAL.place(&crd(&["a"]), None, &one));
    let cluster = live(&USUAL.place(&crd(&["a"]), None, &all));
    let foreign = LiveCrd::read(&crd(&["a"]).object).unwrap();
    for (mode, live, allowed) in [
        (NamespacedCrds::Allow, None, true),
        (NamespacedCrds::Allow, Some(&namespaced), true),
        (NamespacedCrds::Use, None, false),
        (NamespacedCrds::Use, Some(&namespaced), false),
        (NamespacedCrds::Use, Some(&cluster), true),
        (NamespacedCrds::Use, Some(&foreign), true),
        (NamespacedCrds::Deny, None, false),
        (NamespacedCrds::Deny, Some(&cluster), false),
        (NamespacedCrds::Deny, Some(&foreign), false),
    ] {
        let case = Case {
            namespaced: mode,
            ..USUAL
        };
        let placed = case.place(&crd(&["a"]), live, &two);
        assert_eq!(
            !matches!(placed, Placement::Refuse(_)),
            allowed,
            "{mode:?} {placed:?}"
        );
        assert!(
            !matches!(case.place(&crd(&["a"]), live, &all), Placement::Refuse(_)),
            "{mode:?}"
        );
        if !allowed {
            assert_eq!(refused(&placed).0, "CRDsNotAllowed");
        }
    }
}

#[test]
fn a_change_that_breaks_names_its_users_and_who_can_allow_it() {
    let (one, two, all) = (
        parent("one", "redis"),
        parent("two", "redis"),
        parent("", "redis"),
    );
    let shared = live(&USUAL.place(
        &crd(&["a"]),
        Some(&live(&USUAL.place(&crd(&["a"]), None, &one))),
        &two,
    ));
    for (by, instances, users, by_install) in [
        (
            &one,
            vec![],
            "; it is also used by StackInstall two/redis",
            true,
        ),
        (
            &one,
            vec!["two"],
            "; it is also used by StackInstall two/redis (with instances)",
            false,
        ),
        (
            &all,
            vec!["one"],
            "; it is also used by StackInstall one/redis (with instances), StackInstall two/redis",
            false,
        ),
    ] {
        let placed = Case {
            instances: &instances,
            ..USUAL
        }
        .place(&crd(&["b"]), Some(&shared), by);
        let Placement::Break(found) = placed else {
            panic!("{placed:?}")
        };
        assert_eq!(
            (found.users.as_str(), found.by_install),
            (users, by_install),
            "{by:?} {instances:?}"
        );
        assert!(
            found.trouble.message.contains(users) && found.broken.len() == 1,
            "{found:?}"
        );
    }
}

#[test]
fn an_owner_that_went_without_us_is_replaced() {
    let (one, two) = (parent("one", "redis"), parent("two", "redis"));
    let first = live(&USUAL.place(&crd(&["a"]), None, &one));
    let shared = live(&USUAL.place(&crd(&["a"]), Some(&first), &two));
    let gone = Case {
        gone: &["uid-one-redis"],
        ..USUAL
    };
    let taken = live(&gone.place(&crd(&["a", "b"]), Some(&shared), &two));
    assert_eq!(
        (owner(&taken).as_str(), field_names(&taken)),
        ("StackInstall two/redis", vec!["a", "b"])
    );
    // One of its name that is made again is another.
    let again = Parent {
        uid: "new".into(),
        ..one
    };
    assert_eq!(
        owner(&live(&USUAL.place(&crd(&["a"]), Some(&taken), &again))),
        "StackInstall two/redis"
    );
    assert_eq!(
        owner(&live(&USUAL.place(&crd(&["a"]), Some(&shared), &again))),
        "StackInstall two/redis"
    );
}

#[test]
fn what_a_cluster_install_makes_anew_is_not_made_by_others_meanwhile() {
    let case = Case {
        reserved: Some("redis"),
        ..USUAL
    };
    assert!(matches!(
        case.place(&crd(&["a"]), None, &parent("one", "redis")),
        Placement::Wait(_)
    ));
    assert!(matches!(
        case.place(&crd(&["a"]), None, &parent("", "redis")),
        Placement::Apply(_)
    ));
}

/// A small generator, so that every history can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end).unwrap()
    }
}

#[test]
fn whatever_others_do_in_whatever_order_only_the_owner_changes_a_spec() {
    let specs = [crd(&["a"]), crd(&["a", "b"]), crd(&["b"]), crd(&[]), {
        let mut evil = crd(&["a"]).object;
        let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a";
        *evil.pointer_mut(field).unwrap() = json!({ "type": "string", "enum": ["evil"] });
        Crd::read(&evil).0.unwrap()
    }];
    let long = "n".repeat(120);
    let names = [
        "redis",
        "cluster_.redis",
        "a.redis",
        &long,
        &format!("{long}x"),
    ];
    let versions = ["1.0.0", "99.0.0", "v9", "garbage", ""];
    let (mut changes, mut refusals) = (0, 0);
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let mut live: Option<LiveCrd> = None;
        let mut gone: Vec<String> = Vec::new();
        for step in 0..12 {
            let namespace = ["a", "b", "c", ""][dice.below(4)];
            let mut by = parent(namespace, names[dice.below(5)]);
            by.uid = format!("{}-{}", by.uid, dice.below(2));
            let publisher = ["r/p", "r/q"][dice.below(2)];
            let before = live
                .as_ref()
                .map(|live| (live.crd.object["spec"].clone(), live.record()));
            if dice.below(4) == 0 {
                let Some(there) = &live else { continue };
                match dice.below(2) {
                    0 => gone.push(by.uid.clone()),
                    _ => {
                        live = match there.without(&by, &BTreeSet::new(), true) {
                            Leaving::Apply(object) => Some(self::live(&Placement::Apply(object))),
                            other => panic!("{other:?}"),
                        };
                        let (spec, _) = before.unwrap();
                        assert_eq!(
                            live.as_ref().unwrap().crd.object["spec"],
                            spec,
                            "seed {seed}, step {step}"
                        );
                    }
                }
                continue;
            }
            gone.retain(|uid| *uid != by.uid);
            // There is but one of a kind, namespace and name at a time.
            for user in before.iter().flat_map(|(_, record)| record.users()) {
                let is_named = (user.is_cluster(), user.namespace(), user.name())
                    == (by.is_cluster(), &by.namespace, &by.name);
                if is_named && user.uid() != by.uid {
                    gone.push(user.uid().to_owned());
                }
            }
            let gone_now: Vec<&str> = gone.iter().map(String::as_str).collect();
            let instances: &[&str] = [&[] as &[&str], &["a"], &["a", "b", "c", ""]][dice.below(3)];
            let case = Case {
                version: versions[dice.below(5)],
                publisher,
                breaking: dice.below(2) == 0,
                gone: &gone_now,
                instances,
                ..USUAL
            };
            let placed = case.place(&specs[dice.below(5)], live.as_ref(), &by);
            let (Placement::Apply(_) | Placement::Inherit(..)) = &placed else {
                refusals += 1;
                if let Placement::Refuse(trouble) | Placement::Break(Break { trouble, .. }) =
                    &placed
                {
                    assert!(!trouble.message.is_empty(), "seed {seed}, step {step}");
                }
                continue;
            };
            let after = self::live(&placed);
            if let Some((spec, record)) = before
                && after.crd.object["spec"] != spec
            {
                changes += 1;
                let what = format!(
                    "seed {seed}, step {step}: {by:?} of {publisher} changed the spec of {record:?}"
                );
                assert!(after.record().is_owned_by(&by), "{what}");
                let gone: BTreeSet<String> = gone.iter().cloned().collect();
                let record = record.present(&gone);
                let had = record.owner().is_none_or(|_| record.is_owned_by(&by));
                let heir = by.is_cluster() || record.publisher == publisher;
                assert!(had || heir, "{what}");
                // Nobody but an administrator changes what a cluster install owns, or what another
                // publisher has.
                let theirs =
                    record.owner().is_some_and(User::is_cluster) && !record.is_owned_by(&by);
                assert!(!theirs, "{what}");
                let others = record.others(&by).count();
                assert!(
                    by.is_cluster() || record.publisher == publisher || others == 0,
                    "{what}"
                );
            }
            live = Some(after);
        }
    }
    assert!(changes > 100 && refusals > 1000, "{changes} {refusals}");
}

#[test]
fn a_foreign_crd_is_left_alone() {
    let foreign = LiveCrd::read(&crd(&["a", "b"]).object).unwrap();
    let me = parent("team", "redis");
    let usual = Case {
        breaking: true,
        ..USUAL
    };
    assert_eq!(
        usual.place(&crd(&["a"]), Some(&foreign), &me),
        Placement::Keep
    );
    let refusal = usual.place(&crd(&["c"]), Some(&foreign), &me);
    assert!(
        refused(&refusal).1.contains("v1: `spec.c` does not exist"),
        "{refusal:?}"
    );
    assert_eq!(without(&foreign, &me, false), Leaving::Alone);
}

#[test]
fn a_crd_that_goes_or_has_no_good_name_is_not_written() {
    let me = parent("team", "redis");
    let mut going = crd(&["a"]).object;
    going["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
    let going = LiveCrd::read(&going).unwrap();
    assert!(matches!(
        USUAL.place(&crd(&["a"]), Some(&going), &me),
        Placement::Wait(_)
    ));
    let mut clash = crd(&["a"]).object;
    clash["status"] = json!({ "conditions": [
        { "type": "NamesAccepted", "status": "False", "message": "\"A\" is already in use" },
    ] });
    let clash = LiveCrd::read(&clash).unwrap();
    let why = "the names of the CRD as.b.c were not accepted: \"A\" is already in use";
    assert_eq!(
        refused(&USUAL.place(&crd(&["a"]), Some(&clash), &me)),
        ("CRDConflict", why)
    );
}
