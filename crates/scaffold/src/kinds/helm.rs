//! What annotations of Helm promise of an object, and what becomes of the promise in a stack.

use yaml::Step;

use crate::manifests::split::Piece;
use crate::rewrite::edit::with_annotation;
use engine::Problem;

const HOOK: &str = "helm.sh/hook";
const POLICY: &str = "helm.sh/resource-policy";

/// Why an object that Helm makes at another time than with a release cannot be one that an instance
/// makes: it would be there, and run, right away.
pub(crate) fn untimely(piece: &Piece) -> Option<(String, &'static str)> {
    let hooks = hooks(piece);
    if hooks.is_empty() || hooks.iter().any(|hook| with_release(hook)) {
        return None;
    }
    let ends = |end: &str| hooks.iter().all(|hook| hook.ends_with(end));
    let (when, hint) = if hooks.iter().all(|hook| hook.starts_with("test")) {
        (
            "to test a release",
            "what it finds out is seen by a case in tests/, or by running it by hand",
        )
    } else if ends("-delete") {
        (
            "when a release goes",
            "what an instance makes goes with it; whatever else is to be done is done by hand",
        )
    } else if ends("-rollback") {
        (
            "when a release goes back",
            "run it by hand when you go back to an older version",
        )
    } else {
        ("at a time of its own", "run it by hand when it is needed")
    };
    Some((
        format!(
            "Helm runs it {when} (`{HOOK}: {}`), an instance would right away",
            hooks.join(",")
        ),
        hint,
    ))
}

/// A word on an object that Helm makes before or after everything else.
pub(crate) fn hooked(piece: &Piece) -> Option<Problem> {
    let hooks = hooks(piece);
    let what = format!(
        "{} is a hook of Helm (`{HOOK}: {}`), and an object like the others here: it is made once, with its instance, in \
         no order of Helm's",
        piece.title(),
        hooks.join(",")
    );
    let hint = "a template waits for what it reads of another, as in `{{ .config.metadata.name }}`";
    hooks
        .iter()
        .any(|hook| with_release(hook))
        .then(|| Problem::at(piece.place(), what).warning().hint(hint))
}

/// The object so that it stays when its instance goes, if Helm would keep it, with a word on that.
pub(crate) fn staying(piece: &Piece) -> Option<(Piece, Problem)> {
    let annotations = &piece.value["metadata"]["annotations"];
    let is_kept = annotations[POLICY]
        .as_str()
        .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"));
    let (policy, orphan) = (api::annotations::DELETION_POLICY, api::annotations::ORPHAN);
    if !is_kept || !annotations[policy].is_null() {
        return None;
    }
    let path = ["metadata", "annotations", POLICY].map(Step::from);
    let what = format!(
        "{} stays when its instance goes: `{POLICY}: keep` became `{policy}: {orphan}`",
        piece.title()
    );
    let hint = format!("take `{policy}` out of its template if it is to go too");
    let note = Problem::at(piece.place_of(&path), what)
        .warning()
        .hint(hint);
    Some((with_annotation(piece, POLICY, policy, orphan), note))
}

fn hooks(piece: &Piece) -> Vec<&str> {
    let hooks = piece.value["metadata"]["annotations"][HOOK]
        .as_str()
        .unwrap_or_default();
    hooks
        .split(',')
        .map(str::trim)
        .filter(|hook| !hook.is_empty())
        .collect()
}

/// Whether a hook runs when a release is made or changed, as objects of an instance are.
fn with_release(hook: &str) -> bool {
    ["pre-install", "post-install", "pre-upgrade", "post-upgrade"].contains(&hook)
}
