//! What a text of an object means by where it stands: a name, a label, a word that is nobody
//! else's, or free text.

use serde_json::Value;
use yaml::Step;

use super::edit::look;
use crate::manifests::split::Piece;

/// What a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sense {
    /// The name of the object itself, or of one that it describes.
    Own,
    /// A label, or what a selector asks of one.
    Label,
    /// The name of another object, of this kind if it is known.
    Object(Option<String>),
    /// The name of a namespace.
    Namespace,
    /// A word with a meaning of its own: the name of a container or a port, a kind, a path inside
    /// of a container.
    Word,
    /// Anything: an environment variable, an argument, a file of a ConfigMap.
    Free,
}

/// Fields that name another object, besides `name`, and its kind.
const REFERENCES: [(&str, &str); 9] = [
    ("claimName", "PersistentVolumeClaim"),
    ("persistentVolumeClaimName", "PersistentVolumeClaim"),
    ("secretName", "Secret"),
    ("serviceAccount", "ServiceAccount"),
    ("serviceAccountName", "ServiceAccount"),
    ("serviceName", "Service"),
    ("statefulset.kubernetes.io/pod-name", "Pod"),
    ("subdomain", "Service"),
    ("volumeName", "PersistentVolume"),
];
/// What the key above `name` says of the kind that is named, the most telling first.
const ABOVE: [(&str, &str); 5] = [
    ("serviceaccount", "ServiceAccount"),
    ("secret", "Secret"),
    ("configmap", "ConfigMap"),
    ("claim", "PersistentVolumeClaim"),
    ("service", "Service"),
];
/// What has names that are known inside of its object alone.
const LOCAL: [&str; 12] = [
    "containers",
    "env",
    "ephemeralContainers",
    "httpHeaders",
    "initContainers",
    "port",
    "ports",
    "resource",
    "volumeClaimTemplates",
    "volumeDevices",
    "volumeMounts",
    "volumes",
];
/// Fields whose texts name no object of a namespace, whatever they look like.
const WORDS: [&str; 23] = [
    "apiGroup",
    "apiVersion",
    "containerName",
    "devicePath",
    "fieldPath",
    "fsType",
    "ingressClassName",
    "key",
    "kind",
    "mountPath",
    "nodeName",
    "operator",
    "port",
    "portName",
    "priorityClassName",
    "protocol",
    "runtimeClassName",
    "schedulerName",
    "storageClassName",
    "subPath",
    "targetPort",
    "topologyKey",
    "type",
];
/// Where labels stand.
const LABELS: [&str; 3] = ["labels", "matchLabels", "selector"];
/// Labels that say what an application is, not which.
const WHAT: [&str; 3] = [
    "app.kubernetes.io/component",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];
/// The label of a namespace that is its name.
const OWN_NAME: &str = "kubernetes.io/metadata.name";
/// What is asked of something that is no part of an application.
const FOREIGN: [&str; 3] = ["namespaceSelector", "nodeAffinity", "nodeSelector"];

/// What a text of an object means.
pub(crate) fn sense(piece: &Piece, path: &[Step]) -> Sense {
    let keys: Vec<&str> = path
        .iter()
        .map(|step| {
            if let Step::Key(key) = step {
                &**key
            } else {
                ""
            }
        })
        .collect();
    let Some((last, above)) = keys.split_last() else {
        return Sense::Free;
    };
    let parent = above
        .iter()
        .rev()
        .find(|key| !key.is_empty())
        .copied()
        .unwrap_or_default();
    // Whatever the keys are called here, the texts are the author's.
    if piece.is_core("ConfigMap") && keys.first() == Some(&"data") || above.contains(&"annotations")
    {
        return Sense::Free;
    }
    if is_namespace(piece, path, &keys) {
        return Sense::Namespace;
    }
    if above.contains(&"apiGroups") || above.iter().any(|key| FOREIGN.contains(key)) {
        return Sense::Word;
    }
    if above.contains(&"matchExpressions") {
        return if parent == "values" {
            Sense::Label
        } else {
            Sense::Word
        };
    }
    if above.iter().any(|key| LABELS.contains(key)) {
        return if WHAT.contains(last) {
            Sense::Word
        } else {
            Sense::Label
        };
    }
    if WORDS.contains(last) {
        return Sense::Word;
    }
    if *last == "generateName" || (*last == "name" && parent == "metadata") {
        return if above.contains(&"volumeClaimTemplates") {
            Sense::Word
        } else {
            Sense::Own
        };
    }
    if makes_secret(piece, &keys) {
        return Sense::Own;
    }
    if let Some((_, kind)) = REFERENCES.iter().find(|(field, _)| field == last) {
        return Sense::Object(Some((*kind).to_string()));
    }
    if *last != "name" {
        return Sense::Free;
    }
    if LOCAL.contains(&parent) {
        return Sense::Word;
    }
    let beside =
        look(&piece.value, &path[..path.len() - 1]).and_then(|holder| holder["kind"].as_str());
    let parent = parent.to_ascii_lowercase();
    let told = ABOVE
        .iter()
        .find(|(word, _)| parent.contains(word))
        .map(|(_, kind)| *kind);
    Sense::Object(beside.or(told).map(str::to_string))
}

/// Whether a field holds the name of a namespace: its own, one of a list, or the label that every
/// namespace has of it.
fn is_namespace(piece: &Piece, path: &[Step], keys: &[&str]) -> bool {
    match keys {
        [.., "namespace"]
        | [.., "namespaces", ""]
        | [.., "namespaceSelector", "matchNames", ""] => true,
        [.., last] if keys.contains(&"namespaceSelector") => {
            let asked = path
                .len()
                .checked_sub(2)
                .and_then(|end| look(&piece.value, &path[..end]));
            *last == OWN_NAME
                || (keys.ends_with(&["values", ""])
                    && asked.is_some_and(|asked| asked["key"] == OWN_NAME))
        }
        _ => false,
    }
}

/// Whether a field says how a Secret is called that a controller makes for the object.
pub(crate) fn makes_secret(piece: &Piece, keys: &[&str]) -> bool {
    match (piece.gvk.kind.as_str(), keys) {
        ("Certificate", ["spec", "secretName"])
        | ("ExternalSecret", ["spec", "target", "name"]) => true,
        ("Ingress", ["spec", "tls", "", "secretName"]) => {
            let annotations = piece.value["metadata"]["annotations"].as_object();
            let issues = |key: &String| {
                key.starts_with("cert-manager.io/") || key == "kubernetes.io/tls-acme"
            };
            annotations.is_some_and(|annotations| annotations.keys().any(issues))
        }
        _ => false,
    }
}

/// The texts of a value, with the ways to them.
pub(crate) fn texts<'v>(
    value: &'v Value,
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, &'v str)>,
) {
    match value {
        Value::String(text) => found.push((path.clone(), text)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::from(index));
                texts(item, path, found);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                path.push(Step::from(key.as_str()));
                texts(field, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
