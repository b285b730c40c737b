//! The stack manager: installs become CRDs and Stacks, Stacks get an identity, rights and a controller, and everything
//! goes in order. What is decided is `engine::manage`'s; here it is carried out.

mod finalizers;
mod handover;
mod home;
mod install;
mod news;
mod ownership;
mod personas;
mod process;
mod removal;
mod runner;
mod seed;
mod stack;
mod tags;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::manage::install::Settings;
use engine::manage::{Index, Purpose, Reference, SigningKey, Trouble};
use package::{Files, Package};

pub use crate::handover::Endpoint;
pub use process::{ProcessOptions, ProcessRunner};
pub use runner::{Availability, KubernetesRunner, Live, Runner, Tell};

use crate::queue::{Again, Queue, guarded};
use crate::resource::Key;
use crate::{Cluster, Error, Metrics};
use handover::Handover;
use tags::Tag;
use world::{Work, World};

/// A future of a trait's function.
pub type Future<'f, T> = Pin<Box<dyn std::future::Future<Output = T> + Send + 'f>>;

/// Where packages come from.
pub trait Packages: Send + Sync {
    /// The image that a reference means now, by digest. `secrets` are Docker configurations with credentials.
    fn resolve<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Reference, Trouble>>;
    /// The files of the package in an image, which is named by digest.
    fn fetch<'f>(&'f self, reference: &'f Reference, secrets: &'f [Vec<u8>]) -> Future<'f, Result<Files, Trouble>>;
    /// The packages that could be had, for installs that name a kind.
    fn index(&self) -> Future<'_, Result<Index, Trouble>> {
        Box::pin(async { Ok(Index::default()) })
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
    /// How often to look whether a tag still means what is installed; [`TAGS`] unless somebody is in a hurry.
    pub tags: Duration,
}

/// The stack manager.
pub struct StackManager {
    parts: Parts,
    world: World,
    queue: Arc<Queue<Work>>,
    /// Packages that were read, by digest.
    packages: Mutex<BTreeMap<String, Result<Arc<Package>, Trouble>>>,
    /// What tags meant when they were last looked up, by install.
    tags: Mutex<BTreeMap<Key, Tag>>,
    seeds: Mutex<BTreeMap<String, String>>,
    /// The CRDs that cluster installs define.
    reservations: Mutex<BTreeMap<Key, BTreeSet<String>>>,
    /// Which Stacks were started and stopped.
    handover: Mutex<Handover>,
    key: tokio::sync::OnceCell<SigningKey>,
    /// What was created for what, by uid, as far as it was seen.
    created: Mutex<BTreeMap<String, Purpose>>,
}

/// How many things are looked at side by side.
const WORKERS: usize = 4;
/// How often a settled thing is looked at without a reason.
const RESYNC: Duration = Duration::from_secs(600);
/// How often to look whether a tag still means what is installed, as a rule.
pub const TAGS: Duration = Duration::from_secs(600);

impl StackManager {
    /// Watches what it needs to, and returns when all of it has been seen once.
    pub async fn start(parts: Parts) -> Arc<Self> {
        let queue = Arc::new(Queue::default());
        let news = queue.clone();
        parts.runner.begin(Arc::new(move |stack| news.add(Work::Stack(stack.clone()))));
        let world = World::watch(&parts, &queue);
        world.synced().await;
        Arc::new(Self {
            parts,
            world,
            queue,
            packages: Mutex::default(),
            tags: Mutex::default(),
            seeds: Mutex::default(),
            reservations: Mutex::default(),
            handover: Mutex::default(),
            key: tokio::sync::OnceCell::new(),
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
                    let again = guarded(&work, manager.look(&work)).await;
                    manager.queue.done(work, again);
                }
            });
        }
        while workers.join_next().await.is_some() {}
    }

    /// Ends the work, after what is being done.
    pub fn stop(&self) {
        self.queue.close();
    }

    /// Whether there is nothing to do right now.
    pub fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    async fn look(&self, work: &Work) -> Again {
        let begin = tokio::time::Instant::now();
        let (kind, outcome) = match work {
            Work::Install(key) => ("install", self.install(key).await),
            Work::Stack(key) => ("stack", self.stack(key).await),
            Work::Namespace(name) => ("namespace", self.namespace(name).await),
        };
        let metrics = &self.parts.metrics;
        let help = "How long looking at something took.";
        metrics.took("cairn_reconcile_seconds", help, &[("kind", kind)], begin.elapsed());
        metrics.gauge("cairn_queue_depth", "What waits to be looked at.", &[], self.queue.depth() as f64);
        match outcome {
            Ok(again) => again,
            Err(error) => {
                let labels = [("kind", kind), ("reason", error.reason())];
                metrics.count("cairn_reconcile_errors_total", "What did not go well.", &labels);
                tracing::warn!(?work, reason = error.reason(), %error, "this did not go well and is tried again");
                match error {
                    Error::Conflict(_) => Again::After(Duration::from_millis(20)),
                    _ => Again::BackOff,
                }
            }
        }
    }

    /// The package in an image, read once.
    async fn package(&self, reference: &Reference, secrets: &[Vec<u8>]) -> Result<Arc<Package>, Trouble> {
        let digest = reference.digest.clone().unwrap_or_default();
        if let Some(known) = self.packages.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
            return known.clone();
        }
        let files = self.parts.packages.fetch(reference, secrets).await?;
        let read = read(&files, reference);
        self.packages.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, read.clone());
        read
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
            Trouble::new("VersionMismatch", format!("{}: {}", problem.what, problem.hint.unwrap_or_default()))
        })?;
    }
    Ok(Arc::new(package))
}
