//! Kinds of Kubernetes that are written as it does not have them: misspelt, in another group, or of
//! a version that is gone.

use objects::{Builtin, Gvk, builtin_kind, builtins, is_subdomain, nearest};
use yaml::Step;

use super::split::Piece;
use engine::Problem;

/// What is wrong with the kind of an object, if there can be none of it, or one that Kubernetes has
/// was evidently meant.
pub(crate) fn mistaken(piece: &Piece) -> Option<Problem> {
    let gvk = &piece.gvk;
    if let Some((field, what)) = malformed(gvk) {
        return Some(Problem::at(piece.place_of(&[Step::from(field)]), what));
    }
    let is_own =
        !gvk.group.contains('.') || builtins().iter().any(|known| known.group == gvk.group);
    if !is_own || builtin_kind(gvk).is_some() {
        return None;
    }
    let problem = |field: &str, hint: String| {
        let what = format!(
            "{}: Kubernetes has no {} of `{}`",
            piece.title(),
            gvk.kind,
            gvk.api_version()
        );
        Problem::at(piece.place_of(&[Step::from(field)]), what).hint(hint)
    };
    // What is in no namespace is left out anyway, and some of it has versions that only some
    // clusters serve.
    let candidates = || builtins().iter().filter(|known| known.namespaced);
    let newest = |known: &&Builtin| (known.group == gvk.group, known.version);
    if let Some(same) = candidates()
        .filter(|known| known.kind == gvk.kind)
        .max_by_key(newest)
    {
        return Some(problem(
            "apiVersion",
            format!("write `apiVersion: {}`", same.gvk().api_version()),
        ));
    }
    let near = |of_group: bool| {
        let all = builtins()
            .iter()
            .filter(|known| !of_group || known.group == gvk.group);
        nearest(&gvk.kind, all.map(|known| known.kind))
    };
    let kind = if gvk.group.is_empty() {
        near(true).or_else(|| near(false))
    } else {
        near(true)
    }?;
    let meant = candidates()
        .filter(|known| known.kind == kind)
        .max_by_key(newest)?;
    Some(problem(
        "kind",
        format!(
            "did you mean `{}` of `{}`?",
            meant.kind,
            meant.gvk().api_version()
        ),
    ))
}

/// What no kind of any cluster can look like, and the field that it is in.
fn malformed(gvk: &Gvk) -> Option<(&'static str, String)> {
    let (kind, api_version) = (&gvk.kind, gvk.api_version());
    if !kind
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Some((
            "kind",
            format!("{kind:?} cannot be a kind: it has letters and digits"),
        ));
    }
    let is_sound = (gvk.group.is_empty() || is_subdomain(&gvk.group)) && is_subdomain(&gvk.version);
    let what = || {
        format!(
            "`{api_version}` cannot be an apiVersion: it is a version, such as `v1`, perhaps after a domain and a slash"
        )
    };
    (!is_sound).then(|| ("apiVersion", what()))
}
