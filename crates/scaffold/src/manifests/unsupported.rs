//! What of manifests cannot be part of a stack, and what a cluster makes by itself.

use objects::builtin_kind;

use super::split::Piece;
use crate::kinds::helm::untimely;
use engine::Problem;
use install::Policy;

/// ConfigMaps that are put into every namespace.
const EVERYWHERE: [&str; 3] = [
    "istio-ca-root-cert",
    "kube-root-ca.crt",
    "openshift-service-ca.crt",
];

/// Why an object cannot be one that a stack makes for each of its instances, and what to do
/// instead.
pub(crate) fn unfit(piece: &Piece, all: &[Piece]) -> Option<Problem> {
    let problem = |why: String, hint: &str| {
        Some(
            Problem::at(
                piece.place(),
                format!("{} is left out: {why}", piece.title()),
            )
            .warning()
            .hint(hint),
        )
    };
    let owner = piece.value["metadata"]["ownerReferences"]
        .as_array()
        .and_then(|owners| owners.first());
    if let Some(owner) = owner {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        return problem(
            format!("it belongs to {} {}", text("kind"), text("name")),
            "its owner makes it again",
        );
    }
    if let Some(why) = made_by_cluster(piece, all) {
        return problem(why, "no instance needs one of its own");
    }
    if let Some((why, hint)) = untimely(piece) {
        return problem(why, hint);
    }
    if piece.is_core("Namespace") {
        return problem(
            "an instance is in a namespace already".into(),
            "create the namespace before the instance",
        );
    }
    if piece.gvk.kind == "CustomResourceDefinition" {
        let hint = "put it into .registry/resources if the stack is to bring it";
        return problem("a stack brings its CRDs in its package".into(), hint);
    }
    let builtin = builtin_kind(&piece.gvk);
    let beside = if piece.is_core("ServiceAccount") {
        "keep it beside the stack, for an administrator to apply: all instances use the one of this name"
    } else {
        "keep it beside the stack, for an administrator to apply"
    };
    if builtin.is_some_and(|builtin| !builtin.namespaced) {
        return problem(
            "it is in no namespace, and what an instance makes stays in its own".into(),
            beside,
        );
    }
    let plural = builtin.map_or_else(
        || piece.gvk.kind.to_ascii_lowercase() + "s",
        |builtin| builtin.plural.to_string(),
    );
    match Policy::default().check(&piece.gvk.group, &plural, false) {
        Err(refusal) => problem(refusal.why.to_string(), beside),
        Ok(()) => None,
    }
}

/// Why an object is there without anybody having written it.
fn made_by_cluster(piece: &Piece, all: &[Piece]) -> Option<String> {
    let kind = piece.gvk.kind.as_str();
    let metadata = &piece.value["metadata"];
    if piece.gvk.group.is_empty() && is_everywhere(kind, piece.name()) {
        return Some("it is in every namespace".to_string());
    }
    if kind == "Event" {
        return Some("it tells what happened, once".to_string());
    }
    if kind == "Endpoints" || kind == "EndpointSlice" {
        let service = metadata["labels"]["kubernetes.io/service-name"]
            .as_str()
            .unwrap_or(piece.name());
        let makes = |other: &&Piece| {
            let selects = other.value["spec"]["selector"]
                .as_object()
                .is_some_and(|selector| !selector.is_empty());
            other.is_core("Service") && other.name() == service && selects
        };
        return all
            .iter()
            .find(makes)
            .map(|service| format!("{} makes it", service.title()));
    }
    if piece.is_core("Secret") {
        return match piece.value["type"].as_str() {
            Some("kubernetes.io/service-account-token") => {
                Some("it is the token of a ServiceAccount".to_string())
            }
            Some("helm.sh/release.v1") => {
                Some("Helm keeps its record of a release in it".to_string())
            }
            _ => None,
        };
    }
    None
}

/// Whether an object of this kind and name is in every namespace.
pub(crate) fn is_everywhere(kind: &str, name: &str) -> bool {
    (kind == "ConfigMap" && EVERYWHERE.contains(&name))
        || (kind == "ServiceAccount" && name == "default")
}

/// A word about an object of a kind that nobody knows here, which may be in no namespace: its
/// neighbours are in one.
pub(crate) fn perhaps_unfit(piece: &Piece, all: &[Piece]) -> Option<Problem> {
    let has_namespace = |piece: &Piece| piece.value["metadata"]["namespace"].is_string();
    let odd = builtin_kind(&piece.gvk).is_none()
        && !has_namespace(piece)
        && all.iter().any(has_namespace);
    let what = || {
        format!(
            "{} has no namespace, unlike the others: its kind may be one without",
            piece.title()
        )
    };
    let hint =
        "if it is, keep the object beside the stack: what an instance makes stays in its namespace";
    odd.then(|| Problem::at(piece.place(), what()).warning().hint(hint))
}
