//! Looking at an instance: observe, plan, apply, report. A look that finds everything as the last
//! one left it makes no request at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::names::CHILDREN_FINALIZER;
use api::{Stack, annotations};
use engine::CompiledKind;
use engine::children::desired::{Failure, controller_of, other_stack};
use install::KIND_ALREADY_SERVED;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::inventory::{Id, Known, Place, hash_of};
use super::stack::Revision;
use super::teardown::finalizers;
use super::{Outcome, TemplateStackManager, lock};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::Resource;

/// One look.
pub(super) struct Look<'l> {
    pub(super) kind: &'l CompiledKind,
    pub(super) revision: &'l Revision,
    pub(super) known: Arc<Known>,
    /// Of its status, as it was found or written.
    pub(super) status: u64,
    /// The instance itself.
    pub(super) object: Value,
    pub(super) failures: Vec<Failure>,
    /// The children that were found or made to be as they should, as they were then.
    pub(super) settled: BTreeMap<Place, u64>,
    pub(super) changed: bool,
    /// Whether anything was written at all.
    pub(super) wrote: bool,
    pub(super) compiled: &'l Arc<engine::Compiled>,
    /// Everything that the last plan depended on, taken before it was made: what comes in while it
    /// is made is news.
    pub(super) inputs: u64,
    /// The work that rendering it has taken on the pool.
    pub(super) spent: u64,
    /// Whether that is more than it may take.
    pub(super) over: bool,
    /// Whether rendering it has not even ended in time.
    pub(super) late: bool,
}

impl TemplateStackManager {
    pub(super) async fn instance(&self, id: &Id) -> Result<Requeue, Error> {
        let Some(known) = self.shared.inventory.instance(id) else {
            if lock(&self.memory).remove(id).is_some() {
                // Those that had no room are looked at with the count.
                self.count_soon();
            }
            return Ok(Requeue::AwaitChange);
        };
        let Some(revision) = self.current() else {
            return Ok(Requeue::AwaitChange);
        };
        let Some(resource) = revision.resources.get(&*id.gvk).cloned() else {
            return Ok(Requeue::AwaitChange);
        };
        let compiled = revision.compiled.clone();
        let kind = compiled
            .as_ref()
            .and_then(|compiled| compiled.kind(&id.gvk));
        // Whatever of a deleted instance is there has to go; otherwise only what its templates make
        // matters.
        if !self.watches.are_synced(kind.filter(|_| !known.is_deleting)) {
            // Once they are, every instance is looked at.
            return Ok(Requeue::AwaitChange);
        }
        let mut object = known.object();
        if let Some(kind) = kind {
            kind.fill(&mut object);
        }
        if known.is_deleting {
            return self.remove(id, &resource, &object, &revision).await;
        }
        if object["metadata"]["annotations"][annotations::PAUSED] == "true" {
            return Ok(Requeue::AwaitChange);
        }
        if let Some(other) = other_stack(&object, &revision.uid, &self.parts.stack) {
            // The stack manager lets only one of two Stacks run; until it has, they must not undo
            // each other's work.
            let why =
                format!("it is an instance of the Stack {other}, which serves this kind here");
            self.note(id, |memory| {
                memory.outcome = Outcome::Failing(KIND_ALREADY_SERVED.into(), why.into());
            });
            return Ok(Requeue::AwaitChange);
        }
        let (Some(compiled), Some(kind)) = (&compiled, kind) else {
            return Ok(Requeue::AwaitChange);
        };
        let status = known.status;
        let look = |known: Arc<Known>, object: Value| Look {
            kind,
            revision: &revision,
            status,
            known,
            object,
            failures: Vec::new(),
            settled: BTreeMap::new(),
            changed: false,
            wrote: false,
            compiled,
            inputs: 0,
            spent: 0,
            over: false,
            late: false,
        };
        if let Some(why) = self.limit(id) {
            return self.refuse(id, &resource, look(known, object), why).await;
        }
        self.find_vanished(&object, &revision).await?;
        let (due, extra) = match lock(&self.memory).get(id) {
            Some(memory)
                if memory.inputs == self.inputs(compiled, &known, &object)
                    && memory.status == known.status
                    && !memory.extra =>
            {
                if Instant::now() < memory.resync {
                    self.shared.looked(id);
                    return Ok(Requeue::After(
                        memory.resync.saturating_duration_since(Instant::now()),
                    ));
                }
                (true, false)
            }
            Some(memory) => (false, memory.extra),
            None => (false, false),
        };
        let mut look = look(known, object);
        self.hold(id, &resource, &mut look).await?;
        let plan = self.settle(&mut look).await?;
        let inputs = look.inputs;
        let written = self
            .write_instance_status(id, &resource, &mut look, &plan)
            .await?;
        look.wrote |= written == Written::Yes;
        self.conclude(id, &look, &plan, inputs).await;
        self.measured(id, &look, &plan);
        if let Some(again) = after_failures(&look.failures) {
            return Ok(again);
        }
        if let Written::Later(wait) = written {
            self.note(id, |memory| memory.inputs = 0);
            return Ok(Requeue::After(wait));
        }
        // One extra look, if a template reads the status that was just written; a second would
        // never end.
        let once_more = written == Written::Yes && kind.reads_own_status && !due && !extra;
        self.note(id, |memory| memory.extra = once_more);
        let wait = lock(&self.memory)
            .get(id)
            .map(|memory| memory.resync.saturating_duration_since(Instant::now()));
        Ok(if once_more {
            Requeue::Now
        } else {
            Requeue::After(wait.unwrap_or(self.parts.resync))
        })
    }

    /// Everything that a look depends on, but for the status: what we wrote there ourselves is no
    /// news.
    pub(super) fn inputs(
        &self,
        compiled: &Arc<engine::Compiled>,
        known: &Known,
        object: &Value,
    ) -> u64 {
        let children = self.shared.inventory.children(object);
        let children: Vec<(&Place, u64)> = children
            .iter()
            .map(|(place, kept)| (place, kept.content()))
            .collect();
        // Each revision is compiled into a place of its own.
        hash_of(&(
            known.hash,
            known.uid(),
            children,
            Arc::as_ptr(compiled) as usize,
        ))
    }

    /// Makes the Stack an owner of the instance, and keeps the instance until its children are gone
    /// where that matters.
    async fn hold(&self, id: &Id, resource: &Resource, look: &mut Look<'_>) -> Result<(), Error> {
        let (object, revision, kind) = (&look.object, look.revision, look.kind);
        let mut metadata = serde_json::Map::new();
        let beyond = |gvk: &objects::Gvk| {
            revision
                .resources
                .get(gvk)
                .is_some_and(|own| !own.namespaced)
        };
        let needed = kind.is_ordered()
            || (kind.namespaced && kind.children.iter().any(|child| beyond(&child.gvk)));
        let held = finalizers(object).any(|own| own == CHILDREN_FINALIZER);
        if needed != held {
            let mut all: Vec<Value> = finalizers(object)
                .filter(|own| *own != CHILDREN_FINALIZER)
                .cloned()
                .collect();
            if needed {
                all.push(json!(CHILDREN_FINALIZER));
            }
            metadata.insert("finalizers".to_owned(), json!(all));
        }
        let mut owners = object["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let here = object["metadata"]["namespace"] == self.parts.namespace.as_str();
        // One that another instance made goes with that; the garbage collector would keep it as
        // long as any owner is there.
        let free = controller_of(object).is_none();
        if here
            && free
            && !owners
                .iter()
                .any(|owner| owner["uid"] == revision.uid.as_str())
        {
            owners.retain(|owner| {
                owner["kind"] != Stack::KIND || owner["name"] != self.parts.stack.as_str()
            });
            owners.push(json!({
                "apiVersion": api::API_VERSION, "kind": Stack::KIND, "name": self.parts.stack,
                "uid": revision.uid, "blockOwnerDeletion": false,
            }));
            metadata.insert("ownerReferences".to_owned(), json!(owners));
        }
        if metadata.is_empty() {
            return Ok(());
        }
        metadata.insert(
            "resourceVersion".to_owned(),
            object["metadata"]["resourceVersion"].clone(),
        );
        metadata.insert("uid".to_owned(), object["metadata"]["uid"].clone());
        let live = self
            .parts
            .cluster
            .merge(resource, &id.key, "", &json!({ "metadata": metadata }))
            .await?;
        look.known = Arc::new(Known::of(live, &self.parts.manager));
        look.status = look.known.status;
        look.object = look.known.object();
        look.kind.fill(&mut look.object);
        look.wrote = true;
        self.shared
            .inventory
            .put_instance(id, Some(look.known.clone()));
        Ok(())
    }
}

/// What became of writing a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// There is nothing to write.
    No,
    /// It was written.
    Yes,
    /// It was written too often lately.
    Later(Duration),
}

/// When to try again what was not carried out; none if all was.
fn after_failures(failures: &[Failure]) -> Option<Requeue> {
    let first = failures.first()?;
    Some(match first.reason {
        // What is in the way goes by itself, and is seen when it does.
        "Deleting" => Requeue::Backoff,
        // A kind comes with a look at the Stack.
        "KindNotServed" => Requeue::AwaitChange,
        _ => Requeue::SlowBackoff,
    })
}
