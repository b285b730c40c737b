//! What a cluster adds to objects.

use serde_json::Value;
use yaml::Step;

use super::split::Piece;
use crate::rewrite::edit::{look, without};

/// Written by the server into the metadata of every object.
const SERVERS: [&str; 10] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// Annotations of controllers, of kubectl and of Helm.
const ANNOTATIONS: [&str; 15] = [
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "batch.kubernetes.io/job-tracking",
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "meta.helm.sh/release-name",
    "meta.helm.sh/release-namespace",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-resizer",
    "volume.kubernetes.io/migrated-to",
];
/// Labels by which a Job finds its pods, each with a number of its own.
const JOBS: [&str; 4] = [
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
];
/// What a cluster fills into the specs of objects it has.
const FILLED: [(&str, &[&str]); 3] = [
    (
        "Service",
        &[
            "clusterIP",
            "clusterIPs",
            "healthCheckNodePort",
            "ipFamilies",
            "ipFamilyPolicy",
        ],
    ),
    ("PersistentVolumeClaim", &["volumeName"]),
    ("Pod", &["nodeName"]),
];

/// The object without what a cluster wrote into it and without its namespace, and the names of what
/// was dropped.
pub(crate) fn cleaned(piece: &Piece) -> (Piece, Vec<String>) {
    let mut paths = Vec::new();
    let metadata = &piece.value["metadata"];
    let lives = metadata.get("uid").is_some() || metadata.get("resourceVersion").is_some();
    if piece.value.get("status").is_some() {
        paths.push(vec![Step::from("status")]);
    }
    nested(&piece.value, &mut Vec::new(), &mut paths);
    for (kind, fields) in FILLED.iter().filter(|(kind, _)| piece.gvk.kind == *kind) {
        let headless = *kind == "Service" && piece.value["spec"]["clusterIP"] == "None";
        for field in fields
            .iter()
            .filter(|field| !(headless && field.starts_with("clusterIP")))
        {
            let path = vec![Step::from("spec"), Step::from(*field)];
            let chosen = !lives && !field.starts_with("clusterIP");
            if look(&piece.value, &path).is_some() && !chosen {
                paths.push(path);
            }
        }
    }
    if lives && piece.gvk.kind == "Service" {
        let ports = piece.value["spec"]["ports"].as_array().map_or(0, Vec::len);
        for port in 0..ports {
            let path = vec![
                Step::from("spec"),
                Step::from("ports"),
                Step::from(port),
                Step::from("nodePort"),
            ];
            if look(&piece.value, &path).is_some() {
                paths.push(path);
            }
        }
    }
    paths.extend(job(piece));
    paths.extend(mounted(piece));
    let told = |path: &&Vec<Step>| look(&piece.value, path).is_some_and(|value| !is_hollow(value));
    let mut dropped: Vec<String> = paths.iter().filter(told).map(|path| shown(path)).collect();
    dropped.sort();
    dropped.dedup();
    if metadata.get("namespace").is_some() {
        paths.push(vec![Step::from("metadata"), Step::from("namespace")]);
    }
    (without(piece, &paths), dropped)
}

/// What was written into a Job, so that it finds its pods. One that chose its labels itself keeps
/// them.
fn job(piece: &Piece) -> Vec<Vec<Step>> {
    let spec = &piece.value["spec"];
    if piece.gvk.kind != "Job" || spec["manualSelector"] == true {
        return Vec::new();
    }
    let metadata = [&["metadata"][..], &["spec", "template", "metadata"]];
    let labels = metadata
        .iter()
        .flat_map(|above| JOBS.map(|label| [above, &["labels", label][..]].concat()));
    let paths = labels.chain([vec!["spec", "selector"], vec!["spec", "manualSelector"]]);
    let steps = paths.map(|path| path.into_iter().map(Step::from).collect::<Vec<_>>());
    steps
        .filter(|path| look(&piece.value, path).is_some())
        .collect()
}

/// The token that a cluster mounts into every Pod, the last first.
fn mounted(piece: &Piece) -> Vec<Vec<Step>> {
    let mut paths = Vec::new();
    if !piece.is_core("Pod") {
        return paths;
    }
    let mut named = |above: &[Step]| {
        let items = look(&piece.value, above).and_then(Value::as_array);
        for (index, item) in items.into_iter().flatten().enumerate() {
            if item["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("kube-api-access-"))
            {
                paths.push([above, &[Step::from(index)]].concat());
            }
        }
    };
    let spec = Step::from("spec");
    named(&[spec.clone(), Step::from("volumes")]);
    for field in ["containers", "initContainers"] {
        let count = piece.value["spec"][field].as_array().map_or(0, Vec::len);
        for index in 0..count {
            named(&[
                spec.clone(),
                Step::from(field),
                Step::from(index),
                Step::from("volumeMounts"),
            ]);
        }
    }
    paths.reverse();
    paths
}

/// The server's fields in the metadata of an object and of the objects that it describes.
fn nested(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        path.push(Step::from(index));
        nested(item, path, found);
        path.pop();
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let claims = key == "volumeClaimTemplates";
        for (index, claim) in inner
            .as_array()
            .filter(|_| claims)
            .into_iter()
            .flatten()
            .enumerate()
        {
            if claim.get("status").is_some() {
                found.push(
                    [
                        path.as_slice(),
                        &[
                            Step::from(key.as_str()),
                            Step::from(index),
                            Step::from("status"),
                        ],
                    ]
                    .concat(),
                );
            }
        }
        path.push(Step::from(key.as_str()));
        if key == "metadata" {
            // A field of the server's with nothing in it is what `kubectl create --dry-run` leaves.
            let servers = SERVERS.iter().filter(|name| inner.get(name).is_some());
            found.extend(servers.map(|name| [path.as_slice(), &[Step::from(*name)]].concat()));
            let ours = [api::labels::STACK, api::labels::TEMPLATE];
            for (field, names) in [("annotations", &ANNOTATIONS[..]), ("labels", &ours[..])] {
                let there = names.iter().filter(|name| inner[field].get(name).is_some());
                found.extend(there.map(|name| {
                    [path.as_slice(), &[Step::from(field), Step::from(*name)]].concat()
                }));
            }
        }
        nested(inner, path, found);
        path.pop();
    }
}

/// Whether there is nothing in a value, as in what `kubectl create --dry-run` leaves of a status.
fn is_hollow(value: &Value) -> bool {
    value.is_null()
        || value
            .as_object()
            .is_some_and(|fields| fields.values().all(is_hollow))
}

fn shown(path: &[Step]) -> String {
    let steps: Vec<&str> = path
        .iter()
        .filter_map(|step| {
            if let Step::Key(key) = step {
                Some(&**key)
            } else {
                None
            }
        })
        .collect();
    steps.join(".")
}
