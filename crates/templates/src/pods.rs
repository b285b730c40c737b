//! Where built-in kinds keep pods, selectors and what the kubelet expands. Unknown kinds have none
//! of it.

use serde_json::Value;

use crate::trail::Leg;

/// How a selector is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    /// Labels alone.
    Plain,
    /// `matchLabels` and `matchExpressions`.
    Labels,
}

/// What a kind has of pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// The way to the template of its pods.
    pub template: Option<&'static [&'static str]>,
    /// The way to the selector of its pods, and how it is written.
    pub selector: Option<(&'static [&'static str], Selector)>,
    /// The way to the spec of a pod.
    pub pod: Option<&'static [&'static str]>,
}

const TEMPLATE: &[&str] = &["spec", "template"];
const SPEC: &[&str] = &["spec", "template", "spec"];
const SELECTOR: &[&str] = &["spec", "selector"];

/// What an object's kind has of pods.
pub(crate) fn shape(object: &Value) -> Option<Shape> {
    let version = object["apiVersion"].as_str()?;
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let workload = |selector| {
        Some(Shape {
            template: Some(TEMPLATE),
            selector: Some((SELECTOR, selector)),
            pod: Some(SPEC),
        })
    };
    let selecting = |path, selector| {
        Some(Shape {
            template: None,
            selector: Some((path, selector)),
            pod: None,
        })
    };
    match (group, object["kind"].as_str()?) {
        ("", "Pod") => Some(Shape {
            template: None,
            selector: None,
            pod: Some(&["spec"]),
        }),
        ("", "PodTemplate") => Some(Shape {
            template: None,
            selector: None,
            pod: Some(&["template", "spec"]),
        }),
        ("", "ReplicationController") => workload(Selector::Plain),
        ("" | "apps.openshift.io", "DeploymentConfig") => workload(Selector::Plain),
        ("apps" | "extensions", "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet") => {
            workload(Selector::Labels)
        }
        ("batch", "Job") => workload(Selector::Labels),
        ("batch", "CronJob") => Some(Shape {
            template: Some(&["spec", "jobTemplate", "spec", "template"]),
            selector: Some((
                &["spec", "jobTemplate", "spec", "selector"],
                Selector::Labels,
            )),
            pod: Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        }),
        ("", "Service") => selecting(SELECTOR, Selector::Plain),
        ("policy", "PodDisruptionBudget") => selecting(SELECTOR, Selector::Labels),
        ("networking.k8s.io" | "extensions", "NetworkPolicy") => {
            selecting(&["spec", "podSelector"], Selector::Labels)
        }
        _ => None,
    }
}

/// The kinds of containers that a pod has.
pub(crate) const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// A text that the kubelet expands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expanded<'t> {
    /// Which list of containers.
    pub list: &'t str,
    /// Which of them.
    pub container: usize,
    /// How many variables of its environment can be seen there; all if none is said.
    pub before: Option<usize>,
}

/// Whether the kubelet expands the text at a place, given by its way from the object.
pub(crate) fn expanded<'t>(shape: Option<&Shape>, legs: &[Leg<'t>]) -> Option<Expanded<'t>> {
    let pod = shape?.pod?;
    let (head, rest) = legs.split_at_checked(pod.len())?;
    if !head
        .iter()
        .zip(pod)
        .all(|(leg, field)| *leg == Leg::Key(field))
    {
        return None;
    }
    let (Leg::Key(list), Leg::Index(container)) = (*rest.first()?, *rest.get(1)?) else {
        return None;
    };
    if !CONTAINERS.contains(&list) {
        return None;
    }
    let before = match rest.get(2..)? {
        [Leg::Key("command" | "args"), Leg::Index(_)] => None,
        [Leg::Key("env"), Leg::Index(index), Leg::Key("value")] => Some(*index),
        [
            Leg::Key("volumeMounts"),
            Leg::Index(_),
            Leg::Key("subPathExpr"),
        ] => None,
        [
            Leg::Key("livenessProbe" | "readinessProbe" | "startupProbe"),
            Leg::Key("exec"),
            Leg::Key("command"),
            Leg::Index(_),
        ] => None,
        _ => return None,
    };
    Some(Expanded {
        list,
        container,
        before,
    })
}
