//! What a second instance in a namespace would share with the first, or take from it.

use std::collections::BTreeMap;

use serde_json::Value;
use yaml::Step;

use crate::manifests::split::Piece;
use crate::rewrite::common_name::places;
use crate::rewrite::edit::look;
use crate::rewrite::field_meaning::{Sense, sense, texts};
use crate::rewrite::substitute::Shared;
use crate::rewrite::text_references::remains;
use engine::Problem;
use engine::object_path;

/// Fields whose values exist once, in a cluster or on a node.
const FIXED: [&str; 3] = ["hostPort", "loadBalancerIP", "nodePort"];

/// Words on values that only one instance can have.
pub(super) fn fixed(piece: &Piece) -> Vec<Problem> {
    let mut found = Vec::new();
    walk(&piece.value, &mut Vec::new(), &mut |path, value| {
        let Some(Step::Key(key)) = path.last() else {
            return;
        };
        let is_set = value.as_u64().is_some_and(|port| port > 0)
            || value.as_str().is_some_and(|text| !text.is_empty());
        if FIXED.contains(&&**key) && is_set {
            let shown = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_string);
            let (title, path) = (piece.title(), object_path(path));
            let what = format!(
                "{title}: `{path}` is {shown} for every instance, and only one can have it"
            );
            found.push(
                Problem::at(piece.place(), what)
                    .warning()
                    .hint("leave it out, or make it a field of the spec"),
            );
        }
    });
    found
}

/// Whether the selector of an object, if it has one, tells the pods of instances apart: another
/// instance has another.
pub(super) fn selects(piece: &Piece, other: &Value) -> bool {
    let field = if piece.gvk.kind == "NetworkPolicy" {
        "podSelector"
    } else {
        "selector"
    };
    let selector = piece.value["spec"][field]
        .as_object()
        .filter(|fields| !fields.is_empty());
    selector.is_none_or(|selector| other["spec"][field].as_object() != Some(selector))
}

/// Words on names of the first instance's objects that are in what another instance makes of a
/// template.
pub(super) fn kept(shared: &Shared<'_>, piece: &Piece, other: &Value) -> Vec<Problem> {
    let mut found = Vec::new();
    texts(other, &mut Vec::new(), &mut found);
    let mut by_name: BTreeMap<&str, (&Piece, Vec<String>)> = BTreeMap::new();
    let index = shared
        .pieces
        .iter()
        .position(|other| other.gvk == piece.gvk && other.name() == piece.name());
    let is_field =
        |path: &[Step]| index.is_some_and(|at| shared.fields.at(shared.pieces, at, path).is_some());
    for (path, text) in found {
        // A text that the manifests do not have, such as a drawn one, is no name of theirs; a field
        // is up to the instance.
        let is_theirs = look(&piece.value, &path).is_some() && !is_field(&path);
        if !is_theirs || sense(piece, &path) != Sense::Free {
            continue;
        }
        let is_command = path
            .iter()
            .any(|step| [Step::from("command"), Step::from("args")].contains(step));
        for named in shared.known.all() {
            // The first word of a command is a program, which is often called as what it is part
            // of.
            let is_program = path.ends_with(&[Step::from("command"), Step::from(0)]);
            let speaks = named.name() != shared.base || (named.is_core("Service") && !is_program);
            if speaks && remains(text, named.name(), shared.base, is_command) {
                let (_, paths) = by_name
                    .entry(named.name())
                    .or_insert_with(|| (named, Vec::new()));
                let path = format!("`{}`", object_path(&path));
                if !paths.contains(&path) {
                    paths.push(path);
                }
            }
        }
    }
    let word = |(name, (named, paths)): (&str, (&Piece, Vec<String>))| {
        let (shown, verb) = listed(&paths);
        let what = format!(
            "{}: {shown} {verb} `{name}`, which is the name of {}",
            piece.title(),
            named.title()
        );
        Problem::at(piece.place(), what).warning().hint(format!(
            "write `{}` there if it is meant",
            own(name, shared.base)
        ))
    };
    by_name.into_iter().map(word).collect()
}

/// The first of some texts and how many more there are, with what they do.
pub(super) fn listed(texts: &[String]) -> (String, &'static str) {
    let more = match texts.len().saturating_sub(3) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let shown = texts
        .iter()
        .take(3)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    (
        shown + &more,
        if texts.len() == 1 { "keeps" } else { "keep" },
    )
}

/// A name as a template writes it.
pub(super) fn own(name: &str, base: &str) -> String {
    let mut own = name.to_string();
    let places = places(name, base);
    for at in places.iter().rev() {
        own.replace_range(*at..at + base.len(), "{{ .metadata.name }}");
    }
    if places.is_empty() {
        format!("{{{{ .metadata.name }}}}-{name}")
    } else {
        own
    }
}

fn walk(value: &Value, path: &mut Vec<Step>, each: &mut impl FnMut(&[Step], &Value)) {
    each(path, value);
    let fields = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, field)| (Step::from(key.as_str()), field));
    let items = value
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(index, item)| (Step::from(index), item));
    for (step, inner) in fields.chain(items) {
        path.push(step);
        walk(inner, path, each);
        path.pop();
    }
}
