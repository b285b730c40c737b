//! Taking an instance away: its children in reverse order, from what the watches have shown, whether or not it still
//! renders; then it may go.

use std::sync::Arc;

use api::names::CHILDREN_FINALIZER;
use engine::carry::{is_orphan, next_to_go};
use serde_json::{Value, json};

use super::TemplateStackManager;
use super::inventory::{Id, Known};
use super::revision::Revision;
use crate::Error;
use crate::queue::Again;
use crate::resource::Resource;

impl TemplateStackManager {
    pub(super) async fn remove(
        &self,
        id: &Id,
        resource: &Resource,
        instance: &Arc<Known>,
        revision: &Revision,
    ) -> Result<Again, Error> {
        if !finalizers(&instance.object).any(|own| own == CHILDREN_FINALIZER) {
            // The garbage collector does the rest.
            return Ok(Again::OnChange);
        }
        self.find_vanished(&instance.object).await?;
        let mut children = self.shared.inventory.children(&instance.object);
        children.retain(|(_, known)| !is_orphan(&known.object));
        let kind = revision.compiled.as_ref().and_then(|compiled| compiled.kind(&id.gvk));
        let remaining: Vec<String> = children.iter().map(|(_, known)| known.template().to_owned()).collect();
        let free = next_to_go(kind, &remaining);
        for (place, known) in children.iter().filter(|(_, known)| free.contains(known.template())) {
            if !known.is_deleting() {
                self.parts.cluster.delete(&place.0, &place.1, known.uid(), "Background").await?;
            }
        }
        if !children.is_empty() {
            // Each of them that goes is a reason to look again.
            return Ok(Again::After(super::RESYNC));
        }
        let left: Vec<&Value> = finalizers(&instance.object).filter(|own| *own != CHILDREN_FINALIZER).collect();
        let patch = json!({
            "metadata": { "finalizers": left, "resourceVersion": instance.object["metadata"]["resourceVersion"] },
        });
        match self.parts.cluster.merge(resource, &id.key, "", &patch).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(Again::OnChange),
            Err(error) => Err(error),
        }
    }

    /// Asks for children that the watch no longer shows: one that only lost its label is still ours.
    pub(super) async fn find_vanished(&self, instance: &Value) -> Result<(), Error> {
        let mut vanished = self.shared.inventory.take_vanished(instance);
        while let Some(place) = vanished.pop_first() {
            match self.parts.cluster.get(&place.0, &place.1).await {
                Ok(Some(live)) => {
                    if engine::carry::is_ours(&live, instance, &self.parts.stack) {
                        let known = Known::child(&live, &self.parts.manager);
                        self.shared.inventory.put_child(&place, Arc::new(known));
                    }
                }
                Ok(None) => self.shared.inventory.drop_child(&place),
                Err(error) => {
                    self.shared.inventory.still_vanished(instance, place);
                    vanished.into_iter().for_each(|place| self.shared.inventory.still_vanished(instance, place));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn finalizers(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten()
}
