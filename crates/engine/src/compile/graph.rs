//! In which order children are made: a template comes after those it reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::compile::Child;
use crate::compile::reads::Reads;
use crate::problem::{Place, Problem};

/// What each template reads, and whether it cannot do without.
type Edges = [(String, Reads)];

/// Puts children in order. A circle of reads that each need an answer could never begin, and is a problem.
pub(super) fn ordered(mut children: Vec<Child>, edges: &Edges, problems: &mut Vec<Problem>) -> Vec<Child> {
    if let Some(circle) = circle(edges) {
        let shown =
            circle.iter().chain(circle.first()).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" reads ");
        let file = children.iter().find(|child| Some(&child.name) == circle.first()).map(|child| child.file.clone());
        let mut problem = Problem::general(format!("none of these can be made first: {shown}"))
            .hint("let one of them do without the other for a while: `{{ .other.status.field | default \"\" }}`");
        problem.place = file.map(|file| Place { file, line: 1, column: None });
        problems.push(problem);
    }
    let mut placed: BTreeSet<String> = BTreeSet::new();
    let mut order = Vec::with_capacity(children.len());
    while !children.is_empty() {
        // Among those whose inputs are all placed the first by name; in a guarded circle, the one that needs least.
        let missing = |child: &Child| {
            let reads = edges.iter().find(|(name, _)| *name == child.name).map(|(_, found)| &found.siblings);
            let open = |strict: bool| {
                reads.map_or(0, |reads| {
                    reads.iter().filter(|(name, needed)| (**needed || !strict) && !placed.contains(*name)).count()
                })
            };
            (open(true), open(false))
        };
        let Some(next) =
            (0..children.len()).min_by_key(|index| (missing(&children[*index]), children[*index].name.clone()))
        else {
            break;
        };
        let child = children.remove(next);
        placed.insert(child.name.clone());
        order.push(child);
    }
    order
}

/// A circle of strict reads, if there is one.
fn circle(edges: &Edges) -> Option<Vec<String>> {
    let strict: BTreeMap<&str, Vec<&str>> = edges
        .iter()
        .map(|(name, found)| {
            (
                name.as_str(),
                found.siblings.iter().filter(|(_, strict)| **strict).map(|(name, _)| name.as_str()).collect(),
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
                        return Some(path[from..].iter().map(|(name, _)| name.to_string()).collect());
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
