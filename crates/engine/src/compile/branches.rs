//! A template run as if every condition on something unknown held, and as if none did: what it
//! prints then is one of the texts that it can print, so that its YAML and its fields can be
//! checked, branches and all.

use std::ops::Range;

use gotpl::{Path, Set, Step, UseKind, Watch};

use super::dry_run::{Sketch, known};
use super::source_map::Origins;
use crate::budget::Purse;
use crate::problem::{Place, Problem};
use crate::stack::Source;

/// The texts that a template with conditions can print, those that are surely no YAML reported and
/// left out.
pub(super) fn sketches<'s>(
    set: &Set,
    source: &'s Source,
    origins: &'s Origins,
    purse: &Purse<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(Sketch<'s>, Vec<Range<usize>>)> {
    let mut found = Vec::new();
    for side in [true, false] {
        let Some(sketch) = Sketch::run(set, source, origins, purse, Watch::Assuming(&known, side))
        else {
            continue;
        };
        let conditions = conditions(&sketch);
        if conditions.is_empty() {
            return Vec::new();
        }
        if !can_be(&conditions, side) {
            continue;
        }
        let documents = sketch.documents();
        if documents
            .iter()
            .any(|document| sketch.is_yaml(document, problems).is_none())
        {
            // The other text has most of this one's lines; what is wrong would be said twice.
            return Vec::new();
        }
        found.push((sketch, documents));
    }
    found
}

/// A condition on something unknown.
struct Condition<'t> {
    /// What it reads.
    paths: Vec<&'t Path>,
    /// The action, to tell conditions that are the same.
    text: Option<&'t str>,
    /// Whether more in the data never makes it false.
    is_plain: bool,
}

fn conditions<'t>(sketch: &'t Sketch<'_>) -> Vec<Condition<'t>> {
    let ends = sketch
        .trace
        .uses
        .iter()
        .filter(|end| end.kind == UseKind::Branch && end.function.is_none());
    let unknown = ends.filter(|end| end.reads.iter().any(|read| sketch.is_unknown(*read)));
    let condition = |end: &'t gotpl::Use| {
        let text = sketch.origins.action(&Place::from(&end.site));
        let paths = sketch
            .trace
            .reads_of(&end.reads)
            .map(|read| &read.path)
            .collect();
        Condition {
            paths,
            text,
            is_plain: text.is_some_and(is_plain),
        }
    };
    unknown.map(condition).collect()
}

/// Whether an action only asks whether fields are there: `{{- if and .spec.a (or .b $.spec.c) }}`.
fn is_plain(action: &str) -> bool {
    let asked = action.split_once(":=").map_or(action, |(_, asked)| asked);
    let words = asked
        .split(|c: char| c.is_whitespace() || "(){}-".contains(c))
        .filter(|word| !word.is_empty());
    let is_asking = |word: &str| ["if", "else", "with", "range", "and", "or", "$"].contains(&word);
    words
        .into_iter()
        .all(|word| is_asking(word) || word.starts_with('.') || word.starts_with("$."))
}

/// Whether all of the conditions can have the same truth at once. Where that is not certain,
/// nothing is concluded.
fn can_be(conditions: &[Condition<'_>], side: bool) -> bool {
    let fits = |(one, other): (&Condition<'_>, &Condition<'_>)| {
        let same = one.text.is_some() && one.text == other.text && one.paths == other.paths;
        let apart = one
            .paths
            .iter()
            .all(|path| other.paths.iter().all(|beside| !conflict(path, beside)));
        // What is in a mapping or list says nothing against its being there.
        let inside = |outer: &Condition<'_>, inner: &Condition<'_>| {
            side && outer.is_plain
                && inner
                    .paths
                    .iter()
                    .all(|path| outer.paths.iter().all(|outer| path.0.len() > outer.0.len()))
        };
        same || apart
            || (one.is_plain && other.is_plain)
            || inside(one, other)
            || inside(other, one)
    };
    // The number of a turn (`{{ if $i }}, {{ end }}`) is not anybody's choice: the first is 0.
    let counts = |condition: &Condition<'_>| {
        !condition.is_plain
            && condition
                .paths
                .iter()
                .any(|path| path.0.last() == Some(&Step::Any))
    };
    if conditions.iter().any(counts) {
        return false;
    }
    let pairs = conditions.iter().enumerate();
    pairs
        .flat_map(|(index, one)| {
            conditions[index + 1..]
                .iter()
                .map(move |other| (one, other))
        })
        .all(fits)
}

/// Whether what is at one path may decide what is at the other.
fn conflict(one: &Path, other: &Path) -> bool {
    one.0.starts_with(&other.0) || other.0.starts_with(&one.0)
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn a_plain_condition_only_asks_whether_fields_are_there() {
        for (action, plain) in [
            ("{{ if .spec.host }}", true),
            ("{{- with $.spec.host -}}", true),
            ("{{ else if and .spec.a (or .b $.c) }}", true),
            ("{{ range $i, $host := .spec.hosts }}", true),
            ("{{ if not .spec.host }}", false),
            ("{{ if eq .spec.host \"a\" }}", false),
            ("{{ if $on }}", false),
        ] {
            assert_eq!(is_plain(action), plain, "{action}");
        }
    }
}
