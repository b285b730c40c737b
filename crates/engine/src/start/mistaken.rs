//! Kinds of Kubernetes that are written as it does not have them: misspelt, in another group, or of a version that is gone.

use objects::{Builtin, builtin_kind, builtins, nearest};
use yaml::Step;

use super::piece::Piece;
use crate::problem::Problem;

/// What is wrong with the kind of an object, if one that Kubernetes has was evidently meant.
pub(super) fn mistaken(piece: &Piece) -> Option<Problem> {
    let gvk = &piece.gvk;
    let is_own = !gvk.group.contains('.') || builtins().iter().any(|known| known.group == gvk.group);
    if !is_own || builtin_kind(gvk).is_some() {
        return None;
    }
    let problem = |field: &str, hint: String| {
        let what = format!("{}: Kubernetes has no {} of `{}`", piece.title(), gvk.kind, gvk.api_version());
        Problem::at(piece.place_of(&[Step::from(field)]), what).hint(hint)
    };
    // What is in no namespace is left out anyway, and some of it has versions that only some clusters serve.
    let candidates = || builtins().iter().filter(|known| known.namespaced);
    let newest = |known: &&Builtin| (known.group == gvk.group, known.version);
    if let Some(same) = candidates().filter(|known| known.kind == gvk.kind).max_by_key(newest) {
        return Some(problem("apiVersion", format!("write `apiVersion: {}`", same.gvk().api_version())));
    }
    let near = |of_group: bool| {
        let all = builtins().iter().filter(|known| !of_group || known.group == gvk.group);
        nearest(&gvk.kind, all.map(|known| known.kind))
    };
    let kind = if gvk.group.is_empty() { near(true).or_else(|| near(false)) } else { near(true) }?;
    let meant = candidates().filter(|known| known.kind == kind).max_by_key(newest)?;
    Some(problem("kind", format!("did you mean `{}` of `{}`?", meant.kind, meant.gvk().api_version())))
}
