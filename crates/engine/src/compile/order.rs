//! In which order children are made: a template comes after those it reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::Child;
use crate::compile::reads::Reads;
use crate::problem::Problem;

/// What each template reads, and whether it cannot do without.
type Edges = [(String, Reads)];

/// Puts children in order. A circle of reads that each need an answer could never begin, and is a
/// problem.
pub(super) fn ordered(
    mut children: Vec<Child>,
    edges: &Edges,
    problems: &mut Vec<Problem>,
) -> Vec<Child> {
    if let Some(circle) = circle(edges) {
        problems.push(circular(&circle, edges));
    }
    let mut placed: BTreeSet<String> = BTreeSet::new();
    let mut order = Vec::with_capacity(children.len());
    while !children.is_empty() {
        // Among those whose inputs are all placed the first by name; in a guarded circle, the one
        // that needs least.
        let missing = |child: &Child| {
            let reads = edges
                .iter()
                .find(|(name, _)| *name == child.name)
                .map(|(_, found)| &found.siblings);
            let open = |strict: bool| {
                reads.map_or(0, |reads| {
                    reads
                        .iter()
                        .filter(|(name, needed)| {
                            (needed.strict.is_some() || !strict) && !placed.contains(*name)
                        })
                        .count()
                })
            };
            (open(true), open(false))
        };
        let Some(next) = (0..children.len())
            .min_by_key(|index| (missing(&children[*index]), children[*index].name.clone()))
        else {
            break;
        };
        let child = children.remove(next);
        placed.insert(child.name.clone());
        order.push(child);
    }
    order
}

/// A circle, told with the read that closes each part of it.
fn circular(circle: &[String], edges: &Edges) -> Problem {
    let mut steps = Vec::new();
    for (index, name) in circle.iter().enumerate() {
        let next = &circle[(index + 1) % circle.len()];
        let found = edges
            .iter()
            .find(|(edge, _)| edge == name)
            .and_then(|(_, found)| found.siblings.get(next)?.strict.clone());
        if let Some((path, place)) = found {
            steps.push((
                format!("`{name}` reads `.{path}` ({})", place.short()),
                path,
                place,
            ));
        }
    }
    let shown = steps
        .iter()
        .map(|(shown, ..)| shown.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let mut problem = Problem::general(format!("none of these can be made first: {shown}"));
    if let Some((_, path, place)) = steps.first() {
        problem.place = Some(place.clone());
        problem = problem.hint(format!(
            "let one of them do without the other for a while: `.{path} | default \"\"`"
        ));
    }
    problem
}

/// A circle of strict reads, if there is one.
fn circle(edges: &Edges) -> Option<Vec<String>> {
    let strict: BTreeMap<&str, Vec<&str>> = edges
        .iter()
        .map(|(name, found)| {
            (
                name.as_str(),
                found
                    .siblings
                    .iter()
                    .filter(|(_, needed)| needed.strict.is_some())
                    .map(|(name, _)| name.as_str())
                    .collect(),
            )
        })
        .collect();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in strict.keys() {
        let mut path: Vec<(&str, usize)> = vec![(start, 0)];
        while let Some((name, next)) = path.last().copied() {
            match strict.get(name).and_then(|reads| reads.get(next)) {
                Some(read) => {
                    if let Some(last) = path.last_mut() {
                        last.1 += 1;
                    }
                    if let Some(from) = path.iter().position(|(name, _)| name == read) {
                        return Some(
                            path[from..]
                                .iter()
                                .map(|(name, _)| name.to_string())
                                .collect(),
                        );
                    }
                    if !done.contains(read) {
                        path.push((read, 0));
                    }
                }
                None => {
                    done.insert(name);
                    path.pop();
                }
            }
        }
    }
    None
}
