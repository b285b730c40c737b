//! A set of field paths as a tree, with the operations that ownership needs.

use std::cmp::Ordering;

use super::element::{Element, FieldPath};

/// A set of field paths.
///
/// An entry is in the tree only if it is a member itself or something below it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    entries: Vec<Entry>,
}

/// A step that paths of the set take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The step.
    pub element: Element,
    /// Whether a path ends here.
    pub member: bool,
    /// What goes on from here.
    pub below: FieldSet,
}

/// An entry of one set, of the other, or of both.
enum Pair<'a> {
    Left(&'a Entry),
    Right(&'a Entry),
    Both(&'a Entry, &'a Entry),
}

impl FieldSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many paths are in it.
    pub fn len(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| usize::from(entry.member) + entry.below.len())
            .sum()
    }

    /// The first steps, in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of a step.
    pub fn get(&self, element: &Element) -> Option<&Entry> {
        let at = self
            .entries
            .binary_search_by(|entry| entry.element.cmp(element))
            .ok()?;
        self.entries.get(at)
    }

    /// Whether the path of this one step is in the set.
    pub fn has_member(&self, element: &Element) -> bool {
        self.get(element).is_some_and(|entry| entry.member)
    }

    /// What goes on from a step; none if nothing does.
    pub fn below(&self, element: &Element) -> Option<&Self> {
        self.get(element)
            .map(|entry| &entry.below)
            .filter(|below| !below.is_empty())
    }

    /// Whether a path is in the set; the whole object never is.
    pub fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has_member(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.has(rest)),
        }
    }

    /// Adds a path; the whole object is no path.
    pub fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => self.entry(last).member = true,
            [first, rest @ ..] => self.entry(first).below.insert(rest),
        }
    }

    /// Adds what an element holds; nothing if it holds nothing.
    pub(crate) fn put(&mut self, element: Element, member: bool, below: Self) {
        if !member && below.is_empty() {
            return;
        }
        // Objects are walked in the order of their keys, so that this is nearly always the end.
        if self
            .entries
            .last()
            .is_none_or(|last| last.element < element)
        {
            self.entries.push(Entry {
                element,
                member,
                below,
            });
            return;
        }
        let entry = self.entry(&element);
        entry.member |= member;
        if entry.below.is_empty() {
            entry.below = below;
        } else {
            entry.below = entry.below.union(&below);
        }
    }

    fn entry(&mut self, element: &Element) -> &mut Entry {
        let at = match self
            .entries
            .binary_search_by(|entry| entry.element.cmp(element))
        {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(
                    at,
                    Entry {
                        element: element.clone(),
                        member: false,
                        below: Self::new(),
                    },
                );
                at
            }
        };
        &mut self.entries[at]
    }

    /// What is in one of them or both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        let mut entries = Vec::with_capacity(self.entries.len().max(other.entries.len()));
        self.pairs(other, |pair| {
            entries.push(match pair {
                Pair::Left(entry) | Pair::Right(entry) => entry.clone(),
                Pair::Both(left, right) => Entry {
                    element: left.element.clone(),
                    member: left.member || right.member,
                    below: left.below.union(&right.below),
                },
            });
        });
        Self { entries }
    }

    /// What is in one of them or both, of sets that nobody needs any more.
    #[must_use]
    pub(crate) fn united(self, other: Self) -> Self {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => self.union(&other),
        }
    }

    /// Takes away what is there: the same as [`Self::difference`], without a copy of what stays.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.meet(other, |entry, there| {
            entry.member &= !there.member;
            entry.below.subtract(&there.below);
        });
    }

    /// Takes away what is there and all below it: the same as [`Self::recursive_difference`],
    /// without a copy.
    pub(crate) fn subtract_below(&mut self, other: &Self) {
        self.meet(other, |entry, there| {
            if there.member {
                entry.member = false;
                entry.below = Self::new();
            } else {
                entry.below.subtract_below(&there.below);
            }
        });
    }

    /// Calls with every entry that the other has as well, and drops those that are left with
    /// nothing.
    fn meet(&mut self, other: &Self, mut change: impl FnMut(&mut Entry, &Entry)) {
        if other.is_empty() {
            return;
        }
        self.entries
            .retain_mut(|entry| match other.get(&entry.element) {
                None => true,
                Some(there) => {
                    change(entry, there);
                    entry.member || !entry.below.is_empty()
                }
            });
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut result = Self::new();
        self.pairs(other, |pair| {
            if let Pair::Both(left, right) = pair {
                result.put(
                    left.element.clone(),
                    left.member && right.member,
                    left.below.intersection(&right.below),
                );
            }
        });
        result
    }

    /// What is here and not there.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        let mut result = Self::new();
        self.pairs(other, |pair| match pair {
            Pair::Left(entry) => result.entries.push(entry.clone()),
            Pair::Both(left, right) => {
                result.put(
                    left.element.clone(),
                    left.member && !right.member,
                    left.below.difference(&right.below),
                );
            }
            Pair::Right(_) => {}
        });
        result
    }

    /// What is here and neither there nor below something that is there.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        if other.is_empty() {
            return self.clone();
        }
        let mut result = Self::new();
        self.pairs(other, |pair| match pair {
            Pair::Left(entry) => result.entries.push(entry.clone()),
            Pair::Both(left, right) if !right.member => {
                result.put(
                    left.element.clone(),
                    left.member,
                    left.below.recursive_difference(&right.below),
                );
            }
            Pair::Both(..) | Pair::Right(_) => {}
        });
        result
    }

    /// Whether something is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut overlap = false;
        self.pairs(other, |pair| {
            if let Pair::Both(left, right) = pair {
                overlap =
                    overlap || (left.member && right.member) || left.below.overlaps(&right.below);
            }
        });
        overlap
    }

    /// Whether all of it is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut subset = true;
        self.pairs(other, |pair| match pair {
            Pair::Left(_) => subset = false,
            Pair::Both(left, right) => {
                subset =
                    subset && (right.member || !left.member) && left.below.is_subset(&right.below);
            }
            Pair::Right(_) => {}
        });
        subset
    }

    /// The paths that no other path goes on from.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let mut result = Self::new();
        for entry in &self.entries {
            result.put(
                entry.element.clone(),
                entry.member && entry.below.is_empty(),
                entry.below.leaves(),
            );
        }
        result
    }

    /// All paths: of each level first those that end there, as the API server lists conflicts.
    pub fn paths(&self) -> Vec<FieldPath> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Element>, paths: &mut Vec<FieldPath>) {
        for entry in self.entries.iter().filter(|entry| entry.member) {
            let mut path = prefix.clone();
            path.push(entry.element.clone());
            paths.push(FieldPath(path));
        }
        for entry in &self.entries {
            prefix.push(entry.element.clone());
            entry.below.collect(prefix, paths);
            prefix.pop();
        }
    }

    /// Goes through the entries of both in their common order.
    fn pairs<'a>(&'a self, other: &'a Self, mut visit: impl FnMut(Pair<'a>)) {
        let (mut left, mut right) = (
            self.entries.iter().peekable(),
            other.entries.iter().peekable(),
        );
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(one), Some(other)) => one.element.cmp(&other.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return,
            };
            match order {
                Ordering::Less => left.next().map(Pair::Left),
                Ordering::Greater => right.next().map(Pair::Right),
                Ordering::Equal => left
                    .next()
                    .zip(right.next())
                    .map(|(one, other)| Pair::Both(one, other)),
            }
            .into_iter()
            .for_each(&mut visit);
        }
    }
}

impl FromIterator<FieldPath> for FieldSet {
    fn from_iter<I: IntoIterator<Item = FieldPath>>(paths: I) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(&path.0);
        }
        set
    }
}
