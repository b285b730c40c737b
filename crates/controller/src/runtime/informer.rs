//! What a watch has shown of a kind, kept in whatever form its user needs, and told to whoever
//! wants to know.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use objects::Gvk;
use serde_json::Value;
use tokio::sync::watch;

use super::raw_object::{Raw, Stamp};
use objects::{Key, Resource};

/// How many objects a list shows at a time.
const PAGE: u32 = 250;

/// Which objects of a kind to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The kind.
    pub resource: Resource,
    /// The namespace; empty for all.
    pub namespace: String,
    /// A label selector; empty for all.
    pub labels: String,
    /// The one object to watch; empty for all.
    pub name: String,
}

impl Scope {
    /// All objects of a kind.
    pub fn all(resource: Resource) -> Self {
        Self {
            resource,
            namespace: String::new(),
            labels: String::new(),
            name: String::new(),
        }
    }
}

/// The objects of a kind as `T`.
pub struct Cache<T> {
    shown: Mutex<Shown<T>>,
    synced: watch::Sender<bool>,
    trouble: Mutex<Option<String>>,
}

/// The cached objects.
struct Shown<T> {
    objects: BTreeMap<Key, T>,
    /// The highest resourceVersion that the watch has delivered.
    until: u64,
    /// Own writes that the watch has not delivered yet, by resourceVersion.
    written: BTreeMap<Key, u64>,
}

impl<T: Clone> Shown<T> {
    fn starting_with(objects: BTreeMap<Key, T>) -> Self {
        Self {
            objects,
            until: 0,
            written: BTreeMap::new(),
        }
    }

    /// Puts in what we wrote, unless the watch is past that already: what it has shown since may be
    /// that the object is gone.
    fn write(&mut self, key: &Key, version: u64, object: T) {
        if version > self.until {
            self.objects.insert(key.clone(), object);
            self.written.insert(key.clone(), version);
        }
    }

    /// Puts in what the watch shows, unless that is from before what we wrote. Returns what was
    /// there.
    fn show(&mut self, key: &Key, version: u64, object: Option<&T>) -> Option<T> {
        self.until = self.until.max(version);
        if self
            .written
            .get(key)
            .is_some_and(|written| version < *written)
        {
            return self.objects.get(key).cloned();
        }
        self.written.remove(key);
        match object {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        }
    }

    /// Puts in a whole list. Returns what was there.
    fn replace(&mut self, until: u64, objects: BTreeMap<Key, T>) -> BTreeMap<Key, T> {
        self.until = self.until.max(until);
        self.written.clear();
        std::mem::replace(&mut self.objects, objects)
    }
}

/// What happened to an object: what it was and what it is.
pub struct Change<'c, T> {
    /// Which.
    pub key: &'c Key,
    /// Before.
    pub old: Option<&'c T>,
    /// Now.
    pub new: Option<&'c T>,
}

impl<T: Clone + Send + 'static> Cache<T> {
    /// Watches until the returned cache and all its clones are forgotten. `keep` says what is kept
    /// of an object, and `tell` hears of every change.
    pub fn watch(
        client: Client,
        scope: &Scope,
        keep: impl Fn(Value) -> T + Send + 'static,
        tell: impl Fn(Change<'_, T>) + Send + 'static,
    ) -> Arc<Self> {
        Self::watch_for_news(client, scope, |_| None, keep, tell)
    }

    /// The same where much of what a watch shows may be known: `known` says what of it is, and that
    /// is not read.
    pub(crate) fn watch_for_news(
        client: Client,
        scope: &Scope,
        known: impl Fn(&Stamp) -> Option<T> + Send + 'static,
        keep: impl Fn(Value) -> T + Send + 'static,
        tell: impl Fn(Change<'_, T>) + Send + 'static,
    ) -> Arc<Self> {
        Self::follow(client, scope, BTreeMap::new(), (known, keep), tell)
    }

    /// The same in place of another watch of the same objects: what that one has shown is old, so
    /// that `tell` hears of whatever went between the two.
    pub(crate) fn take_over(
        self: &Arc<Self>,
        client: Client,
        scope: &Scope,
        known: impl Fn(&Stamp) -> Option<T> + Send + 'static,
        keep: impl Fn(Value) -> T + Send + 'static,
        tell: impl Fn(Change<'_, T>) + Send + 'static,
    ) -> Arc<Self> {
        Self::follow(
            client,
            scope,
            self.lock().objects.clone(),
            (known, keep),
            tell,
        )
    }

    fn follow(
        client: Client,
        scope: &Scope,
        before: BTreeMap<Key, T>,
        (known, keep): (
            impl Fn(&Stamp) -> Option<T> + Send + 'static,
            impl Fn(Value) -> T + Send + 'static,
        ),
        tell: impl Fn(Change<'_, T>) + Send + 'static,
    ) -> Arc<Self> {
        let cache = Arc::new(Self {
            shown: Mutex::new(Shown::starting_with(before)),
            synced: watch::Sender::new(false),
            trouble: Mutex::default(),
        });
        let kind = api_resource(&scope.resource);
        let api: Api<Raw> = match scope.namespace.as_str() {
            "" => Api::all_with(client, &kind),
            namespace => Api::namespaced_with(client, namespace, &kind),
        };
        // An object is reduced as soon as it is read, so that few of them are there as a whole at a
        // time.
        let mut config = watcher::Config::default().page_size(PAGE);
        if !scope.labels.is_empty() {
            config = config.labels(&scope.labels);
        }
        if !scope.name.is_empty() {
            config = config.fields(&format!("metadata.name={}", scope.name));
        }
        let weak = Arc::downgrade(&cache);
        let what = scope.resource.to_string();
        let gvk = scope.resource.gvk.clone();
        let read = {
            let what = what.clone();
            move |object: &Raw| {
                let stamp = object.stamp();
                let kept = match known(&stamp) {
                    Some(kept) => kept,
                    None => match object.read(&gvk) {
                        Ok(value) => keep(value),
                        Err(error) => {
                            tracing::warn!(kind = what, key = %stamp.key, %error, "an object cannot be read and is left out");
                            return None;
                        }
                    },
                };
                Some((stamp, kept))
            }
        };
        tokio::spawn(async move {
            let mut events = watcher(api, config).default_backoff().boxed();
            let (mut fresh, mut until): (BTreeMap<Key, T>, u64) = (BTreeMap::new(), 0);
            let mut told = String::new();
            loop {
                // Nobody listens any more: the watch ends with its cache.
                let Some(cache) = weak.upgrade() else { return };
                drop(cache);
                let event = tokio::select! {
                    event = events.next() => event,
                    () = gone(&weak) => return,
                };
                let (Some(event), Some(cache)) = (event, weak.upgrade()) else {
                    return;
                };
                match event {
                    Ok(Event::Init) => {
                        fresh.clear();
                        continue;
                    }
                    Ok(Event::InitApply(object)) => {
                        if let Some((stamp, kept)) = read(&object) {
                            until = until.max(stamp.version);
                            fresh.insert(stamp.key, kept);
                        }
                    }
                    Ok(Event::InitDone) => {
                        cache.replace(until, &fresh, &tell);
                        fresh.clear();
                        cache.synced.send_replace(true);
                    }
                    Ok(Event::Apply(object)) => {
                        if let Some((stamp, kept)) = read(&object) {
                            cache.set(&stamp, Some(&kept), &tell);
                        }
                    }
                    Ok(Event::Delete(object)) => cache.set(&object.stamp(), None, &tell),
                    Err(error) => {
                        let refusal = refusal(&error);
                        let why = refusal.clone().unwrap_or_else(|| error.to_string());
                        // Said once, and not as often as it is tried.
                        if why != told {
                            tracing::warn!(
                                kind = what,
                                why,
                                "the watch broke off and is taken up again"
                            );
                            told = why;
                        }
                        cache.refused(refusal);
                        continue;
                    }
                }
                told.clear();
                cache.refused(None);
            }
        });
        cache
    }

    /// Waits until the first list is complete.
    pub async fn synced(&self) {
        // The sender is ours, so that it cannot be gone.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// Whether the first list is complete.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow()
    }

    /// Why the API server refuses to show these objects, if it does.
    pub fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn refused(&self, why: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// An object.
    pub fn get(&self, key: &Key) -> Option<T> {
        self.lock().objects.get(key).cloned()
    }

    /// All objects.
    pub fn all(&self) -> Vec<(Key, T)> {
        self.lock()
            .objects
            .iter()
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    /// The objects of a namespace.
    pub fn within(&self, namespace: &str) -> Vec<(Key, T)> {
        self.matching(Some(&[namespace]), |_| true)
    }

    /// Those objects that are wanted, in some namespaces or in all. Others cost neither a copy nor,
    /// elsewhere, a look.
    pub fn matching(
        &self,
        namespaces: Option<&[&str]>,
        wanted: impl Fn(&T) -> bool,
    ) -> Vec<(Key, T)> {
        let shown = self.lock();
        let objects = &shown.objects;
        let copy = |(key, object): (&Key, &T)| (key.clone(), object.clone());
        let Some(namespaces) = namespaces else {
            return objects
                .iter()
                .filter(|(_, object)| wanted(object))
                .map(copy)
                .collect();
        };
        let of = |namespace: &&str| {
            let namespace = (*namespace).to_owned();
            let first = Key {
                namespace: namespace.clone(),
                name: String::new(),
            };
            objects
                .range(first..)
                .take_while(move |(key, _)| key.namespace == namespace)
        };
        namespaces
            .iter()
            .flat_map(of)
            .filter(|(_, object)| wanted(object))
            .map(copy)
            .collect()
    }

    /// Puts in what we wrote, as the API server answered, so that what was before is not acted upon
    /// until the watch shows it. `object` is what is kept of `answer`.
    pub fn wrote(&self, answer: &Value, object: T) {
        let version = answer["metadata"]["resourceVersion"]
            .as_str()
            .and_then(|version| version.parse().ok());
        self.lock()
            .write(&Key::of(answer), version.unwrap_or_default(), object);
    }

    fn set(&self, stamp: &Stamp, new: Option<&T>, tell: &impl Fn(Change<'_, T>)) {
        let old = self.lock().show(&stamp.key, stamp.version, new);
        tell(Change {
            key: &stamp.key,
            old: old.as_ref(),
            new,
        });
    }

    fn replace(&self, until: u64, fresh: &BTreeMap<Key, T>, tell: &impl Fn(Change<'_, T>)) {
        let old = self.lock().replace(until, fresh.clone());
        for (key, new) in fresh {
            tell(Change {
                key,
                old: old.get(key),
                new: Some(new),
            });
        }
        for (key, old) in old.iter().filter(|(key, _)| !fresh.contains_key(key)) {
            tell(Change {
                key,
                old: Some(old),
                new: None,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown<T>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A kind as kube-rs names it.
pub(crate) fn api_resource(resource: &Resource) -> ApiResource {
    let Gvk {
        group,
        version,
        kind,
    } = &resource.gvk;
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, kind),
        &resource.plural,
    )
}

/// What the API server says where it would say so again; a broken connection is none of that.
fn refusal(error: &watcher::Error) -> Option<String> {
    let status = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status,
        watcher::Error::WatchError(status) => status,
        _ => return None,
    };
    [401, 403, 404]
        .contains(&status.code)
        .then(|| status.message.clone())
}

/// Ends when nobody holds the cache any more.
async fn gone<T>(cache: &std::sync::Weak<Cache<T>>) {
    let Some(mut end) = cache.upgrade().map(|cache| cache.synced.subscribe()) else {
        return;
    };
    // The sender goes with the cache; values that are sent before are none of our business.
    while end.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Shown;
    use objects::Key;

    /// A step: what the watch shows of the object at a version (nothing if it went), a write of
    /// ours, or a whole list.
    enum Step {
        Shows(u64, Option<&'static str>),
        Wrote(u64, &'static str),
        Lists(u64, Option<&'static str>),
    }
    use Step::{Lists, Shows, Wrote};

    #[test]
    fn what_we_wrote_counts_until_the_watch_is_past_it() {
        for (story, steps, expected) in [
            (
                "a write is known at once",
                vec![Shows(5, Some("old")), Wrote(6, "ours")],
                Some("ours"),
            ),
            ("so is a new object", vec![Wrote(6, "ours")], Some("ours")),
            (
                "an older event does not hide it",
                vec![Wrote(6, "ours"), Shows(5, Some("old"))],
                Some("ours"),
            ),
            (
                "nor does an older deletion",
                vec![Wrote(6, "ours"), Shows(5, None)],
                Some("ours"),
            ),
            (
                "its own event ends that",
                vec![Wrote(6, "ours"), Shows(6, Some("ours")), Shows(7, None)],
                None,
            ),
            (
                "a later change counts",
                vec![Wrote(6, "ours"), Shows(7, Some("theirs"))],
                Some("theirs"),
            ),
            (
                "an answer that is late does not bring back what is gone",
                vec![Shows(7, None), Wrote(6, "ours")],
                None,
            ),
            (
                "nor what was changed",
                vec![Shows(7, Some("theirs")), Wrote(6, "ours")],
                Some("theirs"),
            ),
            (
                "a list counts",
                vec![Wrote(6, "ours"), Lists(7, None)],
                None,
            ),
            (
                "and what comes after it",
                vec![Lists(7, None), Wrote(8, "ours"), Shows(9, None)],
                None,
            ),
            (
                "a version that is no number says nothing",
                vec![Shows(5, Some("old")), Wrote(0, "ours")],
                Some("old"),
            ),
        ] {
            let key = Key::new("a", "b");
            let mut shown = Shown::starting_with(BTreeMap::new());
            for step in steps {
                match step {
                    Shows(version, object) => drop(shown.show(&key, version, object.as_ref())),
                    Wrote(version, object) => shown.write(&key, version, object),
                    Lists(version, object) => {
                        let listed = object
                            .into_iter()
                            .map(|object| (key.clone(), object))
                            .collect();
                        drop(shown.replace(version, listed));
                    }
                }
            }
            assert_eq!(shown.objects.get(&key).copied(), expected, "{story}");
        }
    }
}
