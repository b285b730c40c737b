//! What the stack manager knows of the cluster: a watch for each kind it makes or reads, so that
//! looking at something that is as it should be costs no request.

use std::sync::{Arc, Mutex, PoisonError};

use api::{ClusterStackInstall, GROUP, PermissionScope, Stack, StackInstall, VERSION, labels};
use install::{Kinds, LiveCrd, Parent, Purpose, SigningKey};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::Parts;
use super::crd_watchers::Interests;
use crate::runtime::informer::{Cache, Change, Scope};
use crate::runtime::work_queue::{FairKey, Queue};
use objects::{Key, Resource};

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Install(Key),
    Stack(Key),
    Namespace(String),
}

impl FairKey for Work {
    fn share(&self) -> &str {
        match self {
            Self::Install(key) | Self::Stack(key) => key.share(),
            Self::Namespace(name) => name,
        }
    }
}

impl From<Purpose> for Work {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Stack { namespace, name } => Self::Stack(Key { namespace, name }),
            Purpose::Namespace(name) => Self::Namespace(name),
            Purpose::ClusterInstall(name) => Self::Install(Key::new("", &name)),
        }
    }
}

/// Objects as the watch shows them.
pub(super) type Objects = Arc<Cache<Arc<Value>>>;

pub(super) struct Informers {
    pub(super) installs: Objects,
    pub(super) cluster_installs: Objects,
    pub(super) stacks: Objects,
    pub(super) crds: Arc<Cache<Option<Arc<LiveCrd>>>>,
    pub(super) namespaces: Objects,
    /// What was made for Stacks and namespaces, by kind.
    pub(super) made: Vec<(Resource, Objects)>,
    /// Who has to do with which CRDs.
    pub(super) interests: Arc<Interests>,
    kinds: Mutex<Option<KnownKinds>>,
}

/// The CRDs of the last call, and the kinds that a cluster serves with them.
type KnownKinds = (Vec<Arc<LiveCrd>>, Arc<Kinds>);

pub(super) fn stack_resource() -> Resource {
    Resource::namespaced(GROUP, VERSION, Stack::KIND, Stack::PLURAL)
}

pub(super) fn crd_resource() -> Resource {
    Resource::cluster(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
}

pub(super) fn install_resource(cluster: bool) -> Resource {
    if cluster {
        Resource::cluster(
            GROUP,
            VERSION,
            ClusterStackInstall::KIND,
            ClusterStackInstall::PLURAL,
        )
    } else {
        Resource::namespaced(GROUP, VERSION, StackInstall::KIND, StackInstall::PLURAL)
    }
}

/// The kinds that are made for Stacks, in the order in which they go.
fn made_kinds() -> Vec<Resource> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    vec![
        Resource::namespaced("apps", "v1", "Deployment", "deployments"),
        Resource::namespaced(RBAC, "v1", "RoleBinding", "rolebindings"),
        Resource::cluster(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings"),
        Resource::namespaced(RBAC, "v1", "Role", "roles"),
        Resource::cluster(RBAC, "v1", "ClusterRole", "clusterroles"),
        Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts"),
        Resource::namespaced("", "v1", "Secret", "secrets"),
        Resource::cluster("", "v1", "Namespace", "namespaces"),
    ]
}

impl Informers {
    /// `key` is what the stack manager signs with, once that is known.
    pub(super) fn watch(
        parts: &Parts,
        queue: &Arc<Queue<Work>>,
        key: &Arc<OnceCell<SigningKey>>,
    ) -> Self {
        let client = parts.tenant.client();
        let whole = |resource: Resource, tell: Box<dyn Fn(&Key) + Send>| {
            let tell = move |change: Change<'_, Arc<Value>>| tell(change.key);
            Cache::watch(
                client.clone(),
                &Scope::all(resource),
                |object| Arc::new(strip(object)),
                tell,
            )
        };
        let add = |make: fn(&Key) -> Work| -> Box<dyn Fn(&Key) + Send> {
            let queue = queue.clone();
            Box::new(move |key| queue.add(make(key)))
        };
        let installs = whole(
            install_resource(false),
            add(|key| Work::Install(key.clone())),
        );
        let cluster_installs = whole(
            install_resource(true),
            add(|key| Work::Install(key.clone())),
        );
        let stacks = {
            let queue = queue.clone();
            // A Stack has the name of the install that made it, if one did.
            let tell: Box<dyn Fn(&Key) + Send> = Box::new(move |key| {
                queue.add(Work::Stack(key.clone()));
                queue.add(Work::Install(key.clone()));
                queue.add(Work::Install(Key::new("", &key.name)));
            });
            whole(stack_resource(), tell)
        };
        let interests = Arc::new(Interests::default());
        let crds = {
            let everyone = (
                queue.clone(),
                installs.clone(),
                cluster_installs.clone(),
                stacks.clone(),
            );
            let interests = interests.clone();
            let tell = move |change: Change<'_, Option<Arc<LiveCrd>>>| {
                let (queue, installs, cluster_installs, stacks) = &everyone;
                let is_needed = |key: &Key, install: &Value| {
                    let scope = match key.namespace.is_empty() {
                        true => PermissionScope::Cluster,
                        false => PermissionScope::Namespaced,
                    };
                    let uid = install["metadata"]["uid"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    let parent = Parent {
                        scope,
                        namespace: key.namespace.clone(),
                        name: key.name.clone(),
                        uid,
                    };
                    let live = [change.old, change.new].into_iter().flatten().flatten();
                    live.into_iter().any(|live| live.is_needed_by(&parent))
                };
                for (key, install) in installs.all().into_iter().chain(cluster_installs.all()) {
                    let needed = is_needed(&key, &install);
                    let work = Work::Install(key);
                    if needed || interests.concerns(&work, &change.key.name) {
                        queue.add(work);
                    }
                }
                for work in stacks.all().into_iter().map(|(key, _)| Work::Stack(key)) {
                    if interests.concerns(&work, &change.key.name) {
                        queue.add(work);
                    }
                }
            };
            let keep = |object: Value| LiveCrd::read(&object).map(Arc::new);
            Cache::watch(client.clone(), &Scope::all(crd_resource()), keep, tell)
        };
        let namespaces = {
            let queue = queue.clone();
            let scope = Scope {
                labels: format!("{}={}", labels::MANAGED_ROLES, labels::TRUE),
                ..Scope::all(Resource::cluster("", "v1", "Namespace", "namespaces"))
            };
            let tell = move |change: Change<'_, Arc<Value>>| {
                queue.add(Work::Namespace(change.key.name.clone()));
            };
            Cache::watch(
                client.clone(),
                &scope,
                |object| Arc::new(strip(object)),
                tell,
            )
        };
        let made = made_kinds().into_iter().map(|resource| {
            let (queue, key) = (queue.clone(), key.clone());
            let scope = Scope {
                labels: format!(
                    "{}={}",
                    labels::MANAGED_BY,
                    labels::MANAGED_BY_STACK_MANAGER
                ),
                // Secrets of others are not looked at at all.
                namespace: match resource.plural.as_str() {
                    "secrets" => parts.settings.own_namespace.clone(),
                    _ => String::new(),
                },
                ..Scope::all(resource.clone())
            };
            let tell = move |change: Change<'_, Arc<Value>>| {
                for object in [change.old, change.new].into_iter().flatten() {
                    if let Some(purpose) = Purpose::concerned(object, key.get()) {
                        queue.add(purpose.into());
                    }
                }
            };
            let client = if resource.plural == "deployments" {
                parts.host.client()
            } else {
                client.clone()
            };
            let cache = Cache::watch(client, &scope, |object| Arc::new(strip(object)), tell);
            (resource, cache)
        });
        let made = made.collect();
        Self {
            installs,
            cluster_installs,
            stacks,
            crds,
            namespaces,
            made,
            interests,
            kinds: Mutex::default(),
        }
    }

    pub(super) async fn synced(&self) {
        for cache in [
            &self.installs,
            &self.cluster_installs,
            &self.stacks,
            &self.namespaces,
        ] {
            cache.synced().await;
        }
        self.crds.synced().await;
        for (_, cache) in &self.made {
            cache.synced().await;
        }
    }

    /// An object of a kind that was made, if it is there.
    pub(super) fn made(&self, resource: &Resource, key: &Key) -> Option<Arc<Value>> {
        self.cache_of(resource)?.get(key)
    }

    pub(super) fn cache_of(&self, resource: &Resource) -> Option<&Objects> {
        self.made
            .iter()
            .find(|(kind, _)| kind == resource)
            .map(|(_, cache)| cache)
    }

    /// Takes note of what the API server answered to a write, so that the next look does not repeat
    /// it before the watch shows it.
    pub(super) fn wrote(&self, resource: &Resource, answer: Value) {
        if *resource == crd_resource() {
            let kept = LiveCrd::read(&answer).map(Arc::new);
            return self.crds.wrote(&answer, kept);
        }
        let cache = match resource {
            resource if *resource == stack_resource() => Some(&self.stacks),
            resource if *resource == install_resource(false) => Some(&self.installs),
            resource if *resource == install_resource(true) => Some(&self.cluster_installs),
            resource => self.cache_of(resource),
        };
        if let Some(cache) = cache {
            let kept = Arc::new(strip(answer));
            cache.wrote(&kept, kept.clone());
        }
    }

    /// What may have been created by the stack manager in some namespaces, or in all, in the order
    /// in which it goes.
    pub(super) fn made_where(
        &self,
        namespaces: Option<&[&str]>,
        wanted: impl Fn(&Value) -> bool,
    ) -> Vec<(Resource, Key, Arc<Value>)> {
        let mut found = Vec::new();
        for (resource, cache) in &self.made {
            let all = cache
                .matching(namespaces, |object| wanted(object))
                .into_iter();
            found.extend(all.map(|(key, object)| (resource.clone(), key, object)));
        }
        found
    }

    /// The CRDs of the cluster.
    pub(super) fn definitions(&self) -> Vec<Arc<LiveCrd>> {
        self.crds
            .all()
            .into_iter()
            .filter_map(|(_, crd)| crd)
            .collect()
    }

    /// The kinds that the cluster serves: those of every cluster, and those of its CRDs.
    pub(super) fn kinds(&self, crds: &[Arc<LiveCrd>]) -> Arc<Kinds> {
        let mut known = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |before: &[Arc<LiveCrd>]| {
            before.len() == crds.len()
                && before
                    .iter()
                    .zip(crds)
                    .all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if let Some((_, kinds)) = known.as_ref().filter(|(before, _)| is_same(before)) {
            return kinds.clone();
        }
        let mut kinds = Kinds::of_every_cluster();
        crds.iter()
            .filter(|live| live.established)
            .for_each(|live| kinds.add(&live.crd));
        let kinds = Arc::new(kinds);
        *known = Some((crds.to_vec(), kinds.clone()));
        kinds
    }
}

/// Leaves out what nobody reads and is large.
pub(super) fn strip(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}
