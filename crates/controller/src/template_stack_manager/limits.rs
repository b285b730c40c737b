//! Instances that a limit keeps from being served, or from making others: they are told, cost
//! nothing, and are looked at again when others go.

use std::sync::Arc;

use engine::children::desired::Failure;
use engine::limits::{InstanceLimits, LIMIT_REACHED, Standing, depth_of};
use engine::{Context, halted};

use super::instance::{Look, Written};
use super::inventory::{Id, Place, hash_of};
use super::{TemplateStackManager, Work, lock};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::Resource;

impl TemplateStackManager {
    /// Why an instance is not served.
    pub(super) fn limit(&self, id: &Id) -> Option<String> {
        let reached = self
            .parts
            .limits
            .reached(self.shared.inventory.standing(id, &self.parts.limits));
        let reached = reached.or_else(|| self.beyond_share(id));
        self.limited(id, reached.is_some());
        reached
    }

    /// Why an instance is not served though its stack could: the namespace has no more for this
    /// stack, as the stack manager says in its status.
    fn beyond_share(&self, id: &Id) -> Option<String> {
        let share = self.share()?;
        let limits = InstanceLimits {
            namespace: usize::try_from(share).unwrap_or(usize::MAX),
            ..self.parts.limits
        };
        InstanceLimits::beyond_share(share, self.shared.inventory.standing(id, &limits))
    }

    fn share(&self) -> Option<u64> {
        self.stack.get(&self.stack_key())?["status"]["instanceLimit"].as_u64()
    }

    /// Tells an instance that it is not served; nothing of it changes.
    pub(super) async fn refuse(
        &self,
        id: &Id,
        resource: &Resource,
        mut look: Look<'_>,
        why: String,
    ) -> Result<Requeue, Error> {
        let inputs = hash_of(&(look.known.hash, &why));
        if lock(&self.memory)
            .get(id)
            .is_some_and(|own| own.inputs == inputs && own.status == look.known.status)
        {
            return Ok(Requeue::AwaitChange);
        }
        let failure = Failure {
            template: String::new(),
            reason: LIMIT_REACHED,
            message: why,
        };
        // The context is not for other threads, so it ends before anything is waited for.
        let plan = {
            let context = Context::new(&self.parts.stack, &look.revision.seed);
            halted(look.kind, &look.object, &context, &failure)
        };
        look.failures.push(failure);
        let written = self
            .write_instance_status(id, resource, &mut look, &plan)
            .await?;
        self.conclude(id, &look, &plan, 0).await;
        if let Written::Later(wait) = written {
            return Ok(Requeue::After(wait));
        }
        self.note(id, |memory| memory.inputs = inputs);
        Ok(Requeue::AwaitChange)
    }

    /// Why an instance does not make another instance of this stack, which would be the `nth` that
    /// it makes.
    pub(super) fn may_make(
        &self,
        look: &Look<'_>,
        place: &Place,
        nth: &mut usize,
    ) -> Option<Failure> {
        look.compiled.kind(&place.0.gvk)?;
        let (id, own) = (self.id_of(&place.0, &place.1), Id::of(&look.object)?);
        *nth += 1;
        if self.shared.inventory.instance(&id).is_some() {
            return None;
        }
        let others = self.shared.inventory.population(&place.1.namespace);
        let message = self
            .parts
            .limits
            .may_make(depth_of(&look.object), *nth - 1, others);
        let message = message.or_else(|| {
            InstanceLimits::beyond_share(
                self.share()?,
                Standing {
                    neighbours: others.0,
                    ..Standing::default()
                },
            )
        })?;
        self.limited(&own, true);
        Some(Failure {
            template: String::new(),
            reason: LIMIT_REACHED,
            message,
        })
    }

    fn id_of(&self, resource: &Resource, key: &objects::Key) -> Id {
        Id {
            gvk: Arc::new(resource.gvk.clone()),
            key: Arc::new(key.clone()),
        }
    }

    fn limited(&self, id: &Id, is_limited: bool) {
        let mut limited = lock(&self.shared.limited);
        if is_limited {
            limited.insert(id.clone());
        } else if !limited.is_empty() {
            limited.remove(id);
        }
    }

    /// Looks again at those that a limit keeps back, since others may have gone.
    pub(super) fn look_at_limited(&self) {
        let limited: Vec<Id> = lock(&self.shared.limited).iter().cloned().collect();
        for id in limited {
            if self.shared.inventory.instance(&id).is_some() {
                self.shared.queue.add(Work::Instance(id));
            } else {
                lock(&self.shared.limited).remove(&id);
            }
        }
    }
}
