//! Instances and children as the watches and our own writes have shown them, in as little memory as
//! looking at them needs: whatever is newer counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::limits::{InstanceLimits, Standing};
use engine::{ChildRecord, Parent};
use objects::Gvk;
use serde_json::Value;

use crate::runtime::raw_object::Stamp;
use objects::{Key, Resource};

/// An instance of one of the stack's kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) gvk: Arc<Gvk>,
    pub(super) key: Arc<Key>,
}

impl Id {
    /// Of an instance.
    pub(super) fn of(instance: &Value) -> Option<Self> {
        Some(Self {
            gvk: Arc::new(Gvk::of(instance)?),
            key: Arc::new(Key::of(instance)),
        })
    }
}

/// Where a child is.
pub(super) type Place = (Arc<Resource>, Key);

/// What is kept of an instance.
#[derive(Debug)]
pub(super) struct Known {
    /// All of it but its managed fields, as JSON.
    object: Box<str>,
    uid: Box<str>,
    version: u64,
    pub(super) is_deleting: bool,
    /// When it was created.
    created: Box<str>,
    /// The uid of the instance that made it, if one did.
    maker: Box<str>,
    /// How many instances are above it.
    depth: usize,
    /// Whether the garbage collector is taking it off its children.
    is_orphaning: bool,
    /// What we own of its status, as JSON.
    fields: Box<str>,
    /// Of everything but status, managed fields, version and generation.
    pub(super) hash: u64,
    /// Of the status alone.
    pub(super) status: u64,
}

impl Known {
    /// Of an instance, as this field manager.
    pub(super) fn of(mut object: Value, manager: &str) -> Self {
        let mut fields = Value::Null;
        if let Some(metadata) = object["metadata"].as_object_mut()
            && let Some(Value::Array(mut entries)) = metadata.remove("managedFields")
        {
            let mine =
                |entry: &&mut Value| entry["operation"] == "Update" && entry["manager"] == manager;
            let found = entries
                .iter_mut()
                .filter(mine)
                .find_map(|entry| entry["fieldsV1"].get_mut("f:status"));
            fields = found.map(Value::take).unwrap_or_default();
        }
        let whole = object.to_string();
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let (uid, version) = (
            text("uid").into(),
            text("resourceVersion").parse().unwrap_or_default(),
        );
        let is_deleting = !object["metadata"]["deletionTimestamp"].is_null();
        let is_orphaning = engine::children::orphaning::is_orphaning(&object);
        let created = text("creationTimestamp").into();
        let maker = engine::children::desired::controller_of(&object)
            .and_then(|owner| owner["uid"].as_str());
        let (maker, depth) = (
            maker.unwrap_or_default().into(),
            engine::limits::depth_of(&object),
        );
        // A status that is not there and one that is make no difference to the rest.
        let status = object
            .as_object_mut()
            .and_then(|object| object.remove("status"));
        let status = status.map_or(0, |status| hash_of_json(&status));
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
            metadata.remove("generation");
        }
        let hash = hash_of_json(&object);
        let fields = fields.to_string().into();
        let object = whole.into();
        Self {
            object,
            uid,
            version,
            is_deleting,
            created,
            maker,
            depth,
            is_orphaning,
            fields,
            hash,
            status,
        }
    }

    /// Whether this is the very state that a stamp names.
    pub(super) fn is(&self, stamp: &Stamp) -> bool {
        self.version != 0 && self.version == stamp.version && *self.uid == *stamp.uid
    }

    pub(super) fn uid(&self) -> &str {
        &self.uid
    }

    pub(super) fn object(&self) -> Value {
        serde_json::from_str(&self.object).unwrap_or_default()
    }

    pub(super) fn fields(&self) -> Value {
        serde_json::from_str(&self.fields).unwrap_or_default()
    }
}

pub(super) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hash_of_json(value: &Value) -> u64 {
    struct Into(DefaultHasher);
    impl std::io::Write for Into {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hasher = Into(DefaultHasher::new());
    // Neither a value nor a hash has a way to fail.
    let _ = serde_json::to_writer(&mut hasher, value);
    hasher.0.finish()
}

/// Instances and children.
#[derive(Default)]
pub(super) struct Inventory(Mutex<State>);

#[derive(Default)]
struct State {
    instances: BTreeMap<Id, Arc<Known>>,
    /// How many instances there are in each namespace, and how many each instance made.
    neighbours: HashMap<String, usize>,
    siblings: HashMap<Box<str>, usize>,
    children: HashMap<Place, Arc<ChildRecord>>,
    owned: HashMap<String, Vec<Place>>,
    /// Children that the watch no longer shows, by owner: they may have lost their label only.
    vanished: BTreeMap<String, BTreeSet<Place>>,
    /// The uids of instances that were deleted so that their children stay. The garbage collector
    /// takes away what says so before everything of them is let go.
    orphaned: BTreeSet<Box<str>>,
}

impl Inventory {
    pub(super) fn instance(&self, id: &Id) -> Option<Arc<Known>> {
        self.lock().instances.get(id).cloned()
    }

    pub(super) fn instances(&self) -> Vec<Id> {
        self.lock().instances.keys().cloned().collect()
    }

    /// Takes in what is known of an instance, unless something newer is. Tells whether that may be
    /// a reason to look; a status that we wrote ourselves turns out to be none.
    pub(super) fn put_instance(&self, id: &Id, known: Option<Arc<Known>>) -> bool {
        let mut state = self.lock();
        let before = state.instances.get(id).map(|old| old.uid.clone());
        let now = known.as_ref().map(|known| &known.uid);
        if let Some(gone) = before.filter(|before| Some(before) != now) {
            state.orphaned.remove(&gone);
        }
        state.recount(id, known.as_deref());
        let Some(known) = known else {
            return state.instances.remove(id).is_some();
        };
        // It is told once, and counts even if something newer is known already.
        if known.is_orphaning {
            state.orphaned.insert(known.uid.clone());
        }
        match state.instances.get_mut(id) {
            Some(old) if known.uid == old.uid && known.version < old.version => false,
            Some(old) => {
                let old = std::mem::replace(old, known.clone());
                (old.hash, old.status) != (known.hash, known.status)
            }
            None => {
                state.instances.insert(id.clone(), known);
                true
            }
        }
    }

    /// Where an instance stands among the others. What is within the limits is not counted.
    pub(super) fn standing(&self, id: &Id, limits: &InstanceLimits) -> Standing {
        let state = self.lock();
        let Some(own) = state.instances.get(id) else {
            return Standing::default();
        };
        let is_older = |other: &Known| (&other.created, &other.uid) < (&own.created, &own.uid);
        let older = |is_near: &dyn Fn(&Id, &Known) -> bool| {
            state
                .instances
                .iter()
                .filter(|(id, other)| is_near(id, other) && is_older(other))
                .count()
        };
        let count = |many: usize, limit: usize, is_near: &dyn Fn(&Id, &Known) -> bool| {
            if many > limit { older(is_near) } else { 0 }
        };
        let here = state
            .neighbours
            .get(&id.key.namespace)
            .copied()
            .unwrap_or_default();
        let made = state.siblings.get(&own.maker).copied().unwrap_or_default();
        Standing {
            depth: own.depth,
            siblings: count(made, limits.instance, &|_, other| other.maker == own.maker),
            neighbours: count(here, limits.namespace, &|other, _| {
                other.key.namespace == id.key.namespace
            }),
            elders: count(state.instances.len(), limits.stack, &|_, _| true),
        }
    }

    /// How many instances there are in a namespace, and in all.
    pub(super) fn population(&self, namespace: &str) -> (usize, usize) {
        let state = self.lock();
        (
            state.neighbours.get(namespace).copied().unwrap_or_default(),
            state.instances.len(),
        )
    }

    /// Whether an instance was seen to be deleted so that its children stay.
    pub(super) fn is_orphaned(&self, uid: &str) -> bool {
        self.lock().orphaned.contains(uid)
    }

    pub(super) fn child(&self, place: &Place) -> Option<Arc<ChildRecord>> {
        self.lock().children.get(place).cloned()
    }

    /// Takes in what is known of a child, unless something newer is.
    pub(super) fn put_child(&self, place: &Place, kept: ChildRecord) {
        self.put_child_if(place, kept, || true);
    }

    /// The same of a child that its own labels no longer give away.
    pub(super) fn put_child_of(&self, place: &Place, kept: ChildRecord, instance: &Value) {
        let is_named = kept.parent().is_some();
        self.put_child(place, kept);
        if !is_named {
            let [uid, _] = Parent::keys_of(instance);
            let mut state = self.lock();
            let places = state.owned.entry(uid).or_default();
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
    }

    /// A child is as it should be: from now on a hash tells whether somebody changes it.
    pub(super) fn confirm_child(&self, place: &Place, seen: &ChildRecord) {
        let mut state = self.lock();
        if let Some(kept) = state.children.get_mut(place)
            && kept.uid() == seen.uid()
            && kept.version == seen.version
        {
            *kept = Arc::new(ChildRecord::clone(kept).confirmed());
        }
    }

    /// The same as [`Self::put_child`], by whoever may still do so when it is done. Tells whether
    /// that is a reason to look at its parent.
    pub(super) fn put_child_if(
        &self,
        place: &Place,
        kept: ChildRecord,
        may: impl FnOnce() -> bool,
    ) -> bool {
        let mut state = self.lock();
        if !may() {
            return false;
        }
        let kept = match state.children.get_mut(place) {
            Some(old) if kept.is_older(old) => return false,
            Some(old) if kept.content() == old.content() => {
                *old = Arc::new(kept.after(old));
                return false;
            }
            Some(old) => kept.after(old),
            None => kept,
        };
        let owner = kept.parent().map(Parent::key);
        let before = state
            .children
            .get(place)
            .and_then(|old| old.parent())
            .map(Parent::key);
        if owner != before {
            state.forget(place);
        }
        if let Some(owner) = owner {
            if let Some(vanished) = state.vanished.get_mut(&owner) {
                vanished.remove(place);
            }
            let places = state.owned.entry(owner).or_default();
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        state.children.insert(place.clone(), Arc::new(kept));
        true
    }

    /// A child is certainly not there.
    pub(super) fn drop_child(&self, place: &Place) {
        self.lock().forget(place);
    }

    /// The watch no longer shows a child.
    pub(super) fn lose_child(&self, place: &Place) {
        let mut state = self.lock();
        let Some(kept) = state.children.get(place).cloned() else {
            return;
        };
        state.forget(place);
        if let Some(owner) = kept.parent() {
            state
                .vanished
                .entry(owner.key())
                .or_default()
                .insert(place.clone());
        }
    }

    /// The children that the watch lost since the last time, of one owner.
    pub(super) fn take_vanished(&self, instance: &Value) -> BTreeSet<Place> {
        let mut state = self.lock();
        let mut found = BTreeSet::new();
        for owner in Parent::keys_of(instance) {
            found.extend(state.vanished.remove(&owner).unwrap_or_default());
        }
        found
    }

    /// Gives back what was taken, if it could not be looked at.
    pub(super) fn still_vanished(&self, instance: &Value, place: Place) {
        let [uid, _] = Parent::keys_of(instance);
        self.lock().vanished.entry(uid).or_default().insert(place);
    }

    /// All objects that may be children of an instance: each says whose it is, and only its tie
    /// decides.
    pub(super) fn children(&self, instance: &Value) -> Vec<(Place, Arc<ChildRecord>)> {
        let state = self.lock();
        let places = Parent::keys_of(instance)
            .into_iter()
            .filter_map(|owner| state.owned.get(&owner))
            .flatten();
        let mut found: Vec<(Place, Arc<ChildRecord>)> = places
            .filter_map(|place| Some((place.clone(), state.children.get(place)?.clone())))
            .collect();
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        found.dedup_by(|(one, _), (other, _)| one == other);
        found
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts an instance that comes, goes or is replaced by another of its name.
    fn recount(&mut self, id: &Id, new: Option<&Known>) {
        let old = self.instances.get(id).cloned();
        if let (Some(old), Some(new)) = (&old, new)
            && old.maker == new.maker
        {
            return;
        }
        if let Some(old) = old {
            less(&mut self.neighbours, id.key.namespace.as_str());
            less(&mut self.siblings, &*old.maker);
        }
        if let Some(new) = new {
            *self.neighbours.entry(id.key.namespace.clone()).or_default() += 1;
            if !new.maker.is_empty() {
                *self.siblings.entry(new.maker.clone()).or_default() += 1;
            }
        }
    }

    fn forget(&mut self, place: &Place) {
        let Some(kept) = self.children.remove(place) else {
            return;
        };
        if let Some(owner) = kept.parent().map(Parent::key)
            && let Some(places) = self.owned.get_mut(&owner)
        {
            places.retain(|other| other != place);
            if places.is_empty() {
                self.owned.remove(&owner);
            }
        }
    }
}

/// Counts one less; none is not counted at all.
fn less<K: Hash + Eq + std::borrow::Borrow<Q>, Q: Hash + Eq + ?Sized>(
    counts: &mut HashMap<K, usize>,
    key: &Q,
) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
