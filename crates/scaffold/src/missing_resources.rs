//! Objects that manifests name and that no instance makes, and Secrets that instances would make
//! under one name: all of them use the same.

use std::collections::BTreeMap;

use yaml::Step;

use crate::manifests::split::Piece;
use crate::manifests::unsupported::is_everywhere;
use crate::rewrite::common_name::holds;
use crate::rewrite::field_meaning::{Sense, makes_secret, sense, texts};
use crate::rewrite::substitute::{Shared, makes_secret_of};
use crate::shared_resources::own;
use engine::{Problem, object_path};

/// Kinds whose objects make a difference when they are shared, whatever they are called.
const TELLING: [&str; 4] = [
    "ConfigMap",
    "PersistentVolumeClaim",
    "Secret",
    "ServiceAccount",
];
/// From this number on objects of a kind are told of in one sentence.
const MANY: usize = 4;

/// Where an object is named.
struct Mention<'m> {
    piece: &'m Piece,
    path: Vec<Step>,
    name: &'m str,
}

/// Words on what all instances use, each object once.
pub(super) fn missing(shared: &Shared<'_>, read: &[Piece]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut by_kind: BTreeMap<String, Vec<Mention<'_>>> = BTreeMap::new();
    for piece in shared.pieces {
        let mut found = Vec::new();
        texts(&piece.value, &mut Vec::new(), &mut found);
        let mut named: Vec<_> = found
            .into_iter()
            .map(|(path, name)| (sense(piece, &path), path, name))
            .collect();
        named.retain(|(sense, ..)| matches!(sense, Sense::Object(Some(_)) | Sense::Own));
        // What is named more than once is told of where it comes first.
        named.sort_by_key(|(_, path, _)| piece.place_of(path).line);
        for (sense, path, name) in named {
            match sense {
                Sense::Object(Some(kind)) if is_shared(shared, piece, read, &path, &kind, name) => {
                    let known = by_kind.entry(kind).or_default();
                    if known.iter().all(|mention| mention.name != name) {
                        known.push(Mention { piece, path, name });
                    }
                }
                Sense::Own if makes_secret(piece, &keys(&path)) && !holds(name, shared.base) => {
                    problems.push(Mention { piece, path, name }.written_by_all(shared.base));
                }
                _ => {}
            }
        }
    }
    for (kind, mentions) in &by_kind {
        // What is called like the instance is likely to be one for each.
        let (likely, others): (Vec<_>, Vec<_>) = mentions
            .iter()
            .partition(|mention| holds(mention.name, shared.base));
        let (alone, many) = if others.len() < MANY {
            (others, Vec::new())
        } else {
            (Vec::new(), others)
        };
        problems.extend(
            likely
                .iter()
                .chain(&alone)
                .map(|mention| mention.used_by_all(shared, kind)),
        );
        problems.extend(together(kind, &many));
    }
    problems
}

/// Whether all instances use one object by this name, and it may matter.
fn is_shared(
    shared: &Shared<'_>,
    piece: &Piece,
    read: &[Piece],
    path: &[Step],
    kind: &str,
    name: &str,
) -> bool {
    // What was left out has had its word already, and a StatefulSet puts its own claims in place of
    // volumes.
    let is_known = read
        .iter()
        .any(|other| other.gvk.kind == kind && other.name() == name)
        || shared.makes(Some(kind), name)
        || (kind == "Secret"
            && shared
                .pieces
                .iter()
                .any(|piece| makes_secret_of(piece, name)))
        || (kind == "PersistentVolumeClaim" && is_claim_of(piece, name));
    // Images are pulled by the same right everywhere, no stack makes volumes, and some objects are
    // in every namespace.
    let is_harmless = name.is_empty()
        || path.contains(&Step::from("imagePullSecrets"))
        || kind == "PersistentVolume"
        || is_everywhere(kind, name);
    !is_known && !is_harmless && (TELLING.contains(&kind) || holds(name, shared.base))
}

impl Mention<'_> {
    fn used_by_all(&self, shared: &Shared<'_>, kind: &str) -> Problem {
        let (field, own) = (self.field(), own(self.name, shared.base));
        let is_certificate = self.piece.gvk.kind == "Ingress"
            && keys(&self.path) == ["spec", "tls", "", "secretName"];
        let nowhere = || {
            format!(
                "{field} for every instance: there is no {kind} of this name among the manifests"
            )
        };
        let (what, hint) = if is_certificate && self.has_host_field(shared) {
            (
                format!(
                    "{field} for every instance, while each has a host of its own, which the certificate has to fit"
                ),
                format!(
                    "write `{own}` there and create it with each instance, unless it fits all hosts"
                ),
            )
        } else if kind == "ServiceAccount" {
            (
                nowhere(),
                "no stack makes one: create it wherever there are instances".to_string(),
            )
        } else {
            let hint = format!(
                "if each instance is to have its own, add it to the manifests, or write `{own}` there"
            );
            (nowhere(), hint)
        };
        Problem::at(self.piece.place_of(&self.path), what)
            .warning()
            .hint(hint)
    }

    /// For a Secret that a controller makes: cert-manager, say.
    fn written_by_all(&self, base: &str) -> Problem {
        let what = format!(
            "{} for every instance: two in a namespace would write one Secret",
            self.field()
        );
        let hint = format!(
            "write `{}` there, and wherever it is used",
            own(self.name, base)
        );
        Problem::at(self.piece.place_of(&self.path), what)
            .warning()
            .hint(hint)
    }

    /// The beginning of a sentence on the field that the name stands in.
    fn field(&self) -> String {
        format!(
            "{}: `{}` is `{}`",
            self.piece.title(),
            object_path(&self.path),
            self.name
        )
    }

    /// Whether a host of the same entry is up to the instance.
    fn has_host_field(&self, shared: &Shared<'_>) -> bool {
        let Some((_, entry)) = self.path.split_last() else {
            return false;
        };
        let hosts = [entry, &[Step::from("hosts"), Step::from(0)]].concat();
        let index = shared
            .pieces
            .iter()
            .position(|piece| std::ptr::eq(piece, self.piece));
        index.is_some_and(|index| shared.fields.at(shared.pieces, index, &hosts).is_some())
    }
}

/// One word on many objects of a kind.
fn together(kind: &str, mentions: &[&Mention<'_>]) -> Option<Problem> {
    let first = mentions.first()?;
    let names: Vec<&str> = mentions.iter().map(|mention| mention.name).collect();
    let what = format!(
        "{}: {} objects of the kind {kind} are named that are not among the manifests, and every instance uses the same: {}",
        first.piece.title(),
        names.len(),
        names.join(", ")
    );
    let hint = "what is not to be shared belongs to the manifests too, or has `{{ .metadata.name }}` in its name";
    Some(
        Problem::at(first.piece.place_of(&first.path), what)
            .warning()
            .hint(hint),
    )
}

/// Whether a StatefulSet has a template for claims of this name.
fn is_claim_of(piece: &Piece, name: &str) -> bool {
    let templates = piece.value["spec"]["volumeClaimTemplates"].as_array();
    templates
        .into_iter()
        .flatten()
        .any(|template| template["metadata"]["name"] == name)
}

fn keys(path: &[Step]) -> Vec<&str> {
    path.iter()
        .map(|step| {
            if let Step::Key(key) = step {
                &**key
            } else {
                ""
            }
        })
        .collect()
}
