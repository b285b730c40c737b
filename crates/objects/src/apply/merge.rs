//! The heart of it: who owns what after a change, and what an apply leaves of an object.

use std::sync::LazyLock;

use serde_json::Value;

use super::managed::{Managed, Manager, Managers};
use super::{Change, Conflict, Conflicts};
use crate::fields::{FieldPath, FieldSet};
use crate::typed::{Comparison, compare, fields_of, follow_schema, merge, name_fields, remove};

/// What nobody manages: it says what an object is, or the API server sets it.
static UNMANAGED: LazyLock<FieldSet> = LazyLock::new(|| {
    let top = ["apiVersion", "kind", "metadata"].map(|name| FieldPath::fields(&[name]));
    let inner = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ]
    .map(|name| FieldPath::fields(&["metadata", name]));
    top.into_iter().chain(inner).collect()
});

/// Keeps track of an update from one object to another.
pub fn track(old: &Value, new: &Value, managers: &mut Managers<'_>, change: &Change<'_>) {
    follow(managers, change);
    let comparison = compare(change.shape, old, new).without(change.reset);
    for managed in &mut managers.all {
        disown(managed, &comparison);
    }
    managers.all.retain(|managed| !managed.fields.is_empty());
    let mut taken = comparison.modified.united(comparison.added);
    taken.subtract_below(change.reset);
    taken.subtract(&UNMANAGED);
    if !taken.is_empty() {
        let manager = Manager::updater(change);
        let fields = match managers.take(&manager) {
            Some(before) => taken.united(before.fields),
            None => taken,
        };
        managers.set(Managed {
            manager,
            version: change.version.into(),
            time: Some(change.now.into()),
            fields,
            written: None,
        });
    }
    managers.cap();
}

/// Applies a configuration: the object, who manages what, and whether a field changed.
pub fn apply<'v>(
    live: &Value,
    config: &Value,
    mut managers: Managers<'v>,
    change: &Change<'_>,
    force: bool,
) -> Result<(Value, Managers<'v>, bool), Conflicts> {
    let shape = change.shape;
    follow(&mut managers, change);
    let manager = Manager::applier(change);
    let last = managers.take(&manager);
    let mut owned = fields_of(shape, config);
    owned.subtract_below(change.reset);
    let mut merged = merge(shape, live.clone(), config);
    let dropped = last.as_ref().filter(|last| !last.fields.is_subset(&owned));
    if let Some(last) = dropped {
        merged = prune(&merged, &last.fields, &owned, &managers, change);
    }
    let same = crate::go::same(live, &merged);
    // Nothing can be taken from nobody.
    let alone = managers.all.is_empty();
    let comparison = if same || alone {
        Comparison::default()
    } else {
        compare(shape, live, &merged).without(change.reset)
    };
    let touched = comparison.modified.union(&comparison.added);
    let mut conflicts = Vec::new();
    if !force {
        managers.sort_by_identifier();
        for managed in &managers.all {
            let paths = managed.fields.intersection(&touched).paths();
            conflicts.extend(paths.into_iter().map(|path| Conflict {
                manager: managed.manager.clone(),
                path,
            }));
        }
    }
    if !conflicts.is_empty() {
        return Err(Conflicts(conflicts));
    }
    for managed in &mut managers.all {
        disown(managed, &comparison);
    }
    managers.all.retain(|managed| !managed.fields.is_empty());
    let mut fields = owned;
    fields.subtract(&UNMANAGED);
    if !fields.is_empty() {
        let written = last
            .as_ref()
            .filter(|last| last.fields == fields)
            .and_then(|last| last.written);
        let time = last.and_then(|last| last.time);
        managers.set(Managed {
            manager,
            version: change.version.into(),
            time,
            fields,
            written,
        });
    }
    Ok((merged, managers, !same))
}

/// Takes from a manager what another has changed or removed.
fn disown(managed: &mut Managed<'_>, comparison: &Comparison) {
    for lost in [&comparison.modified, &comparison.added, &comparison.removed] {
        if managed.fields.overlaps(lost) {
            managed.fields.subtract(lost);
            managed.written = None;
        }
    }
}

fn follow(managers: &mut Managers<'_>, change: &Change<'_>) {
    for managed in &mut managers.all {
        if let Some(fields) = follow_schema(change.shape, &managed.fields) {
            managed.fields = fields;
            managed.written = None;
        }
    }
}

/// Removes what the manager applied last time and not this time, unless someone else manages it
/// too.
fn prune(
    merged: &Value,
    last: &FieldSet,
    owned: &FieldSet,
    managers: &Managers<'_>,
    change: &Change<'_>,
) -> Value {
    let shape = change.shape;
    let named = |fields: &FieldSet| name_fields(Some(shape), fields);
    let last = named(last);
    let all = named(&fields_of(shape, merged));
    let managed = managers
        .all
        .iter()
        .fold(owned.clone(), |managed, other| managed.union(&other.fields));
    // What goes with the last set, and what of it others keep.
    let pruned = remove(shape, merged, &last);
    let kept = named(&fields_of(shape, &pruned)).union(&named(&managed));
    let pruned = remove(shape, merged, &all.difference(&kept));
    // Only what the manager had may go: not what nobody manages.
    let left = named(&fields_of(shape, &pruned));
    match remove(shape, merged, &all.difference(&left).intersection(&last)) {
        Value::Null => Value::Object(serde_json::Map::new()),
        object => object,
    }
}
