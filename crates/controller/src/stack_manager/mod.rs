//! The stack manager: installs become CRDs and Stacks, Stacks get an identity, rights and a
//! controller, and everything goes in order. What is decided is `install`'s; here it is carried
//! out.

mod cluster_namespace;
mod compile_pool;
mod crd_watchers;
mod events;
mod finalizers;
mod handover;
mod informers;
mod installs;
mod kind_ownership;
mod limits;
mod namespace_roles;
mod ownership;
mod pulls;
mod runner;
mod seed;
mod stacks;
mod tag_drift;
mod teardown;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ::install::reconcile::install::Settings;
use ::install::{Index, Limits, Purpose, SigningKey, Trouble};
use package::image::Reference;
use package::{Files, Package};
use tokio::sync::OnceCell;
use tokio::time::Instant;

pub use crate::credentials::Endpoint;
pub use runner::process::{ProcessOptions, ProcessRunner};
pub use runner::{Availability, KubernetesRunner, Live, Runner, Tell};

use crate::runtime::work_queue::{FairKey, Queue, Requeue, guarded};
use crate::{Cluster, Metrics};
use compile_pool::Pool;
use handover::Handover;
use informers::{Informers, Work};
use objects::Key;
use pulls::Pulls;
use tag_drift::Tag;

/// A future of a trait's function.
pub type Future<'f, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'f>>;

/// A package that was fetched and takes a thread to unpack. It asks all along whether to go on.
pub type Fetched = Box<dyn FnOnce(&dyn Fn() -> bool) -> Result<Files, Trouble> + Send>;

/// Where packages come from.
pub trait Packages: Send + Sync {
    /// The image that a reference means now, by digest. `secrets` are Docker configurations with
    /// credentials.
    fn resolve<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Reference, Trouble>>;
    /// The package in an image, which is named by digest. Work that a package can make costly
    /// belongs into what is answered, since that runs where namespaces take turns.
    fn fetch<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Fetched, Trouble>>;
    /// The packages that could be had, for installs that name a kind.
    fn index(&self) -> Future<'_, Result<Arc<Index>, Trouble>> {
        Box::pin(async { Ok(Arc::default()) })
    }
}

/// What the stack manager works with.
pub struct Parts {
    /// The API that installs and Stacks are in.
    pub tenant: Cluster,
    /// The API of the cluster that controllers run on; often the same.
    pub host: Cluster,
    /// Where packages come from.
    pub packages: Arc<dyn Packages>,
    /// What runs controllers.
    pub runner: Arc<dyn Runner>,
    /// How it was started.
    pub settings: Settings,
    /// Where it counts what it does.
    pub metrics: Metrics,
    /// How often to look whether a tag still means what is installed; [`TAGS`] unless somebody is
    /// in a hurry.
    pub tags: Duration,
    /// How much of anything.
    pub bounds: Bounds,
}

/// How much of the stack manager each namespace and each registry may have.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// What each namespace may have.
    pub limits: Limits,
    /// The longest that a pull may take in all.
    pub pull_timeout: Duration,
    /// Pulls at a time.
    pub pulls: usize,
    /// Pulls at a time for one namespace.
    pub pulls_per_namespace: usize,
    /// Pulls at a time from one registry.
    pub pulls_per_registry: usize,
    /// What compiling a package may cost; unpacking and reading it have the same time.
    pub compile: engine::budget::Limits,
    /// Threads that read and compile packages; at least two.
    pub compile_threads: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            limits: Limits::default(),
            pull_timeout: Duration::from_secs(120),
            pulls: 32,
            pulls_per_namespace: 4,
            pulls_per_registry: 8,
            compile: engine::budget::COMPILE,
            compile_threads: (cores / 2).clamp(2, 4),
        }
    }
}

/// The stack manager.
pub struct StackManager {
    parts: Parts,
    /// Itself, for tasks of its own.
    own: Weak<StackManager>,
    informers: Informers,
    queue: Arc<Queue<Work>>,
    pulls: Pulls,
    pool: Pool,
    /// What tags meant when they were last looked up, by install.
    tags: Mutex<BTreeMap<Key, Tag>>,
    seeds: Mutex<BTreeMap<String, String>>,
    /// The CRDs that cluster installs define.
    reservations: Mutex<BTreeMap<Key, BTreeSet<String>>>,
    /// Which Stacks were started and stopped.
    handover: Mutex<Handover>,
    /// The publishers that are about to define CRDs in API groups that had none, and since when.
    groups: Mutex<BTreeMap<String, (String, Instant)>>,
    /// What Stacks serve, as far as it was found out.
    known_claims: Mutex<kind_ownership::Claims>,
    key: Arc<OnceCell<SigningKey>>,
    /// What was created for what, by uid, as far as it was seen.
    created: Mutex<BTreeMap<String, Purpose>>,
}

/// Reconciles side by side, and those of one namespace.
const WORKERS: usize = 8;
const PER_NAMESPACE: usize = 4;
/// How much longer than its budget's time a compile is waited for: it asks the clock often, but not
/// everywhere.
const GRACE: Duration = Duration::from_secs(5);
/// How often a settled thing is looked at without a reason.
const RESYNC: Duration = Duration::from_secs(600);
/// How often to look whether a tag still means what is installed, as a rule.
pub const TAGS: Duration = Duration::from_secs(600);

impl StackManager {
    /// Watches what it needs to, and returns when all of it has been seen once.
    pub async fn start(parts: Parts) -> Arc<Self> {
        let queue = Arc::new(Queue::at_once(PER_NAMESPACE));
        let news = queue.clone();
        parts
            .runner
            .begin(Arc::new(move |stack| news.add(Work::Stack(stack.clone()))));
        let key = Arc::new(OnceCell::new());
        let informers = Informers::watch(&parts, &queue, &key);
        informers.synced().await;
        let pulls = Pulls::new(&parts.bounds);
        let pool = Pool::new(
            parts.bounds.compile_threads,
            parts.bounds.compile.time + GRACE,
        );
        Arc::new_cyclic(|own| Self {
            parts,
            own: own.clone(),
            informers,
            queue,
            pulls,
            pool,
            tags: Mutex::default(),
            seeds: Mutex::default(),
            reservations: Mutex::default(),
            handover: Mutex::default(),
            groups: Mutex::default(),
            known_claims: Mutex::default(),
            key,
            created: Mutex::default(),
        })
    }

    /// Works until [`Self::stop`]; dropping it ends the work at once.
    pub async fn run(self: &Arc<Self>) {
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..WORKERS {
            let manager = self.clone();
            workers.spawn(async move {
                while let Some(work) = manager.queue.next().await {
                    let again = guarded(&work, manager.reconcile(&work)).await;
                    manager.queue.done(work, again);
                }
            });
        }
        while workers.join_next().await.is_some() {}
    }

    /// Ends the work, after what is being done.
    pub fn stop(&self) {
        self.queue.close();
        self.pulls.close();
    }

    /// Whether there is nothing to do right now.
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle() && self.pulls.depth() == (0, 0)
    }

    async fn reconcile(&self, work: &Work) -> Requeue {
        let begin = Instant::now();
        let (kind, outcome) = match work {
            Work::Install(key) => ("install", self.install(key).await),
            Work::Stack(key) => ("stack", self.stack(key).await),
            Work::Namespace(name) => ("namespace", self.namespace(name).await),
        };
        let metrics = &self.parts.metrics;
        let help = "How long looking at something took.";
        metrics.took(
            "cairn_reconcile_seconds",
            help,
            &[("kind", kind)],
            begin.elapsed(),
        );
        metrics.gauge(
            "cairn_queue_depth",
            "Keys waiting in the work queue.",
            &[],
            self.queue.depth() as f64,
        );
        let class = if work.share().is_empty() {
            "cluster"
        } else {
            "namespace"
        };
        let help = "Time that keys were ready in the work queue before a worker took them.";
        metrics.took(
            "cairn_queue_wait_seconds",
            help,
            &[("class", class)],
            self.queue.waited(work),
        );
        match outcome {
            Ok(again) => again,
            Err(error) => {
                let labels = [("kind", kind), ("reason", error.reason())];
                metrics.count(
                    "cairn_reconcile_errors_total",
                    "What did not go well.",
                    &labels,
                );
                tracing::warn!(?work, reason = error.reason(), %error, "this did not go well and is tried again");
                // A conflict, too: the watch that would show the newer object may be late.
                Requeue::Backoff
            }
        }
    }
}

/// Reads a package, which counts only without errors.
fn read(files: &Files, reference: &Reference) -> Result<Arc<Package>, Trouble> {
    let (mut package, problems) = package::read(files);
    let errors: Vec<String> = problems
        .iter()
        .filter(|problem| problem.severity == package::Severity::Error)
        .map(ToString::to_string)
        .collect();
    if !errors.is_empty() {
        return Err(Trouble::new("PackageInvalid", errors.join("; ")));
    }
    if let Some(tag) = reference.tag.as_deref().filter(|tag| *tag != "latest") {
        package.set_tag(tag).map_err(|problem| {
            Trouble::new(
                "VersionMismatch",
                format!("{}: {}", problem.what, problem.hint.unwrap_or_default()),
            )
        })?;
    }
    Ok(Arc::new(package))
}
