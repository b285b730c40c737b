//! The watches of a stack: the instances of its kinds, and the children of every kind that its templates ever made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use api::labels;
use api::names::label_value;
use engine::carry::controller_of;
use objects::Gvk;
use serde_json::Value;

use super::inventory::{Id, Known};
use super::{Parts, Shared, Work, lock};
use crate::cache::{Cache, Change, Scope};
use crate::resource::{Key, Resource};

type Kept = Arc<Cache<Arc<Known>>>;

/// All watches, by kind and namespace.
#[derive(Default)]
pub(super) struct Watches {
    instances: Mutex<BTreeMap<(Resource, String), Kept>>,
    children: Mutex<BTreeMap<(Resource, String), Kept>>,
}

impl Watches {
    /// Watches these kinds and no others. Those that are watched already go on.
    pub(super) fn follow(
        &self,
        parts: &Parts,
        shared: &Arc<Shared>,
        owned: &[Resource],
        rendered: &[Resource],
        namespace: &str,
    ) {
        lock(&shared.owned).clone_from(&owned.to_vec());
        let place = |resource: &Resource| {
            let namespace = if resource.namespaced { namespace } else { "" };
            (resource.clone(), namespace.to_owned())
        };
        let mut instances = lock(&self.instances);
        instances.retain(|(resource, _), _| owned.contains(resource));
        for resource in owned {
            instances.entry(place(resource)).or_insert_with(|| watch_instances(parts, shared, resource, namespace));
        }
        let mut children = lock(&self.children);
        children.retain(|(resource, _), _| rendered.contains(resource));
        for resource in rendered {
            children.entry(place(resource)).or_insert_with(|| watch_children(parts, shared, resource, namespace));
        }
    }

    fn all(&self) -> Vec<Kept> {
        lock(&self.instances).values().chain(lock(&self.children).values()).cloned().collect()
    }

    /// Whether every watch has shown all there is.
    pub(super) fn are_synced(&self) -> bool {
        self.all().iter().all(|cache| cache.is_synced())
    }

    /// Waits until every watch has shown all there is.
    pub(super) async fn synced(&self) {
        for cache in self.all() {
            cache.synced().await;
        }
    }
}

fn watch_instances(parts: &Parts, shared: &Arc<Shared>, resource: &Resource, namespace: &str) -> Kept {
    let namespace = if resource.namespaced { namespace } else { "" };
    let scope = Scope { namespace: namespace.to_owned(), ..Scope::all(resource.clone()) };
    let (manager, shared, gvk) = (parts.manager.clone(), shared.clone(), resource.gvk.clone());
    let tell = move |change: Change<'_, Arc<Known>>| {
        let id = Id { gvk: gvk.clone(), key: change.key.clone() };
        shared.inventory.put_instance(&id, change.new.cloned());
        // A status alone is no reason to look.
        if change.old.map(|old| old.hash) != change.new.map(|new| new.hash) {
            shared.queue.add(Work::Instance(id));
        }
    };
    Cache::watch(parts.cluster.client(), &scope, move |object| Arc::new(Known::instance(object, &manager)), tell)
}

fn watch_children(parts: &Parts, shared: &Arc<Shared>, resource: &Resource, namespace: &str) -> Kept {
    let namespace = if resource.namespaced { namespace } else { "" };
    let labels = format!("{}={}", labels::STACK, label_value(&parts.stack));
    let scope = Scope { namespace: namespace.to_owned(), labels, ..Scope::all(resource.clone()) };
    let (manager, shared, resource) = (parts.manager.clone(), shared.clone(), Arc::new(resource.clone()));
    let tell = move |change: Change<'_, Arc<Known>>| {
        let place = (resource.clone(), change.key.clone());
        match change.new {
            Some(known) => shared.inventory.put_child(&place, known.clone()),
            None => shared.inventory.lose_child(&place),
        }
        let owned = lock(&shared.owned).clone();
        let both = [change.old, change.new].into_iter().flatten();
        let mut parents: Vec<Id> = both.filter_map(|known| parent_of(&known.object, &owned)).collect();
        parents.dedup();
        parents.into_iter().for_each(|parent| shared.queue.add(Work::Instance(parent)));
    };
    Cache::watch(parts.cluster.client(), &scope, move |object| Arc::new(Known::child(object, &manager)), tell)
}

/// The instance that a child belongs to.
fn parent_of(child: &Value, owned: &[Resource]) -> Option<Id> {
    let namespace = child["metadata"]["namespace"].as_str().unwrap_or_default();
    let of = |group: &str, kind: &str| owned.iter().find(|own| own.gvk.group == group && own.gvk.kind == kind);
    match controller_of(child) {
        Some(owner) => {
            let gvk = Gvk::of(owner)?;
            let resource = of(&gvk.group, &gvk.kind)?;
            let namespace = if resource.namespaced { namespace } else { "" };
            Some(Id { gvk: resource.gvk.clone(), key: Key::new(namespace, owner["name"].as_str()?) })
        }
        None => {
            let text = |key: &str| child["metadata"]["labels"][key].as_str().unwrap_or_default();
            let resource = of(text(labels::PARENT_GROUP), text(labels::PARENT_KIND))?;
            let key = Key::new(text(labels::PARENT_NAMESPACE), text(labels::PARENT_NAME));
            Some(Id { gvk: resource.gvk.clone(), key })
        }
    }
}
