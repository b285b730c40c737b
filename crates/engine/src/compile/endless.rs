//! Kinds whose every instance makes another instance of the same kind, directly or through others:
//! there is no end.

use objects::Gvk;

use crate::compile::{Child, CompiledKind};
use crate::problem::Problem;

/// Every template that is sure to be part of such a circle is a problem.
pub(super) fn check(kinds: &[CompiledKind], problems: &mut Vec<Problem>) {
    for kind in kinds {
        for child in kind.children.iter().filter(|child| child.always.is_some()) {
            let Some(way) = way_back(kinds, &child.gvk, &kind.gvk) else {
                continue;
            };
            let Some(place) = child.always.clone() else {
                continue;
            };
            let through: Vec<&str> = way.iter().map(|gvk| gvk.kind.as_str()).collect();
            let through = if through.is_empty() {
                String::new()
            } else {
                format!(" through {}", through.join(", "))
            };
            let what = format!(
                "each {0} makes another {0}{through}, whatever its fields say: that never ends",
                kind.gvk.kind
            );
            problems.push(
                Problem::at(place, what)
                    .hint("put an `if` around the template that ends the chain"),
            );
        }
    }
}

/// The kinds between one and another that each instance makes, if there is such a way. It is no
/// longer than there are kinds.
fn way_back<'k>(kinds: &'k [CompiledKind], from: &'k Gvk, to: &Gvk) -> Option<Vec<&'k Gvk>> {
    let mut ways: Vec<Vec<&Gvk>> = vec![vec![from]];
    let mut seen: Vec<&Gvk> = vec![from];
    while let Some(way) = ways.pop() {
        let last = way.last()?;
        if *last == to {
            return Some(way[..way.len() - 1].to_vec());
        }
        let made = kinds
            .iter()
            .filter(|kind| kind.gvk == **last)
            .flat_map(|kind| &kind.children);
        for Child { gvk, .. } in made.filter(|child| child.always.is_some()) {
            if !seen.contains(&gvk) {
                seen.push(gvk);
                ways.push(way.iter().copied().chain([gvk]).collect());
            }
        }
    }
    None
}
