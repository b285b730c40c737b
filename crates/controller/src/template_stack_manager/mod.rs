//! The template stack manager: the instances of one stack become what their templates say. What is
//! decided is `engine`'s; here it is watched for and carried out, as the stack's own account.

mod apply;
mod counts;
mod discovery;
mod informers;
mod instance;
mod inventory;
mod limits;
mod render;
mod stack;
mod status;
mod teardown;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::budget::{self, Limits};
use tokio::time::Instant;

use crate::runtime::informer::{Cache, Scope};
use crate::runtime::work_queue::{FairKey, Queue, Requeue, guarded};
use crate::{Cluster, Error, Metrics, Pool};
pub use discovery::Catalog;
pub use engine::limits::InstanceLimits;
use informers::Watches;
use inventory::{Id, Inventory};
use objects::{Gvk, Key, Resource};
use serde_json::Value;
use stack::Revision;

/// Where the log says how instances get on, for those who show it otherwise.
pub const INSTANCE_LOG: &str = "controller::instances";

/// What a template stack manager works with.
pub struct Parts {
    /// The API, as the stack's own account.
    pub cluster: Cluster,
    /// The field manager of that cluster: [`api::names::field_manager`].
    pub manager: String,
    /// The namespace of the Stack.
    pub namespace: String,
    /// The name of the Stack.
    pub stack: String,
    /// How often a settled instance is looked at without a reason; half as much again at most.
    pub resync: Duration,
    /// How many instances are served.
    pub limits: InstanceLimits,
    /// Where to count.
    pub metrics: Metrics,
    /// How much rendering an instance once may cost.
    pub render: Limits,
    /// How much compiling the Stack may cost.
    pub compile: Limits,
}

impl Parts {
    /// For a Stack, with the usual resync. The cluster writes as [`api::names::field_manager`]
    /// says.
    pub fn new(client: kube::Client, namespace: &str, stack: &str) -> Self {
        let manager = api::names::field_manager(namespace, stack);
        let metrics = Metrics::default();
        Self {
            cluster: Cluster::new(client, &manager).counted(metrics.clone()),
            manager,
            namespace: namespace.to_owned(),
            stack: stack.to_owned(),
            resync: RESYNC,
            limits: InstanceLimits::default(),
            metrics,
            render: budget::RENDER,
            compile: budget::COMPILE,
        }
    }
}

/// The share of what concerns all instances. No namespace is called so, so that it waits behind
/// none of them.
const EVERYBODY: &str = "/";

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    Stack,
    Counts,
    Instance(Id),
}

impl FairKey for Work {
    fn share(&self) -> &str {
        match self {
            Self::Stack | Self::Counts => EVERYBODY,
            Self::Instance(id) => id.key.share(),
        }
    }
}

/// How an instance is; if it is not ready, with one word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Ready,
    Waiting(Box<str>, Box<str>),
    Failing(Box<str>, Box<str>),
}

/// What is remembered of an instance between two looks at it.
struct Memory {
    /// Everything that the last complete look depended on.
    inputs: u64,
    /// When to look without a reason.
    resync: Instant,
    /// Of the status as the last look left it. Another is that of somebody else.
    status: u64,
    /// An extra look is due, because of our own status.
    extra: bool,
    outcome: Outcome,
    /// What people were told, as hashes.
    told: Vec<u64>,
    /// When the status was written the last two times.
    written: [Option<Instant>; 2],
}

/// What the watches and the workers share.
struct Shared {
    queue: Queue<Work>,
    inventory: Inventory,
    /// The kinds of instances.
    owned: Mutex<Vec<(Resource, Arc<Gvk>)>>,
    /// When something happened that nobody has looked at yet.
    events: Mutex<BTreeMap<Id, Instant>>,
    /// Whether the instances will be counted soon.
    counting: AtomicBool,
    /// Instances that a limit keeps from being served, or from making others.
    limited: Mutex<BTreeSet<Id>>,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            queue: Queue::at_once(PER_NAMESPACE),
            inventory: Inventory::default(),
            owned: Mutex::default(),
            events: Mutex::default(),
            counting: AtomicBool::default(),
            limited: Mutex::default(),
        }
    }
}

impl Shared {
    /// Something happened to an instance or to one of its children.
    fn happened(&self, id: Id) {
        lock(&self.events)
            .entry(id.clone())
            .or_insert_with(Instant::now);
        self.queue.add(Work::Instance(id));
    }

    /// Somebody looks at an instance; tells since when there was a reason.
    fn looked(&self, id: &Id) -> Option<Instant> {
        lock(&self.events).remove(id)
    }
}

/// The template stack manager of one Stack.
pub struct TemplateStackManager {
    parts: Parts,
    shared: Arc<Shared>,
    stack: Arc<Cache<Arc<Value>>>,
    /// The seed, with what the Stack said of it when it was read.
    seed: Mutex<Option<(String, Vec<u8>)>>,
    watches: Watches,
    revision: Mutex<Option<Arc<Revision>>>,
    memory: Mutex<BTreeMap<Id, Memory>>,
    /// For what takes long.
    pool: Pool,
}

/// How many instances are looked at side by side.
const WORKERS: usize = 8;
/// How many of them are in one namespace: the others stay free for other namespaces.
const PER_NAMESPACE: usize = WORKERS / 2;
/// How many compiles and costly renders run side by side, each on a thread of its own.
const COSTLY: usize = 2;
/// How often a settled instance is looked at without a reason.
const RESYNC: Duration = Duration::from_secs(600);
/// How soon after a change the instances are counted.
const DEBOUNCE: Duration = Duration::from_secs(1);

impl TemplateStackManager {
    /// Watches the Stack, and returns when it has been looked for once.
    pub async fn start(parts: Parts) -> Arc<Self> {
        let shared = Arc::new(Shared::default());
        let one = |resource: Resource, name: &str| {
            let scope = Scope {
                namespace: parts.namespace.clone(),
                name: name.to_owned(),
                ..Scope::all(resource)
            };
            let shared = shared.clone();
            Cache::watch(parts.cluster.client(), &scope, Arc::new, move |_| {
                shared.queue.add(Work::Stack);
            })
        };
        let stacks = Resource::namespaced(
            api::GROUP,
            api::VERSION,
            api::Stack::KIND,
            api::Stack::PLURAL,
        );
        let stack = one(stacks, &parts.stack);
        stack.synced().await;
        shared.queue.add(Work::Stack);
        Arc::new(Self {
            parts,
            shared,
            stack,
            seed: Mutex::default(),
            watches: Watches::default(),
            revision: Mutex::default(),
            memory: Mutex::default(),
            pool: Pool::new(COSTLY),
        })
    }

    /// Works until [`Self::stop`]; dropping it ends the work at once.
    pub async fn run(self: &Arc<Self>) {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..WORKERS {
            let manager = self.clone();
            workers.spawn(async move {
                while let Some(work) = manager.shared.queue.next().await {
                    let again = guarded(&work, manager.reconcile(&work)).await;
                    manager.shared.queue.done(work, again);
                }
            });
        }
        while workers.join_next().await.is_some() {}
    }

    /// Ends the work, after what is being done.
    pub fn stop(&self) {
        self.shared.queue.close();
        self.pool.stop();
    }

    /// Returns once the Stack was looked at, and everything that instances depend on has been seen,
    /// or is refused.
    pub async fn ready(&self) {
        loop {
            let looked = self.current().is_some();
            if looked && (self.watches.are_synced(None) || !self.watches.troubles().is_empty()) {
                return;
            }
            // Whoever asks does so every few seconds.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether there is nothing to do right now.
    pub fn is_idle(&self) -> bool {
        self.shared.queue.is_idle()
    }

    async fn reconcile(self: &Arc<Self>, work: &Work) -> Requeue {
        let outcome = match work {
            Work::Stack => self.stack().await,
            Work::Counts => self.count().await,
            Work::Instance(id) => self.instance(id).await,
        };
        match outcome {
            Ok(again) => again,
            Err(error) => {
                tracing::warn!(?work, reason = error.reason(), %error, "this did not go well and is tried again");
                let labels = [("reason", error.reason()), ("template", "")];
                self.parts
                    .metrics
                    .count("cairn_errors_total", status::ERRORS, &labels);
                match error {
                    Error::Conflict(_) => Requeue::After(Duration::from_millis(20)),
                    Error::Unavailable(_) | Error::NotFound(_) => Requeue::Backoff,
                    Error::Refused(_) | Error::Forbidden(_) => Requeue::SlowBackoff,
                }
            }
        }
    }

    fn current(&self) -> Option<Arc<Revision>> {
        lock(&self.revision).clone()
    }

    fn stack_key(&self) -> Key {
        Key::new(&self.parts.namespace, &self.parts.stack)
    }

    /// Remembers how an instance is; a change is counted a little later.
    fn note(&self, id: &Id, change: impl FnOnce(&mut Memory)) {
        let changed = {
            let mut memory = lock(&self.memory);
            let known = memory.contains_key(id);
            let own = memory.entry(id.clone()).or_insert_with(|| Memory {
                inputs: 0,
                resync: Instant::now(),
                status: 0,
                extra: false,
                outcome: Outcome::Waiting("".into(), "".into()),
                told: Vec::new(),
                written: [None; 2],
            });
            let before = own.outcome.clone();
            change(own);
            !known || own.outcome != before
        };
        if changed {
            self.count_soon();
        }
    }

    fn count_soon(&self) {
        if self.shared.counting.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = self.shared.clone();
        tokio::spawn(async move {
            tokio::time::sleep(DEBOUNCE).await;
            shared.counting.store(false, Ordering::Release);
            shared.queue.add(Work::Counts);
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time as Kubernetes writes it.
fn now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
}
