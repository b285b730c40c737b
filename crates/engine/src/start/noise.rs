//! What a cluster adds to objects, and what of a manifest cannot be part of a stack.

use objects::builtin_kind;
use serde_json::Value;
use yaml::Step;

use super::edit::{look, without};
use super::piece::Piece;
use crate::manage::Policy;
use crate::problem::Problem;

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
/// Annotations of controllers and of kubectl.
const ANNOTATIONS: [&str; 8] = [
    "autoscaling.alpha.kubernetes.io/conditions",
    "deployment.kubernetes.io/revision",
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
];
/// What a cluster fills into the specs of objects it has.
const FILLED: [(&str, &[&str]); 3] = [
    ("Service", &["clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy"]),
    ("PersistentVolumeClaim", &["volumeName"]),
    ("Pod", &["nodeName"]),
];

/// The object without what a cluster wrote into it and without its namespace, and the names of what was dropped.
pub(super) fn cleaned(piece: &Piece) -> (Piece, Vec<String>) {
    let mut paths = Vec::new();
    let metadata = &piece.value["metadata"];
    let lives = metadata.get("uid").is_some() || metadata.get("resourceVersion").is_some();
    if piece.value.get("status").is_some() {
        paths.push(vec![Step::from("status")]);
    }
    nested(&piece.value, &mut Vec::new(), &mut paths);
    for (kind, fields) in FILLED.iter().filter(|(kind, _)| piece.gvk.kind == *kind) {
        let headless = *kind == "Service" && piece.value["spec"]["clusterIP"] == "None";
        for field in fields.iter().filter(|field| !(headless && field.starts_with("clusterIP"))) {
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
            let path = vec![Step::from("spec"), Step::from("ports"), Step::from(port), Step::from("nodePort")];
            if look(&piece.value, &path).is_some() {
                paths.push(path);
            }
        }
    }
    let told = |path: &&Vec<Step>| look(&piece.value, path).is_some_and(|value| !is_hollow(value));
    let mut dropped: Vec<String> = paths.iter().filter(told).map(|path| shown(path)).collect();
    dropped.sort();
    dropped.dedup();
    if metadata.get("namespace").is_some() {
        paths.push(vec![Step::from("metadata"), Step::from("namespace")]);
    }
    (without(piece, &paths), dropped)
}

/// The server's fields in the metadata of an object and of the objects that it describes.
fn nested(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let Value::Object(fields) = value else { return };
    for (key, inner) in fields {
        path.push(Step::from(key.as_str()));
        if key == "metadata" {
            // A field of the server's with nothing in it is what `kubectl create --dry-run` leaves.
            let servers = SERVERS.iter().filter(|name| inner.get(name).is_some());
            found.extend(servers.map(|name| [path.as_slice(), &[Step::from(*name)]].concat()));
            let ours = [api::labels::STACK, api::labels::TEMPLATE];
            for (field, names) in [("annotations", &ANNOTATIONS[..]), ("labels", &ours[..])] {
                let there = names.iter().filter(|name| inner[field].get(name).is_some());
                found.extend(there.map(|name| [path.as_slice(), &[Step::from(field), Step::from(*name)]].concat()));
            }
        }
        nested(inner, path, found);
        path.pop();
    }
}

/// Whether there is nothing in a value, as in what `kubectl create --dry-run` leaves of a status.
fn is_hollow(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(|fields| fields.values().all(is_hollow))
}

fn shown(path: &[Step]) -> String {
    let steps: Vec<&str> =
        path.iter().filter_map(|step| if let Step::Key(key) = step { Some(&**key) } else { None }).collect();
    steps.join(".")
}

/// Why an object cannot be one that a stack makes for each of its instances, and what to do instead.
pub(super) fn unfit(piece: &Piece) -> Option<Problem> {
    let problem = |why: String, hint: &str| {
        Some(Problem::at(piece.place(), format!("{} is left out: {why}", piece.title())).warning().hint(hint))
    };
    let owner = piece.value["metadata"]["ownerReferences"].as_array().and_then(|owners| owners.first());
    if let Some(owner) = owner {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        return problem(format!("it belongs to {} {}", text("kind"), text("name")), "its owner makes it again");
    }
    if piece.gvk.kind == "Namespace" && piece.gvk.group.is_empty() {
        return problem("an instance is in a namespace already".into(), "create the namespace before the instance");
    }
    if piece.gvk.kind == "CustomResourceDefinition" {
        let hint = "put it into .registry/resources if the stack is to bring it";
        return problem("a stack brings its CRDs in its package".into(), hint);
    }
    let builtin = builtin_kind(&piece.gvk);
    let beside = "keep it beside the stack, for an administrator to apply";
    if builtin.is_some_and(|builtin| !builtin.namespaced) {
        return problem("it is in no namespace, and what an instance makes stays in its own".into(), beside);
    }
    let plural =
        builtin.map_or_else(|| piece.gvk.kind.to_ascii_lowercase() + "s", |builtin| builtin.plural.to_string());
    match Policy::default().check(&piece.gvk.group, &plural, false) {
        Err(refusal) => problem(refusal.why.to_string(), beside),
        Ok(()) => None,
    }
}
