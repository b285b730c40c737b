//! Pulls, outside the reconcile workers: each install has at most one under way, they run side by
//! side within limits for each namespace and each registry, and each has a deadline. A reconcile
//! asks for a package, goes on with what it knows, and is requeued when there is more.

mod unpack;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use engine::limits::LIMIT_REACHED;
use futures::FutureExt;
use install::Trouble;
use install::reconcile::install::Verdict;
use package::Package;
use package::image::Reference;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::{Bounds, Fetched, RESYNC, StackManager, Work};
use crate::runtime::fair_lanes::{Lane, Lanes, Width};
use objects::{Key, Resource};

/// The first wait after a pull that failed; each time twice as long.
const FIRST: Duration = Duration::from_millis(250);
/// The same where somebody has to push another image first.
const SLOW: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(240);
/// How long nothing is tried after something that would fail again.
const NEVER: Duration = Duration::from_secs(3600);
/// The most bytes of packages that are kept in memory; the others are read again.
const MEMORY: u64 = 256 << 20;
/// The most verdicts that are kept.
const VERDICTS: usize = 10_000;

/// What an install asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// Of the install, which may have been deleted and created again.
    pub(super) uid: String,
    pub(super) reference: Reference,
    /// Whether the image was found before, and is what is installed.
    pub(super) installed: bool,
    /// The Secrets with its credentials.
    pub(super) secrets: Vec<Key>,
}

/// A package that is there.
#[derive(Debug, Clone)]
pub(super) struct Brought {
    /// Its image by digest.
    pub(super) reference: Reference,
    pub(super) package: Arc<Package>,
    pub(super) verdict: Arc<Verdict>,
    /// The bytes of its files.
    bytes: u64,
}

/// What is known of a package that was asked for.
pub(super) enum Bring {
    Done(Brought),
    /// It is under way.
    Pending(String),
    /// It failed, and is tried again after so long.
    Failed(Failure, Duration),
}

/// Why a package is not there.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// The image by digest, if that was found.
    pub(super) resolved: Option<Box<Reference>>,
    pub(super) trouble: Trouble,
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self {
            resolved: None,
            trouble,
        }
    }
}

/// Something to pull.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    /// The package of an install; the number tells attempts apart.
    Package(Key, u64),
    /// What the tag of an install means now.
    Tag(Key, u64),
}

#[derive(Debug)]
enum Stage {
    Idle,
    Waiting,
    Running(Option<AbortHandle>),
}

struct Entry {
    wish: Wish,
    number: u64,
    stage: Stage,
    last: Option<Result<Brought, Failure>>,
    /// The bytes of the package that was brought last, even if it is no longer in memory.
    bytes: u64,
    failures: u32,
    retry: Instant,
    used: u64,
}

/// Tags that are to be looked up, by install: which attempt, and what for.
type Lookups = BTreeMap<Key, (u64, Wish)>;

/// What a package is read from: the digest of its image, and the tag that says which version it
/// should be.
type Content = (String, String);

/// All pulls.
#[derive(Clone)]
pub(super) struct Pulls {
    state: Arc<Mutex<State>>,
}

struct State {
    lanes: Lanes<Job>,
    entries: BTreeMap<Key, Entry>,
    lookups: Lookups,
    /// Packages in use by an install, by digest and tag, and the bytes of their files. Who finds
    /// one here has pulled the same itself.
    read: BTreeMap<Content, (Weak<Package>, u64)>,
    /// What compiling has shown, which depends on the content alone: not on who asks, nor on what
    /// they call it.
    verdicts: BTreeMap<Content, Arc<Verdict>>,
    /// Packages that took too long to compile, by namespace: a namespace that keeps its own threads
    /// busy says nothing about the packages of others. Until when that counts, and what it was.
    slow: BTreeMap<(Content, String), (Instant, Trouble)>,
    number: u64,
    /// Whether somebody starts what may run.
    pumping: bool,
    closed: bool,
}

impl Pulls {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let width = Width {
            all: bounds.pulls.max(1),
            per_share: bounds.pulls_per_namespace.max(1),
            per_host: bounds.pulls_per_registry.max(1),
        };
        let state = State {
            lanes: Lanes::new(width),
            entries: BTreeMap::new(),
            lookups: BTreeMap::new(),
            read: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            slow: BTreeMap::new(),
            number: 0,
            pumping: false,
            closed: false,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// How many wait, and how many run.
    pub(super) fn depth(&self) -> (usize, usize) {
        self.lock().lanes.depth()
    }

    /// The bytes of the package of an install, as far as they are known.
    pub(super) fn bytes(&self, key: &Key) -> u64 {
        self.lock().entries.get(key).map_or(0, |entry| entry.bytes)
    }

    /// Forgets an install that is gone.
    pub(super) fn forget(&self, key: &Key) {
        let mut state = self.lock();
        state.cancel(key);
        state.entries.remove(key);
        state.lookups.remove(key);
    }

    /// Ends all that is under way.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let keys: Vec<Key> = state.entries.keys().cloned().collect();
        keys.iter().for_each(|key| state.cancel(key));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A job begins; answers what it is for, unless that is no longer asked for.
    fn begin(&mut self, job: &Job) -> Option<Wish> {
        match job {
            Job::Package(key, number) => {
                let entry = self
                    .entries
                    .get_mut(key)
                    .filter(|entry| entry.number == *number)?;
                entry.stage = Stage::Running(None);
                Some(entry.wish.clone())
            }
            Job::Tag(key, number) => self
                .lookups
                .get(key)
                .filter(|(own, _)| own == number)
                .map(|(_, wish)| wish.clone()),
        }
    }

    /// A pull has begun, and may have ended.
    fn began(&mut self, key: &Key, number: u64, handle: AbortHandle) {
        match self
            .entries
            .get_mut(key)
            .filter(|entry| entry.number == number)
        {
            Some(entry) if matches!(entry.stage, Stage::Running(None)) => {
                entry.stage = Stage::Running(Some(handle));
            }
            Some(_) => {}
            // It was forgotten meanwhile.
            None => handle.abort(),
        }
    }

    fn cancel(&mut self, key: &Key) {
        self.lanes
            .remove(|job| matches!(job, Job::Package(own, _) if own == key));
        if let Some(Entry {
            stage: Stage::Running(Some(handle)),
            ..
        }) = self.entries.get(key)
        {
            handle.abort();
        }
    }

    /// A package in use by an install, with the bytes of its files; stores `found`.
    fn read(
        &mut self,
        content: &Content,
        found: Option<&(Arc<Package>, u64)>,
    ) -> Option<(Arc<Package>, u64)> {
        if let Some((package, bytes)) = found {
            self.read
                .insert(content.clone(), (Arc::downgrade(package), *bytes));
        }
        self.read
            .get(content)
            .and_then(|(package, bytes)| Some((package.upgrade()?, *bytes)))
    }

    /// What compiling a package has shown; puts it there.
    fn verdict(&mut self, content: &Content, found: Option<&Arc<Verdict>>) -> Option<Arc<Verdict>> {
        if let Some(verdict) = found {
            while self.verdicts.len() >= VERDICTS {
                self.verdicts.pop_first();
            }
            self.verdicts.insert(content.clone(), verdict.clone());
        }
        self.verdicts.get(content).cloned()
    }

    /// Takes packages out of memory that nobody has asked for longest, all but one.
    fn make_room(&mut self, but: &Key) {
        let held = |entry: &Entry| {
            matches!(&entry.last, Some(Ok(_)))
                .then_some(entry.bytes)
                .unwrap_or_default()
        };
        let mut total: u64 = self.entries.values().map(held).sum();
        while total > MEMORY {
            let others = self
                .entries
                .iter_mut()
                .filter(|(key, entry)| *key != but && matches!(entry.last, Some(Ok(_))));
            let Some((_, oldest)) = others.min_by_key(|(_, entry)| entry.used) else {
                return;
            };
            total = total.saturating_sub(held(oldest));
            oldest.last = None;
        }
        self.read
            .retain(|_, (package, _)| package.strong_count() > 0);
    }
}

impl Entry {
    fn is_for(&self, wish: &Wish) -> bool {
        let same = |image: &Reference| *image == wish.reference;
        let brought = matches!(&self.last, Some(Ok(brought)) if same(&brought.reference));
        self.wish.uid == wish.uid
            && self.wish.secrets == wish.secrets
            && (same(&self.wish.reference) || brought)
    }
}

/// A job counts for its lane until this is dropped.
struct Slot {
    manager: Arc<StackManager>,
    lane: Lane,
}

impl Slot {
    /// The registry has answered: another pull may ask it, while this one still counts for its
    /// namespace.
    fn leave_registry(&mut self) {
        self.manager.pulls.lock().lanes.leave_host(&mut self.lane);
        self.manager.pump();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.manager.pulls.lock().lanes.leave(&self.lane);
        self.manager.pump();
    }
}

impl StackManager {
    /// The package of an install, as far as it is there. What is not there is asked for.
    pub(super) fn bring(&self, key: &Key, wish: &Wish) -> Bring {
        let now = Instant::now();
        let mut state = self.pulls.lock();
        state.number += 1;
        let number = state.number;
        if state
            .entries
            .get(key)
            .is_some_and(|entry| !entry.is_for(wish))
        {
            state.cancel(key);
            state.entries.remove(key);
        }
        let entry = state.entries.entry(key.clone()).or_insert_with(|| Entry {
            wish: wish.clone(),
            number,
            stage: Stage::Idle,
            last: None,
            bytes: 0,
            failures: 0,
            retry: now,
            used: number,
        });
        entry.used = number;
        match &entry.last {
            Some(Ok(brought)) => return Bring::Done(brought.clone()),
            Some(Err(failure)) if matches!(entry.stage, Stage::Idle) && now < entry.retry => {
                return Bring::Failed(failure.clone(), entry.retry - now);
            }
            _ => {}
        }
        if matches!(entry.stage, Stage::Idle) {
            entry.stage = Stage::Waiting;
            entry.number = number;
            entry.wish = wish.clone();
            let lane = lane(key, &wish.reference);
            state.lanes.push(lane, Job::Package(key.clone(), number));
        }
        drop(state);
        self.pump();
        let state = self.pulls.lock();
        let Some(entry) = state.entries.get(key) else {
            return Bring::Pending(pulling(&wish.reference));
        };
        match (&entry.last, &entry.stage) {
            // Until it is known better, the last failure is what there is to say.
            (Some(Err(failure)), _) => Bring::Failed(failure.clone(), RESYNC),
            (_, Stage::Waiting) => {
                let Bounds {
                    pulls_per_namespace,
                    pulls_per_registry,
                    ..
                } = &self.parts.bounds;
                Bring::Pending(format!(
                    "waiting to pull {}: at most {pulls_per_namespace} pulls run for a namespace at a time, and \
                     {pulls_per_registry} from a registry",
                    wish.reference
                ))
            }
            _ => Bring::Pending(pulling(&wish.reference)),
        }
    }

    /// Has the tag of an install looked up; [`Self::tag_found`] hears of it.
    pub(super) fn look_up(&self, key: &Key, wish: Wish) {
        let mut state = self.pulls.lock();
        if state.lookups.contains_key(key) {
            return;
        }
        state.number += 1;
        let number = state.number;
        let lane = lane(key, &wish.reference);
        state.lookups.insert(key.clone(), (number, wish));
        state.lanes.push(lane, Job::Tag(key.clone(), number));
        drop(state);
        self.pump();
    }

    /// Starts what may run. Nothing is started with the lock: a runtime that ends drops what is
    /// started at once, and with it a slot, which comes back here.
    fn pump(&self) {
        let Some(manager) = self.own.upgrade() else {
            return;
        };
        let mut state = self.pulls.lock();
        if std::mem::replace(&mut state.pumping, true) {
            // Whoever does it already goes on with what has become possible.
            return;
        }
        while !state.closed {
            let Some((lane, job)) = state.lanes.next() else {
                break;
            };
            let wish = state.begin(&job);
            drop(state);
            let slot = Slot {
                manager: manager.clone(),
                lane,
            };
            match (job, wish) {
                (Job::Package(key, number), Some(wish)) => {
                    let task = tokio::spawn(manager.clone().pull_package(
                        slot,
                        key.clone(),
                        wish,
                        number,
                    ));
                    state = self.pulls.lock();
                    state.began(&key, number, task.abort_handle());
                }
                (Job::Tag(key, _), Some(wish)) => {
                    tokio::spawn(manager.clone().pull_tag(slot, key, wish));
                    state = self.pulls.lock();
                }
                // It is no longer asked for.
                (_, None) => {
                    drop(slot);
                    state = self.pulls.lock();
                }
            }
        }
        state.pumping = false;
        let (waiting, running) = state.lanes.depth();
        drop(state);
        let metrics = &self.parts.metrics;
        metrics.gauge(
            "cairn_pulls_waiting",
            "Pulls that wait for their turn.",
            &[],
            waiting as f64,
        );
        metrics.gauge(
            "cairn_pulls_running",
            "Pulls under way.",
            &[],
            running as f64,
        );
    }

    async fn pull_package(self: Arc<Self>, mut slot: Slot, key: Key, wish: Wish, number: u64) {
        let begin = Instant::now();
        let work = async {
            let mut resolved = None;
            let pulled = self.in_time(self.fetch(&wish, &mut resolved)).await;
            // What comes now asks no registry, but it takes memory: the next pull of the namespace
            // waits for its end.
            slot.leave_registry();
            let unpacked = match (pulled, resolved.clone()) {
                (Ok(fetched), Some(reference)) => {
                    self.unpack(&key, number, reference, fetched).await
                }
                (Ok(_), None) => Err(bug()),
                (Err(trouble), _) => Err(trouble),
            };
            unpacked.map_err(|trouble| Failure {
                resolved: resolved.map(Box::new),
                trouble,
            })
        };
        let outcome = AssertUnwindSafe(work)
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(bug().into()));
        drop(slot);
        let labels = [(
            "outcome",
            outcome
                .as_ref()
                .map_or_else(|failure| failure.trouble.reason, |_| "Ok"),
        )];
        let help = "Duration of pulls, with reading and compiling.";
        self.parts
            .metrics
            .took("cairn_pull_seconds", help, &labels, begin.elapsed());
        let mut state = self.pulls.lock();
        let Some(entry) = state
            .entries
            .get_mut(&key)
            .filter(|entry| entry.number == number)
        else {
            return;
        };
        entry.stage = Stage::Idle;
        match &outcome {
            Ok(brought) => {
                entry.failures = 0;
                entry.bytes = brought.bytes;
            }
            Err(Failure { trouble, .. }) => {
                entry.failures = entry.failures.saturating_add(1);
                let pinned = entry.wish.reference.digest.is_some();
                entry.retry = Instant::now() + wait(trouble, pinned, entry.failures, number);
            }
        }
        entry.last = Some(outcome);
        state.make_room(&key);
        drop(state);
        self.queue.add(Work::Install(key));
    }

    async fn pull_tag(self: Arc<Self>, slot: Slot, key: Key, wish: Wish) {
        let work = async {
            let secrets = self.pull_secrets(&wish.secrets).await?;
            self.parts.packages.resolve(&wish.reference, &secrets).await
        };
        let found = AssertUnwindSafe(self.in_time(work)).catch_unwind().await;
        drop(slot);
        self.pulls.lock().lookups.remove(&key);
        match found {
            Ok(Ok(reference)) => self.tag_found(&key, reference.digest),
            // What is installed runs on: a registry that is down is no news about a tag.
            Ok(Err(Trouble { message, .. })) => {
                tracing::debug!(install = %key, message, "could not resolve the tag");
            }
            Err(_) => {
                tracing::error!(install = %key, "resolving the tag panicked; this is a bug in cairn, please report it");
            }
        }
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, Trouble>>,
    ) -> Result<T, Trouble> {
        let timeout = self.parts.bounds.pull_timeout;
        match tokio::time::timeout(timeout, work).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let what = format!(
                    "the registry did not deliver the package within {} s",
                    timeout.as_secs_f32()
                );
                Err(Trouble::new("PullTimeout", what))
            }
        }
    }

    /// A package that is still packed, and before it its image by digest.
    async fn fetch(
        &self,
        wish: &Wish,
        resolved: &mut Option<Reference>,
    ) -> Result<Fetched, Trouble> {
        let secrets = self.pull_secrets(&wish.secrets).await?;
        let reference = match wish.installed {
            true => wish.reference.clone(),
            false => {
                self.parts
                    .packages
                    .resolve(&wish.reference, &secrets)
                    .await?
            }
        };
        let reference = resolved.insert(reference);
        self.parts.packages.fetch(reference, &secrets).await
    }

    /// The Docker configurations in some Secrets.
    async fn pull_secrets(&self, keys: &[Key]) -> Result<Vec<Vec<u8>>, Trouble> {
        let mut found = Vec::new();
        let secrets = Resource::namespaced("", "v1", "Secret", "secrets");
        for key in keys {
            let trouble = |what: String| Trouble::new("PullSecretInvalid", what);
            let object = self
                .parts
                .tenant
                .get(&secrets, key)
                .await
                .map_err(|error| trouble(error.to_string()))?;
            let object = object.ok_or_else(|| trouble(format!("there is no Secret {key}")))?;
            let text = object["data"][".dockerconfigjson"].as_str();
            let text = text
                .ok_or_else(|| trouble(format!("the Secret {key} has no `.dockerconfigjson`")))?;
            let bytes = STANDARD
                .decode(text)
                .map_err(|_| trouble(format!("the Secret {key} is not base64")))?;
            found.push(bytes);
        }
        Ok(found)
    }
}

fn bug() -> Trouble {
    Trouble::new(
        "PullFailed",
        "pulling the package panicked; this is a bug in cairn, please report it",
    )
}

fn pulling(reference: &Reference) -> String {
    format!("pulling {reference}")
}

fn lane(key: &Key, reference: &Reference) -> Lane {
    Lane {
        share: key.namespace.clone(),
        host: reference.registry.to_ascii_lowercase(),
    }
}

/// The reason of a package that takes too long to read.
const TOO_COSTLY: &str = "PackageTooCostly";

/// What is wrong with the content of an image, which is the same next time if it is named by its
/// digest.
const CONTENT: [&str; 2] = ["PackageInvalid", "VersionMismatch"];

/// How long to wait after so many failures.
fn wait(trouble: &Trouble, pinned: bool, failures: u32, chance: u64) -> Duration {
    let content = CONTENT.contains(&trouble.reason);
    let costly = [TOO_COSTLY, install::reconcile::install::TOO_COSTLY].contains(&trouble.reason);
    if costly || (content && pinned) {
        return NEVER;
    }
    // Nothing is pulled while the limit holds, and then at once.
    if trouble.reason == LIMIT_REACHED {
        return Duration::ZERO;
    }
    let first = if content { SLOW } else { FIRST };
    let wait = first
        .saturating_mul(1 << failures.saturating_sub(1).min(20))
        .min(LONGEST);
    // Up to a quarter more, so that what failed together does not come back together.
    wait + wait / 1024 * (chance.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use install::Trouble;

    use super::{NEVER, wait};

    #[test]
    fn a_pull_that_fails_is_tried_again_later_and_later() {
        let trouble = Trouble::new("RegistryUnreachable", "");
        for (failures, least) in [
            (1, 250),
            (2, 500),
            (5, 4000),
            (11, 240_000),
            (u32::MAX, 240_000),
        ] {
            for chance in [0, 1, 77] {
                let found = wait(&trouble, false, failures, chance).as_millis();
                assert!(
                    (least..=least * 5 / 4).contains(&found),
                    "{failures}: {found}"
                );
            }
        }
        for (reason, later) in [
            ("PackageTooCostly", NEVER),
            ("TemplatesTooCostly", NEVER),
            ("PackageInvalid", Duration::from_secs(5)),
            ("VersionMismatch", Duration::from_secs(5)),
        ] {
            let trouble = Trouble::new(reason, "");
            assert_eq!(
                wait(&trouble, true, 1, 0),
                NEVER,
                "an image by digest does not change"
            );
            assert_eq!(wait(&trouble, false, 1, 0), later, "{reason}");
        }
        assert!(NEVER > Duration::from_secs(240));
    }
}
