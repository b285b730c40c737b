//! Looking at an install: everything it depends on is gathered, `engine` plans, and the plan is
//! carried out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use api::conditions::UNPACKED;
use api::names::INSTALL_FINALIZER;
use api::{ClusterStackInstall, Stack, StackInstall, Status};
use install::reconcile::install::{Facts, Install, InstallPlan, Refused, plan};
use install::{Index, LiveCrd, Step, Trouble, User, covers, publisher};
use package::Package;
use package::image::Reference;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::crd_watchers::groups;
use super::informers::{crd_resource, install_resource, stack_resource};
use super::pulls::{Bring, Brought, Failure, Wish};
use super::{RESYNC, StackManager, Work};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::{Key, Resource};

/// How many namespaces with instances are looked for.
const NAMED: usize = 5;
/// How soon to look again whether the objects of a CRD are gone.
const SOON: Duration = Duration::from_secs(5);
/// How long a publisher has an API group before the watch shows a CRD of it, or its write has
/// failed.
const RESERVED: Duration = Duration::from_secs(10);

impl StackManager {
    pub(super) async fn install(&self, key: &Key) -> Result<Requeue, Error> {
        let cluster = key.namespace.is_empty();
        let resource = install_resource(cluster);
        let cache = if cluster {
            &self.informers.cluster_installs
        } else {
            &self.informers.installs
        };
        let Some(object) = cache.get(key) else {
            self.forget_tag(key);
            self.reservations
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(key);
            self.wake_heirs(key);
            self.pulls.forget(key);
            self.informers
                .interests
                .set(Work::Install(key.clone()), None);
            self.wake_limited(&self.informers.installs, &key.namespace, Work::Install);
            return Ok(Requeue::AwaitChange);
        };
        let Some(mut install) = read(&object, cluster) else {
            return Ok(Requeue::AwaitChange);
        };
        self.ensure_home(key, &object, &mut install).await?;
        let index = self.parts.packages.index().await;
        let Known {
            resolved,
            brought,
            failed,
        } = self.known(key, &install, index.as_deref());
        if matches!(brought, Step::Pending(_)) && is_unpacked(&install, &resolved) {
            // All that is known of it holds until its package has been read again, and then it is
            // requeued.
            return Ok(Requeue::After(RESYNC));
        }
        let package = match &brought {
            Step::Done(brought) => Some(brought.package.clone()),
            _ => None,
        };
        self.informers
            .interests
            .set(Work::Install(key.clone()), interests(&install, &brought));
        let definitions = self.informers.definitions();
        let kinds = self.informers.kinds(&definitions);
        let crds: Vec<LiveCrd> = definitions
            .iter()
            .filter(|live| concerns(live, &install, package.as_ref()))
            .map(|live| LiveCrd::clone(live))
            .collect();
        let gone = self.gone(&crds).await?;
        let breaks = match (&package, &resolved) {
            (Some(package), Step::Done(reference)) if is_asked_for(&install) => {
                install.breaks(package, reference, &crds, &gone)
            }
            _ => Vec::new(),
        };
        let mut endangered = install.endangers(package.as_deref(), &crds);
        endangered.extend(breaks.iter().map(|(live, _)| *live));
        let in_use = self.in_use(&endangered).await?;
        let instances = self.instances_of_others(&key.namespace, &breaks).await?;
        let tagged = self.tagged(key, &install, done(&resolved));
        let settings = &self.parts.settings;
        let stack = self
            .informers
            .stacks
            .get(&Key::new(&settings.namespace(&install), &key.name));
        let stack: Option<Stack> =
            stack.and_then(|stack| serde_json::from_value(Value::clone(&stack)).ok());
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let claims = self.claims(&definitions);
        let reserved = self.reserved();
        let mut facts = Facts {
            install: &install,
            settings,
            resolved,
            tagged: tagged.as_deref(),
            package: map(&brought, |brought| brought.package.as_ref()),
            verdict: map(&brought, |brought| brought.verdict.as_ref()),
            crds: &crds,
            in_use: &in_use,
            gone: &gone,
            instances: &instances,
            reserved: &reserved,
            kinds: &kinds,
            index: &index.unwrap_or_default(),
            stack: stack.as_ref(),
            claims: &claims,
            refused: None,
            now: &now,
        };
        let mut made = plan(&facts);
        if cluster {
            self.reserve(key, &install, &made);
        }
        let groups = match &facts.resolved {
            Step::Done(reference) => {
                self.reserve_groups(cluster, &publisher(reference), &crds, &made)?
            }
            _ => Vec::new(),
        };
        let carried = self.carry_out(&resource, key, &object, &crds, &made).await;
        if !matches!(carried, Ok(None)) {
            // A CRD that was not written reserves no group.
            let mut reserved = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
            groups.iter().for_each(|group| drop(reserved.remove(group)));
        }
        let refused = carried?;
        if refused.is_some() {
            facts.refused = refused.as_ref();
            made = plan(&facts);
        }
        let unserved = crds
            .iter()
            .filter(|live| made.unserved.contains(&live.crd.name));
        self.see_off(&key.namespace, unserved, stack.as_ref())
            .await?;
        if !made.finalizer && !self.leave_home(key, &install).await? {
            return Ok(Requeue::After(Duration::from_millis(300)));
        }
        self.conclude(&resource, key, &object, &made).await?;
        if refused.is_some() {
            return Ok(Requeue::SlowBackoff);
        }
        Ok(when_again(
            made.soon,
            made.settled,
            failed,
            self.until_tag(key),
        ))
    }

    /// The image and the package that an install means, as far as they are there. What was
    /// installed before is known by its digest.
    fn known(&self, key: &Key, install: &Install, index: Result<&Index, &Trouble>) -> Known {
        if !is_asked_for(install) {
            return Known::pending("it is not asked for");
        }
        let nowhere = Index::default();
        let reference = match self
            .parts
            .settings
            .reference(install, index.unwrap_or(&nowhere))
        {
            Ok(reference) => reference,
            // Without an index that can be read, nobody knows which package brings a kind.
            Err(trouble) => {
                let trouble = index
                    .err()
                    .filter(|_| install.spec.package.is_empty())
                    .cloned()
                    .unwrap_or(trouble);
                return Known::failed(trouble);
            }
        };
        let pinned = install.installed(&reference);
        let limited = |trouble: Trouble| Known {
            // What was found before is kept in mind.
            resolved: pinned
                .clone()
                .map_or_else(|| Step::Failed(trouble.clone()), Step::Done),
            brought: Step::Failed(trouble),
            // It is requeued when there is room.
            failed: None,
        };
        // Nothing is pulled for an install that is not served.
        if let Some(trouble) = self.install_limit(key) {
            return limited(trouble);
        }
        let installed = pinned.is_some();
        let wish = Wish {
            installed,
            ..self.wish(install, pinned.clone().unwrap_or(reference))
        };
        match self.bring(key, &wish) {
            Bring::Done(brought) => {
                // Its size is known only now.
                if let Some(trouble) = self.install_limit(key) {
                    return limited(trouble);
                }
                Known {
                    resolved: Step::Done(brought.reference.clone()),
                    brought: Step::Done(brought),
                    failed: None,
                }
            }
            Bring::Pending(what) => {
                let resolved = pinned.map_or_else(|| Step::Pending(what.clone()), Step::Done);
                Known {
                    resolved,
                    brought: Step::Pending(what),
                    failed: None,
                }
            }
            Bring::Failed(Failure { resolved, trouble }, wait) => {
                let resolved = pinned
                    .or(resolved.map(|found| *found))
                    .map_or_else(|| Step::Failed(trouble.clone()), Step::Done);
                Known {
                    resolved,
                    brought: Step::Failed(trouble),
                    failed: Some(Requeue::After(wait)),
                }
            }
        }
    }

    /// What an install asks for, with the Secrets that it names.
    pub(super) fn wish(&self, install: &Install, reference: Reference) -> Wish {
        let namespace = self.parts.settings.namespace(install);
        let secrets = install
            .spec
            .image_pull_secrets
            .iter()
            .map(|secret| Key::new(&namespace, &secret.name));
        Wish {
            uid: install.metadata.uid.clone(),
            reference,
            installed: false,
            secrets: secrets.collect(),
        }
    }

    /// The names of those CRDs that have objects.
    async fn in_use(&self, crds: &[&LiveCrd]) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for live in crds.iter().copied().filter(|live| live.established) {
            let Some(resource) = resource_of(live) else {
                continue;
            };
            match self.parts.tenant.list(&resource, "", Some(1)).await {
                Ok(objects) if objects.is_empty() => {}
                Ok(_) => found.push(live.crd.name.clone()),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The uids of recorded installs that no longer exist. What the watch does not show is asked
    /// for: it may be late.
    async fn gone(&self, crds: &[LiveCrd]) -> Result<BTreeSet<String>, Error> {
        let mut found = BTreeSet::new();
        for live in crds.iter().filter(|live| live.is_ours()) {
            for user in live
                .record()
                .users()
                .iter()
                .filter(|user| !user.uid().is_empty())
            {
                let cache = if user.is_cluster() {
                    &self.informers.cluster_installs
                } else {
                    &self.informers.installs
                };
                let key = Key::new(user.namespace(), user.name());
                let is_it = |object: &Value| object["metadata"]["uid"] == user.uid();
                if found.contains(user.uid())
                    || cache.get(&key).is_some_and(|object| is_it(&object))
                {
                    continue;
                }
                let object = self
                    .parts
                    .tenant
                    .get(&install_resource(user.is_cluster()), &key)
                    .await?;
                if !object.is_some_and(|object| is_it(&object)) {
                    found.insert(user.uid().to_owned());
                }
            }
        }
        Ok(found)
    }

    /// Notes which CRDs a cluster install defines: while one of them is made anew, no other install
    /// may make it.
    fn reserve(&self, key: &Key, install: &Install, made: &InstallPlan) {
        let crds = made
            .applies
            .iter()
            .filter(|object| object["kind"] != Stack::KIND)
            .map(|object| Key::of(object).name);
        let anew = made
            .deletes
            .iter()
            .filter(|target| target.kind != Stack::KIND)
            .map(|target| target.name.clone());
        let mut reservations = self
            .reservations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if install.is_deleting() {
            reservations.remove(key);
        } else if !made.applies.is_empty() || !made.deletes.is_empty() {
            reservations.insert(key.clone(), crds.chain(anew).collect());
        }
    }

    /// Notes that a publisher is about to define the first CRDs of API groups. Two that come at the
    /// same time both find the group free, until the watch shows what one of them wrote: the other
    /// waits for that and is decided again. A cluster install never waits. Returns the groups.
    fn reserve_groups(
        &self,
        cluster: bool,
        publisher: &str,
        seen: &[LiveCrd],
        made: &InstallPlan,
    ) -> Result<Vec<String>, Error> {
        let crds = made
            .applies
            .iter()
            .filter(|object| object["kind"] != Stack::KIND);
        let first: BTreeSet<&str> = crds
            .filter_map(|object| object["spec"]["group"].as_str())
            .filter(|group| !seen.iter().any(|live| live.crd.group == *group))
            .collect();
        let first: Vec<String> = first.into_iter().map(str::to_owned).collect();
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|_, (_, since)| since.elapsed() < RESERVED);
        match taken_group(&groups, publisher, &first).filter(|_| !cluster) {
            Some(group) => Err(Error::Conflict(format!(
                "another publisher is defining CRDs in the API group {group}"
            ))),
            None => {
                groups.extend(
                    first
                        .iter()
                        .map(|group| (group.clone(), (publisher.to_owned(), Instant::now()))),
                );
                Ok(first)
            }
        }
    }

    /// The CRDs that cluster installs define, with their names.
    fn reserved(&self) -> BTreeMap<String, String> {
        let reservations = self
            .reservations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let all = reservations
            .iter()
            .flat_map(|(key, crds)| crds.iter().map(|crd| (crd.clone(), key.name.clone())));
        all.collect()
    }

    /// Reconciles the installs that share a CRD with one that is gone: one of them owns it now.
    fn wake_heirs(&self, key: &Key) {
        for live in self
            .informers
            .definitions()
            .iter()
            .filter(|live| live.is_ours())
        {
            let record = live.record();
            let is_it = |user: &&User| user.namespace() == key.namespace && user.name() == key.name;
            if record.users().iter().any(|user| is_it(&user)) {
                let heirs = record.users().iter().filter(|user| !is_it(user));
                heirs.for_each(|user| {
                    self.queue
                        .add(Work::Install(Key::new(user.namespace(), user.name())));
                });
            }
        }
    }

    /// The namespaces in which others have instances of CRDs that would break them, by name of the
    /// CRD. For a namespaced install these are all but its own, for a cluster install those of
    /// other installs.
    async fn instances_of_others(
        &self,
        own: &str,
        breaks: &[(&LiveCrd, BTreeSet<String>)],
    ) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut found = BTreeMap::new();
        for (live, namespaces) in breaks.iter().filter(|(live, _)| live.established) {
            let Some(resource) = resource_of(live) else {
                continue;
            };
            let mut used = BTreeSet::new();
            if !own.is_empty() {
                let elsewhere = known(
                    self.parts
                        .tenant
                        .list_elsewhere(&resource, own, NAMED)
                        .await,
                )?;
                used.extend(elsewhere.iter().map(|object| Key::of(object).namespace));
            }
            // A few are enough to say no and to name them.
            for namespace in namespaces {
                if used.len() >= NAMED {
                    break;
                }
                if !known(self.parts.tenant.list(&resource, namespace, Some(1)).await)?.is_empty() {
                    used.insert(namespace.clone());
                }
            }
            found.insert(live.crd.name.clone(), used.into_iter().collect());
        }
        Ok(found)
    }

    /// Writes and deletes what a plan says, up to what the API server refuses. A CRD that has
    /// changed since the plan was made is a conflict: whoever changed it may have made it their
    /// own.
    async fn carry_out(
        &self,
        resource: &Resource,
        key: &Key,
        live: &Value,
        seen: &[LiveCrd],
        made: &InstallPlan,
    ) -> Result<Option<Refused>, Error> {
        let tenant = &self.parts.tenant;
        // What may have to be cleaned up is held before anything is made.
        if made.finalizer && live["metadata"]["deletionTimestamp"].is_null() {
            self.hold(resource, key, live, INSTALL_FINALIZER).await?;
        }
        let definition = |kind: &str, name: &str| {
            seen.iter()
                .filter(|_| kind != Stack::KIND)
                .find(|definition| definition.crd.name == name)
        };
        let kind_of = |kind: &str| {
            if kind == Stack::KIND {
                stack_resource()
            } else {
                crd_resource()
            }
        };
        for object in &made.applies {
            let (kind, name) = (object["kind"].as_str().unwrap_or_default(), Key::of(object));
            let definition = definition(kind, &name.name);
            if definition.is_some_and(|definition| definition.is_like(object)) {
                continue;
            }
            let mut object = object.clone();
            if let Some(definition) = definition {
                object["metadata"]["resourceVersion"] = json!(definition.revision);
            }
            let is_record = kind == Stack::KIND;
            let kind = kind_of(kind);
            let outcome = match is_record {
                true => self.put_record(&object).await,
                false => tenant
                    .apply(&kind, &object, true)
                    .await
                    .map(|answer| self.informers.wrote(&kind, answer)),
            };
            if let Err(error) = outcome {
                return refused(&kind, &name, error).map(Some);
            }
        }
        for target in &made.deletes {
            let (kind, target_key) = (
                kind_of(&target.kind),
                Key::new(&target.namespace, &target.name),
            );
            let outcome = match definition(&target.kind, &target.name) {
                Some(definition) => {
                    tenant
                        .delete_unchanged(&kind, &target_key, &definition.uid, &definition.revision)
                        .await
                }
                None => {
                    tenant
                        .delete(&kind, &target_key, &target.uid, "Background")
                        .await
                }
            };
            if let Err(error) = outcome {
                return refused(&kind, &target_key, error).map(Some);
            }
        }
        Ok(None)
    }

    /// Says how an install is getting on, and lets it go when nothing is left of it.
    async fn conclude(
        &self,
        resource: &Resource,
        key: &Key,
        live: &Value,
        made: &InstallPlan,
    ) -> Result<(), Error> {
        let status = serde_json::to_value(&made.status).unwrap_or_default();
        if !covers(&live["status"], &status) {
            let answer = self
                .parts
                .tenant
                .merge(resource, key, "status", &json!({ "status": status }))
                .await?;
            self.informers.wrote(resource, answer);
        }
        self.emit_events(live, &made.notices).await;
        if !made.finalizer {
            self.release(resource, key, live, INSTALL_FINALIZER).await?;
        }
        Ok(())
    }
}

/// Which of these groups another publisher has reserved.
fn taken_group<'g, T>(
    groups: &BTreeMap<String, (String, T)>,
    publisher: &str,
    wanted: &'g [String],
) -> Option<&'g String> {
    wanted.iter().find(|group| {
        groups
            .get(*group)
            .is_some_and(|(other, _)| other != publisher)
    })
}

/// The objects of a kind; none if it is not served.
fn known(listed: Result<Vec<Value>, Error>) -> Result<Vec<Value>, Error> {
    match listed {
        Err(Error::NotFound(_)) => Ok(Vec::new()),
        outcome => outcome,
    }
}

/// Whether the package of an install is to be brought at all.
fn is_asked_for(install: &Install) -> bool {
    !install.is_deleting() && !install.spec.paused
}

/// When to reconcile an install without a reason. Only what failed counts as a failure: what comes
/// after it would wait for all that was none.
fn when_again(soon: bool, settled: bool, failed: Option<Requeue>, tag: Duration) -> Requeue {
    match (soon, settled, failed) {
        (true, ..) => Requeue::After(SOON),
        (_, true, _) => Requeue::After(RESYNC.min(tag)),
        (.., Some(again)) => again,
        // What it waits for wakes it up.
        _ => Requeue::After(RESYNC),
    }
}

/// How far the package of an install has come.
struct Known {
    resolved: Step<Reference>,
    brought: Step<Brought>,
    /// When to try again what failed.
    failed: Option<Requeue>,
}

impl Known {
    fn pending(what: &str) -> Self {
        Self {
            resolved: Step::Pending(what.to_owned()),
            brought: Step::Pending(what.to_owned()),
            failed: None,
        }
    }

    fn failed(trouble: Trouble) -> Self {
        let brought = Step::Pending("the package is not known yet".to_owned());
        Self {
            resolved: Step::Failed(trouble),
            brought,
            failed: Some(Requeue::Backoff),
        }
    }
}

fn map<'s, T, U: ?Sized>(step: &'s Step<T>, part: impl Fn(&'s T) -> &'s U) -> Step<&'s U> {
    match step {
        Step::Done(value) => Step::Done(part(value)),
        Step::Pending(what) => Step::Pending(what.clone()),
        Step::Failed(trouble) => Step::Failed(trouble.clone()),
    }
}

fn done<T>(step: &Step<T>) -> Option<&T> {
    match step {
        Step::Done(value) => Some(value),
        _ => None,
    }
}

/// Whether an install has unpacked this very image before, and says so.
fn is_unpacked(install: &Install, resolved: &Step<Reference>) -> bool {
    let unpacked = |condition: &api::Condition| {
        condition.r#type == UNPACKED
            && condition.status == Status::True
            && condition.observed_generation == install.metadata.generation
    };
    is_asked_for(install)
        && done(resolved).is_some()
        && install.status.conditions.iter().any(unpacked)
}

/// The groups of CRDs that an install has to do with; none if that is not known.
fn interests(install: &Install, brought: &Step<Brought>) -> Option<BTreeSet<String>> {
    match brought {
        _ if install.is_deleting() => None,
        Step::Done(brought) => {
            let mut groups = groups(&brought.package.stack.spec);
            groups.extend(
                brought
                    .package
                    .crds
                    .iter()
                    .map(|file| file.crd.group.clone()),
            );
            Some(groups)
        }
        // Those that it is a parent of wake it up all the same.
        Step::Failed(_) | Step::Pending(_) => Some(BTreeSet::new()),
    }
}

fn read(object: &Value, cluster: bool) -> Option<Install> {
    if cluster {
        serde_json::from_value::<ClusterStackInstall>(object.clone())
            .ok()
            .map(Install::from)
    } else {
        serde_json::from_value::<StackInstall>(object.clone())
            .ok()
            .map(Install::from)
    }
}

/// What the API server refused, which is told; whatever else went wrong is tried again.
fn refused(kind: &Resource, key: &Key, error: Error) -> Result<Refused, Error> {
    match error {
        Error::Refused(why) | Error::Forbidden(why) => Ok(Refused {
            kind: kind.gvk.kind.clone(),
            name: key.name.clone(),
            why,
        }),
        error => Err(error),
    }
}

/// Whether an install has to do with a CRD: it needs it, or its package has one of the same group.
fn concerns(live: &LiveCrd, install: &Install, package: Option<&Arc<Package>>) -> bool {
    let brought = package.is_some_and(|package| {
        package
            .crds
            .iter()
            .any(|file| file.crd.group == live.crd.group)
    });
    brought || live.is_needed_by(&install.parent())
}

/// The kind of a CRD, in a version that is served.
pub(super) fn resource_of(live: &LiveCrd) -> Option<Resource> {
    let version = live.crd.versions.iter().find(|version| version.served)?;
    Some(Resource {
        gvk: live.crd.gvk(&version.name),
        plural: live.crd.names.plural.clone(),
        namespaced: live.crd.scope == api::Scope::Namespaced,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use install::reconcile::install::Install;
    use serde_json::json;

    use super::{RESYNC, SOON, is_asked_for, read, taken_group, when_again};
    use crate::runtime::work_queue::Requeue;

    #[test]
    fn a_group_that_a_publisher_is_about_to_define_is_not_anothers() {
        let groups = [("a.org".to_owned(), ("r/one".to_owned(), ()))].into();
        for (publisher, wanted, expected) in [
            ("r/one", vec!["a.org"], None),
            ("r/two", vec!["b.org"], None),
            ("r/two", vec!["b.org", "a.org"], Some("a.org")),
            ("r/two", vec![], None),
        ] {
            let wanted: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
            assert_eq!(
                taken_group(&groups, publisher, &wanted).map(String::as_str),
                expected,
                "{publisher} {wanted:?}"
            );
        }
    }

    #[test]
    fn only_what_failed_is_tried_again_with_ever_longer_pauses() {
        let tag = Duration::from_secs(1);
        for (soon, settled, failed, expected) in [
            (false, false, None, Requeue::After(RESYNC)),
            (false, false, Some(Requeue::Backoff), Requeue::Backoff),
            (false, true, None, Requeue::After(tag)),
            (true, false, Some(Requeue::Backoff), Requeue::After(SOON)),
        ] {
            assert_eq!(
                when_again(soon, settled, failed, tag),
                expected,
                "{soon} {settled} {failed:?}"
            );
        }
    }

    #[test]
    fn an_install_that_goes_or_is_paused_has_not_failed_to_bring_its_package() {
        let install = |deleted: Option<&str>, paused: bool| -> Install {
            let object = json!({
                "apiVersion": api::API_VERSION, "kind": "StackInstall",
                "metadata": { "name": "redis", "namespace": "team", "deletionTimestamp": deleted },
                "spec": { "package": "team/redis:1.0.0", "paused": paused },
            });
            read(&object, false).unwrap()
        };
        for (deleted, paused, expected) in [
            (None, false, true),
            (None, true, false),
            (Some("2026-01-01T00:00:00Z"), false, false),
        ] {
            assert_eq!(
                is_asked_for(&install(deleted, paused)),
                expected,
                "{deleted:?} {paused}"
            );
        }
    }
}
