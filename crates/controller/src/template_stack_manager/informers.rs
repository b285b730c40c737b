//! The watches of a stack: the instances of its kinds, and the children of every kind that its
//! templates ever made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use api::labels;
use api::names::label_value;
use engine::{ChildRecord, Compiled, Parent, Projection};
use objects::Gvk;
use serde_json::Value;

use super::inventory::{Id, Known};
use super::{Parts, Shared, lock};
use crate::runtime::informer::{Cache, Change, Scope};
use crate::runtime::raw_object::Stamp;
use objects::{Key, Resource};

/// A kind and a namespace, or all of them.
type Where = (Resource, String);
type Instances = Arc<Cache<Arc<Known>>>;

/// All watches.
#[derive(Default)]
pub(super) struct Watches {
    instances: Mutex<BTreeMap<Where, Instances>>,
    children: Mutex<BTreeMap<Where, Children>>,
}

/// Children of a kind: who their parents are is all that is kept twice.
struct Children {
    cache: Arc<Cache<Seen>>,
    views: Arc<Views>,
    /// Whether another watch has not taken over yet, which keeps other parts of the same objects.
    current: Arc<AtomicBool>,
}

/// What a watch has shown of a child; the rest is in the inventory.
#[derive(Debug, Clone)]
struct Seen {
    parent: Option<Arc<Id>>,
    /// Whether its parent has a reason to be looked at.
    is_news: bool,
}

/// What is to be kept of the children of a kind, by group and kind of the parent and by template.
#[derive(Debug, Default, PartialEq, Eq)]
struct Views {
    by_maker: BTreeMap<(String, String, String), Projection>,
    /// Of an object that no template makes now only whose it is.
    none: Projection,
}

impl Views {
    /// Of the children of one kind in a stack.
    fn of(compiled: Option<&Compiled>, gvk: &Gvk) -> Self {
        let kinds = compiled.iter().flat_map(|compiled| &compiled.kinds);
        let children = kinds.flat_map(|kind| kind.children.iter().map(move |child| (kind, child)));
        let own = children.filter(|(_, child)| child.gvk == *gvk);
        let key = |group: &str, kind: &str, template: &str| {
            (group.to_owned(), kind.to_owned(), label_value(template))
        };
        let views = own.map(|(kind, child)| {
            (
                key(&kind.gvk.group, &kind.gvk.kind, &child.name),
                child.view.clone(),
            )
        });
        Self {
            by_maker: views.collect(),
            none: Projection::default(),
        }
    }

    /// What to keep of an object.
    fn find(&self, object: &Value) -> &Projection {
        let marks = &object["metadata"]["labels"];
        let text = |key: &str| marks[key].as_str().unwrap_or_default().to_owned();
        let key = (
            text(labels::PARENT_GROUP),
            text(labels::PARENT_KIND),
            text(labels::TEMPLATE),
        );
        self.by_maker.get(&key).unwrap_or(&self.none)
    }

    /// Whether what was kept of an object is what is to be kept of it.
    fn fit(&self, kept: &ChildRecord) -> bool {
        let Some(parent) = kept.parent() else {
            return false;
        };
        let key = (
            parent.group.clone(),
            parent.kind.clone(),
            kept.template().to_owned(),
        );
        self.by_maker
            .get(&key)
            .is_some_and(|view| view.fingerprint() == kept.view)
    }
}

impl Watches {
    /// Watches these kinds and no others. Those that are watched already go on, unless templates
    /// read other parts of their objects now.
    pub(super) fn follow(
        &self,
        parts: &Parts,
        shared: &Arc<Shared>,
        (owned, rendered): (&[Resource], &[Resource]),
        compiled: Option<&Compiled>,
        namespaces: &[String],
    ) {
        lock(&shared.owned).clone_from(
            &owned
                .iter()
                .map(|own| (own.clone(), Arc::new(own.gvk.clone())))
                .collect(),
        );
        let everywhere = [String::new()];
        let places = |resource: &Resource| -> Vec<Where> {
            let namespaces = if resource.namespaced {
                namespaces
            } else {
                &everywhere
            };
            namespaces
                .iter()
                .map(|namespace| (resource.clone(), namespace.clone()))
                .collect()
        };
        let mut instances = lock(&self.instances);
        let wanted: BTreeSet<Where> = owned.iter().flat_map(places).collect();
        instances.retain(|place, _| wanted.contains(place));
        for place in wanted {
            let (resource, namespace) = place.clone();
            instances
                .entry(place)
                .or_insert_with(|| watch_instances(parts, shared, &resource, &namespace));
        }
        let mut children = lock(&self.children);
        let wanted: BTreeSet<Where> = rendered.iter().flat_map(places).collect();
        children.retain(|place, _| wanted.contains(place));
        for place in wanted {
            let (resource, namespace) = &place;
            let views = Arc::new(Views::of(compiled, &resource.gvk));
            let before = children.remove(&place);
            let kept = match before {
                Some(same) if same.views == views => same,
                before => {
                    watch_children(parts, shared, resource, namespace, views, before.as_ref())
                }
            };
            children.insert(place, kept);
        }
    }

    /// Whether the watches that instances of a kind need have shown all there is; all of them if
    /// none is named.
    pub(super) fn are_synced(&self, kind: Option<&engine::CompiledKind>) -> bool {
        let needed = |resource: &Resource| {
            kind.is_none_or(|kind| {
                kind.gvk == resource.gvk
                    || kind.children.iter().any(|child| child.gvk == resource.gvk)
            })
        };
        lock(&self.instances)
            .iter()
            .all(|((resource, _), cache)| !needed(resource) || cache.is_synced())
            && lock(&self.children)
                .iter()
                .all(|((resource, _), own)| !needed(resource) || own.cache.is_synced())
    }

    /// Waits until every watch has shown all there is.
    pub(super) async fn synced(&self) {
        let instances: Vec<_> = lock(&self.instances).values().cloned().collect();
        for cache in instances {
            cache.synced().await;
        }
        let children: Vec<_> = lock(&self.children)
            .values()
            .map(|own| own.cache.clone())
            .collect();
        for cache in children {
            cache.synced().await;
        }
    }

    /// The kinds that the API server refuses to show, and why.
    pub(super) fn troubles(&self) -> Vec<(Resource, String)> {
        let of = |resource: &Resource, trouble: Option<String>| {
            trouble.map(|why| (resource.clone(), why))
        };
        let mut found: Vec<(Resource, String)> = lock(&self.instances)
            .iter()
            .filter_map(|((resource, _), cache)| of(resource, cache.trouble()))
            .chain(
                lock(&self.children)
                    .iter()
                    .filter_map(|((resource, _), own)| of(resource, own.cache.trouble())),
            )
            .collect();
        found.sort();
        found.dedup();
        found
    }
}

fn watch_instances(
    parts: &Parts,
    shared: &Arc<Shared>,
    resource: &Resource,
    namespace: &str,
) -> Instances {
    let namespace = if resource.namespaced { namespace } else { "" };
    let scope = Scope {
        namespace: namespace.to_owned(),
        ..Scope::all(resource.clone())
    };
    let (manager, shared, gvk) = (
        parts.manager.clone(),
        shared.clone(),
        Arc::new(resource.gvk.clone()),
    );
    let (seen, own) = (shared.clone(), gvk.clone());
    let tell = move |change: Change<'_, Arc<Known>>| {
        let id = Id {
            gvk: gvk.clone(),
            key: Arc::new(change.key.clone()),
        };
        if shared.inventory.put_instance(&id, change.new.cloned()) {
            shared.happened(id);
        }
    };
    let known = move |stamp: &Stamp| {
        let id = Id {
            gvk: own.clone(),
            key: Arc::new(stamp.key.clone()),
        };
        seen.inventory.instance(&id).filter(|known| known.is(stamp))
    };
    let keep = move |object| Arc::new(Known::of(object, &manager));
    Cache::watch_for_news(parts.cluster.client(), &scope, known, keep, tell)
}

fn watch_children(
    parts: &Parts,
    shared: &Arc<Shared>,
    resource: &Resource,
    namespace: &str,
    views: Arc<Views>,
    before: Option<&Children>,
) -> Children {
    let namespace = if resource.namespaced { namespace } else { "" };
    let labels = engine::stack_label(&parts.stack);
    let scope = Scope {
        namespace: namespace.to_owned(),
        labels,
        ..Scope::all(resource.clone())
    };
    let place = Arc::new(resource.clone());
    let current = Arc::new(AtomicBool::new(true));
    if let Some(before) = before {
        before.current.store(false, Ordering::SeqCst);
    }
    // Mostly our own writes, whose answers have shown the same.
    let known = {
        let (shared, views, place, current) = (
            shared.clone(),
            views.clone(),
            place.clone(),
            current.clone(),
        );
        move |stamp: &Stamp| {
            let kept = shared
                .inventory
                .child(&(place.clone(), stamp.key.clone()))?;
            let same =
                kept.version != 0 && kept.version == stamp.version && kept.uid() == stamp.uid;
            if !same || !views.fit(&kept) || !current.load(Ordering::SeqCst) {
                return None;
            }
            let parent = kept
                .parent()
                .and_then(|parent| parent_of(parent, &lock(&shared.owned)));
            Some(Seen {
                parent: parent.map(Arc::new),
                is_news: false,
            })
        }
    };
    let keep = {
        let (manager, shared, views, place) = (
            parts.manager.clone(),
            shared.clone(),
            views.clone(),
            place.clone(),
        );
        let current = current.clone();
        move |object: Value| {
            let kept = ChildRecord::of(&object, &manager, views.find(&object));
            let parent = kept
                .parent()
                .and_then(|parent| parent_of(parent, &lock(&shared.owned)));
            let at = (place.clone(), Key::of(&object));
            let is_news = shared
                .inventory
                .put_child_if(&at, kept, || current.load(Ordering::SeqCst));
            Seen {
                parent: parent.map(Arc::new),
                is_news,
            }
        }
    };
    let tell = {
        let shared = shared.clone();
        move |change: Change<'_, Seen>| {
            let Some(new) = change.new else {
                shared
                    .inventory
                    .lose_child(&(place.clone(), change.key.clone()));
                change
                    .old
                    .and_then(|old| old.parent.as_deref())
                    .into_iter()
                    .for_each(|id| shared.happened(id.clone()));
                return;
            };
            if !new.is_news {
                return;
            }
            let parents = [change.old, Some(new)]
                .into_iter()
                .flatten()
                .filter_map(|seen| seen.parent.as_deref());
            let parents: BTreeSet<&Id> = parents.collect();
            parents
                .into_iter()
                .for_each(|parent| shared.happened(parent.clone()));
        }
    };
    let cache = match before {
        Some(before) => before
            .cache
            .take_over(parts.cluster.client(), &scope, known, keep, tell),
        None => Cache::watch_for_news(parts.cluster.client(), &scope, known, keep, tell),
    };
    Children {
        cache,
        views,
        current,
    }
}

/// The instance that a child belongs to.
fn parent_of(parent: &Parent, owned: &[(Resource, Arc<Gvk>)]) -> Option<Id> {
    let (resource, gvk) = owned
        .iter()
        .find(|(own, _)| own.gvk.group == parent.group && own.gvk.kind == parent.kind)?;
    let namespace = if resource.namespaced {
        parent.namespace.as_str()
    } else {
        ""
    };
    Some(Id {
        gvk: gvk.clone(),
        key: Arc::new(Key::new(namespace, &parent.name)),
    })
}
