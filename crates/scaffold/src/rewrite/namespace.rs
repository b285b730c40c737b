//! The namespace that manifests are in, and where else it stands in them.

use serde_json::Value;
use yaml::Step;

use super::common_name::places;
use super::edit::look;
use super::field_meaning::{Sense, sense, texts};
use super::substitute::Shared;
use crate::manifests::split::Piece;
use crate::shared_resources::listed;
use engine::Problem;
use engine::object_path;

/// The namespace that the objects share. What an instance makes is all in one.
pub(crate) fn namespace(pieces: &[Piece]) -> Result<Option<String>, Vec<Problem>> {
    let mut found: Option<(&str, &Piece)> = None;
    for piece in pieces {
        let Some(namespace) = piece.value["metadata"]["namespace"].as_str() else {
            continue;
        };
        match found {
            Some((known, first)) if known != namespace => {
                let what = format!(
                    "{} is in the namespace {namespace}, {} in {known}",
                    piece.title(),
                    first.title()
                );
                let hint = "what an instance makes is in its own namespace: make a stack of each";
                return Err(vec![Problem::at(piece.place(), what).hint(hint)]);
            }
            _ => found = Some((namespace, piece)),
        }
    }
    Ok(found.map(|(namespace, _)| namespace.to_string()))
}

/// A word on texts that keep the namespace of the manifests in what an instance elsewhere makes.
pub(crate) fn kept(shared: &Shared<'_>, piece: &Piece, elsewhere: &Value) -> Option<Problem> {
    let namespace = shared.namespace?;
    let mut found = Vec::new();
    texts(elsewhere, &mut Vec::new(), &mut found);
    let mut paths: Vec<Vec<Step>> = Vec::new();
    for (path, text) in found {
        let is_theirs = look(&piece.value, &path).is_some();
        let may_mean =
            sense(piece, &path) == Sense::Free || path.contains(&Step::from("namespaceSelector"));
        let is_alone =
            text == namespace && (is_telling(namespace, shared.base) || is_asked(piece, &path));
        if is_theirs && may_mean && (is_alone || names(text, namespace)) {
            paths.push(path);
        }
    }
    let first = paths.first()?.clone();
    let shown: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", object_path(path)))
        .collect();
    let (shown, verb) = listed(&shown);
    let what = format!(
        "{}: {shown} {verb} `{namespace}`, which is the namespace of the manifests",
        piece.title()
    );
    let hint = "write `{{ .metadata.namespace }}` there if the instance's own is meant";
    Some(
        Problem::at(piece.place_of(&first), what)
            .warning()
            .hint(hint),
    )
}

/// Whether a text that is the namespace, and nothing else, is likely to mean it.
fn is_telling(namespace: &str, base: &str) -> bool {
    namespace != "default" && namespace != base
}

/// Whether a value is asked for as a namespace: `POD_NAMESPACE`.
fn is_asked(piece: &Piece, path: &[Step]) -> bool {
    let Some((Step::Key(last), above)) = path.split_last() else {
        return false;
    };
    let named = look(&piece.value, above)
        .and_then(|entry| entry["name"].as_str())
        .filter(|_| **last == *"value");
    named
        .unwrap_or(last)
        .to_ascii_lowercase()
        .contains("namespace")
}

/// Whether a text says that this is a namespace: `--namespace=team`, `kubectl -n team`.
fn names(text: &str, namespace: &str) -> bool {
    places(text, namespace).into_iter().any(|at| {
        let (before, after) = (&text[..at], &text[at + namespace.len()..]);
        let word = before.trim_end_matches(['=', ':', ' ', '"', '\'']);
        let asks = word.to_ascii_lowercase().ends_with("namespace") || word.ends_with(" -n");
        asks && word.len() < before.len() && !after.starts_with('-')
    })
}
