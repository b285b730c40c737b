//! Whether an object is ready: the one decision of it, for conditions that are written and for
//! trees that are shown. It asks what the object's controller has said, not whether that is true.

use objects::Gvk;
use serde_json::{Map, Value, json};

use crate::at::at;

/// How an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// What it asks for is there.
    Ready,
    /// It is not, or nobody has said so yet.
    NotReady {
        /// Why, in words that stay the same while it gets there: they are written into the status
        /// of an instance, and one that told every replica would be written once for each.
        why: String,
        /// How it is at this moment, for who looks at the live object.
        now: String,
    },
}

/// By what a kind is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Deployment,
    StatefulSet,
    /// Also what it replaced, the `ReplicationController`.
    ReplicaSet,
    DaemonSet,
    Job,
    Pod,
    Claim,
    Namespace,
    Definition,
    ApiService,
    /// By what it says of itself, if it says anything.
    Said,
}

impl Rule {
    fn of(object: &Value) -> Self {
        let gvk = Gvk::of(object);
        match gvk
            .as_ref()
            .map(|gvk| (gvk.group.as_str(), gvk.kind.as_str()))
        {
            Some(("apps", "Deployment")) => Self::Deployment,
            Some(("apps", "StatefulSet")) => Self::StatefulSet,
            Some(("apps", "ReplicaSet") | ("", "ReplicationController")) => Self::ReplicaSet,
            Some(("apps", "DaemonSet")) => Self::DaemonSet,
            Some(("batch", "Job")) => Self::Job,
            Some(("", "Pod")) => Self::Pod,
            Some(("", "PersistentVolumeClaim")) => Self::Claim,
            Some(("", "Namespace")) => Self::Namespace,
            Some(("apiextensions.k8s.io", "CustomResourceDefinition")) => Self::Definition,
            Some(("apiregistration.k8s.io", "APIService")) => Self::ApiService,
            // Among them Services and Ingresses: many clusters have nobody who gives them an
            // address.
            _ => Self::Said,
        }
    }

    /// The fields that are looked at, besides conditions.
    fn fields(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Deployment => &[
                &["spec", "replicas"],
                &["status", "observedGeneration"],
                &["status", "replicas"],
                &["status", "readyReplicas"],
                &["status", "updatedReplicas"],
            ],
            Self::StatefulSet => &[
                &["spec", "replicas"],
                &["spec", "updateStrategy", "type"],
                &["spec", "updateStrategy", "rollingUpdate", "partition"],
                &["status", "observedGeneration"],
                &["status", "readyReplicas"],
                &["status", "updatedReplicas"],
            ],
            Self::ReplicaSet => &[
                &["spec", "replicas"],
                &["status", "observedGeneration"],
                &["status", "readyReplicas"],
            ],
            Self::DaemonSet => &[
                &["spec", "updateStrategy", "type"],
                &["status", "observedGeneration"],
                &["status", "desiredNumberScheduled"],
                &["status", "numberReady"],
                &["status", "updatedNumberScheduled"],
            ],
            Self::Job => &[&["spec", "suspend"]],
            Self::Pod | Self::Claim | Self::Namespace => &[&["status", "phase"]],
            Self::Said => &[&["status", "observedGeneration"]],
            Self::Definition | Self::ApiService => &[],
        }
    }

    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Deployment => &["Available", "Progressing"],
            Self::Job => &["Complete", "Failed"],
            Self::Pod => &["Ready"],
            Self::Definition => &["Established", "NamesAccepted"],
            Self::ApiService => &["Available"],
            Self::Said => &["Ready", "Available"],
            Self::StatefulSet
            | Self::ReplicaSet
            | Self::DaemonSet
            | Self::Claim
            | Self::Namespace => &[],
        }
    }
}

/// Whether an object is ready.
///
/// A workload is once its controller has seen its last change and all that it asks for runs; an
/// object of any other kind if its `Ready` or else its `Available` condition says so, or if it says
/// nothing: a `ConfigMap` never does.
pub fn readiness(object: &Value) -> Readiness {
    if at(object, "/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        return not_ready("it is being deleted");
    }
    match Rule::of(object) {
        Rule::Deployment => deployment(object),
        Rule::StatefulSet => {
            let wanted = replicas(object);
            let partition =
                count(object, "/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
            by_replicas(
                object,
                if updates_on_delete(object) {
                    0
                } else {
                    wanted.saturating_sub(partition)
                },
            )
        }
        Rule::ReplicaSet => by_replicas(object, 0),
        Rule::DaemonSet => daemon_set(object),
        Rule::Job => job(object),
        Rule::Pod => pod(object),
        Rule::Claim => match phase(object) {
            "Bound" => Readiness::Ready,
            "Lost" => not_ready("its volume is lost"),
            // A claim whose class waits for a pod stays so until one uses it. That holds nothing
            // back: templates wait for values that they read, never for readiness.
            _ => not_ready("it is not bound to a volume yet"),
        },
        // A server gives every namespace its phase at once; one that has none was never on a
        // server.
        Rule::Namespace => match phase(object) {
            "" | "Active" => Readiness::Ready,
            _ => not_ready("it is not active"),
        },
        Rule::Definition => match (is(object, "Established"), is(object, "NamesAccepted")) {
            (Some(true), _) => Readiness::Ready,
            (_, Some(false)) => not_ready("its names are taken by another definition"),
            _ => not_ready("it is not established yet"),
        },
        Rule::ApiService => match is(object, "Available") {
            Some(true) => Readiness::Ready,
            _ => not_ready("its server is not available"),
        },
        Rule::Said => said(object),
    }
}

/// The same of an object whose controller is known to say `Ready` of everything it has looked at:
/// while it says nothing it has not looked yet.
pub(crate) fn readiness_of_told(object: &Value) -> Readiness {
    match readiness(object) {
        // What no server has stored is an author's example, and has no controller.
        Readiness::Ready
            if generation(object).is_some() && condition(object, "Ready").is_none() =>
        {
            not_ready("it has not said yet whether it is ready")
        }
        readiness => readiness,
    }
}

/// A part of an object, and its path.
pub(crate) type Part = (&'static [&'static str], Value);

/// Why an object is not ready; none if it is. Of what is kept of it this is the same.
pub(crate) fn why_not(object: &Value) -> Option<String> {
    match readiness(object) {
        Readiness::Ready => None,
        Readiness::NotReady { why, .. } => Some(why),
    }
}

/// The part of the evidence that mostly is enough while a workload is not ready: what it asks for,
/// and not how far it got. So what is kept of it is the same while its replicas become ready one by
/// one, and nobody has to look.
pub(crate) fn first_evidence(object: &Value) -> Vec<Part> {
    let mut parts = evidence(object);
    let workloads = [
        Rule::Deployment,
        Rule::StatefulSet,
        Rule::ReplicaSet,
        Rule::DaemonSet,
    ];
    if workloads.contains(&Rule::of(object)) && why_not(object).is_some() {
        parts.retain(|(path, _)| path[0] != "status");
    }
    parts
}

/// The parts of an object that decide whether it is ready. An object with these alone is as ready
/// as the whole; no more is kept of the many objects that a controller knows.
pub(crate) fn evidence(object: &Value) -> Vec<Part> {
    let rule = Rule::of(object);
    let always: [&'static [&'static str]; 2] = [
        &["metadata", "deletionTimestamp"],
        &["metadata", "generation"],
    ];
    let field = |path: &&'static [&'static str]| {
        let found = path.iter().try_fold(object, |value, key| value.get(key))?;
        (!found.is_null()).then(|| (*path, found.clone()))
    };
    let mut found: Vec<_> = always
        .iter()
        .chain(rule.fields())
        .filter_map(field)
        .collect();
    let kinds = rule.conditions();
    // That a rollout goes on is said of every Deployment; only that it does not is asked for.
    let is_asked = |one: &&Value| one["type"] != "Progressing" || one["status"] != "True";
    let told = kinds
        .iter()
        .filter_map(|kind| condition(object, kind))
        .filter(is_asked);
    let told: Vec<Value> = told.map(short).collect();
    if !told.is_empty() {
        found.push((&["status", "conditions"], Value::Array(told)));
    }
    found
}

/// What is asked of a condition. Messages are not: they are long, and change without a change of
/// state.
fn short(condition: &Value) -> Value {
    let mut kept = Map::new();
    let explains = condition["status"] != "True" || condition["type"] == "Failed";
    for field in ["type", "status", "reason", "observedGeneration"] {
        match condition.get(field) {
            Some(value) if field != "reason" || explains => {
                kept.insert(field.to_owned(), value.clone())
            }
            _ => None,
        };
    }
    Value::Object(kept)
}

fn deployment(object: &Value) -> Readiness {
    let wanted = replicas(object);
    let numbers = by_replicas(object, wanted);
    // Pods of before count as ready too, so that they have to be gone.
    let updated = count(object, "/status/updatedReplicas");
    let old = count(object, "/status/replicas")
        .zip(updated)
        .map_or(0, |(all, updated)| all.saturating_sub(updated));
    let readiness = match numbers {
        Readiness::Ready if wanted > 0 && old > 0 => {
            waits_for_replicas(wanted, format!("{old} of before still run"))
        }
        Readiness::Ready if wanted > 0 && is(object, "Available") == Some(false) => {
            waits_for_replicas(wanted, "not available yet".to_owned())
        }
        numbers => numbers,
    };
    let stuck =
        condition(object, "Progressing").filter(|one| one["reason"] == "ProgressDeadlineExceeded");
    match readiness {
        Readiness::NotReady { now, .. } if stuck.is_some() && is_seen(object) => {
            let why = "its rollout makes no progress (ProgressDeadlineExceeded)".to_owned();
            Readiness::NotReady {
                now: format!("{now}, and {why}"),
                why,
            }
        }
        readiness => readiness,
    }
}

/// By how many replicas are ready, and at least how many are up to date.
fn by_replicas(object: &Value, updates: i64) -> Readiness {
    let wanted = replicas(object);
    // An author who plays a status tells what matters to him: what he leaves out is not zero, as it
    // is on a server.
    let played = generation(object).is_none();
    let number = |pointer: &str, left_out: i64| {
        count(object, pointer).unwrap_or(if played { left_out } else { 0 })
    };
    let told = if is(object, "Available") == Some(true) {
        wanted
    } else {
        0
    };
    let (ready, updated) = (
        number("/status/readyReplicas", told),
        number("/status/updatedReplicas", updates),
    );
    if ready < wanted {
        waits_for_replicas(wanted, format!("{ready} of {wanted} ready"))
    } else if !is_seen(object) {
        waits_for_replicas(wanted, "its last change has not been seen yet".to_owned())
    } else if updated < updates {
        waits_for_replicas(wanted, format!("{updated} of {wanted} up to date"))
    } else {
        Readiness::Ready
    }
}

fn waits_for_replicas(wanted: i64, now: String) -> Readiness {
    let why = match wanted {
        ..=0 => "its controller has not seen its last change yet".to_owned(),
        1 => "its replica is not ready and up to date".to_owned(),
        _ => format!("its {wanted} replicas are not all ready and up to date"),
    };
    Readiness::NotReady { why, now }
}

/// By the nodes that should have a pod of it; there may be none.
fn daemon_set(object: &Value) -> Readiness {
    let why = "its pods are not all ready and up to date".to_owned();
    let wanted = count(object, "/status/desiredNumberScheduled").unwrap_or(1);
    let ready = count(object, "/status/numberReady").unwrap_or(0);
    let left_out = if generation(object).is_none() {
        wanted
    } else {
        0
    };
    let updated = count(object, "/status/updatedNumberScheduled").unwrap_or(left_out);
    if ready < wanted {
        Readiness::NotReady {
            why,
            now: format!("{ready} of {wanted} ready"),
        }
    } else if !is_seen(object) {
        Readiness::NotReady {
            why,
            now: "its last change has not been seen yet".to_owned(),
        }
    } else if updated < wanted && !updates_on_delete(object) {
        Readiness::NotReady {
            why,
            now: format!("{updated} of {wanted} up to date"),
        }
    } else {
        Readiness::Ready
    }
}

fn job(object: &Value) -> Readiness {
    if is(object, "Complete") == Some(true) {
        return Readiness::Ready;
    }
    if let Some(failed) = condition(object, "Failed").filter(|one| one["status"] == "True") {
        return not_ready(&format!("it has failed{}", reason(failed)));
    }
    // A suspended job asks for nothing to run; kstatus, which Flux and Helm go by, calls it current
    // as well.
    match at(object, "/spec/suspend") == Some(&json!(true)) {
        true => Readiness::Ready,
        false => not_ready("it has not completed yet"),
    }
}

fn pod(object: &Value) -> Readiness {
    match (phase(object), is(object, "Ready")) {
        ("Succeeded", _) => Readiness::Ready,
        ("Failed", _) => not_ready("it has failed"),
        (_, Some(true)) => Readiness::Ready,
        _ => not_ready("its containers are not all ready"),
    }
}

fn said(object: &Value) -> Readiness {
    let told = condition(object, "Ready").or_else(|| condition(object, "Available"));
    let is_old = |seen: Option<i64>| {
        seen.zip(generation(object))
            .is_some_and(|(seen, now)| seen < now)
    };
    let seen = told.and_then(|one| count(one, "/observedGeneration"));
    if is_old(count(object, "/status/observedGeneration")) || is_old(seen) {
        return not_ready("its controller has not seen its last change yet");
    }
    match told {
        Some(one) if one["status"] != "True" => {
            let text = |field: &str| one[field].as_str().filter(|text| !text.is_empty());
            let (kind, status) = (
                text("type").unwrap_or_default(),
                text("status").unwrap_or("Unknown"),
            );
            let why = format!("it says {kind}={status}{}", reason(one));
            let now = text("message")
                .or_else(|| text("reason"))
                .unwrap_or("not ready")
                .to_owned();
            Readiness::NotReady { why, now }
        }
        _ => Readiness::Ready,
    }
}

fn not_ready(why: &str) -> Readiness {
    Readiness::NotReady {
        why: why.to_owned(),
        now: why.trim_start_matches("it ").to_owned(),
    }
}

/// The one word of a condition for programs, as it follows a sentence.
fn reason(condition: &Value) -> String {
    let reason = condition["reason"]
        .as_str()
        .filter(|reason| !reason.is_empty());
    reason
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default()
}

fn count(value: &Value, pointer: &str) -> Option<i64> {
    at(value, pointer)?.as_i64()
}

fn replicas(object: &Value) -> i64 {
    count(object, "/spec/replicas").unwrap_or(1)
}

fn generation(object: &Value) -> Option<i64> {
    count(object, "/metadata/generation")
}

/// Whether the controller of a workload has seen its last change. What no server has stored has no
/// generation.
fn is_seen(object: &Value) -> bool {
    let seen = count(object, "/status/observedGeneration").unwrap_or(0);
    generation(object).is_none_or(|generation| seen >= generation)
}

/// Whether pods become what they should be only when somebody deletes them, so that there is
/// nothing to wait for.
fn updates_on_delete(object: &Value) -> bool {
    at(object, "/spec/updateStrategy/type").is_some_and(|strategy| strategy == "OnDelete")
}

fn phase(object: &Value) -> &str {
    at(object, "/status/phase")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    at(object, "/status/conditions")?
        .as_array()?
        .iter()
        .find(|one| one["type"] == kind)
}

/// What a condition says, if it says yes or no.
fn is(object: &Value, kind: &str) -> Option<bool> {
    match condition(object, kind)?["status"].as_str()? {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Readiness, readiness_of_told};
    use crate::compile::projection::Projection;

    #[test]
    fn one_of_whom_a_word_is_expected_is_not_ready_without_it_once_it_is_stored() {
        let stored = json!({"name": "x", "generation": 1});
        let said = |status: &str| json!({"conditions": [{"type": "Ready", "status": status}]});
        for (metadata, status, ready) in [
            (stored.clone(), json!({"endpoint": "e"}), false),
            (stored.clone(), said("False"), false),
            (stored, said("True"), true),
            (json!({"name": "x"}), json!({"endpoint": "e"}), true),
        ] {
            let object = json!({"apiVersion": "a.b/v1", "kind": "Db", "metadata": metadata, "status": status});
            for object in [Projection::default().reduce(&object), object] {
                assert_eq!(
                    readiness_of_told(&object) == Readiness::Ready,
                    ready,
                    "{object}"
                );
            }
        }
    }
}
