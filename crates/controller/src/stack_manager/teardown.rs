//! Taking a Stack away: its instances while its controller still runs, then the controller, then
//! its rights.

use std::sync::Arc;
use std::time::Duration;

use api::names::{self, CHILDREN_FINALIZER, Role, STACK_FINALIZER};
use api::{Crd, PermissionScope, Stack, key};
use engine::children::orphaning::let_go;
use install::{
    InstanceTeardown, KindOwnership, LiveCrd, Parent, goes_next, goes_with, instance_teardown,
    is_child, is_granted, is_instance, is_run, keeps_data, owned_kinds, waiting,
};
use serde_json::{Value, json};

use super::informers::stack_resource;
use super::installs::resource_of;
use super::ownership::Owned;
use super::seed::is_seed;
use super::stacks::{limits, purpose};
use super::{StackManager, Work};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::{Key, Resource};

/// A kind whose instances go with a Stack, and in how far all of them do.
struct Going {
    resource: Resource,
    crd: Arc<LiveCrd>,
    /// Whether the Stack served it in all the places that it acts in. Its instances elsewhere
    /// cannot name it as an owner.
    served: bool,
}

/// How soon to look again whether instances are gone.
const SOON: Duration = Duration::from_millis(300);

impl StackManager {
    pub(super) async fn remove_stack(
        &self,
        key: &Key,
        live: &Arc<Value>,
        stack: &Stack,
    ) -> Result<Requeue, Error> {
        match self.take_away(key, live, stack).await {
            Err(Error::Refused(why) | Error::Forbidden(why)) => {
                self.say_deleting(key, live, &format!("not all of it may be deleted: {why}"))
                    .await?;
                Ok(Requeue::SlowBackoff)
            }
            outcome => outcome,
        }
    }

    async fn take_away(
        &self,
        key: &Key,
        live: &Arc<Value>,
        stack: &Stack,
    ) -> Result<Requeue, Error> {
        let (own, kept, going) = self.kinds(key, live, stack).await?;
        let left = self.remove_instances(key, live, stack, &going).await?;
        if left > 0 {
            self.say_deleting(
                key,
                live,
                &format!("waiting until {left} of its instances are gone"),
            )
            .await?;
            return Ok(Requeue::After(SOON));
        }
        self.parts.runner.stop(key).await?;
        let keeps_seed = !kept.is_empty() || self.keeps_data(key, live);
        let made = self.made_for(key).await?;
        let left = !made.is_empty();
        let place = if self.is_cluster_wide(live) {
            ""
        } else {
            key.namespace.as_str()
        };
        for owned in goes_next(made, |(resource, ..)| resource.plural == "deployments") {
            if keeps_seed && is_seed(&owned.0) {
                self.leave_seed(&own, place, &owned.1, &kept).await?;
                continue;
            }
            self.delete_owned(&owned, "Foreground").await?;
        }
        if left {
            self.say_deleting(
                key,
                live,
                "waiting until its controller and its rights are gone",
            )
            .await?;
            return Ok(Requeue::After(SOON));
        }
        self.let_go(key, live, stack, &kept).await?;
        self.release(&stack_resource(), key, live, STACK_FINALIZER)
            .await?;
        self.forget_seed(&stack.metadata.uid);
        Ok(Requeue::AwaitChange)
    }

    /// What was made for a Stack and goes with it: all but a seed that the watch shows to be left
    /// to others.
    async fn made_for(&self, key: &Key) -> Result<Vec<Owned>, Error> {
        let mut made = self.owned(&purpose(key)).await?;
        made.retain(|(resource, _, object)| !Self::is_left(resource, object));
        Ok(made)
    }

    /// The kinds that a Stack was granted as its own, by group and plural. The role that says so
    /// was created by the stack manager; what a Stack says of itself is no reason to delete
    /// anything.
    async fn granted(&self, key: &Key) -> Result<Vec<(String, String)>, Error> {
        Ok(self
            .role(key, Role::Types)
            .await?
            .map(|role| owned_kinds(&role))
            .unwrap_or_default())
    }

    /// A role that the stack manager created for a Stack.
    async fn role(&self, key: &Key, role: Role) -> Result<Option<Arc<Value>>, Error> {
        let name = names::role(&key.namespace, &key.name, role);
        let purpose = purpose(key);
        let owned = self.owned(&purpose).await?;
        let seen = owned
            .into_iter()
            .find(|(resource, at, _)| resource.plural == "clusterroles" && at.name == name);
        if let Some((_, _, role)) = seen {
            return Ok(Some(role));
        }
        // A watch that is late must not strand the instances.
        let roles = Resource::cluster(
            "rbac.authorization.k8s.io",
            "v1",
            "ClusterRole",
            "clusterroles",
        );
        let role = self.parts.tenant.get(&roles, &Key::new("", &name)).await?;
        let signing = self.signing_key().await?;
        Ok(role
            .filter(|role| self.is_owned(signing, role, &purpose))
            .map(Arc::new))
    }

    /// The install that a Stack was made for, as CRDs know it.
    fn parent_of(&self, key: &Key, live: &Value) -> Option<Parent> {
        let (Work::Install(at), uid) = self.install_of(key, live)? else {
            return None;
        };
        let scope = match at.namespace.is_empty() {
            true => PermissionScope::Cluster,
            false => PermissionScope::Namespaced,
        };
        Some(Parent {
            scope,
            namespace: at.namespace,
            name: at.name,
            uid,
        })
    }

    /// What the Stack serves, and the kinds that it owns: those whose objects stay, since somebody
    /// says so or another Stack serves them, and those whose objects go with it, if it really was
    /// granted them.
    async fn kinds(
        &self,
        key: &Key,
        live: &Arc<Value>,
        stack: &Stack,
    ) -> Result<(KindOwnership, Vec<Resource>, Vec<Going>), Error> {
        let granted = self.granted(key).await?;
        let definitions = self.informers.definitions();
        let crds: Vec<&Crd> = definitions.iter().map(|live| &live.crd).collect();
        let claims = self.claims(&definitions);
        let own = KindOwnership::of(live, self.is_cluster_wide(live), &crds);
        let all = self.keeps_data(key, live);
        let (owned, _) = key::owned(&stack.spec.customresourcedefinitions, &crds);
        let found = owned.iter().filter_map(|own| {
            definitions
                .iter()
                .find(|live| live.crd.group == own.group && live.crd.names.kind == own.kind)
        });
        // What the Stack of a cluster install says is what its package says, unless it was edited.
        let signed = match self.install_of(key, live) {
            Some((_, uid)) if self.is_cluster_wide(live) => {
                self.signing_key().await?.is_recorded(stack, &uid)
            }
            _ => false,
        };
        let (mut kept, mut going) = (Vec::new(), Vec::new());
        for crd in found {
            let Some(resource) = resource_of(crd) else {
                continue;
            };
            let (group, kind) = (&resource.gvk.group, &resource.gvk.kind);
            if all || own.shares(group, kind, &claims) {
                kept.push(resource);
            } else if is_instance(group, &resource.plural, &granted) {
                let served = signed && own.serves(group, kind);
                going.push(Going {
                    resource,
                    crd: crd.clone(),
                    served,
                });
            }
        }
        Ok((own, kept, going))
    }

    /// The objects of a kind in the places that the Stack acts in, without anything but their
    /// metadata.
    async fn instances(
        &self,
        key: &Key,
        live: &Value,
        kind: &Resource,
    ) -> Result<Vec<Value>, Error> {
        let install = self.cluster_install(live);
        let places = match limits(install.as_deref()) {
            limits if !limits.is_empty() => limits,
            _ if install.is_some() => vec![String::new()],
            _ => vec![key.namespace.clone()],
        };
        let mut found = Vec::new();
        for place in &places {
            match self.parts.tenant.list_metadata(kind, place).await {
                Err(Error::NotFound(_)) => {}
                outcome => found.extend(outcome?),
            }
        }
        Ok(found)
    }

    /// Takes the Stack off the owners of objects that stay: the garbage collector would delete them
    /// with it.
    pub(super) async fn let_go(
        &self,
        key: &Key,
        live: &Value,
        stack: &Stack,
        kept: &[Resource],
    ) -> Result<(), Error> {
        for kind in kept {
            for instance in self.instances(key, live, kind).await? {
                if let Some(patch) = let_go(&instance, &stack.metadata.uid) {
                    match self
                        .parts
                        .tenant
                        .merge(kind, &Key::of(&instance), "", &patch)
                        .await
                    {
                        Ok(_) | Err(Error::NotFound(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(())
    }

    /// Deletes what a Stack that is gone has left behind.
    pub(super) async fn sweep(&self, key: &Key) -> Result<Requeue, Error> {
        self.parts.runner.stop(key).await?;
        for owned in self.made_for(key).await? {
            self.delete_owned(&owned, "Background").await?;
        }
        Ok(Requeue::AwaitChange)
    }

    /// Whether types and data stay: the Stack or the install that made it says so.
    fn keeps_data(&self, key: &Key, live: &Value) -> bool {
        let install = if self.is_cluster_wide(live) {
            self.informers
                .cluster_installs
                .get(&Key::new("", &key.name))
        } else {
            self.informers.installs.get(key)
        };
        keeps_data(live, install.as_deref())
    }

    /// Deletes those instances of these kinds that the Stack ran, or that came with its install;
    /// answers how many of them are left.
    async fn remove_instances(
        &self,
        key: &Key,
        live: &Value,
        stack: &Stack,
        going: &[Going],
    ) -> Result<usize, Error> {
        let parent = self.parent_of(key, live);
        let mut left = 0;
        for Going {
            resource,
            crd,
            served,
        } in going
        {
            let record = crd.record();
            let came = |namespace: &str| {
                let brought =
                    |parent: &Parent| crd.is_ours() && record.came_with(parent, namespace);
                *served || parent.as_ref().is_some_and(brought)
            };
            for instance in self.instances(key, live, resource).await? {
                if goes_with(
                    &instance,
                    &stack.metadata.uid,
                    came(&Key::of(&instance).namespace),
                ) {
                    left += 1;
                    self.remove_instance(resource, &instance, stack).await?;
                }
            }
        }
        Ok(left)
    }

    async fn remove_instance(
        &self,
        resource: &Resource,
        instance: &Value,
        stack: &Stack,
    ) -> Result<(), Error> {
        let key = Key::of(instance);
        let uid = instance["metadata"]["uid"].as_str().unwrap_or_default();
        let of = Key::new(&stack.metadata.namespace, &stack.metadata.name);
        match instance_teardown(instance, is_run(stack) && self.parts.runner.is_started(&of)) {
            InstanceTeardown::Delete => {
                self.parts
                    .tenant
                    .delete(resource, &key, uid, "Background")
                    .await?;
            }
            InstanceTeardown::Finish if self.remove_children(instance, stack).await? => {
                self.release(resource, &key, instance, CHILDREN_FINALIZER)
                    .await?;
            }
            InstanceTeardown::Finish | InstanceTeardown::Wait => {}
        }
        Ok(())
    }

    /// Sees off the objects of kinds that nobody serves any more, once somebody has deleted them.
    pub(super) async fn see_off(
        &self,
        namespace: &str,
        kinds: impl Iterator<Item = &LiveCrd>,
        stack: Option<&Stack>,
    ) -> Result<(), Error> {
        for resource in kinds.filter_map(resource_of) {
            let instances = match self.parts.tenant.list_metadata(&resource, namespace).await {
                Err(Error::NotFound(_)) => Vec::new(),
                outcome => outcome?,
            };
            for instance in instances
                .iter()
                .filter(|instance| instance_teardown(instance, false) == InstanceTeardown::Finish)
            {
                let alone = match stack {
                    Some(stack) => self.remove_children(instance, stack).await?,
                    None => true,
                };
                if alone {
                    self.release(&resource, &Key::of(instance), instance, CHILDREN_FINALIZER)
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes the children of an instance, of all kinds that its Stack ever rendered and may use;
    /// answers whether none is left.
    async fn remove_children(&self, instance: &Value, stack: &Stack) -> Result<bool, Error> {
        let of = Key::new(&stack.metadata.namespace, &stack.metadata.name);
        let Some(role) = self.role(&of, Role::System).await? else {
            return Ok(true);
        };
        let (key, seed) = (Key::of(instance), self.known_seed(stack));
        let definitions = self.informers.definitions();
        let mut none = true;
        for kind in stack
            .status
            .iter()
            .flat_map(|status| &status.rendered_kinds)
        {
            let object = json!({ "apiVersion": kind.api_version, "kind": kind.kind });
            let custom = || {
                let gvk = objects::Gvk::of(&object)?;
                let live = definitions
                    .iter()
                    .find(|live| live.crd.group == gvk.group && live.crd.names.kind == gvk.kind)?;
                resource_of(live)
            };
            let Some(resource) = Resource::builtin(&object).or_else(custom) else {
                continue;
            };
            if !is_granted(&role, &resource.gvk.group, &resource.plural) {
                continue;
            }
            let namespace = if resource.namespaced {
                key.namespace.as_str()
            } else {
                ""
            };
            for child in self
                .parts
                .tenant
                .list_metadata(&resource, namespace)
                .await?
            {
                if is_child(&child, instance, seed.as_ref()) {
                    none = false;
                    let child_uid = child["metadata"]["uid"].as_str().unwrap_or_default();
                    self.parts
                        .tenant
                        .delete(&resource, &Key::of(&child), child_uid, "Background")
                        .await?;
                }
            }
        }
        Ok(none)
    }

    async fn say_deleting(&self, key: &Key, live: &Arc<Value>, message: &str) -> Result<(), Error> {
        let before: Vec<api::Condition> =
            serde_json::from_value(live["status"]["conditions"].clone()).unwrap_or_default();
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let Some(conditions) = waiting(
            &before,
            live["metadata"]["generation"].as_i64(),
            &now,
            message,
        ) else {
            return Ok(());
        };
        let patch = json!({ "status": { "conditions": conditions } });
        let answer = self
            .parts
            .tenant
            .merge(&stack_resource(), key, "status", &patch)
            .await?;
        self.informers.wrote(&stack_resource(), answer);
        Ok(())
    }
}
