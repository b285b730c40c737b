//! Looking at a Stack: its account, its roles, its seed and its controllers are put in place and
//! kept there.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use api::names::{self, STACK_FINALIZER};
use api::{ClusterStackInstall, Crd, ObjectRef, Stack, StackStatus, annotations};
use install::reconcile::stack::{Decision, Facts, Run, decide};
use install::{KindOwnership, LiveCrd, Purpose, covers, crds_hash, report, waits_for_kind};
use package::image::Reference;
use serde_json::{Map, Value, json};

use super::crd_watchers::groups;
use super::handover::Handover;
use super::informers::{Objects, stack_resource};
use super::installs::resource_of;
use super::kind_ownership::near;
use super::ownership::{Owned, in_the_way};
use super::runner::Availability;
use super::seed::is_seed;
use super::{RESYNC, StackManager, Work};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::{Key, Resource};

/// How long a Stack of a namespace may take to stop before that of a cluster install begins all the
/// same.
const STOPPING: Duration = Duration::from_secs(60);
/// How soon to look again whether it has.
const SOON: Duration = Duration::from_millis(300);

impl StackManager {
    pub(super) async fn stack(&self, key: &Key) -> Result<Requeue, Error> {
        let Some(object) = self.informers.stacks.get(key) else {
            // It went without us, which only leaves what no garbage collector sees.
            self.handover
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .forget(key);
            self.informers.interests.set(Work::Stack(key.clone()), None);
            self.wake_limited(&self.informers.stacks, &key.namespace, Work::Stack);
            self.wake_waiting();
            return self.sweep(key).await;
        };
        let Ok(mut stack) = serde_json::from_value::<Stack>(Value::clone(&object)) else {
            return Ok(Requeue::AwaitChange);
        };
        if !object["metadata"]["deletionTimestamp"].is_null() {
            self.informers.interests.set(Work::Stack(key.clone()), None);
            return self.remove_stack(key, &object, &stack).await;
        }
        if let Some((install, uid)) = self.install_of(key, &object)
            && !self.signing_key().await?.is_recorded(&stack, &uid)
        {
            // Somebody edited it: what it says now counts for nothing, and its install puts it
            // back.
            self.queue.add(install);
            return Ok(Requeue::After(RESYNC));
        }
        let definitions = self.informers.definitions();
        let claims = self.claims(&definitions);
        let mut decision = self.decide(&object, &stack, &definitions, &claims);
        self.informers
            .interests
            .set(Work::Stack(key.clone()), Some(groups(&stack.spec)));
        let (mut refused, mut displacing) = (false, false);
        let displaced = match &decision {
            Decision::Run(_) => self.displace(key, &claims).await?,
            _ => Vec::new(),
        };
        let availability = match &mut decision {
            Decision::Run(_) if !displaced.is_empty() => {
                displaced
                    .iter()
                    .for_each(|other| self.queue.add(Work::Stack(other.clone())));
                let names: Vec<String> = displaced.iter().map(ToString::to_string).collect();
                let message = format!(
                    "waiting until the Stacks of namespaces stop that serve its kinds: {}",
                    names.join(", ")
                );
                displacing = true;
                Some(Availability {
                    available: false,
                    reason: "Waiting",
                    message,
                })
            }
            Decision::Run(run) => {
                self.hold(&stack_resource(), key, &object, STACK_FINALIZER)
                    .await?;
                let mut outcome = self.run_stack(key, &object, run, &claims).await;
                if let Ok(None) = outcome {
                    // The account of this name is somebody else's.
                    let other = names::other_account(&key.namespace, &key.name);
                    stack.status.get_or_insert_default().service_account = other;
                    if let Decision::Run(again) =
                        self.decide(&object, &stack, &definitions, &claims)
                    {
                        *run = again;
                        outcome = self.run_stack(key, &object, run, &claims).await;
                    }
                }
                let outcome = outcome.and_then(|outcome| {
                    let account = || in_the_way(run.access.first().unwrap_or(&Value::Null));
                    outcome.ok_or_else(account)
                });
                match outcome {
                    Ok(availability) => Some(availability),
                    Err(Error::Refused(why) | Error::Forbidden(why)) => {
                        refused = true;
                        let message = format!(
                            "cannot create the stack's service account, roles, seed or Deployment: {why}"
                        );
                        Some(Availability {
                            available: false,
                            reason: "Refused",
                            message,
                        })
                    }
                    Err(error) => return Err(error),
                }
            }
            Decision::Taken(_) => {
                self.stop_controllers(key).await?;
                self.yield_instances(key, &object, &stack, &claims).await?;
                None
            }
            // What runs goes on running with what it had.
            Decision::Refused(_) | Decision::Waiting(_) | Decision::Limited(_) => None,
        };
        self.report(key, &object, &stack, &decision, availability.as_ref())
            .await?;
        if !matches!(decision, Decision::Taken(_)) {
            // It may have given up a kind, or turned out not to serve it.
            self.wake_waiting();
        }
        Ok(match (refused, displacing) {
            (true, _) => Requeue::SlowBackoff,
            (_, true) => Requeue::After(SOON),
            _ => Requeue::After(RESYNC),
        })
    }

    /// The Stacks of namespaces that still act on what a Stack of a cluster install is about to.
    /// Whatever a namespace's user does, none of them holds it up for longer than [`STOPPING`], nor
    /// once it runs.
    async fn displace(&self, key: &Key, claims: &[KindOwnership]) -> Result<Vec<Key>, Error> {
        let handover = || self.handover.lock().unwrap_or_else(PoisonError::into_inner);
        if handover().running.contains(key) {
            return Ok(Vec::new());
        }
        let Some(own) = claims
            .iter()
            .find(|claim| claim.is_of(&key.namespace, &key.name))
        else {
            return Ok(Vec::new());
        };
        let mut acting = Vec::new();
        for other in own
            .displaces(claims)
            .into_iter()
            .map(|(namespace, name)| Key::new(namespace, name))
        {
            let there = !self.controllers(&other).await?.is_empty();
            let handover = handover();
            let acts = match handover.stopped.get(&other) {
                Some(stopped) => stopped.since.elapsed() < STOPPING && there,
                None => handover.running.contains(&other) || there,
            };
            if acts {
                acting.push(other);
            }
        }
        Ok(acting)
    }

    /// Leaves the instances of a Stack to the cluster install that serves their kinds: with their
    /// owner they would go, too.
    async fn yield_instances(
        &self,
        key: &Key,
        live: &Value,
        stack: &Stack,
        claims: &[KindOwnership],
    ) -> Result<(), Error> {
        let own = claims
            .iter()
            .find(|claim| claim.is_of(&key.namespace, &key.name));
        let kinds = own.map(|own| own.yields(claims)).unwrap_or_default();
        let is_done = |handover: &Handover| {
            handover
                .stopped
                .get(key)
                .is_some_and(|stopped| stopped.released == kinds)
        };
        if kinds.is_empty()
            || is_done(&self.handover.lock().unwrap_or_else(PoisonError::into_inner))
        {
            return Ok(());
        }
        let definitions = self.informers.definitions();
        let served = definitions.iter().filter(|live| {
            kinds
                .iter()
                .any(|(group, kind)| *group == live.crd.group && *kind == live.crd.names.kind)
        });
        let resources: Vec<Resource> = served.filter_map(|live| resource_of(live)).collect();
        self.let_go(key, live, stack, &resources).await?;
        let mut handover = self.handover.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stopped) = handover.stopped.get_mut(key) {
            stopped.released = kinds;
        }
        Ok(())
    }

    /// The Deployments that run a Stack.
    async fn controllers(&self, key: &Key) -> Result<Vec<Owned>, Error> {
        let mut owned = self.owned(&purpose(key)).await?;
        owned.retain(|(resource, ..)| resource.plural == "deployments");
        Ok(owned)
    }

    fn decide(
        &self,
        object: &Value,
        stack: &Stack,
        definitions: &[Arc<LiveCrd>],
        claims: &[KindOwnership],
    ) -> Decision {
        let kinds = self.informers.kinds(definitions);
        let near = near(object, definitions)
            .into_iter()
            .filter(|live| live.established);
        let crds: Vec<Crd> = near.map(|live| live.crd.clone()).collect();
        let settings = &self.parts.settings;
        let install = self.cluster_install(object);
        if install.is_none() && settings.is_reserved(&stack.metadata.namespace) {
            let place = &stack.metadata.namespace;
            let what = format!(
                "namespace {place} is reserved for the stack manager: create the Stack in another one"
            );
            return Decision::Refused(vec![what]);
        }
        if let Some(limited) = self.stack_limit(&Key::of(object), install.is_some()) {
            return Decision::Limited(limited);
        }
        let decision = decide(&Facts {
            stack,
            cluster_wide: install.is_some(),
            crds: &crds,
            kinds: &kinds,
            policy: &settings.policy,
            own_image: &settings.own_image,
            claims,
            manager: &settings.own_namespace,
            namespaces: &limits(install.as_deref()),
        });
        match decision {
            Decision::Run(run) => Decision::Run(Box::new(
                run.limited(&settings.instance_limits, &settings.budgets),
            )),
            decision => decision,
        }
    }

    /// Has everything looked at that waits until another no longer serves its kind.
    fn wake_waiting(&self) {
        let waiting = |cache: &Objects| {
            cache
                .all()
                .into_iter()
                .filter(|(_, object)| waits_for_kind(object))
                .map(|(key, _)| key)
                .collect::<Vec<_>>()
        };
        let installs = [&self.informers.installs, &self.informers.cluster_installs]
            .into_iter()
            .flat_map(waiting);
        installs.for_each(|key| self.queue.add(Work::Install(key)));
        waiting(&self.informers.stacks)
            .into_iter()
            .for_each(|key| self.queue.add(Work::Stack(key)));
    }

    /// Ends the controllers of a Stack that another took the place of; its rights stay until it
    /// goes.
    async fn stop_controllers(&self, key: &Key) -> Result<(), Error> {
        self.parts.runner.stop(key).await?;
        for owned in self.controllers(key).await? {
            // Its pods go before it does.
            self.delete_owned(&owned, "Foreground").await?;
        }
        self.handover
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stop(key);
        Ok(())
    }

    /// The ClusterStackInstall that a Stack was made for: the Stack has its name, is in the
    /// namespace that was created for that install, and is owned by it.
    pub(super) fn cluster_install(&self, stack: &Value) -> Option<Arc<Value>> {
        let metadata = &stack["metadata"];
        let install = self
            .informers
            .cluster_installs
            .get(&Key::new("", metadata["name"].as_str()?))?;
        let owners = metadata["ownerReferences"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let owned = owners.iter().any(|owner| {
            owner["kind"] == ClusterStackInstall::KIND && owner["uid"] == install["metadata"]["uid"]
        });
        let place = &install["status"]["namespace"];
        (owned && place.is_string() && *place == metadata["namespace"]).then_some(install)
    }

    /// Whether a Stack was made for a ClusterStackInstall.
    pub(super) fn is_cluster_wide(&self, stack: &Value) -> bool {
        self.cluster_install(stack).is_some()
    }

    /// Makes a Stack run. Answers nothing if the account of that name is somebody else's.
    async fn run_stack(
        &self,
        key: &Key,
        stack: &Value,
        run: &mut Run,
        claims: &[KindOwnership],
    ) -> Result<Option<Availability>, Error> {
        let (signing, purpose) = (self.signing_key().await?, run.identity.purpose());
        let controllers = run
            .controllers
            .iter_mut()
            .map(|controller| &mut controller.deployment);
        run.access
            .iter_mut()
            .chain(controllers)
            .for_each(|object| signing.sign(object, &purpose));
        for wanted in &run.access {
            let put = self
                .put(wanted, &purpose)
                .await
                .map_err(|error| match error {
                    // A namespace that its install names does not exist.
                    Error::NotFound(why) => Error::Refused(why),
                    error => error,
                });
            match put? {
                true => {}
                false if wanted["kind"] == "ServiceAccount" => return Ok(None),
                false => return Err(in_the_way(wanted)),
            }
        }
        if let Some(lost) = self.seed(key, stack, run, claims).await? {
            return Ok(Some(Availability {
                available: false,
                reason: "SeedLost",
                message: lost,
            }));
        }
        let live = |resource: &Resource, key: &Key| self.informers.made(resource, key);
        self.handover
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .start(key);
        let availability = self.parts.runner.ensure(run, &live).await?;
        self.prune(key, run).await?;
        Ok(Some(availability))
    }

    /// Deletes what was created for the Stack and is no longer wanted.
    async fn prune(&self, key: &Key, run: &Run) -> Result<(), Error> {
        let controllers = self.parts.runner.objects(run);
        for owned in self.owned(&purpose(key)).await? {
            let (resource, made, object) = &owned;
            let same =
                |wanted: &&Value| wanted["kind"] == object["kind"] && Key::of(wanted) == *made;
            let wanted = run
                .access
                .iter()
                .chain(controllers.iter().copied())
                .any(|wanted| same(&wanted));
            if !wanted && !is_seed(resource) {
                self.delete_owned(&owned, "Background").await?;
            }
        }
        Ok(())
    }

    pub(super) fn cluster_of(&self, resource: &Resource) -> &crate::Cluster {
        if resource.plural == "deployments" {
            &self.parts.host
        } else {
            &self.parts.tenant
        }
    }

    async fn report(
        &self,
        key: &Key,
        live: &Arc<Value>,
        stack: &Stack,
        decision: &Decision,
        availability: Option<&Availability>,
    ) -> Result<(), Error> {
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let before = stack.status.clone().unwrap_or_default();
        let available =
            availability.map(|state| (state.available, state.reason, state.message.as_str()));
        let (conditions, notices) = report(
            &before,
            stack.metadata.generation,
            &now,
            decision,
            available,
        );
        let definitions = self.informers.definitions();
        let crds_hash = crds_hash(
            stack,
            &definitions.iter().map(|live| &live.crd).collect::<Vec<_>>(),
        );
        let mut status = StackStatus {
            conditions,
            crds_hash,
            version: stack.spec.app.version.clone(),
            ..before
        };
        status.instance_limit = self.instance_limit(key, self.is_cluster_wide(live));
        if let Decision::Run(run) = decision {
            status.rules.clone_from(&run.rules);
            status.namespaces.clone_from(&run.identity.namespaces);
            status.service_account.clone_from(&run.identity.account);
            status.controller_ref =
                self.parts
                    .runner
                    .objects(run)
                    .first()
                    .map(|controller| ObjectRef {
                        api_version: "apps/v1".to_owned(),
                        kind: "Deployment".to_owned(),
                        namespace: key.namespace.clone(),
                        name: Key::of(controller).name,
                        uid: String::new(),
                    });
        }
        let image = stack.metadata.annotations.get(annotations::PACKAGE_IMAGE);
        let digest = image.and_then(|image| Reference::parse(image).ok()?.digest);
        status.digest = digest.unwrap_or_default();
        let status = serde_json::to_value(&status).unwrap_or_default();
        if let Some(patch) = changed(&live["status"], &status) {
            let patch = json!({ "status": patch });
            let answer = self
                .parts
                .tenant
                .merge(&stack_resource(), key, "status", &patch)
                .await?;
            self.informers.wrote(&stack_resource(), answer);
        }
        self.emit_events(live, &notices).await;
        Ok(())
    }
}

/// What the objects of a Stack are created for.
pub(super) fn purpose(stack: &Key) -> Purpose {
    Purpose::Stack {
        namespace: stack.namespace.clone(),
        name: stack.name.clone(),
    }
}

/// The namespaces that a ClusterStackInstall limits its Stack to.
pub(super) fn limits(install: Option<&Value>) -> Vec<String> {
    let listed = install
        .and_then(|install| install["spec"]["namespaces"].as_array())
        .map(Vec::as_slice);
    let mut names: Vec<String> = listed
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The parts of a Stack's status that the stack manager writes. The others are the template stack
/// manager's, and may be newer than what the watch has shown.
const OWN: [&str; 9] = [
    "conditions",
    "controllerRef",
    "crdsHash",
    "digest",
    "instanceLimit",
    "namespaces",
    "rules",
    "serviceAccount",
    "version",
];

/// The merge patch of what is to be written into a status; none if nothing is.
fn changed(live: &Value, status: &Value) -> Option<Value> {
    let mut patch = Map::new();
    for part in OWN {
        match (live.get(part), status.get(part)) {
            (None, None) => {}
            (Some(_), None) => drop(patch.insert(part.to_owned(), Value::Null)),
            (Some(live), Some(wanted)) if covers(live, wanted) && covers(wanted, live) => {}
            (_, Some(wanted)) => drop(patch.insert(part.to_owned(), wanted.clone())),
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{changed, limits};

    #[test]
    fn only_the_managers_own_parts_of_a_status_are_written_and_what_is_empty_is_cleared() {
        for (live, status, expected) in [
            (json!({}), json!({}), None),
            (json!({ "version": "1" }), json!({ "version": "1" }), None),
            (
                json!({ "version": "1" }),
                json!({}),
                Some(json!({ "version": null })),
            ),
            (
                json!({ "renderedKinds": [1] }),
                json!({ "renderedKinds": [] }),
                None,
            ),
            (
                json!({ "rules": [{ "verbs": ["get"] }] }),
                json!({ "rules": [] }),
                Some(json!({ "rules": [] })),
            ),
            (
                json!({ "instances": {} }),
                json!({ "digest": "d" }),
                Some(json!({ "digest": "d" })),
            ),
            (
                Value::Null,
                json!({ "version": "1", "diagnostics": [] }),
                Some(json!({ "version": "1" })),
            ),
        ] {
            assert_eq!(changed(&live, &status), expected, "{live} {status}");
        }
    }

    #[test]
    fn the_namespaces_of_an_install_are_listed_once_each() {
        assert_eq!(
            limits(Some(&json!({ "spec": { "namespaces": ["b", "a", "b"] } }))),
            ["a", "b"]
        );
        assert!(limits(Some(&json!({}))).is_empty() && limits(None).is_empty());
    }
}
