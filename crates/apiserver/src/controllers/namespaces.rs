//! Namespaces that are to go: deletes what is in them, tells what is left, and lets them go once
//! nothing is.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::writes;
use super::writes::{key_of, uid_of};
use crate::clock;
use crate::handlers::delete;
use crate::registry::{set_condition, table_name};
use crate::storage::{Entry, Event, Key, Query, Store};

/// Who keeps a namespace until it is empty.
const FINALIZER: &str = "kubernetes";
/// How many objects are deleted at once, so that a journal can take them together.
const AT_ONCE: usize = 64;

/// Follows the namespaces that are to go.
pub(crate) struct Namespaces {
    store: Arc<Store>,
    table: Arc<str>,
    /// What was still there of each when it was last looked at.
    ending: HashMap<String, BTreeSet<Key>>,
    /// Those that have to be looked at.
    again: BTreeSet<String>,
    /// Objects that were written into a namespace that was going or gone.
    strays: Vec<Key>,
}

impl Namespaces {
    /// Knows all namespaces that are to go now.
    pub(crate) fn new(store: &Arc<Store>) -> Self {
        let table = table_name("", "namespaces");
        let all = store.list(
            &Query {
                resource: &table,
                ..Query::default()
            },
            |entry| is_ending(&entry.value()),
        );
        let again = all
            .unwrap_or_default()
            .entries
            .iter()
            .map(|entry| key_of(&table, entry).name().to_owned())
            .collect();
        Self {
            store: store.clone(),
            table,
            ending: HashMap::new(),
            again,
            strays: Vec::new(),
        }
    }

    /// Takes note of something that happened.
    pub(crate) fn note(&mut self, event: &Event) {
        if event.key.resource == self.table {
            if event.deleted {
                self.ending.remove(event.key.name());
            } else if is_ending(&event.entry.value()) && !self.ending.contains_key(event.key.name())
            {
                self.again.insert(event.key.name().to_owned());
            }
            return;
        }
        let namespace = event.key.namespace();
        if namespace.is_empty() {
            return;
        }
        if event.deleted {
            if let Some(left) = self.ending.get_mut(namespace) {
                left.remove(&event.key);
                if left.is_empty() {
                    self.again.insert(namespace.to_owned());
                }
            }
        } else if event.before.is_none() {
            // Whoever was let in just before the namespace went must not leave anything behind.
            match self.store.get(&Key::new(&self.table, "", namespace)) {
                Some(entry) if is_ending(&entry.value()) => {
                    _ = self.again.insert(namespace.to_owned());
                }
                Some(_) => {}
                None => self.strays.push(event.key.clone()),
            }
        }
    }

    /// Does everything that there is to do for now.
    pub(crate) async fn work(&mut self) {
        for key in std::mem::take(&mut self.strays) {
            if let Some(entry) = self.store.get(&key) {
                delete::mark(&self.store, &key.resource, &entry.value()).await;
            }
        }
        for name in std::mem::take(&mut self.again) {
            let left = empty(&self.store, &name).await;
            let key = Key::new(&self.table, "", &name);
            let Some(entry) = self
                .store
                .get(&key)
                .filter(|entry| is_ending(&entry.value()))
            else {
                continue;
            };
            let head = entry.head();
            let uid = uid_of(&head);
            if left.is_empty() {
                self.ending.remove(&name);
                // A broken journal is told to clients; here it only means that the namespace stays.
                _ = writes::change(&self.store, &key, uid, finalize).await;
                continue;
            }
            _ = writes::change(&self.store, &key, uid, |object| tell(object, &left)).await;
            let keys = left.iter().map(|(key, _)| key.clone()).collect();
            self.ending.insert(name.clone(), keys);
            // What went while this was written down is not missed.
            if content(&self.store, &name).is_empty() {
                self.again.insert(name);
            }
        }
    }

    /// Whether there is more to do at once.
    pub(crate) fn is_busy(&self) -> bool {
        !self.again.is_empty() || !self.strays.is_empty()
    }
}

fn is_ending(namespace: &Value) -> bool {
    namespace["metadata"]["deletionTimestamp"].is_string()
        && finalizers(namespace).iter().any(|name| name == FINALIZER)
}

fn finalizers(namespace: &Value) -> &[Value] {
    namespace["spec"]["finalizers"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// Everything in a namespace.
fn content(store: &Store, namespace: &str) -> Vec<(Key, Entry)> {
    let mut all = Vec::new();
    for table in store.resources() {
        let found = store
            .list(
                &Query {
                    resource: &table,
                    namespace,
                    ..Query::default()
                },
                |_| true,
            )
            .unwrap_or_default();
        all.extend(
            found
                .entries
                .into_iter()
                .map(|entry| (key_of(&table, &entry), entry)),
        );
    }
    all
}

/// Deletes what is in a namespace, and returns what stays because it waits for somebody.
async fn empty(store: &Store, namespace: &str) -> Vec<(Key, Entry)> {
    let all = content(store, namespace);
    stream::iter(
        all.iter()
            .filter(|(_, entry)| entry.head()["metadata"]["deletionTimestamp"].is_null()),
    )
    .for_each_concurrent(AT_ONCE, async |(key, entry)| {
        delete::mark(store, &key.resource, &entry.head()).await;
    })
    .await;
    if all.is_empty() {
        all
    } else {
        content(store, namespace)
    }
}

/// Lets a namespace go.
fn finalize(namespace: &mut Value) -> bool {
    let Some(spec) = namespace["spec"].as_object_mut() else {
        return false;
    };
    let Some(Value::Array(finalizers)) = spec.get_mut("finalizers") else {
        return false;
    };
    finalizers.retain(|name| name != FINALIZER);
    if finalizers.is_empty() {
        spec.remove("finalizers");
    }
    true
}

/// Tells in the conditions what is left; whether that is news.
fn tell(namespace: &mut Value, left: &[(Key, Entry)]) -> bool {
    let (mut tables, mut waiting) = (
        BTreeMap::<String, usize>::new(),
        BTreeMap::<String, usize>::new(),
    );
    for (key, entry) in left {
        let dot = if key.resource.contains('.') { "" } else { "." };
        *tables.entry(format!("{}{dot}", key.resource)).or_default() += 1;
        let head = entry.head();
        for name in head["metadata"]["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            *waiting.entry(name.to_owned()).or_default() += 1;
        }
    }
    let tables: Vec<String> = tables
        .iter()
        .map(|(table, count)| format!("{table} has {count} resource instances"))
        .collect();
    let names: Vec<String> = waiting
        .iter()
        .map(|(name, count)| format!("{name} in {count} resource instances"))
        .collect();
    let remaining = format!("Some resources are remaining: {}", tables.join(", "));
    let (held, why, whom) = if names.is_empty() {
        (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished".to_owned(),
        )
    } else {
        let whom = format!(
            "Some content in the namespace has finalizers remaining: {}",
            names.join(", ")
        );
        ("True", "SomeFinalizersRemain", whom)
    };
    let before = namespace["status"].clone();
    for (kind, status, reason, message) in [
        (
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            &*remaining,
        ),
        ("NamespaceFinalizersRemaining", held, why, &*whom),
    ] {
        set_condition(namespace, kind, status, reason, message);
    }
    before != namespace["status"]
}

/// A namespace as it is from the start.
pub(crate) fn fresh(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name, "uid": crate::random::uuid(), "creationTimestamp": clock::now(),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": [FINALIZER]}, "status": {"phase": "Active"},
    })
}

#[cfg(test)]
mod tests;
