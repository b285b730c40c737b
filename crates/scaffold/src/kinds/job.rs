//! Jobs whose pods are made with fields of the spec: what a Job's pods are made from cannot be
//! changed.

use std::collections::BTreeSet;

use crate::manifests::split::Piece;
use crate::names::Names;
use crate::shared_resources::own;
use engine::Problem;

/// A word on a Job that an instance could not give other values, with a name that makes a new Job
/// of them.
pub(crate) fn pinned(
    names: &Names,
    base: &str,
    piece: &Piece,
    fields: &BTreeSet<String>,
) -> Option<Problem> {
    if piece.gvk.kind != "Job" || piece.gvk.group != "batch" || fields.is_empty() {
        return None;
    }
    let fields: Vec<String> = fields
        .iter()
        .map(|field| format!(".spec.{field}"))
        .collect();
    let (verb, shown) = (
        if fields.len() == 1 { "is" } else { "are" },
        fields.join("`, `"),
    );
    let what = format!(
        "{}: `{shown}` {verb} in its pods, which a Job cannot change: an instance that is given another value is stuck",
        piece.title()
    );
    let hint = format!(
        "let its name follow, so that a new value makes a new Job: `name: {}-{}`; the cases in tests/{}.yaml expect the \
         old name",
        own(piece.name(), base),
        digest(&fields),
        names.name
    );
    Some(Problem::at(piece.place(), what).warning().hint(hint))
}

/// An action that prints a short text, another for other values of these fields.
fn digest(fields: &[String]) -> String {
    match fields {
        [field] => format!("{{{{ {field} | sha256sum | trunc 8 }}}}"),
        fields => format!(
            "{{{{ list {} | join \",\" | sha256sum | trunc 8 }}}}",
            fields.join(" ")
        ),
    }
}
