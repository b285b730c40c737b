//! Taking an instance away: its children in reverse order, from what the watches have shown,
//! whether or not it still renders; then it may go. Or, if it was deleted without them, its
//! children are let go.

use api::labels;
use api::names::{CHILDREN_FINALIZER, label_value};
use engine::children::desired::next_to_go;
use engine::children::orphaning::{is_orphaning, let_go, were_orphaned};
use engine::{ChildRecord, Projection, Tie};
use objects::Gvk;
use serde_json::{Value, json};

use super::TemplateStackManager;
use super::inventory::{Id, Place};
use super::stack::Revision;
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::Resource;

impl TemplateStackManager {
    pub(super) async fn remove(
        &self,
        id: &Id,
        resource: &Resource,
        instance: &Value,
        revision: &Revision,
    ) -> Result<Requeue, Error> {
        if !finalizers(instance).any(|own| own == CHILDREN_FINALIZER) {
            // The garbage collector does the rest.
            return Ok(Requeue::AwaitChange);
        }
        self.find_vanished(instance, revision).await?;
        let mut children = self.shared.inventory.children(instance);
        children.retain(|(_, kept)| !kept.is_orphan);
        let uid = instance["metadata"]["uid"].as_str().unwrap_or_default();
        let tie = |kept: &ChildRecord| kept.tie(instance, &revision.seed);
        if self.shared.inventory.is_orphaned(uid)
            || were_orphaned(children.iter().map(|(_, kept)| tie(kept)))
        {
            if is_orphaning(instance) {
                // The garbage collector goes first, so that whatever it overlooks is seen here.
                return Ok(Requeue::AwaitChange);
            }
            let is_referring =
                |kept: &ChildRecord| kept.parent().is_some_and(|parent| parent.uid == uid);
            let owned = children
                .drain(..)
                .filter(|(_, kept)| is_referring(kept) && tie(kept) == Tie::Owned);
            self.release(instance, revision, owned.map(|(place, _)| place).collect())
                .await?;
        }
        // What only claims to be a child stays.
        children.retain(|(_, kept)| tie(kept).may_delete());
        let kind = revision
            .compiled
            .as_ref()
            .and_then(|compiled| compiled.kind(&id.gvk));
        let remaining: Vec<String> = children
            .iter()
            .map(|(_, kept)| kept.template().to_owned())
            .collect();
        let free = next_to_go(kind, &remaining);
        for (place, kept) in children
            .iter()
            .filter(|(_, kept)| free.contains(kept.template()))
        {
            if !kept.is_deleting {
                // Only as it was seen: one that has just lost its owner is to stay.
                let version = kept.version.to_string();
                match kept.version {
                    0 => {
                        self.parts
                            .cluster
                            .delete(&place.0, &place.1, kept.uid(), "Background")
                            .await?;
                    }
                    _ => {
                        self.parts
                            .cluster
                            .delete_unchanged(&place.0, &place.1, kept.uid(), &version)
                            .await?;
                    }
                }
            }
        }
        if !children.is_empty() {
            // Each of them that goes is a reason to look again.
            return Ok(Requeue::After(super::RESYNC));
        }
        let left: Vec<&Value> = finalizers(instance)
            .filter(|own| *own != CHILDREN_FINALIZER)
            .collect();
        let patch = json!({
            "metadata": { "finalizers": left, "resourceVersion": instance["metadata"]["resourceVersion"] },
        });
        match self
            .parts
            .cluster
            .merge(resource, &id.key, "", &patch)
            .await
        {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Requeue::AwaitChange),
            Err(error) => Err(error),
        }
    }

    /// Takes a deleted instance off children that stay, where the garbage collector has not: an
    /// apply that was under way may have put it back.
    async fn release(
        &self,
        instance: &Value,
        revision: &Revision,
        places: Vec<Place>,
    ) -> Result<(), Error> {
        let uid = instance["metadata"]["uid"].as_str().unwrap_or_default();
        for (resource, key) in places {
            let Some(mut live) = self.parts.cluster.get(&resource, &key).await? else {
                continue;
            };
            if let Some(patch) = let_go(&live, uid) {
                live = self
                    .parts
                    .cluster
                    .merge(&resource, &key, "", &patch)
                    .await?;
                tracing::info!(kind = resource.gvk.kind, %key, "left alone, since its parent was deleted without it");
            }
            let kept = ChildRecord::of(
                &live,
                &self.parts.manager,
                &view_of(revision, instance, &live),
            );
            self.shared.inventory.put_child(&(resource, key), kept);
        }
        Ok(())
    }

    /// Asks for children that the watch no longer shows: one that only lost its label is still
    /// ours.
    pub(super) async fn find_vanished(
        &self,
        instance: &Value,
        revision: &Revision,
    ) -> Result<(), Error> {
        let mut vanished = self.shared.inventory.take_vanished(instance);
        while let Some(place) = vanished.pop_first() {
            match self.parts.cluster.get(&place.0, &place.1).await {
                Ok(Some(live)) => {
                    let kept = ChildRecord::of(
                        &live,
                        &self.parts.manager,
                        &view_of(revision, instance, &live),
                    );
                    if kept.tie(instance, &revision.seed).may_apply() {
                        self.shared.inventory.put_child_of(&place, kept, instance);
                    }
                }
                Ok(None) => self.shared.inventory.drop_child(&place),
                Err(error) => {
                    self.shared.inventory.still_vanished(instance, place);
                    vanished
                        .into_iter()
                        .for_each(|place| self.shared.inventory.still_vanished(instance, place));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// What the templates of an instance read of one of its children.
fn view_of(revision: &Revision, instance: &Value, live: &Value) -> Projection {
    let template = live["metadata"]["labels"][labels::TEMPLATE]
        .as_str()
        .unwrap_or_default();
    let compiled = revision.compiled.as_ref();
    let kind = Gvk::of(instance).and_then(|gvk| compiled?.kind(&gvk));
    let child = kind.and_then(|kind| {
        kind.children
            .iter()
            .find(|child| label_value(&child.name) == template)
    });
    child.map(|child| child.view.clone()).unwrap_or_default()
}

pub(super) fn finalizers(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
}
