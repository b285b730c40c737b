//! Looking at the Stack itself: compiled when it changes, watched for what it makes, and told how
//! its instances are. A Stack that does not compile changes nothing: what was compiled before goes
//! on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Diagnostic, KindRef, PermissionScope, Stack, annotations};
use engine::budget::Meter;
use engine::{Compiled, Problem, Seed, Severity, compile_within};
use install::{Commitment, seed_bytes};
use objects::Gvk;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::discovery::Catalog;
use super::inventory::hash_of;
use super::{EVERYBODY, RESYNC, TemplateStackManager, Work, lock};
use crate::runtime::work_queue::Requeue;
use crate::{Error, Unfinished};
use objects::Resource;

/// OpenAPI follows a changed CRD a moment later, so that it is read once more.
const SETTLE: Duration = Duration::from_secs(3);
/// How often it is asked whether a kind that is not served has come, at first and at last.
const SOON: Duration = Duration::from_secs(2);
const LATER: Duration = Duration::from_secs(30);
/// How soon a watch that is refused is told of.
const REFUSED: Duration = Duration::from_millis(500);

/// A Stack as it is carried out.
pub(super) struct Revision {
    /// Everything it was made of.
    inputs: u64,
    /// The text of the Stack, its image and the seed alone.
    spec: u64,
    /// When to ask again what is served.
    check: Instant,
    /// How often it has been asked for the same Stack.
    asked: u32,
    /// None if the Stack never compiled since we run.
    pub(super) compiled: Option<Arc<Compiled>>,
    pub(super) seed: Seed,
    /// The owned kinds and those that were ever rendered.
    pub(super) resources: BTreeMap<Gvk, Arc<Resource>>,
    /// Of the Stack.
    pub(super) uid: String,
    problems: Vec<Problem>,
    /// The kinds whose instances take long to render, and in which namespaces.
    pub(super) costly: Mutex<BTreeSet<(Gvk, String)>>,
}

impl TemplateStackManager {
    pub(super) async fn stack(self: &Arc<Self>) -> Result<Requeue, Error> {
        let Some(object) = self.stack.get(&self.stack_key()) else {
            return Ok(Requeue::AwaitChange);
        };
        let Some(seed) = self.seed_bytes(&object).await? else {
            tracing::info!(
                stack = self.parts.stack,
                "waiting for the seed, which the stack manager creates"
            );
            return Ok(Requeue::After(SOON));
        };
        let record: Stack = match serde_json::from_value(Value::clone(&object)) {
            Ok(record) => record,
            Err(error) => {
                self.report(
                    &object,
                    &[],
                    &[Problem::general(format!("this is no Stack: {error}"))],
                )
                .await?;
                return Ok(Requeue::AwaitChange);
            }
        };
        // Another image may have other CRDs with the same templates; they are there before the
        // Stack names it.
        let image = record.metadata.annotations.get(annotations::PACKAGE_IMAGE);
        let limits = record
            .status
            .as_ref()
            .map(|status| status.namespaces.clone())
            .unwrap_or_default();
        // The stack manager says in the status which CRDs there are, and what they are like.
        let types = object["status"]["crdsHash"].as_str();
        let spec = hash_of(&(object["spec"].to_string(), image, types, &seed, &limits));
        let before = self.current();
        if let Some(now) = before
            .as_ref()
            .filter(|now| now.spec == spec && Instant::now() < now.check)
        {
            // The counts in its status may have been compared with an older one, which the watch
            // was late to show.
            self.count_soon();
            self.report(&object, &[], &self.all_problems(&now.problems))
                .await?;
            return Ok(Requeue::After(
                now.check.saturating_duration_since(Instant::now()),
            ));
        }
        let mut catalog = Catalog::new(&self.parts.cluster);
        let crds = catalog
            .definitions(&record.spec.customresourcedefinitions)
            .await?;
        let documents: String = crds.iter().map(|crd| crd.object.to_string()).collect();
        let (stack, mut problems) = engine::Stack::recorded(&record, &crds);
        let work = move |meter: &Meter<'_>| {
            let result = compile_within(&stack, &|_| None, meter);
            (stack, result)
        };
        let (stack, (compiled, found)) = match self
            .pool
            .run(EVERYBODY, self.parts.compile.clone(), work)
            .await
        {
            Ok(done) => done,
            Err(Unfinished::Late) => {
                let what = format!(
                    "over budget: compiling took longer than {:?}",
                    self.parts.compile.time
                );
                self.report(&object, &[], &[Problem::general(what)]).await?;
                return Ok(Requeue::After(RESYNC));
            }
            Err(Unfinished::Stopped) => return Ok(Requeue::AwaitChange),
        };
        problems.extend(
            found
                .into_iter()
                .filter(|problem| problem.severity == Severity::Error),
        );
        let compiled = compiled.filter(|_| problems.is_empty()).map(Arc::new);
        let rendered: BTreeSet<Gvk> = compiled
            .iter()
            .flat_map(|new| new.rendered())
            .cloned()
            .collect();
        let known = record
            .status
            .as_ref()
            .map(|status| status.rendered_kinds.clone())
            .unwrap_or_default();
        let ever = known.iter().filter_map(|kind| {
            Gvk::of(&json!({ "apiVersion": kind.api_version, "kind": kind.kind }))
        });
        let ever: BTreeSet<Gvk> = ever.chain(rendered.iter().cloned()).collect();
        let mut resources = BTreeMap::new();
        let mut missing = false;
        for gvk in stack.kinds.iter().map(|kind| &kind.gvk).chain(&ever) {
            match catalog.resource(gvk).await? {
                Some(resource) => {
                    resources.insert(gvk.clone(), Arc::new(resource));
                }
                None => missing = true,
            }
        }
        let failed = compiled.is_none();
        // Before the first of its objects is made, the Stack says where to look for them.
        let rendered: Vec<Gvk> = rendered.into_iter().collect();
        self.report(&object, &rendered, &self.all_problems(&problems))
            .await?;

        let names: Vec<String> = resources
            .values()
            .map(|resource| format!("{resource:?}"))
            .collect();
        let inputs = hash_of(&(spec, documents, names, failed));
        let same = before.as_ref().is_some_and(|now| now.inputs == inputs);
        let asked = before
            .as_ref()
            .filter(|now| now.spec == spec)
            .map_or(0, |now| now.asked.saturating_add(1));
        let wait = when_to_ask(missing, asked);
        let last_good = before.as_ref().and_then(|now| now.compiled.clone());
        let revision = Arc::new(Revision {
            inputs,
            spec,
            check: Instant::now() + wait,
            asked,
            compiled: match before.as_ref().filter(|_| same) {
                // The very same, so that nothing that was decided by it is decided again.
                Some(now) => now.compiled.clone(),
                None => compiled.or(last_good),
            },
            seed: Seed::new(seed),
            resources,
            uid: record.metadata.uid.clone(),
            problems,
            costly: Mutex::default(),
        });
        if !same {
            // The watches first: what they do not show yet, nobody acts on.
            self.follow(&record, &stack, &ever, &revision);
        }
        *lock(&self.revision) = Some(revision);
        if !same {
            let manager = self.clone();
            tokio::spawn(async move { manager.look_at_all(inputs).await });
        }
        Ok(Requeue::After(wait))
    }

    /// What is wrong with the Stack, and with what it may see.
    fn all_problems(&self, problems: &[Problem]) -> Vec<Problem> {
        let refused = self.watches.troubles().into_iter().map(|(resource, why)| {
            let group = if resource.gvk.group.is_empty() {
                String::new()
            } else {
                format!(".{}", resource.gvk.group)
            };
            let key = format!(
                "{}{group}/{}",
                resource.gvk.kind.to_lowercase(),
                resource.gvk.version
            );
            Problem::general(format!(
                "the stack cannot watch {resource}, so that nothing of that kind is done: {why}"
            ))
            .hint(format!(
                "add `- crd: {key}` to `dependsOn` in app.yaml, and have an admin allow the kind"
            ))
        });
        problems.iter().cloned().chain(refused).collect()
    }

    /// Watches what a new revision needs, and looks at every instance once all of it has been seen.
    fn follow(
        self: &Arc<Self>,
        record: &Stack,
        stack: &engine::Stack,
        ever: &BTreeSet<Gvk>,
        revision: &Revision,
    ) {
        let of = |gvk: &Gvk| {
            revision
                .resources
                .get(gvk)
                .map(|resource| Resource::clone(resource))
        };
        let owned: Vec<Resource> = stack
            .kinds
            .iter()
            .filter_map(|kind| of(&kind.gvk))
            .collect();
        let rendered: Vec<Resource> = ever.iter().filter_map(of).collect();
        let everywhere = record.spec.app.permission_scope == PermissionScope::Cluster;
        // An administrator may have limited it to namespaces; its permissions are in these alone.
        let limits = record
            .status
            .as_ref()
            .map(|status| status.namespaces.clone())
            .unwrap_or_default();
        let namespaces = match everywhere {
            true if limits.is_empty() => vec![String::new()],
            true => limits,
            false => vec![self.parts.namespace.clone()],
        };
        let compiled = revision.compiled.as_deref();
        self.watches.follow(
            &self.parts,
            &self.shared,
            (&owned, &rendered),
            compiled,
            &namespaces,
        );
    }

    /// Looks at every instance once the watches have shown all there is. If one is refused, the
    /// Stack says so, and instances that do not need it go on.
    async fn look_at_all(self: Arc<Self>, inputs: u64) {
        let look = || {
            let instances = self.shared.inventory.instances();
            instances
                .into_iter()
                .for_each(|id| self.shared.queue.add(Work::Instance(id)));
            self.count_soon();
        };
        let synced = self.watches.synced();
        tokio::pin!(synced);
        let mut told = false;
        loop {
            tokio::select! {
                () = &mut synced => break,
                () = tokio::time::sleep(REFUSED) => {}
            }
            if self.shared.queue.is_closed()
                || self.current().is_none_or(|now| now.inputs != inputs)
            {
                return;
            }
            let refused = !self.watches.troubles().is_empty();
            if refused != told {
                told = refused;
                self.shared.queue.add(Work::Stack);
                look();
            }
        }
        if told {
            self.shared.queue.add(Work::Stack);
        }
        look();
    }

    /// The seed that the Stack commits to, if it can be read. It is where only the stack manager
    /// writes, which is never the Stack's own namespace: the account of a stack can read that one
    /// Secret elsewhere, and no other.
    async fn seed_bytes(&self, stack: &Value) -> Result<Option<Vec<u8>>, Error> {
        let Some(said) = Commitment::of(stack) else {
            return Ok(None);
        };
        if let Some((_, known)) = lock(&self.seed)
            .clone()
            .filter(|(before, _)| *before == said.to_string())
        {
            return Ok(Some(known));
        }
        let name = api::names::seed(&self.parts.namespace, &self.parts.stack);
        if said.namespace == self.parts.namespace || said.name != name {
            return Ok(None);
        }
        let secrets = Resource::namespaced("", "v1", "Secret", "secrets");
        let secret = match self
            .parts
            .cluster
            .get(&secrets, &objects::Key::new(&said.namespace, &name))
            .await
        {
            // The permission comes a moment later than the seed.
            Err(Error::Forbidden(_)) => None,
            outcome => outcome?,
        };
        let bytes = secret
            .as_ref()
            .and_then(seed_bytes)
            .filter(|bytes| said.fits(bytes));
        *lock(&self.seed) = bytes.clone().map(|bytes| (said.to_string(), bytes));
        Ok(bytes)
    }

    /// Says in the Stack's status which kinds it renders and what is wrong with it.
    async fn report(
        &self,
        live: &Value,
        rendered: &[Gvk],
        problems: &[Problem],
    ) -> Result<(), Error> {
        let mut patch = Map::new();
        let status = &live["status"];
        let mut kinds: Vec<KindRef> =
            serde_json::from_value(status["renderedKinds"].clone()).unwrap_or_default();
        let before = kinds.len();
        for gvk in rendered {
            let kind = KindRef {
                kind: gvk.kind.clone(),
                api_version: gvk.api_version().to_string(),
            };
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.len() != before {
            patch.insert("renderedKinds".to_owned(), json!(kinds));
        }
        let wrong: Vec<Diagnostic> = problems.iter().map(diagnostic).collect();
        let said: Vec<Diagnostic> =
            serde_json::from_value(status["diagnostics"].clone()).unwrap_or_default();
        if wrong != said {
            patch.insert("diagnostics".to_owned(), json!(wrong));
        }
        self.write_status(patch).await
    }

    pub(super) async fn write_status(&self, patch: Map<String, Value>) -> Result<(), Error> {
        if patch.is_empty() {
            return Ok(());
        }
        let stacks = Resource::namespaced(api::GROUP, api::VERSION, Stack::KIND, Stack::PLURAL);
        let key = self.stack_key();
        let written = self
            .parts
            .cluster
            .merge(&stacks, &key, "status", &json!({ "status": patch }))
            .await?;
        self.stack.wrote(&written, Arc::new(written.clone()));
        Ok(())
    }
}

/// When to ask again what is served: soon while a kind is missing, once more when all are there,
/// and then rarely.
fn when_to_ask(missing: bool, asked: u32) -> Duration {
    match (missing, asked) {
        (true, asked) => SOON.saturating_mul(1 << asked.min(8)).min(LATER),
        (false, 0) => SETTLE,
        (false, _) => RESYNC,
    }
}

fn diagnostic(problem: &Problem) -> Diagnostic {
    let file = problem
        .place
        .as_ref()
        .map(|place| place.file.as_str())
        .unwrap_or_default();
    let (key, template) = file
        .strip_suffix(".yaml")
        .unwrap_or(file)
        .rsplit_once('/')
        .unwrap_or_default();
    Diagnostic {
        key: key.to_owned(),
        template: template.to_owned(),
        line: problem
            .place
            .as_ref()
            .map(|place| place.line)
            .unwrap_or_default(),
        column: problem
            .place
            .as_ref()
            .and_then(|place| place.column)
            .unwrap_or_default(),
        message: problem.what.clone(),
        hint: problem.hint.clone().unwrap_or_default(),
    }
}
