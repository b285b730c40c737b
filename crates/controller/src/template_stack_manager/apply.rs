//! Carrying a plan out: what is seen of the children, what is applied to them, and which of them
//! go.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::names::label_value;
use engine::children::desired::{Failure, desired, has_no_owner, not_ours, put_right};
use engine::children::field_handover::taken_over;
use engine::{
    Apply, ChildRecord, CompiledKind, Observed, Plan, Projection, Refusal, Shape, Tie, kept_by,
};
use serde_json::{Value, json};

use super::TemplateStackManager;
use super::instance::Look;
use super::inventory::Place;
use crate::Error;
use objects::Key;

/// What can be made is made in one go; no chain of children is longer than this in one look.
const PASSES: usize = 20;
/// No object has ever had this version: to apply with it is to create, and to fail if there is one
/// already.
const NEVER: &str = "1";

type Stray = (String, Place, Arc<ChildRecord>);

/// What is seen of the children of an instance.
struct Seen {
    /// Those that templates see.
    observed: Observed,
    /// Single ones that the instance owns and that are not the one that their template makes now.
    strays: Vec<Stray>,
    /// Those that only claim to be children, where no template is known to render one.
    claims: Vec<(Place, Arc<ChildRecord>)>,
}

impl TemplateStackManager {
    /// Plans and carries out until nothing more can be made.
    pub(super) async fn settle(&self, look: &mut Look<'_>) -> Result<Plan, Error> {
        let mut preferred: BTreeMap<String, Place> = BTreeMap::new();
        let (mut before, mut then) = (None, Observed::new());
        let mut rendered: BTreeSet<Place> = BTreeSet::new();
        for _ in 0..PASSES {
            look.inputs = self.inputs(look.compiled, &look.known, &look.object);
            let Seen {
                observed,
                strays,
                claims,
            } = self.observe(look, &preferred, &rendered)?;
            let same = before.take().map(|plan| (plan, &then));
            let mut planned = self.decided(look, &observed, same).await?;
            self.parts
                .metrics
                .count("cairn_renders_total", "Instances that were rendered.", &[]);
            look.changed = false;
            look.failures.clear();
            if !claims.is_empty() {
                let places = planned
                    .applies
                    .iter()
                    .filter_map(|apply| self.place(look, apply));
                let places: BTreeSet<Place> = places.collect();
                look.failures.clear();
                if claims.iter().any(|(place, _)| places.contains(place)) {
                    // What stands where a template renders is about to be its object: the others
                    // are to see it.
                    rendered.extend(places);
                    continue;
                }
            }
            planned.leftovers = leftovers(&claims);
            let mut instances = 0;
            let mut refused = Vec::new();
            for apply in &planned.applies {
                if let Some(place) = self.place(look, apply) {
                    // An object of another name or kind under the same template is not what the
                    // others should see.
                    if preferred
                        .insert(apply.template.clone(), place.clone())
                        .is_none_or(|old| old != place)
                    {
                        look.changed |= strays
                            .iter()
                            .any(|(template, _, _)| *template == apply.template);
                    }
                    if let Some(failure) = self.may_make(look, &place, &mut instances) {
                        let message = format!(
                            "{}: {}",
                            whereabouts(look.kind, None, apply),
                            failure.message
                        );
                        look.failures.push(Failure {
                            template: apply.template.clone(),
                            message,
                            ..failure
                        });
                    } else if !(apply.is_same && self.is_settled(look, &place)) {
                        let before = look.failures.len();
                        self.make(look, apply, &place).await?;
                        refused.extend((before..look.failures.len()).map(|index| (index, apply)));
                    }
                }
            }
            self.explain(look, &observed, &refused).await;
            self.prune(look, &planned, &strays, &preferred).await?;
            look.wrote |= look.changed;
            // Another pass would find the budget spent, and blame the wrong template.
            if !look.changed || !look.failures.is_empty() || look.over {
                return self.told(look, &observed, planned).await;
            }
            (before, then) = (Some(planned), observed);
        }
        let Seen {
            observed, claims, ..
        } = self.observe(look, &preferred, &rendered)?;
        let mut planned = self.decided(look, &observed, None).await?;
        planned.leftovers = leftovers(&claims);
        self.told(look, &observed, planned).await
    }

    /// Says of failures to apply where they come from, and takes everything secret out of them.
    async fn explain(&self, look: &mut Look<'_>, observed: &Observed, refused: &[(usize, &Apply)]) {
        let mut refusals = Vec::new();
        for (index, apply) in refused {
            // The message as it came is nowhere else from here on.
            let message = look
                .failures
                .get_mut(*index)
                .map(|failure| std::mem::take(&mut failure.message));
            let (template, object) = (apply.template.clone(), apply.object.clone());
            refusals.push(Refusal {
                template,
                object,
                message: message.unwrap_or_default(),
            });
        }
        if refusals.is_empty() {
            return;
        }
        let told = self.refused(look, observed, refusals).await;
        for ((index, apply), (spot, why)) in refused.iter().zip(told) {
            if let Some(failure) = look.failures.get_mut(*index) {
                failure.message = format!("{}: {why}", whereabouts(look.kind, spot, apply));
            }
        }
    }

    /// Whether a child is still what this very look found it to be, or made of it.
    fn is_settled(&self, look: &Look<'_>, place: &Place) -> bool {
        let now = self
            .shared
            .inventory
            .child(place)
            .map(|kept| kept.content());
        now.is_some() && look.settled.get(place).copied() == now
    }

    /// The children that the instance owns, and those that claim to be its children where it is
    /// known that a template renders one.
    fn observe(
        &self,
        look: &Look<'_>,
        preferred: &BTreeMap<String, Place>,
        rendered: &BTreeSet<Place>,
    ) -> Result<Seen, Error> {
        let mut observed = Observed::new();
        let mut strays = Vec::new();
        let mut claims = Vec::new();
        let mut single: BTreeMap<String, Vec<(Place, Arc<ChildRecord>)>> = BTreeMap::new();
        for (place, kept) in self.shared.inventory.children(&look.object) {
            match kept.tie(&look.object, &look.revision.seed) {
                Tie::Owned => {}
                Tie::Released | Tie::Labelled if rendered.contains(&place) => {}
                Tie::Released | Tie::Labelled => {
                    claims.push((place, kept));
                    continue;
                }
                Tie::Foreign => continue,
            }
            let label = kept.template();
            if label.is_empty() {
                // Somebody took the label away; applying its template puts it back.
                continue;
            }
            let child = look
                .kind
                .children
                .iter()
                .find(|child| label_value(&child.name) == label);
            if child.is_some_and(|child| {
                child.gvk == place.0.gvk && child.view.fingerprint() != kept.view
            }) {
                // What these templates read was not kept: the watch that keeps it is on its way, or
                // has just come.
                return Err(Error::Conflict(format!(
                    "{} {} was seen for other templates",
                    place.0, place.1
                )));
            }
            match child {
                Some(child) if child.shape == Shape::One => {
                    single
                        .entry(child.name.clone())
                        .or_default()
                        .push((place, kept));
                }
                child => {
                    let name = child.map_or_else(|| label.to_owned(), |child| child.name.clone());
                    let list = observed
                        .entry(name)
                        .or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(list) = list {
                        list.push(kept.object());
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
                let (place, kept) = found.remove(at);
                observed.insert(name.clone(), kept.object());
                // What is seen as the only one of its template may yet turn out to be of another
                // name.
                if !preferred.contains_key(&name) {
                    strays.push((name.clone(), place, kept));
                }
            }
            strays.extend(
                found
                    .into_iter()
                    .map(|(place, kept)| (name.clone(), place, kept)),
            );
        }
        Ok(Seen {
            observed,
            strays,
            claims,
        })
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
        let wanted = |look: &Look<'_>, uid: Option<&str>| {
            desired(
                &apply.object,
                &look.object,
                resource.namespaced,
                &look.revision.seed,
                uid,
            )
        };
        let (kind, none) = (look.kind, Projection::default());
        let view = kind
            .child(&apply.template)
            .map_or(&none, |child| &child.view);
        let outcome = match self.shared.inventory.child(place) {
            Some(kept) => {
                let wanted = wanted(look, Some(kept.uid()));
                self.put(look, place, &kept, &wanted, apply).await
            }
            None => {
                let mut new = wanted(look, None);
                new["metadata"]["resourceVersion"] = json!(NEVER);
                match self.parts.cluster.apply(resource, &new, false).await {
                    Ok(live) => {
                        self.wrote(look, place, &live, view);
                        if has_no_owner(&new, &look.object, resource.namespaced) {
                            // The record on it is complete once it has the uid that the object got
                            // just now.
                            look.settled.remove(place);
                        }
                        Ok(None)
                    }
                    // Something is there that the watch does not show.
                    Err(Error::Conflict(_)) => match self.parts.cluster.get(resource, key).await? {
                        Some(live) => {
                            let kept = ChildRecord::of(&live, &self.parts.manager, view);
                            let wanted = wanted(look, Some(kept.uid()));
                            self.put(look, place, &kept, &wanted, apply).await
                        }
                        None => {
                            return Err(Error::Conflict(format!("{resource} {key} came and went")));
                        }
                    },
                    Err(error) => Err(error),
                }
            }
        };
        let failure = match outcome {
            Ok(None) => return Ok(()),
            Ok(Some((reason, message))) => Failure {
                template: apply.template.clone(),
                reason,
                message,
            },
            Err(error @ (Error::Unavailable(_) | Error::Conflict(_))) => return Err(error),
            Err(error) => {
                let reason = if matches!(error, Error::Forbidden(_)) {
                    "Forbidden"
                } else {
                    "ApplyFailed"
                };
                Failure {
                    template: apply.template.clone(),
                    reason,
                    message: error.to_string(),
                }
            }
        };
        look.failures.push(failure);
        Ok(())
    }

    /// Applies to an object that is there, if it is ours, or may become so, and is not as it should
    /// be.
    async fn put(
        &self,
        look: &mut Look<'_>,
        place: &Place,
        kept: &ChildRecord,
        wanted: &Value,
        apply: &Apply,
    ) -> Result<Option<(&'static str, String)>, Error> {
        let (resource, key) = place;
        let (child, none) = (look.kind.child(&apply.template), Projection::default());
        let (view, schema) = (
            child.map_or(&none, |child| &child.view),
            child.and_then(|child| child.schema()),
        );
        let tie = kept.tie(&look.object, &look.revision.seed);
        if !tie.may_apply() && !kept.may_adopt {
            let (object, owner) = (format!("{} {key}", resource.gvk.kind), kept.owner());
            let message = not_ours(&object, owner.as_deref(), &look.object);
            return Ok(Some(("NotOurs", message)));
        }
        if kept.is_deleting {
            return Ok(Some((
                "Deleting",
                format!("{} {key} is being deleted", resource.gvk.kind),
            )));
        }
        if tie != Tie::Labelled && kept.is_as(wanted, schema) {
            look.settled.insert(place.clone(), kept.content());
            if !kept.is_confirmed() {
                self.shared.inventory.confirm_child(place, kept);
            }
            return Ok(None);
        }
        let mut same = wanted.clone();
        same["metadata"]["uid"] = json!(kept.uid());
        if matches!(tie, Tie::Released | Tie::Labelled) {
            self.may_own(look, wanted).await?;
            match self.put_right(look, place, kept, wanted).await? {
                Some(version) => same["metadata"]["resourceVersion"] = version,
                None => {
                    return Ok(Some((
                        "Deleting",
                        format!("{} {key} is being deleted", resource.gvk.kind),
                    )));
                }
            }
        }
        if kept.is_held {
            self.take_over(place, kept).await?;
            // That was a write, after which the object has another version.
            if let Some(metadata) = same["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
        }
        match self.parts.cluster.apply(resource, &same, true).await {
            Ok(live) => {
                self.wrote(look, place, &live, view);
                Ok(None)
            }
            Err(error) => {
                // It may have become another object meanwhile, or none.
                if let Error::Conflict(_) | Error::Refused(_) | Error::NotFound(_) = error {
                    let live = self.parts.cluster.get(resource, key).await?;
                    let other = live
                        .as_ref()
                        .is_none_or(|live| live["metadata"]["uid"] != kept.uid());
                    if other {
                        self.shared.inventory.drop_child(place);
                        return Err(Error::Conflict(format!("{resource} {key} became another")));
                    }
                }
                Err(error)
            }
        }
    }

    /// A child that has lost its owner may have been let go with an instance that is deleted, of
    /// which the watch has not told yet: to own it again would be its end.
    async fn may_own(&self, look: &Look<'_>, wanted: &Value) -> Result<(), Error> {
        if wanted["metadata"]["ownerReferences"].is_null() {
            return Ok(());
        }
        let key = Key::of(&look.object);
        let Some(resource) = look.revision.resources.get(&look.kind.gvk) else {
            return Ok(());
        };
        let live = self.parts.cluster.get(resource, &key).await?;
        let stays = |live: &Value| {
            live["metadata"]["uid"] == look.known.uid()
                && live["metadata"]["deletionTimestamp"].is_null()
        };
        match live.as_ref().is_some_and(stays) {
            true => Ok(()),
            false => Err(Error::Conflict(format!(
                "{resource} {key} is being deleted"
            ))),
        }
    }

    /// Looks once more at an object that only claims to be a child, before it becomes one: what the
    /// watch has shown may be old. A controller that no longer exists, as a backup tool leaves one
    /// behind, makes room for the instance. Answers the version of the object to apply to, or none
    /// if it is being deleted.
    async fn put_right(
        &self,
        look: &Look<'_>,
        (resource, key): &Place,
        kept: &ChildRecord,
        wanted: &Value,
    ) -> Result<Option<Value>, Error> {
        let live = self.parts.cluster.get(resource, key).await?;
        let Some(mut live) = live.filter(|live| live["metadata"]["uid"] == kept.uid()) else {
            self.shared
                .inventory
                .drop_child(&(resource.clone(), key.clone()));
            return Err(Error::Conflict(format!(
                "{resource} {key} was replaced (uid changed)"
            )));
        };
        let tie = ChildRecord::of(&live, &self.parts.manager, &Projection::default())
            .tie(&look.object, &look.revision.seed);
        if !tie.may_apply() {
            return Err(Error::Conflict(format!(
                "{resource} {key} has another owner now"
            )));
        }
        if !live["metadata"]["deletionTimestamp"].is_null() {
            return Ok(None);
        }
        if let Some(patch) = put_right(&live, wanted) {
            live = self.parts.cluster.merge(resource, key, "", &patch).await?;
        }
        Ok(Some(live["metadata"]["resourceVersion"].clone()))
    }

    /// Makes ours what a stack that served the parent before has applied, so that our apply can
    /// take it away.
    async fn take_over(&self, (resource, key): &Place, kept: &ChildRecord) -> Result<(), Error> {
        let live = self.parts.cluster.get(resource, key).await?;
        let Some(live) = live.filter(|live| live["metadata"]["uid"] == kept.uid()) else {
            return Err(Error::Conflict(format!("{resource} {key} became another")));
        };
        let Some(fields) = taken_over(&live, &self.parts.manager) else {
            return Ok(());
        };
        let version = &live["metadata"]["resourceVersion"];
        let patch = json!({ "metadata": { "managedFields": fields, "resourceVersion": version } });
        self.parts
            .cluster
            .merge(resource, key, "", &patch)
            .await
            .map(|_| ())
    }

    /// Takes in the answer to an apply. What we own then is what the server made of it, if less
    /// than it was given.
    fn wrote(&self, look: &mut Look<'_>, place: &Place, live: &Value, view: &Projection) {
        tracing::debug!(kind = place.0.gvk.kind, key = %place.1, "applied");
        let kept = ChildRecord::of(live, &self.parts.manager, view).confirmed();
        look.settled.insert(place.clone(), kept.content());
        self.shared.inventory.put_child(place, kept);
        look.changed = true;
    }

    /// Deletes what the plan says, and what a template made under another name or kind before. What
    /// has to stay because something else was refused is told with the refusal.
    async fn prune(
        &self,
        look: &mut Look<'_>,
        plan: &Plan,
        strays: &[Stray],
        made: &BTreeMap<String, Place>,
    ) -> Result<(), Error> {
        let mut doomed: Vec<Doomed> = Vec::new();
        for (place, kept) in self.shared.inventory.children(&look.object) {
            let planned = plan
                .deletes
                .iter()
                .find(|delete| !delete.uid.is_empty() && delete.uid == kept.uid());
            if let Some(delete) = planned {
                doomed.push(Doomed {
                    template: delete.template.clone(),
                    is_moved: false,
                    place,
                    kept,
                });
            }
        }
        let at = |uid: &str| plan.deletes.iter().position(|delete| delete.uid == uid);
        doomed.sort_by_key(|doomed| at(doomed.kept.uid()));
        let moved = strays.iter().filter(|(template, place, _)| {
            let applied = plan.applies.iter().any(|apply| apply.template == *template);
            applied && made.get(template).is_some_and(|made| made != place)
        });
        doomed.extend(moved.map(|(template, place, kept)| {
            let (place, kept) = (place.clone(), kept.clone());
            Doomed {
                template: template.clone(),
                is_moved: true,
                place,
                kept,
            }
        }));
        let failed: Vec<&str> = look
            .failures
            .iter()
            .map(|failure| failure.template.as_str())
            .collect();
        let mut stays = Vec::new();
        for Doomed {
            template,
            is_moved,
            place,
            kept,
        } in doomed
        {
            // Whatever its labels say, an object that a template makes now stays, and so does what
            // is not the instance's.
            let is_owned = kept.tie(&look.object, &look.revision.seed).may_delete();
            if !is_owned
                || kept.is_deleting
                || kept.is_orphan
                || made.values().any(|made| *made == place)
            {
                continue;
            }
            if kept_by(look.kind, &template, is_moved, &failed).is_some() {
                stays.push(format!("{template}: {}/{}", place.0.gvk.kind, place.1.name));
                continue;
            }
            self.parts
                .cluster
                .delete(&place.0, &place.1, kept.uid(), "Background")
                .await?;
            look.wrote = true;
            tracing::info!(kind = place.0.gvk.kind, key = %place.1, "deleted, since nothing asks for it any more");
        }
        if let Some(first) = look.failures.first_mut().filter(|_| !stays.is_empty()) {
            first.message.push_str(&format!(
                "; until this is mended, not deleted: {}",
                stays.join(", ")
            ));
        }
        Ok(())
    }
}

/// A child that nothing asks for any more.
struct Doomed {
    template: String,
    /// Whether its template makes another in its place.
    is_moved: bool,
    place: Place,
    kept: Arc<ChildRecord>,
}

/// The objects that only claim to be children, as people call them. Those that are to stay anyway
/// are not worth a word.
fn leftovers(claims: &[(Place, Arc<ChildRecord>)]) -> Vec<String> {
    let named = claims
        .iter()
        .filter(|(_, kept)| !kept.is_orphan && !kept.is_deleting);
    named
        .map(|(place, _)| format!("{}/{}", place.0.gvk.kind, place.1.name))
        .collect()
}

/// Where the author of a template looks for what is wrong with its object: at a spot, if it is
/// known, or in the file.
fn whereabouts(kind: &CompiledKind, spot: Option<engine::Place>, apply: &Apply) -> String {
    let file = kind
        .child(&apply.template)
        .and_then(|child| child.file.rsplit('/').next());
    spot.map_or_else(
        || file.unwrap_or_default().to_owned(),
        |spot| spot.short().to_string(),
    )
}
