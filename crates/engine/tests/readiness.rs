//! Whether an object is ready, kind by kind. Each row is judged by the whole object and by what is
//! kept of it.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;

use engine::{Projection, Readiness, SIMULATED, play, readiness};
use serde_json::{Value, json};

const READY: &str = "ready";
const UNSEEN: &str = "its controller has not seen its last change yet";
const TWO: &str = "its 2 replicas are not all ready and up to date";
const DAEMONS: &str = "its pods are not all ready and up to date";

fn told(readiness: Readiness) -> String {
    match readiness {
        Readiness::Ready => READY.to_owned(),
        Readiness::NotReady { why, now } => {
            assert!(!now.is_empty());
            why
        }
    }
}

/// What is said of an object, which is the same of what is kept of it.
fn judged(object: &Value) -> String {
    let whole = told(readiness(object));
    let kept = Projection::default().reduce(object);
    assert_eq!(told(readiness(&kept)), whole, "{kept}");
    whole
}

fn object(api_version: &str, kind: &str, spec: &Value, status: &Value) -> Value {
    let metadata = json!({"name": "x", "generation": 3});
    json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
}

fn check(api_version: &str, kind: &str, cases: &[(Value, Value, &str)]) {
    for (spec, status, expected) in cases {
        assert_eq!(
            judged(&object(api_version, kind, spec, status)),
            *expected,
            "{kind} {spec} {status}"
        );
    }
}

fn said(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "at length"})
}

#[test]
fn a_deployment_is_ready_when_its_last_change_runs_and_nothing_else_does() {
    let numbers = |seen: i64, all: i64, updated: i64, ready: i64| json!({"observedGeneration": seen, "replicas": all, "updatedReplicas": updated, "readyReplicas": ready});
    let two = json!({"replicas": 2});
    let with = |mut status: Value, condition: Value| {
        status["conditions"] = json!([condition]);
        status
    };
    let stuck = || said("Progressing", "False", "ProgressDeadlineExceeded");
    check(
        "apps/v1",
        "Deployment",
        &[
            (two.clone(), json!(null), TWO),
            (two.clone(), json!({}), TWO),
            (
                json!({}),
                json!({}),
                "its replica is not ready and up to date",
            ),
            (json!({}), numbers(3, 1, 1, 1), READY),
            (two.clone(), numbers(3, 2, 2, 1), TWO),
            (two.clone(), numbers(3, 2, 2, 2), READY),
            (two.clone(), numbers(2, 2, 2, 2), TWO),
            (
                two.clone(),
                json!({"observedGeneration": 3, "replicas": 2, "readyReplicas": 2}),
                TWO,
            ),
            // The new ones are not ready; those of before are.
            (two.clone(), numbers(3, 4, 2, 2), TWO),
            (
                two.clone(),
                with(numbers(3, 2, 2, 2), said("Available", "False", "")),
                TWO,
            ),
            (
                two.clone(),
                with(numbers(3, 2, 2, 2), said("Available", "True", "")),
                READY,
            ),
            (
                two.clone(),
                with(numbers(3, 2, 1, 1), stuck()),
                "its rollout makes no progress (ProgressDeadlineExceeded)",
            ),
            (two.clone(), with(numbers(2, 2, 1, 1), stuck()), TWO),
            (two, with(numbers(3, 2, 2, 2), stuck()), READY),
            (json!({"replicas": 0}), json!({}), UNSEEN),
            (
                json!({"replicas": 0}),
                json!({"observedGeneration": 3, "replicas": 1}),
                READY,
            ),
        ],
    );
}

#[test]
fn other_workloads_go_by_the_numbers_that_their_controllers_tell() {
    let two = |more: Value| json!({"replicas": 2, "updateStrategy": more});
    let numbers = |seen: i64, updated: i64, ready: i64| json!({"observedGeneration": seen, "replicas": 2, "updatedReplicas": updated, "readyReplicas": ready});
    check(
        "apps/v1",
        "StatefulSet",
        &[
            (two(json!({})), json!({}), TWO),
            (two(json!({})), numbers(3, 2, 2), READY),
            (two(json!({})), numbers(3, 1, 2), TWO),
            (two(json!({})), numbers(2, 2, 2), TWO),
            (
                two(json!({"rollingUpdate": {"partition": 1}})),
                numbers(3, 1, 2),
                READY,
            ),
            (
                two(json!({"rollingUpdate": {"partition": 1}})),
                numbers(3, 0, 2),
                TWO,
            ),
            (two(json!({"type": "OnDelete"})), numbers(3, 0, 2), READY),
            (two(json!({"type": "OnDelete"})), numbers(3, 0, 1), TWO),
        ],
    );
    for (api_version, kind) in [("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")] {
        check(
            api_version,
            kind,
            &[
                (two(json!(null)), json!({"replicas": 0}), TWO),
                (
                    two(json!(null)),
                    json!({"observedGeneration": 3, "replicas": 2, "readyReplicas": 1}),
                    TWO,
                ),
                (
                    two(json!(null)),
                    json!({"observedGeneration": 3, "replicas": 2, "readyReplicas": 2}),
                    READY,
                ),
                (
                    json!({"replicas": 0}),
                    json!({"observedGeneration": 3, "replicas": 0}),
                    READY,
                ),
            ],
        );
    }
    let nodes = |seen: i64, wanted: i64, updated: i64, ready: i64| json!({"observedGeneration": seen, "desiredNumberScheduled": wanted, "updatedNumberScheduled": updated, "numberReady": ready});
    check(
        "apps/v1",
        "DaemonSet",
        &[
            (json!({}), json!(null), DAEMONS),
            (json!({}), nodes(0, 0, 0, 0), DAEMONS),
            (json!({}), nodes(3, 0, 0, 0), READY),
            (json!({}), nodes(3, 3, 3, 2), DAEMONS),
            (json!({}), nodes(3, 3, 2, 3), DAEMONS),
            (
                json!({"updateStrategy": {"type": "OnDelete"}}),
                nodes(3, 3, 0, 3),
                READY,
            ),
            (json!({}), nodes(3, 3, 3, 3), READY),
        ],
    );
}

#[test]
fn what_runs_once_is_ready_when_it_has_run_and_what_runs_at_times_at_once() {
    check(
        "batch/v1",
        "Job",
        &[
            (json!({}), json!(null), "it has not completed yet"),
            (
                json!({}),
                json!({"active": 1, "ready": 1}),
                "it has not completed yet",
            ),
            (
                json!({}),
                json!({"conditions": [said("Complete", "True", "")]}),
                READY,
            ),
            (
                json!({}),
                json!({"conditions": [said("Failed", "True", "BackoffLimitExceeded")]}),
                "it has failed (BackoffLimitExceeded)",
            ),
            (json!({"suspend": true}), json!({}), READY),
            (
                json!({"suspend": true}),
                json!({"conditions": [said("Failed", "True", "")]}),
                "it has failed",
            ),
        ],
    );
    check("batch/v1", "CronJob", &[(json!({}), json!(null), READY)]);
    let pod = |phase: &str, ready: &str| json!({"phase": phase, "conditions": [said("Ready", ready, "R")]});
    check(
        "v1",
        "Pod",
        &[
            (
                json!({}),
                json!({"phase": "Pending"}),
                "its containers are not all ready",
            ),
            (
                json!({}),
                pod("Running", "False"),
                "its containers are not all ready",
            ),
            (json!({}), pod("Running", "True"), READY),
            (json!({}), pod("Succeeded", "False"), READY),
            (json!({}), pod("Failed", "False"), "it has failed"),
        ],
    );
}

#[test]
fn other_built_in_kinds_go_by_phase_or_condition_and_no_address_is_waited_for() {
    let one = |kind: &str, status: &str| json!({"conditions": [said(kind, status, "R")]});
    for (api_version, kind, status, expected) in [
        (
            "v1",
            "PersistentVolumeClaim",
            json!(null),
            "it is not bound to a volume yet",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"phase": "Pending"}),
            "it is not bound to a volume yet",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"phase": "Bound"}),
            READY,
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            json!({"phase": "Lost"}),
            "its volume is lost",
        ),
        ("v1", "Namespace", json!(null), READY),
        ("v1", "Namespace", json!({"phase": "Active"}), READY),
        (
            "v1",
            "Namespace",
            json!({"phase": "Terminating"}),
            "it is not active",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({}),
            "it is not established yet",
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            one("Established", "True"),
            READY,
        ),
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            one("NamesAccepted", "False"),
            "its names are taken by another definition",
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            json!({}),
            "its server is not available",
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            one("Available", "False"),
            "its server is not available",
        ),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            one("Available", "True"),
            READY,
        ),
        ("v1", "Service", json!({"loadBalancer": {}}), READY),
        (
            "networking.k8s.io/v1",
            "Ingress",
            json!({"loadBalancer": {}}),
            READY,
        ),
        ("v1", "ConfigMap", json!(null), READY),
    ] {
        check(
            api_version,
            kind,
            &[(json!({"type": "LoadBalancer"}), status, expected)],
        );
    }
}

#[test]
fn any_other_kind_is_as_ready_as_it_says_of_its_last_change_and_one_that_says_nothing_is() {
    let at = |generation: i64, mut condition: Value| {
        condition["observedGeneration"] = json!(generation);
        json!({"conditions": [condition]})
    };
    let unready = "it says Ready=False (Waiting)";
    for (status, expected) in [
        (json!(null), READY),
        (json!({"phase": "Pending"}), READY),
        (json!({"conditions": []}), READY),
        (json!({"conditions": [said("Synced", "False", "")]}), READY),
        (json!({"conditions": [said("Ready", "True", "")]}), READY),
        (
            json!({"conditions": [said("Ready", "False", "Waiting")]}),
            unready,
        ),
        (
            json!({"conditions": [said("Ready", "Unknown", "")]}),
            "it says Ready=Unknown",
        ),
        (
            json!({"conditions": [{"type": "Ready"}]}),
            "it says Ready=Unknown",
        ),
        (
            json!({"conditions": [said("Available", "False", "No")]}),
            "it says Available=False (No)",
        ),
        (
            json!({"conditions": [said("Available", "False", ""), said("Ready", "True", "")]}),
            READY,
        ),
        (
            json!({"observedGeneration": 2, "conditions": [said("Ready", "True", "")]}),
            UNSEEN,
        ),
        (
            json!({"observedGeneration": 3, "conditions": [said("Ready", "True", "")]}),
            READY,
        ),
        (json!({"observedGeneration": 2}), UNSEEN),
        (at(2, said("Ready", "True", "")), UNSEEN),
        (at(3, said("Ready", "True", "")), READY),
        (at(3, said("Ready", "False", "Waiting")), unready),
    ] {
        check(
            "example.org/v1",
            "Db",
            &[(json!({}), status.clone(), expected)],
        );
        // A kind of somebody else that only has a known name.
        check(
            "example.org/v1",
            "Deployment",
            &[(json!({"replicas": 2}), status, expected)],
        );
    }
}

#[test]
fn what_goes_is_not_ready_whatever_it_says() {
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("example.org/v1", "Db"),
    ] {
        let status = json!({"observedGeneration": 3, "conditions": [said("Ready", "True", "")]});
        let mut object = object(api_version, kind, &json!({"replicas": 0}), &status);
        assert_eq!(judged(&object), READY, "{kind}");
        object["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        assert_eq!(judged(&object), "it is being deleted");
    }
}

#[test]
fn of_a_played_status_only_what_it_tells_counts() {
    let deployment = |status: Value| {
        let mut object = object("apps/v1", "Deployment", &json!({"replicas": 2}), &status);
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("generation");
        judged(&object)
    };
    assert_eq!(deployment(json!(null)), TWO);
    assert_eq!(deployment(json!({"readyReplicas": 1})), TWO);
    assert_eq!(deployment(json!({"readyReplicas": 2})), READY);
    assert_eq!(
        deployment(json!({"readyReplicas": 2, "replicas": 2})),
        READY
    );
    assert_eq!(
        deployment(json!({"readyReplicas": 2, "updatedReplicas": 1})),
        TWO
    );
    assert_eq!(
        deployment(json!({"conditions": [said("Available", "True", "")]})),
        READY
    );
    assert_eq!(
        deployment(json!({"conditions": [said("Available", "False", "")]})),
        TWO
    );
}

#[test]
fn while_it_gets_there_the_reason_stays_and_the_numbers_are_for_who_looks() {
    let (mut seen, mut kept) = (Vec::new(), BTreeSet::new());
    for ready in 0..9 {
        let status = json!({"observedGeneration": 3 - i64::from(ready == 0), "updatedReplicas": 9, "readyReplicas": ready});
        let live = object("apps/v1", "Deployment", &json!({"replicas": 9}), &status);
        seen.push(readiness(&live));
        kept.insert(Projection::default().reduce(&live).to_string());
    }
    assert_eq!(
        kept.len(),
        1,
        "what is kept changes only when the answer does: {kept:?}"
    );
    for (ready, found) in seen.into_iter().enumerate() {
        let why = "its 9 replicas are not all ready and up to date".to_owned();
        assert_eq!(
            found,
            Readiness::NotReady {
                why,
                now: format!("{ready} of 9 ready")
            }
        );
    }
}

#[test]
fn what_is_played_is_ready() {
    for (group, version, kind) in SIMULATED {
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let spec = json!({"type": "LoadBalancer", "replicas": 2, "resources": {"requests": {"storage": "1Gi"}}});
        let mut object = object(&api_version, kind, &spec, &json!(null));
        object["status"] = play(&object, "t").unwrap_or_else(|| panic!("{kind} is played"));
        assert_eq!(judged(&object), READY, "{kind}");
    }
}

#[test]
fn anything_at_all_gets_an_answer() {
    for odd in [
        json!(null),
        json!("x"),
        json!([]),
        json!({"apiVersion": 1, "kind": []}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": "x", "spec": [], "status": "y"}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": null, "status": {"conditions": {"type": "Ready"}}}),
        json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"generation": "1"}, "status": {"conditions": [1, null]}}),
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"replicas": i64::MIN, "updateStrategy": {"rollingUpdate": {"partition": i64::MAX}}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}, "status": {"replicas": i64::MIN, "updatedReplicas": i64::MAX, "readyReplicas": 1}}),
    ] {
        judged(&odd);
    }
}
