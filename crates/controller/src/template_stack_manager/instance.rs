//! Looking at an instance: observe, plan, apply, report. A look that finds everything as the last one left it makes no
//! request at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::names::{CHILDREN_FINALIZER, label_value};
use api::{Stack, annotations};
use engine::carry::{Failure, blamed, controller_of, dressed, is_orphan, is_ours, may_adopt, owns, status_patch};
use engine::{Apply, CompiledKind, Context, Observed, Plan, Shape, plan};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::inventory::{Id, Known, Place, hash_of};
use super::removal::finalizers;
use super::revision::Revision;
use super::{Outcome, TemplateStackManager, lock, now};
use crate::Error;
use crate::queue::Again;
use crate::resource::{Key, Resource};

/// What can be made is made in one go; no chain of children is longer than this in one look.
const PASSES: usize = 20;
/// No object has ever had this version: to apply with it is to create, and to fail if there is one already.
const NEVER: &str = "1";

/// One look.
struct Look<'l> {
    kind: &'l CompiledKind,
    revision: &'l Revision,
    instance: Arc<Known>,
    failures: Vec<Failure>,
    changed: bool,
}

impl TemplateStackManager {
    pub(super) async fn instance(&self, id: &Id) -> Result<Again, Error> {
        let Some(instance) = self.shared.inventory.instance(id) else {
            if lock(&self.memory).remove(id).is_some() {
                self.count_soon();
            }
            return Ok(Again::OnChange);
        };
        let Some(revision) = self.current() else { return Ok(Again::OnChange) };
        if !self.watches.are_synced() {
            // Once they are, every instance is looked at.
            return Ok(Again::OnChange);
        }
        let Some(resource) = revision.resources.get(&id.gvk).cloned() else { return Ok(Again::OnChange) };
        if instance.is_deleting() {
            return self.remove(id, &resource, &instance, &revision).await;
        }
        if instance.object["metadata"]["annotations"][annotations::PAUSED] == "true" {
            return Ok(Again::OnChange);
        }
        let Some(compiled) = revision.compiled.clone() else { return Ok(Again::OnChange) };
        let Some(kind) = compiled.kind(&id.gvk) else { return Ok(Again::OnChange) };
        self.find_vanished(&instance.object).await?;
        let (due, extra) = match lock(&self.memory).get(id) {
            Some(memory) if memory.inputs == self.inputs(kind, &compiled, &instance) => {
                if Instant::now() < memory.resync {
                    return Ok(Again::After(memory.resync.saturating_duration_since(Instant::now())));
                }
                (true, false)
            }
            Some(memory) => (false, memory.extra),
            None => (false, false),
        };
        let instance = self.hold(id, &resource, kind, &revision, instance).await?;
        let mut look = Look { kind, revision: &revision, instance, failures: Vec::new(), changed: false };
        let plan = self.settle(&mut look).await?;
        let inputs = self.inputs(kind, &compiled, &look.instance);
        let wrote = self.write_instance_status(id, &resource, &look, &plan).await?;
        self.conclude(id, &look, &plan, inputs).await;
        if !look.failures.is_empty() {
            return Ok(Again::BackOff);
        }
        // One extra look, if a template reads the status that was just written; a second would never end.
        let once_more = wrote && kind.reads_own_status && !due && !extra;
        self.note(id, |memory| memory.extra = once_more);
        let wait = lock(&self.memory).get(id).map(|memory| memory.resync.saturating_duration_since(Instant::now()));
        Ok(if once_more { Again::Now } else { Again::After(wait.unwrap_or(self.parts.resync)) })
    }

    /// Everything that a look depends on.
    fn inputs(&self, kind: &CompiledKind, compiled: &Arc<engine::Compiled>, instance: &Known) -> u64 {
        let children: Vec<(String, u64)> = self
            .shared
            .inventory
            .children(&instance.object)
            .iter()
            .map(|(place, known)| (format!("{}{}{}", place.0, place.1, known.uid()), known.version))
            .collect();
        let status = kind.reads_own_status.then(|| instance.object["status"].to_string());
        // Each revision is compiled into a place of its own.
        hash_of(&(instance.hash, instance.uid(), children, status, Arc::as_ptr(compiled) as usize))
    }

    /// Plans and carries out until nothing more can be made.
    async fn settle(&self, look: &mut Look<'_>) -> Result<Plan, Error> {
        let mut preferred: BTreeMap<String, Place> = BTreeMap::new();
        for _ in 0..PASSES {
            let (observed, strays) = self.observe(look, &preferred);
            let context = Context { stack: &self.parts.stack, seed: &look.revision.seed, limits: Default::default() };
            let plan = plan(look.kind, &look.instance.object, &observed, &context);
            look.changed = false;
            look.failures.clear();
            for apply in &plan.applies {
                if let Some(place) = self.place(look, apply) {
                    // An object of another name or kind under the same template is not what the others should see.
                    if preferred.insert(apply.template.clone(), place.clone()).is_none_or(|old| old != place) {
                        look.changed |= strays.iter().any(|(template, _, _)| *template == apply.template);
                    }
                    self.make(look, apply, &place).await?;
                }
            }
            self.prune(look, &plan, &strays, &preferred).await?;
            if !look.changed || !look.failures.is_empty() {
                return Ok(plan);
            }
        }
        let (observed, _) = self.observe(look, &preferred);
        let context = Context { stack: &self.parts.stack, seed: &look.revision.seed, limits: Default::default() };
        Ok(plan(look.kind, &look.instance.object, &observed, &context))
    }

    /// The children by template, and those single ones that are not the one that their template makes now.
    fn observe(
        &self,
        look: &Look<'_>,
        preferred: &BTreeMap<String, Place>,
    ) -> (Observed, Vec<(String, Place, Arc<Known>)>) {
        let mut observed = Observed::new();
        let mut strays = Vec::new();
        let mut single: BTreeMap<String, Vec<(Place, Arc<Known>)>> = BTreeMap::new();
        for (place, known) in self.shared.inventory.children(&look.instance.object) {
            let label = known.template();
            let child = look.kind.children.iter().find(|child| label_value(&child.name) == label);
            match child {
                Some(child) if child.shape == Shape::One => {
                    single.entry(child.name.clone()).or_default().push((place, known));
                }
                child => {
                    let name = child.map_or_else(|| label.to_owned(), |child| child.name.clone());
                    let list = observed.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(list) = list {
                        list.push(known.object.clone());
                    }
                }
            }
        }
        for (name, mut found) in single {
            let gvk = look.kind.child(&name).map(|child| &child.gvk);
            let fits = |place: &Place| match preferred.get(&name) {
                Some(wanted) => place == wanted,
                None => Some(&place.0.gvk) == gvk,
            };
            if let Some(at) = found.iter().position(|(place, _)| fits(place)) {
                let (_, known) = found.remove(at);
                observed.insert(name.clone(), known.object.clone());
            }
            strays.extend(found.into_iter().map(|(place, known)| (name.clone(), place, known)));
        }
        // What is seen as the only one of its template may yet turn out to be of another name.
        for (name, value) in &observed {
            if look.kind.child(name).is_some_and(|child| child.shape == Shape::One) && !preferred.contains_key(name) {
                let key = Key::of(value);
                let all = self.shared.inventory.children(&look.instance.object);
                let same = |place: &Place, known: &Known| place.1 == key && known.object == *value;
                strays.extend(
                    all.into_iter()
                        .filter(|(place, known)| same(place, known))
                        .map(|(place, known)| (name.clone(), place, known)),
                );
            }
        }
        (observed, strays)
    }

    fn place(&self, look: &mut Look<'_>, apply: &Apply) -> Option<Place> {
        let gvk = &look.kind.child(&apply.template)?.gvk;
        let Some(resource) = look.revision.resources.get(gvk) else {
            look.failures.push(Failure {
                template: apply.template.clone(),
                reason: "KindNotServed",
                message: format!("the cluster does not serve {gvk} yet"),
            });
            return None;
        };
        let mut key = Key::of(&apply.object);
        if !resource.namespaced {
            key.namespace.clear();
        }
        Some((resource.clone(), key))
    }

    /// Makes an object what it should be, if it is not.
    async fn make(&self, look: &mut Look<'_>, apply: &Apply, place: &Place) -> Result<(), Error> {
        let (resource, key) = place;
        let wanted = dressed(&apply.object, &look.instance.object, resource.namespaced, &look.revision.seed);
        let outcome = match self.shared.inventory.child(place) {
            Some(known) => self.put(look, place, &known, &wanted).await,
            None => {
                let mut new = wanted.clone();
                new["metadata"]["resourceVersion"] = json!(NEVER);
                match self.parts.cluster.apply(resource, &new, false).await {
                    Ok(live) => {
                        self.wrote(look, place, &live, &wanted);
                        Ok(None)
                    }
                    // Something is there that the watch does not show.
                    Err(Error::Conflict(_)) => match self.parts.cluster.get(resource, key).await? {
                        Some(live) => {
                            let known = Known::child(&live, &self.parts.manager);
                            self.put(look, place, &known, &wanted).await
                        }
                        None => return Err(Error::Conflict(format!("{resource} {key} came and went"))),
                    },
                    Err(error) => Err(error),
                }
            }
        };
        let failure = match outcome {
            Ok(None) => return Ok(()),
            Ok(Some((reason, message))) => Failure { template: apply.template.clone(), reason, message },
            Err(error @ (Error::Unavailable(_) | Error::Conflict(_))) => return Err(error),
            Err(error) => {
                let reason = if matches!(error, Error::Forbidden(_)) { "Forbidden" } else { "ApplyFailed" };
                let message = format!("{}: {error}", apply.template);
                Failure { template: apply.template.clone(), reason, message }
            }
        };
        look.failures.push(failure);
        Ok(())
    }

    /// Applies to an object that is there, if it is ours, or may become so, and is not as it should be.
    async fn put(
        &self,
        look: &mut Look<'_>,
        place: &Place,
        known: &Known,
        wanted: &Value,
    ) -> Result<Option<(&'static str, String)>, Error> {
        let (resource, key) = place;
        if !is_ours(&known.object, &look.instance.object, &self.parts.stack) && !may_adopt(&known.object) {
            let message = format!(
                "{} {key} exists and is not ours: delete it, or let it be taken over with the annotation {}: \"true\"",
                resource.gvk.kind,
                annotations::ADOPT
            );
            return Ok(Some(("NotOurs", message)));
        }
        if known.is_deleting() {
            return Ok(Some(("Deleting", format!("{} {key} is being deleted", resource.gvk.kind))));
        }
        let hash = &wanted["metadata"]["annotations"][annotations::DESIRED_HASH];
        if known.object["metadata"]["annotations"][annotations::DESIRED_HASH] == *hash
            && (owns(&known.fields(), wanted) || self.is_accepted(known, hash))
        {
            return Ok(None);
        }
        let mut same = wanted.clone();
        same["metadata"]["uid"] = json!(known.uid());
        match self.parts.cluster.apply(resource, &same, true).await {
            Ok(live) => {
                self.wrote(look, place, &live, wanted);
                Ok(None)
            }
            Err(error) => {
                // It may have become another object meanwhile, or none.
                if let Error::Conflict(_) | Error::Refused(_) | Error::NotFound(_) = error {
                    let live = self.parts.cluster.get(resource, key).await?;
                    let other = live.as_ref().is_none_or(|live| live["metadata"]["uid"] != known.uid());
                    if other {
                        self.shared.inventory.drop_child(place);
                        return Err(Error::Conflict(format!("{resource} {key} became another")));
                    }
                }
                Err(error)
            }
        }
    }

    fn wrote(&self, look: &mut Look<'_>, place: &Place, live: &Value, wanted: &Value) {
        let known = Arc::new(Known::child(live, &self.parts.manager));
        if !owns(&known.fields(), wanted) {
            let hash = wanted["metadata"]["annotations"][annotations::DESIRED_HASH].as_str().unwrap_or_default();
            let accepted = (hash.to_owned(), hash_of(&known.fields));
            lock(&self.accepted).insert(known.uid().to_owned(), accepted);
        }
        tracing::debug!(kind = place.0.gvk.kind, key = %place.1, "applied");
        self.shared.inventory.put_child(place, known);
        look.changed = true;
    }

    fn is_accepted(&self, known: &Known, hash: &Value) -> bool {
        let accepted = lock(&self.accepted).get(known.uid()).cloned();
        accepted.is_some_and(|(wanted, fields)| *hash == wanted.as_str() && fields == hash_of(&known.fields))
    }

    /// Deletes what the plan says, and what a template made under another name or kind before.
    async fn prune(
        &self,
        look: &mut Look<'_>,
        plan: &Plan,
        strays: &[(String, Place, Arc<Known>)],
        made: &BTreeMap<String, Place>,
    ) -> Result<(), Error> {
        if !look.failures.is_empty() {
            return Ok(());
        }
        let mut doomed: Vec<(Place, Arc<Known>)> = Vec::new();
        for (place, known) in self.shared.inventory.children(&look.instance.object) {
            if plan.deletes.iter().any(|delete| !delete.uid.is_empty() && delete.uid == known.uid()) {
                doomed.push((place, known));
            }
        }
        let at = |uid: &str| plan.deletes.iter().position(|delete| delete.uid == uid);
        doomed.sort_by_key(|(_, known)| at(known.uid()));
        let moved = strays.iter().filter(|(template, place, _)| {
            let applied = plan.applies.iter().any(|apply| apply.template == *template);
            applied && made.get(template).is_some_and(|made| made != place)
        });
        doomed.extend(moved.map(|(_, place, known)| (place.clone(), known.clone())));
        for (place, known) in doomed {
            if known.is_deleting() || is_orphan(&known.object) {
                continue;
            }
            self.parts.cluster.delete(&place.0, &place.1, known.uid(), "Background").await?;
            tracing::info!(kind = place.0.gvk.kind, key = %place.1, "deleted, since nothing asks for it any more");
        }
        Ok(())
    }

    /// Makes the Stack an owner of the instance, and keeps the instance until its children are gone where that matters.
    async fn hold(
        &self,
        id: &Id,
        resource: &Resource,
        kind: &CompiledKind,
        revision: &Revision,
        instance: Arc<Known>,
    ) -> Result<Arc<Known>, Error> {
        let object = &instance.object;
        let mut metadata = serde_json::Map::new();
        let beyond = |gvk: &objects::Gvk| revision.resources.get(gvk).is_some_and(|own| !own.namespaced);
        let needed = kind.is_ordered() || (kind.namespaced && kind.children.iter().any(|child| beyond(&child.gvk)));
        let held = finalizers(object).any(|own| own == CHILDREN_FINALIZER);
        if needed != held {
            let mut all: Vec<Value> = finalizers(object).filter(|own| *own != CHILDREN_FINALIZER).cloned().collect();
            if needed {
                all.push(json!(CHILDREN_FINALIZER));
            }
            metadata.insert("finalizers".to_owned(), json!(all));
        }
        let mut owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let here = object["metadata"]["namespace"] == self.parts.namespace.as_str();
        // One that another instance made goes with that; the garbage collector would keep it as long as any owner is there.
        let free = controller_of(object).is_none();
        if here && free && !owners.iter().any(|owner| owner["uid"] == revision.uid.as_str()) {
            owners.retain(|owner| owner["kind"] != Stack::KIND || owner["name"] != self.parts.stack.as_str());
            owners.push(json!({
                "apiVersion": api::API_VERSION, "kind": Stack::KIND, "name": self.parts.stack,
                "uid": revision.uid, "blockOwnerDeletion": false,
            }));
            metadata.insert("ownerReferences".to_owned(), json!(owners));
        }
        if metadata.is_empty() {
            return Ok(instance);
        }
        metadata.insert("resourceVersion".to_owned(), object["metadata"]["resourceVersion"].clone());
        metadata.insert("uid".to_owned(), object["metadata"]["uid"].clone());
        let live = self.parts.cluster.merge(resource, &id.key, "", &json!({ "metadata": metadata })).await?;
        let known = Arc::new(Known::instance(&live, &self.parts.manager));
        self.shared.inventory.put_instance(id, Some(known.clone()));
        Ok(known)
    }

    /// Writes the status if it differs; answers whether it did.
    async fn write_instance_status(
        &self,
        id: &Id,
        resource: &Resource,
        look: &Look<'_>,
        plan: &Plan,
    ) -> Result<bool, Error> {
        let Some(wanted) = blamed(plan.status.clone(), &look.failures) else { return Ok(false) };
        let fields = look.instance.fields();
        let Some(patch) = status_patch(&look.instance.object["status"], &wanted, &fields, &now()) else {
            return Ok(false);
        };
        let part = if look.kind.status_subresource { "status" } else { "" };
        let patch = json!({ "metadata": { "uid": look.instance.uid() }, "status": patch });
        let live = self.parts.cluster.merge(resource, &id.key, part, &patch).await?;
        self.shared.inventory.put_instance(id, Some(Arc::new(Known::instance(&live, &self.parts.manager))));
        Ok(true)
    }

    /// Remembers how it went, and tells people what is new of what is wrong.
    async fn conclude(&self, id: &Id, look: &Look<'_>, plan: &Plan, inputs: u64) {
        let said = |kind: &str| {
            let conditions = plan.status.as_ref().and_then(|status| status["conditions"].as_array());
            conditions.and_then(|all| all.iter().find(|one| one["type"] == kind)).map(|one| one["status"] == "True")
        };
        let failed = !look.failures.is_empty() || !plan.problems.is_empty();
        let outcome = match (failed, plan.holds.is_empty(), said("Ready")) {
            (true, _, _) => Outcome::Failing,
            (false, false, _) | (false, true, Some(false)) => Outcome::Waiting,
            (false, true, _) => Outcome::Ready,
        };
        let failures = look.failures.iter().map(|failure| (failure.reason, failure.message.clone()));
        let events = plan.events.iter().map(|event| (event.reason, event.message.clone()));
        let news: Vec<(&str, String)> = events.chain(failures).collect();
        let before = lock(&self.memory).get(id).map(|memory| memory.told.clone()).unwrap_or_default();
        let resync = Instant::now() + self.jittered(id);
        self.note(id, |memory| {
            memory.inputs = if look.failures.is_empty() { inputs } else { 0 };
            memory.resync = resync;
            memory.outcome = outcome;
            memory.told = news.iter().map(|(_, message)| message.clone()).collect();
        });
        for (reason, message) in news.iter().filter(|(_, message)| !before.contains(message)) {
            self.tell(&look.instance.object, reason, message).await;
        }
    }

    /// The resync of an instance: its own, so that not all come at once.
    fn jittered(&self, id: &Id) -> std::time::Duration {
        let share = u32::try_from(hash_of(&id.key.to_string()) % 512).unwrap_or_default();
        self.parts.resync + self.parts.resync / 1024 * share
    }

    async fn tell(&self, about: &Value, reason: &str, message: &str) {
        let metadata = &about["metadata"];
        let (name, kind) = (metadata["name"].as_str().unwrap_or_default(), about["kind"].as_str().unwrap_or_default());
        tracing::warn!(kind, name, reason, "{message}");
        let own = metadata["namespace"].as_str().filter(|own| !own.is_empty()).unwrap_or("default");
        let time = now();
        let nonce = hash_of(&(message, &time));
        let message: String = message.chars().take(1000).collect();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": format!("{name}.{nonce:x}"), "namespace": own },
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"], "name": name,
                "namespace": metadata["namespace"].as_str().unwrap_or_default(), "uid": metadata["uid"],
            },
            "type": "Warning", "reason": reason, "message": message,
            "source": { "component": "template-stack-manager" },
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        let events = Resource::namespaced("", "v1", "Event", "events");
        if let Err(error) = self.parts.cluster.create(&events, &event).await {
            tracing::debug!(%error, "no Event was written");
        }
    }
}
