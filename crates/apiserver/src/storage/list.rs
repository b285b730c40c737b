//! Lists: as it is now, or as it was at a revision that is still remembered; whole, or by pages.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{Entry, Gone, Store};

/// What to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// The resource, as `deployments.apps`.
    pub resource: &'a str,
    /// Only this namespace; empty for all.
    pub namespace: &'a str,
    /// As it was at this revision; none for now.
    pub at: Option<u64>,
    /// Only what comes after this `namespace/name`.
    pub after: Option<&'a str>,
    /// The most objects; zero is no limit.
    pub limit: usize,
}

/// A list, or a page of one.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The revision that it shows.
    pub revision: u64,
    /// The objects, sorted by namespace and name.
    pub entries: Vec<Entry>,
    /// The `namespace/name` of the last one, if there are more.
    pub more: Option<Arc<str>>,
    /// How many come after this page, whether they are wanted or not.
    pub remaining: usize,
}

impl Store {
    /// The objects that are asked for and wanted.
    ///
    /// # Errors
    ///
    /// If the revision is older than what is remembered.
    pub fn list(
        &self,
        query: &Query<'_>,
        wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Listing, Gone> {
        let state = self.read();
        let revision = query.at.unwrap_or(state.revision).min(state.revision);
        if revision < state.past.oldest() {
            return Err(Gone {
                asked: revision,
                oldest: state.past.oldest(),
            });
        }
        let Some(table) = state.tables.get(query.resource) else {
            return Ok(Listing {
                revision,
                ..Listing::default()
            });
        };
        let prefix = if query.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", query.namespace)
        };
        let start = match query.after {
            Some(after) if after >= &*prefix => Bound::Excluded(after),
            _ => Bound::Included(&*prefix),
        };
        let range = (start, Bound::Unbounded);
        // What has changed since then, as it was then.
        let mut undone: BTreeMap<&Arc<str>, Option<&Entry>> = BTreeMap::new();
        for event in table.history.after(revision).rev() {
            undone.insert(&event.key.path, event.before.as_ref());
        }
        if undone.is_empty() {
            let objects = table
                .objects
                .range::<str, _>(range)
                .take_while(|(path, _)| path.starts_with(&prefix));
            return Ok(page(revision, query.limit, objects, wanted));
        }
        let mut then: BTreeMap<&Arc<str>, &Entry> = table.objects.iter().collect();
        for (path, entry) in undone {
            match entry {
                Some(entry) => then.insert(path, entry),
                None => then.remove(path),
            };
        }
        let inside = |path: &str| match start {
            Bound::Excluded(after) => path > after,
            _ => path >= &*prefix,
        };
        let objects = then
            .into_iter()
            .filter(|(path, _)| inside(path) && path.starts_with(&prefix));
        Ok(page(revision, query.limit, objects, wanted))
    }

    /// How many objects there are of a resource.
    pub fn count(&self, resource: &str) -> usize {
        self.read()
            .tables
            .get(resource)
            .map_or(0, |table| table.objects.len())
    }

    /// The resources that there are objects of.
    pub fn resources(&self) -> Vec<Arc<str>> {
        let state = self.read();
        state
            .tables
            .iter()
            .filter(|(_, table)| !table.objects.is_empty())
            .map(|(name, _)| name.clone())
            .collect()
    }
}

fn page<'a>(
    revision: u64,
    limit: usize,
    mut objects: impl Iterator<Item = (&'a Arc<str>, &'a Entry)>,
    wanted: impl Fn(&Entry) -> bool,
) -> Listing {
    let mut listing = Listing {
        revision,
        ..Listing::default()
    };
    let mut last = None;
    while let Some((path, entry)) = objects.next() {
        if !wanted(entry) {
            continue;
        }
        if limit > 0 && listing.entries.len() == limit {
            listing.more = last;
            listing.remaining = 1 + objects.count();
            break;
        }
        last = Some(path.clone());
        listing.entries.push(entry.clone());
    }
    listing
}
