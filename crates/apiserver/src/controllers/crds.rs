//! Follows the definitions of custom resources: accepts their names, serves what they define, and
//! when one goes, deletes what there is of it first.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use crate::clock;
use crate::handlers::delete;
use crate::registry::{Registry, custom};
use crate::storage::{Change, Expect, Key, Query, Store};

/// Where the definitions are in the store.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";
/// What keeps a definition until there is nothing left of what it defines.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Serves what the stored definitions define, then follows them until the store is gone.
pub(crate) fn follow(
    store: &Arc<Store>,
    registry: &Arc<Registry>,
) -> impl Future<Output = ()> + Send + 'static {
    let table: Arc<str> = Arc::from(DEFINITIONS);
    let all = Query {
        resource: DEFINITIONS,
        ..Query::default()
    };
    let listing = store.list(&all, |_| true).unwrap_or_default();
    for entry in &listing.entries {
        if condition(&entry.value(), "Established") == Some("True") {
            registry.set(name(&entry.value()), custom::versions(&entry.value()));
        }
    }
    let (store, registry) = (store.clone(), registry.clone());
    async move {
        for entry in &listing.entries {
            settle(&store, &registry, &table, name(&entry.value())).await;
        }
        let Ok(mut watcher) = store.watch(&table, listing.revision) else {
            return;
        };
        while let Ok(batch) = watcher.next().await {
            for event in batch.events {
                if event.deleted {
                    registry.set(event.key.name(), Vec::new());
                } else {
                    settle(&store, &registry, &table, event.key.name()).await;
                }
            }
        }
    }
}

fn name(definition: &Value) -> &str {
    definition["metadata"]["name"].as_str().unwrap_or_default()
}

fn condition<'a>(definition: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = definition["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)?["status"]
        .as_str()
}

/// Brings one definition to where it should be, however it is.
async fn settle(store: &Arc<Store>, registry: &Arc<Registry>, table: &Arc<str>, name: &str) {
    let key = Key::new(table, "", name);
    // Whoever writes between the reading and the writing makes this try again.
    for _ in 0..16 {
        let Some(entry) = store.get(&key) else {
            registry.set(name, Vec::new());
            return;
        };
        let mut definition = (*entry.value()).clone();
        if definition["metadata"]["deletionTimestamp"].is_string() {
            if condition(&definition, "Established") == Some("True") {
                registry.set(name, custom::versions(&definition));
            }
            let (store, table) = (store.clone(), table.clone());
            let name = name.to_owned();
            tokio::spawn(async move { clean_up(&store, &table, &name).await });
            return;
        }
        accept(store, &mut definition);
        if condition(&definition, "Established") == Some("True") {
            // Served before it says so, so that whoever waits for the word can use it.
            registry.set(name, custom::versions(&definition));
        }
        if definition["status"] == entry.value()["status"] {
            return;
        }
        let change = Change {
            key: key.clone(),
            expect: Expect::Revision(entry.revision),
            to: Some(definition),
        };
        if store.commit(vec![change]).await.is_ok() {
            return;
        }
    }
}

/// Accepts the names that no other definition of the group has, and says so in the conditions.
fn accept(store: &Store, definition: &mut Value) {
    let (group, own) = (
        definition["spec"]["group"].clone(),
        name(definition).to_owned(),
    );
    let others = store.list(
        &Query {
            resource: DEFINITIONS,
            ..Query::default()
        },
        |entry| entry.value()["spec"]["group"] == group && name(&entry.value()) != own,
    );
    let (mut resources, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for other in others.unwrap_or_default().entries {
        let names = &other.value()["status"]["acceptedNames"];
        let take = |set: &mut BTreeSet<String>, value: &Value| {
            set.extend(
                value
                    .as_str()
                    .filter(|text| !text.is_empty())
                    .map(str::to_owned),
            );
        };
        take(&mut resources, &names["plural"]);
        take(&mut resources, &names["singular"]);
        for short in names["shortNames"].as_array().into_iter().flatten() {
            take(&mut resources, short);
        }
        take(&mut kinds, &names["kind"]);
        take(&mut kinds, &names["listKind"]);
    }
    let wanted = definition["spec"]["names"].clone();
    let mut accepted = definition["status"]["acceptedNames"].clone();
    if !accepted.is_object() {
        accepted = json!({});
    }
    let mut refused: Option<(&str, String)> = None;
    for (field, taken, reason) in [
        ("plural", &resources, "PluralConflict"),
        ("singular", &resources, "SingularConflict"),
        ("kind", &kinds, "KindConflict"),
        ("listKind", &kinds, "ListKindConflict"),
    ] {
        let Some(text) = wanted[field].as_str() else {
            continue;
        };
        if accepted[field] != wanted[field] && taken.contains(text) {
            refused = Some((reason, format!("{text:?} is already in use")));
        } else {
            accepted[field] = text.into();
        }
    }
    let short: Vec<&str> = wanted["shortNames"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let clashes: Vec<String> = short
        .iter()
        .filter(|name| resources.contains(**name))
        .map(|name| format!("{name:?} is already in use"))
        .collect();
    match &*clashes {
        [] if wanted["shortNames"].is_array() => {
            accepted["shortNames"] = wanted["shortNames"].clone();
        }
        [] => drop(
            accepted
                .as_object_mut()
                .and_then(|names| names.remove("shortNames")),
        ),
        [one] => refused = Some(("ShortNamesConflict", one.clone())),
        many => refused = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
    }
    if wanted["categories"].is_array() {
        accepted["categories"] = wanted["categories"].clone();
    }
    definition["status"]["acceptedNames"] = accepted;
    match refused {
        Some((reason, message)) => {
            set_condition(definition, "NamesAccepted", "False", reason, &message);
            if condition(definition, "Established") != Some("True") {
                set_condition(
                    definition,
                    "Established",
                    "False",
                    "NotAccepted",
                    "not all names are accepted",
                );
            }
        }
        None => {
            set_condition(
                definition,
                "NamesAccepted",
                "True",
                "NoConflicts",
                "no conflicts found",
            );
            if condition(definition, "Established") != Some("True") {
                set_condition(
                    definition,
                    "Established",
                    "True",
                    "InitialNamesAccepted",
                    "the initial names have been accepted",
                );
            }
        }
    }
}

/// Writes a condition; its time changes only with its status.
pub(crate) fn set_condition(
    definition: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
) {
    if !definition["status"].is_object() {
        definition["status"] = json!({});
    }
    let conditions = &mut definition["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let new = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": clock::now(),
    });
    match conditions
        .iter_mut()
        .find(|condition| condition["type"] == kind)
    {
        Some(old) => {
            let since = (old["status"] == status).then(|| old["lastTransitionTime"].clone());
            *old = new;
            if let Some(since) = since {
                old["lastTransitionTime"] = since;
            }
        }
        None => conditions.push(new),
    }
}

/// Deletes everything that a definition defines, waits until it is gone, and lets the definition
/// go.
async fn clean_up(store: &Arc<Store>, table: &Arc<str>, name: &str) {
    let key = Key::new(table, "", name);
    let Some(entry) = store.get(&key) else { return };
    let definition = entry.value();
    let finalizers = definition["metadata"]["finalizers"].as_array();
    if !finalizers.is_some_and(|all| all.iter().any(|finalizer| finalizer == CLEANUP)) {
        return;
    }
    let spec = &definition["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    let plural = spec["names"]["plural"].as_str().unwrap_or_default();
    let instances = crate::registry::table_name(group, plural);
    let established = condition(&definition, "Established") == Some("True");
    if established {
        let revision = store
            .list(
                &Query {
                    resource: &instances,
                    ..Query::default()
                },
                |_| false,
            )
            .map_or(0, |list| list.revision);
        let Ok(mut watcher) = store.watch(&instances, revision) else {
            return;
        };
        loop {
            let all = store
                .list(
                    &Query {
                        resource: &instances,
                        ..Query::default()
                    },
                    |_| true,
                )
                .unwrap_or_default();
            if all.entries.is_empty() {
                break;
            }
            for instance in all
                .entries
                .iter()
                .filter(|entry| !entry.head()["metadata"]["deletionTimestamp"].is_string())
            {
                delete::mark(store, &instances, &instance.head()).await;
            }
            if store.count(&instances) > 0 && watcher.next().await.is_err() {
                return;
            }
        }
    }
    for _ in 0..16 {
        let Some(entry) = store.get(&key) else { return };
        let mut definition = (*entry.value()).clone();
        set_condition(
            &mut definition,
            "Terminating",
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        );
        let mut left = definition["metadata"]["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        left.retain(|finalizer| finalizer != CLEANUP);
        let to = if left.is_empty() {
            None
        } else {
            definition["metadata"]["finalizers"] = left.into();
            Some(definition)
        };
        let change = Change {
            key: key.clone(),
            expect: Expect::Revision(entry.revision),
            to,
        };
        if store.commit(vec![change]).await.is_ok() {
            return;
        }
    }
}
