//! Instances and children as the watches and our own writes have shown them: whatever is newer counts.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::labels;
use engine::carry::{controller_of, parent_labels};
use objects::Gvk;
use serde_json::Value;

use crate::resource::{Key, Resource};

/// An instance of one of the stack's kinds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) gvk: Gvk,
    pub(super) key: Key,
}

/// Where a child is.
pub(super) type Place = (Arc<Resource>, Key);

/// What is kept of an object.
#[derive(Debug)]
pub(super) struct Known {
    /// Without managed fields.
    pub(super) object: Value,
    pub(super) version: u64,
    /// What we own of it by applying (a child) or of its status (an instance), as JSON.
    pub(super) fields: String,
    /// Of everything but status, managed fields, version and generation.
    pub(super) hash: u64,
}

impl Known {
    /// Of a child, as this field manager.
    pub(super) fn child(object: &Value, manager: &str) -> Self {
        Self::of(object, |entry| entry["operation"] == "Apply" && entry["manager"] == manager, None)
    }

    /// Of an instance, as this field manager.
    pub(super) fn instance(object: &Value, manager: &str) -> Self {
        Self::of(object, |entry| entry["operation"] == "Update" && entry["manager"] == manager, Some("f:status"))
    }

    fn of(object: &Value, is_mine: impl Fn(&Value) -> bool, part: Option<&str>) -> Self {
        let mut object = object.clone();
        let mut fields = Value::Null;
        if let Some(metadata) = object["metadata"].as_object_mut()
            && let Some(Value::Array(entries)) = metadata.remove("managedFields")
        {
            let mine = entries.iter().filter(|entry| is_mine(entry)).map(|entry| &entry["fieldsV1"]);
            let found = mine.filter_map(|all| part.map_or(Some(all), |part| all.get(part))).next();
            fields = found.cloned().unwrap_or_default();
        }
        let version = object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let mut bare = object.clone();
        if let Some(fields) = bare.as_object_mut() {
            fields.remove("status");
        }
        if let Some(metadata) = bare["metadata"].as_object_mut() {
            metadata.remove("resourceVersion");
            metadata.remove("generation");
        }
        let hash = hash_of(&bare.to_string());
        Self { object, version: version.unwrap_or_default(), fields: fields.to_string(), hash }
    }

    pub(super) fn uid(&self) -> &str {
        self.object["metadata"]["uid"].as_str().unwrap_or_default()
    }

    pub(super) fn is_deleting(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// The template of a child, as its label says it.
    pub(super) fn template(&self) -> &str {
        self.object["metadata"]["labels"][labels::TEMPLATE].as_str().unwrap_or_default()
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

/// Instances and children.
#[derive(Default)]
pub(super) struct Inventory(Mutex<State>);

#[derive(Default)]
struct State {
    instances: BTreeMap<Id, Arc<Known>>,
    children: BTreeMap<Place, Arc<Known>>,
    owned: BTreeMap<String, BTreeSet<Place>>,
    /// Children that the watch no longer shows, by owner: they may have lost their label only.
    vanished: BTreeMap<String, BTreeSet<Place>>,
}

impl Inventory {
    pub(super) fn instance(&self, id: &Id) -> Option<Arc<Known>> {
        self.lock().instances.get(id).cloned()
    }

    pub(super) fn instances(&self) -> Vec<Id> {
        self.lock().instances.keys().cloned().collect()
    }

    /// Takes in what is known of an instance, unless something newer is.
    pub(super) fn put_instance(&self, id: &Id, known: Option<Arc<Known>>) {
        let mut state = self.lock();
        match known {
            Some(known) => {
                let newer = state.instances.get(id).is_some_and(|old| is_older(&known, old));
                if !newer {
                    state.instances.insert(id.clone(), known);
                }
            }
            None => {
                state.instances.remove(id);
            }
        }
    }

    pub(super) fn child(&self, place: &Place) -> Option<Arc<Known>> {
        self.lock().children.get(place).cloned()
    }

    /// Takes in what is known of a child, unless something newer is.
    pub(super) fn put_child(&self, place: &Place, known: Arc<Known>) {
        let mut state = self.lock();
        if state.children.get(place).is_some_and(|old| is_older(&known, old)) {
            return;
        }
        state.forget(place);
        if let Some(owner) = owner(&known.object) {
            if let Some(vanished) = state.vanished.get_mut(&owner) {
                vanished.remove(place);
            }
            state.owned.entry(owner).or_default().insert(place.clone());
        }
        state.children.insert(place.clone(), known);
    }

    /// A child is certainly not there.
    pub(super) fn drop_child(&self, place: &Place) {
        self.lock().forget(place);
    }

    /// The watch no longer shows a child.
    pub(super) fn lose_child(&self, place: &Place) {
        let mut state = self.lock();
        let Some(known) = state.children.get(place).cloned() else { return };
        state.forget(place);
        if let Some(owner) = owner(&known.object) {
            state.vanished.entry(owner).or_default().insert(place.clone());
        }
    }

    /// The children that the watch lost since the last time, of one owner.
    pub(super) fn take_vanished(&self, instance: &Value) -> BTreeSet<Place> {
        let mut state = self.lock();
        let mut found = BTreeSet::new();
        for owner in keys_of(instance) {
            found.extend(state.vanished.remove(&owner).unwrap_or_default());
        }
        found
    }

    /// Gives back what was taken, if it could not be looked at.
    pub(super) fn still_vanished(&self, instance: &Value, place: Place) {
        let [uid, _] = keys_of(instance);
        self.lock().vanished.entry(uid).or_default().insert(place);
    }

    /// All children of an instance.
    pub(super) fn children(&self, instance: &Value) -> Vec<(Place, Arc<Known>)> {
        let state = self.lock();
        let places = keys_of(instance).into_iter().filter_map(|owner| state.owned.get(&owner)).flatten();
        places.filter_map(|place| Some((place.clone(), state.children.get(place)?.clone()))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, place: &Place) {
        let Some(known) = self.children.remove(place) else { return };
        if let Some(owner) = owner(&known.object)
            && let Some(places) = self.owned.get_mut(&owner)
        {
            places.remove(place);
            if places.is_empty() {
                self.owned.remove(&owner);
            }
        }
    }
}

/// Whether news are older than what is known of the same object.
fn is_older(news: &Known, known: &Known) -> bool {
    news.uid() == known.uid() && news.version < known.version
}

/// Under which key a child is found: its controller's uid, or what its labels say of its parent.
fn owner(child: &Value) -> Option<String> {
    match controller_of(child) {
        Some(owner) => owner["uid"].as_str().map(str::to_owned),
        None => {
            let marks = &child["metadata"]["labels"];
            let text = |key: &str| marks[key].as_str().unwrap_or_default();
            let parts = [labels::PARENT_GROUP, labels::PARENT_KIND, labels::PARENT_NAMESPACE, labels::PARENT_NAME];
            let name = parts.map(text).join("/");
            (!text(labels::PARENT_NAME).is_empty()).then_some(name)
        }
    }
}

/// Both keys under which children of an instance are found.
fn keys_of(instance: &Value) -> [String; 2] {
    let marks = parent_labels(instance);
    let text = |key: &str| marks.iter().find(|(mark, _)| *mark == key).map_or("", |(_, text)| text.as_str());
    let parts = [labels::PARENT_GROUP, labels::PARENT_KIND, labels::PARENT_NAMESPACE, labels::PARENT_NAME];
    [instance["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), parts.map(text).join("/")]
}
