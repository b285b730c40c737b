//! Looking at a Stack: its account, its roles, its seed and its controllers are put in place and kept there.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use api::names::STACK_FINALIZER;
use api::{ClusterStackInstall, Crd, ObjectRef, Stack, StackStatus, annotations};
use engine::manage::stack::{Decision, Facts, Run, decide};
use engine::manage::{Claim, LiveCrd, Reference, covers, report, waits_for_kind};
use serde_json::{Value, json};

use super::handover::Handover;
use super::install::resource_of;
use super::runner::Availability;
use super::seed::is_seed;
use super::world::{Objects, stack_resource};
use super::{RESYNC, StackManager, Work};
use crate::Error;
use crate::queue::Again;
use crate::resource::{Key, Resource};

/// How long a Stack of a namespace may take to stop before that of a cluster install begins all the same.
const STOPPING: Duration = Duration::from_secs(60);
/// How soon to look again whether it has.
const SOON: Duration = Duration::from_millis(300);

impl StackManager {
    pub(super) async fn stack(&self, key: &Key) -> Result<Again, Error> {
        let Some(object) = self.world.stacks.get(key) else {
            // It went without us, which only leaves what no garbage collector sees.
            self.handover.lock().unwrap_or_else(PoisonError::into_inner).forget(key);
            self.wake_waiting();
            return self.sweep(key).await;
        };
        let Ok(stack) = serde_json::from_value::<Stack>(Value::clone(&object)) else { return Ok(Again::OnChange) };
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return self.remove_stack(key, &object, &stack).await;
        }
        let definitions = self.world.definitions();
        let kinds = self.world.kinds(&definitions);
        let crds: Vec<Crd> = definitions.iter().filter(|live| live.established).map(|live| live.crd.clone()).collect();
        let claims = self.claims(&definitions);
        let decision = decide(&Facts {
            stack: &stack,
            cluster_wide: self.is_cluster_wide(&object),
            crds: &crds,
            kinds: &kinds,
            policy: &self.parts.settings.policy,
            own_image: &self.parts.settings.own_image,
            claims: &claims,
        });
        let (mut refused, mut displacing) = (false, false);
        let availability = match &decision {
            Decision::Run(_) if !self.displace(key, &claims).is_empty() => {
                let waiting = self.displace(key, &claims);
                waiting.iter().for_each(|other| self.queue.add(Work::Stack(other.clone())));
                let names: Vec<String> = waiting.iter().map(ToString::to_string).collect();
                let message =
                    format!("waiting until the Stacks of namespaces stop that serve its kinds: {}", names.join(", "));
                displacing = true;
                Some(Availability { available: false, reason: "Waiting", message })
            }
            Decision::Run(run) => {
                self.hold(&stack_resource(), key, &object, STACK_FINALIZER).await?;
                match self.run_stack(key, &object, run, &claims).await {
                    Ok(availability) => Some(availability),
                    Err(Error::Refused(why) | Error::Forbidden(why)) => {
                        refused = true;
                        let message = format!("what it runs by is refused: {why}");
                        Some(Availability { available: false, reason: "Refused", message })
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
            Decision::Refused(_) | Decision::Waiting(_) => None,
        };
        self.report(key, &object, &stack, &decision, availability.as_ref()).await?;
        if !matches!(decision, Decision::Taken(_)) {
            // It may have given up a kind, or turned out not to serve it.
            self.wake_waiting();
        }
        Ok(match (refused, displacing) {
            (true, _) => Again::Slowly,
            (_, true) => Again::After(SOON),
            _ => Again::After(RESYNC),
        })
    }

    /// The Stacks of namespaces that still act on what a Stack of a cluster install is about to. Whatever a namespace's user
    /// does, none of them holds it up for longer than [`STOPPING`], nor once it runs.
    fn displace(&self, key: &Key, claims: &[Claim]) -> Vec<Key> {
        let handover = self.handover.lock().unwrap_or_else(PoisonError::into_inner);
        if handover.running.contains(key) {
            return Vec::new();
        }
        let Some(own) = claims.iter().find(|claim| claim.is_of(&key.namespace, &key.name)) else { return Vec::new() };
        let displaced = own.displaces(claims).into_iter().map(|(namespace, name)| Key::new(namespace, name));
        let acts = |other: &Key| {
            let there = || self.controllers(other).next().is_some();
            match handover.stopped.get(other) {
                Some(stopped) => stopped.since.elapsed() < STOPPING && there(),
                None => handover.running.contains(other) || there(),
            }
        };
        displaced.filter(acts).collect()
    }

    /// Leaves the instances of a Stack to the cluster install that serves their kinds: with their owner they would go, too.
    async fn yield_instances(&self, key: &Key, live: &Value, stack: &Stack, claims: &[Claim]) -> Result<(), Error> {
        let own = claims.iter().find(|claim| claim.is_of(&key.namespace, &key.name));
        let kinds = own.map(|own| own.yields(claims)).unwrap_or_default();
        let is_done = |handover: &Handover| handover.stopped.get(key).is_some_and(|stopped| stopped.released == kinds);
        if kinds.is_empty() || is_done(&self.handover.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        let definitions = self.world.definitions();
        let served = definitions
            .iter()
            .filter(|live| kinds.iter().any(|(group, kind)| *group == live.crd.group && *kind == live.crd.names.kind));
        let resources: Vec<Resource> = served.filter_map(|live| resource_of(live)).collect();
        self.let_go(key, live, stack, &resources).await?;
        let mut handover = self.handover.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stopped) = handover.stopped.get_mut(key) {
            stopped.released = kinds;
        }
        Ok(())
    }

    /// The Deployments that run a Stack.
    fn controllers(&self, key: &Key) -> impl Iterator<Item = (Resource, Key, Arc<Value>)> {
        let made = self.world.made_for(&Work::Stack(key.clone())).into_iter();
        made.filter(|(resource, ..)| resource.plural == "deployments")
    }

    /// Has everything looked at that waits until another no longer serves its kind.
    fn wake_waiting(&self) {
        let waiting = |cache: &Objects| {
            cache.all().into_iter().filter(|(_, object)| waits_for_kind(object)).map(|(key, _)| key).collect::<Vec<_>>()
        };
        let installs = [&self.world.installs, &self.world.cluster_installs].into_iter().flat_map(waiting);
        installs.for_each(|key| self.queue.add(Work::Install(key)));
        waiting(&self.world.stacks).into_iter().for_each(|key| self.queue.add(Work::Stack(key)));
    }

    /// What the Stacks of the cluster serve.
    pub(super) fn claims(&self, definitions: &[Arc<LiveCrd>]) -> Vec<Claim> {
        let crds: Vec<&Crd> = definitions.iter().map(|live| &live.crd).collect();
        let stacks = self.world.stacks.all().into_iter();
        stacks.map(|(_, stack)| Claim::of(&stack, self.is_cluster_wide(&stack), &crds)).collect()
    }

    /// Ends the controllers of a Stack that another took the place of; its rights stay until it goes.
    async fn stop_controllers(&self, key: &Key) -> Result<(), Error> {
        self.parts.runner.stop(key).await?;
        for (resource, made, object) in self.controllers(key) {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            // Its pods go before it does.
            self.cluster_of(&resource).delete(&resource, &made, uid, "Foreground").await?;
        }
        self.handover.lock().unwrap_or_else(PoisonError::into_inner).stop(key);
        Ok(())
    }

    /// Whether a Stack was made for a ClusterStackInstall: it is where only such Stacks are, and one owns it.
    pub(super) fn is_cluster_wide(&self, stack: &Value) -> bool {
        let there = stack["metadata"]["namespace"] == self.parts.settings.cluster_namespace.as_str();
        let owners = stack["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        let installs = self.world.cluster_installs.all();
        let owned = owners
            .iter()
            .filter(|owner| owner["kind"] == ClusterStackInstall::KIND)
            .any(|owner| installs.iter().any(|(_, install)| install["metadata"]["uid"] == owner["uid"]));
        there && owned
    }

    async fn run_stack(&self, key: &Key, stack: &Value, run: &Run, claims: &[Claim]) -> Result<Availability, Error> {
        for wanted in &run.access {
            self.put(wanted).await?;
        }
        self.seed(key, stack, run, claims).await?;
        let live = |resource: &Resource, key: &Key| self.world.made(resource, key);
        self.handover.lock().unwrap_or_else(PoisonError::into_inner).start(key);
        let availability = self.parts.runner.ensure(run, &live).await?;
        self.prune(key, run).await?;
        Ok(availability)
    }

    /// Applies an object unless it is as it should be.
    pub(super) async fn put(&self, wanted: &Value) -> Result<(), Error> {
        let Some(resource) = Resource::builtin(wanted) else { return Ok(()) };
        let live = self.world.made(&resource, &Key::of(wanted));
        if live.is_some_and(|live| covers(&live, wanted)) {
            return Ok(());
        }
        self.parts.tenant.apply(&resource, wanted, true).await.map(|_| ())
    }

    /// Deletes what was made for the Stack and is no longer wanted.
    async fn prune(&self, key: &Key, run: &Run) -> Result<(), Error> {
        let controllers = self.parts.runner.objects(run);
        for (resource, made, object) in self.world.made_for(&Work::Stack(key.clone())) {
            let same = |wanted: &&Value| wanted["kind"] == object["kind"] && Key::of(wanted) == made;
            let wanted = run.access.iter().chain(controllers.iter().copied()).any(|wanted| same(&wanted));
            if !wanted && !is_seed(key, &resource, &made) {
                let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
                self.cluster_of(&resource).delete(&resource, &made, uid, "Background").await?;
            }
        }
        Ok(())
    }

    pub(super) fn cluster_of(&self, resource: &Resource) -> &crate::Cluster {
        if resource.plural == "deployments" { &self.parts.host } else { &self.parts.tenant }
    }

    async fn report(
        &self,
        key: &Key,
        live: &Arc<Value>,
        stack: &Stack,
        decision: &Decision,
        availability: Option<&Availability>,
    ) -> Result<(), Error> {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let before = stack.status.clone().unwrap_or_default();
        let available = availability.map(|state| (state.available, state.reason, state.message.as_str()));
        let (conditions, notices) = report(&before.conditions, stack.metadata.generation, &now, decision, available);
        let mut status = StackStatus { conditions, version: stack.spec.app.version.clone(), ..before };
        if let Decision::Run(run) = decision {
            status.rules.clone_from(&run.rules);
            status.service_account = run.identity.account();
            status.controller_ref = self.parts.runner.objects(run).first().map(|controller| ObjectRef {
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
        if !covers(&live["status"], &status) {
            let patch = json!({ "status": status });
            self.parts.tenant.merge(&stack_resource(), key, "status", &patch).await?;
        }
        self.tell(live, &notices).await;
        Ok(())
    }
}
