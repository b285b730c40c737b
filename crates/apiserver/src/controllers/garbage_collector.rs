//! The garbage collector: follows everything that is written, and does to owned objects what their
//! owners' standing asks for. It looks at the store itself, so that it never acts on what it only
//! remembers.

use std::{collections::BTreeSet, sync::Arc};

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::writes;
use super::writes::{key_of, uid_of};
use crate::handlers::delete;
use crate::registry::{DEFINITIONS, Kinds, Registry, table_name};
use crate::storage::{Entry, Event, Key, Query, Store};
use crate::{clock, random};
use decision::{Standing, Verdict, judge};
use graph::{Again, FOREGROUND, ORPHAN, Owner, Owners, has_finalizer};

/// How many objects are written at once, so that a journal can take them together.
const AT_ONCE: usize = 64;

/// The collector.
pub(crate) struct Collector {
    store: Arc<Store>,
    registry: Arc<Registry>,
    owners: Owners,
    again: Again,
    /// The revision up to which the owners are known.
    seen: u64,
}

/// What is to be done with an object that was looked at.
struct Task {
    key: Key,
    entry: Entry,
    verdict: Verdict,
    /// What it owns, where that matters.
    dependents: Vec<(Key, String)>,
}

impl Collector {
    /// A collector that knows everything there is now.
    pub(crate) fn new(store: &Arc<Store>, registry: &Arc<Registry>) -> Self {
        let mut collector = Self {
            store: store.clone(),
            registry: registry.clone(),
            owners: Owners::default(),
            again: Again::default(),
            seen: store.revision(),
        };
        for table in store.resources().iter().filter(|table| !is_ignored(table)) {
            for entry in store
                .list(
                    &Query {
                        resource: table,
                        ..Query::default()
                    },
                    |_| true,
                )
                .unwrap_or_default()
                .entries
            {
                collector.owners.note(
                    &key_of(table, &entry),
                    None,
                    Some(&entry.head()),
                    &mut collector.again,
                );
            }
        }
        collector
    }

    /// Takes note of something that happened.
    pub(crate) fn note(&mut self, event: &Event) {
        self.seen = self.seen.max(event.revision);
        if is_ignored(&event.key.resource) {
            return;
        }
        let before = event.before.as_ref().map(Entry::head);
        let after = (!event.deleted).then(|| event.entry.head());
        self.owners.note(
            &event.key,
            before.as_deref(),
            after.as_deref(),
            &mut self.again,
        );
        if *event.key.resource == *DEFINITIONS {
            // Kinds that nobody knew may be known now.
            let kinds = self.registry.now();
            self.again
                .keys
                .extend(self.owners.children(|owner| is_custom(&kinds, owner)));
        }
    }

    /// Does everything that there is to do for now. What could not be done is tried again at the
    /// next call.
    pub(crate) async fn work(&mut self) {
        let mut failed = BTreeSet::new();
        loop {
            let tasks = self.judge_all();
            if tasks.is_empty() {
                break;
            }
            let store = &self.store;
            let done: Vec<(Key, Result<bool, String>)> = stream::iter(tasks)
                .map(|task| async move { (task.key.clone(), act(store, task).await) })
                .buffer_unordered(AT_ONCE)
                .collect()
                .await;
            for (key, outcome) in done {
                match outcome {
                    Ok(false) => {}
                    Ok(true) => _ = self.again.keys.insert(key),
                    // The journal is broken; there is nothing to be done until the server is
                    // started anew.
                    Err(_) => _ = failed.insert(key),
                }
            }
        }
        self.again.keys = failed;
    }

    /// Judges everything that has to be looked at again.
    fn judge_all(&mut self) -> Vec<Task> {
        let kinds = self.registry.now();
        let mut tasks = Vec::new();
        while self.again != Again::default() {
            let Again { mut keys, owners } = std::mem::take(&mut self.again);
            keys.extend(
                owners
                    .iter()
                    .filter_map(|(owner, namespace)| owner_key(&kinds, owner, namespace)),
            );
            for key in keys {
                tasks.extend(self.judge_one(&kinds, key));
            }
        }
        tasks
    }

    fn judge_one(&mut self, kinds: &Kinds, key: Key) -> Option<Task> {
        let entry = self.store.get(&key)?;
        let uid = uid_of(&entry.value()).to_owned();
        let dependents = self.owners.dependents(&uid);
        let waits = |key: &Key| {
            let is = |entry: Entry| {
                !entry.value()["metadata"]["deletionTimestamp"].is_null()
                    && has_finalizer(&entry.value(), FOREGROUND)
            };
            self.store.get(key).is_some_and(is)
        };
        let verdict = judge(
            &entry.value(),
            |owner| self.standing(kinds, owner, key.namespace()),
            || !dependents.is_empty(),
            || dependents.iter().any(|(key, _)| waits(key)),
        );
        match &verdict {
            Verdict::Keep => return None,
            // What it owns may not be known yet; to hear of its own deletion is a reason to look
            // again.
            Verdict::Orphan | Verdict::Await if entry.revision > self.seen => return None,
            Verdict::Await => {
                let stays =
                    |entry: &Entry| entry.value()["metadata"]["deletionTimestamp"].is_null();
                let left = dependents.iter().filter(|(dependent, _)| {
                    self.store.get(dependent).is_some_and(|entry| stays(&entry))
                });
                self.again
                    .keys
                    .extend(left.map(|(dependent, _)| dependent.clone()));
                // Those that block it keep it; when the last of them goes, it is looked at again.
                if dependents.iter().any(|(_, blocks)| *blocks) {
                    return None;
                }
            }
            Verdict::Background => self.report(kinds, &key, &entry),
            _ => {}
        }
        let with_uid = |(key, _): (Key, bool)| {
            let uid = self
                .store
                .get(&key)
                .map(|entry| uid_of(&entry.value()).to_owned())?;
            Some((key, uid))
        };
        let dependents = if verdict == Verdict::Orphan {
            dependents.into_iter().filter_map(with_uid).collect()
        } else {
            Vec::new()
        };
        Some(Task {
            key,
            entry,
            verdict,
            dependents,
        })
    }

    fn standing(&self, kinds: &Kinds, owner: &Owner, namespace: &str) -> Standing {
        if let Some(namespaced) = self.owners.is_absent(&owner.uid) {
            return if namespaced && namespace.is_empty() {
                Standing::Unclear
            } else {
                Standing::Dangling
            };
        }
        let Some(key) = owner_key(kinds, owner, namespace) else {
            return Standing::Unclear;
        };
        let found = self
            .store
            .get(&key)
            .filter(|entry| uid_of(&entry.value()) == &*owner.uid);
        match found {
            None => Standing::Dangling,
            Some(entry)
                if entry.value()["metadata"]["deletionTimestamp"].is_string()
                    && has_finalizer(&entry.value(), FOREGROUND) =>
            {
                Standing::Waiting
            }
            Some(_) => Standing::Solid,
        }
    }

    /// Tells in an event that an object names an owner in another namespace, which cannot own it.
    fn report(&mut self, kinds: &Kinds, key: &Key, entry: &Entry) {
        if key.namespace().is_empty() {
            return;
        }
        for owner in Owner::all_of(&entry.value()) {
            let Some(place) = owner_key(kinds, &owner, key.namespace()) else {
                continue;
            };
            if place.namespace().is_empty() || self.owners.is_absent(&owner.uid).is_some() {
                continue;
            }
            let query = Query {
                resource: &place.resource,
                limit: 1,
                ..Query::default()
            };
            let elsewhere = self
                .store
                .list(&query, |entry| uid_of(&entry.head()) == &*owner.uid);
            if elsewhere.is_ok_and(|found| found.entries.is_empty()) {
                // Nowhere: others that name it need not search again.
                self.owners.remember_absent(&owner.uid, true);
                continue;
            }
            let event = invalid_namespace(key, &entry.value(), &owner);
            let name = event["metadata"]["name"].as_str().unwrap_or_default();
            let place = Key::new(&table_name("", "events"), key.namespace(), name);
            let store = self.store.clone();
            // An event is only told; nothing waits for it.
            tokio::spawn(async move { writes::make(&store, &place, event).await });
        }
    }
}

/// Does what a verdict asks for, and says whether the object has to be judged anew.
async fn act(store: &Arc<Store>, task: Task) -> Result<bool, String> {
    let Task {
        key,
        entry,
        verdict,
        dependents,
    } = task;
    let head = entry.head();
    let uid = uid_of(&head);
    let text = |error: crate::storage::CommitError| error.to_string();
    match verdict {
        Verdict::Keep => {}
        Verdict::Await => {
            writes::change(store, &key, uid, |object| {
                writes::remove_finalizer(object, FOREGROUND)
            })
            .await
            .map_err(text)?;
        }
        Verdict::Orphan => {
            let own = [uid.to_owned()];
            let forgotten = stream::iter(dependents).map(|(key, uid)| {
                let own = &own;
                async move {
                    writes::change(store, &key, &uid, |object| {
                        writes::remove_owners(object, own)
                    })
                    .await
                }
            });
            let outcomes: Vec<_> = forgotten.buffer_unordered(AT_ONCE).collect().await;
            for outcome in outcomes {
                outcome.map_err(text)?;
            }
            writes::change(store, &key, uid, |object| {
                writes::remove_finalizer(object, ORPHAN)
            })
            .await
            .map_err(text)?;
        }
        Verdict::Forget(owners) => {
            writes::change(store, &key, uid, |object| {
                writes::remove_owners(object, &owners)
            })
            .await
            .map_err(text)?;
        }
        Verdict::Foreground { unblock: true } => {
            writes::change(store, &key, uid, writes::unblock_owners)
                .await
                .map_err(text)?;
            let Some(entry) = store.get(&key).filter(|now| uid_of(&now.value()) == uid) else {
                return Ok(false);
            };
            return delete::collect(store, &key, &entry, true).await;
        }
        Verdict::Foreground { unblock: false } => {
            return delete::collect(store, &key, &entry, true).await;
        }
        Verdict::Background => return delete::collect(store, &key, &entry, false).await,
    }
    Ok(false)
}

/// Events have no owners that matter, and are many.
fn is_ignored(table: &str) -> bool {
    matches!(table, "events" | "events.events.k8s.io")
}

fn is_custom(kinds: &Kinds, owner: &Owner) -> bool {
    let (group, version) = owner.group_version();
    kinds
        .of_kind(group, version, &owner.kind)
        .is_none_or(|served| served.custom.is_some())
}

/// Where an owner is, as an object in a namespace names it; none if nobody can tell, or if it
/// cannot own that.
fn owner_key(kinds: &Kinds, owner: &Owner, namespace: &str) -> Option<Key> {
    let (group, version) = owner.group_version();
    let served = kinds.of_kind(group, version, &owner.kind)?;
    let namespace = if served.namespaced { namespace } else { "" };
    let possible = !served.namespaced || !namespace.is_empty();
    possible.then(|| Key::new(&served.table, namespace, &owner.name))
}

fn invalid_namespace(key: &Key, object: &Value, owner: &Owner) -> Value {
    let (name, namespace, now) = (key.name(), key.namespace(), clock::now());
    let Owner {
        version,
        kind,
        name: owner,
        uid,
        ..
    } = owner;
    let message = format!(
        "ownerRef [{version}/{kind}, namespace: {namespace}, name: {owner}, uid: {uid}] does not exist in namespace {namespace:?}"
    );
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "name": format!("{name}.{}", random::uuid().replace('-', "").get(..16).unwrap_or_default()),
            "namespace": namespace, "uid": random::uuid(), "creationTimestamp": now,
        },
        "involvedObject": {
            "apiVersion": object["apiVersion"], "kind": object["kind"], "name": name, "namespace": namespace,
            "uid": uid_of(object),
        },
        "reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning", "count": 1,
        "source": {"component": "garbage-collector-controller"}, "firstTimestamp": now, "lastTimestamp": now,
        "eventTime": null, "reportingComponent": "garbage-collector-controller", "reportingInstance": "",
    })
}

pub(crate) mod decision;
pub(crate) mod graph;
#[cfg(test)]
mod tests;
