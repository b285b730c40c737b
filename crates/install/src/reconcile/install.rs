//! From the wish for a package to its Stack: each step is a condition, the next is taken when the
//! one before is done, and what was installed last stays in place until the new is.

use std::collections::{BTreeMap, BTreeSet};

use api::conditions::{
    CONTROLLER_AVAILABLE, CRDS_ESTABLISHED, DEPENDENCIES_SATISFIED, PACKAGE_CURRENT,
    PACKAGE_RESOLVED, READY, UNPACKED, UP_TO_DATE,
};
use api::{
    ClusterStackInstall, Condition, InstallSpec, InstallStatus, Metadata, ObjectRef,
    PermissionScope, Stack, StackInstall, Status, annotations, labels, names,
};
use package::Package;
use serde_json::Value;

use super::removal::reference_to;
pub use super::uninstall::{Taken, Uninstall};
use crate::conditions::install::{Conditions, EventRecord, Step, Trouble};
use crate::crd::live::{Break, LiveCrd, NamespacedCrds, Placement, Wanted, has_objects, place};
use crate::crd::ownership::{Parent, publisher};
pub use crate::package_check::{TOO_COSTLY, Verdict};
use crate::package_check::{accept, depend};
use crate::stack_record::{is_of, is_ours, record};
use crate::{Index, KindOwnership, Kinds, Policy};
use engine::budget::Budgets;
use engine::limits::InstanceLimits;
use package::image::Reference;

/// An install of either kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Install {
    /// Which kind it is.
    pub scope: PermissionScope,
    /// Its metadata.
    pub metadata: Metadata,
    /// What it wants.
    pub spec: InstallSpec,
    /// How it was getting on.
    pub status: InstallStatus,
}

impl From<StackInstall> for Install {
    fn from(install: StackInstall) -> Self {
        let StackInstall {
            metadata,
            spec,
            status,
            ..
        } = install;
        Self {
            scope: PermissionScope::Namespaced,
            metadata,
            spec,
            status: status.unwrap_or_default(),
        }
    }
}

impl From<ClusterStackInstall> for Install {
    fn from(install: ClusterStackInstall) -> Self {
        let ClusterStackInstall {
            metadata,
            spec,
            status,
            ..
        } = install;
        Self {
            scope: PermissionScope::Cluster,
            metadata,
            spec,
            status: status.unwrap_or_default(),
        }
    }
}

impl Install {
    /// Its kind.
    pub fn kind(&self) -> &'static str {
        match self.scope {
            PermissionScope::Namespaced => StackInstall::KIND,
            PermissionScope::Cluster => ClusterStackInstall::KIND,
        }
    }

    /// As CRDs know it.
    pub fn parent(&self) -> Parent {
        let Metadata {
            namespace,
            name,
            uid,
            ..
        } = &self.metadata;
        Parent {
            scope: self.scope,
            namespace: namespace.clone(),
            name: name.clone(),
            uid: uid.clone(),
        }
    }

    /// Whether it is going.
    pub fn is_deleting(&self) -> bool {
        self.metadata
            .rest
            .get("deletionTimestamp")
            .is_some_and(|time| !time.is_null())
    }

    /// The image that was installed, if it is still the one that is wanted: a tag that moves does
    /// not move what runs.
    pub fn installed(&self, wanted: &Reference) -> Option<Reference> {
        let (pinned, _) = self.resolved()?;
        let digest = wanted.digest.as_ref().or(pinned.digest.as_ref());
        let wanted = Reference {
            digest: digest.cloned(),
            ..wanted.clone()
        };
        (wanted == pinned).then_some(pinned)
    }

    /// The image that was found last, and whether that was for the spec as it is now.
    fn resolved(&self) -> Option<(Reference, bool)> {
        let found = |condition: &&Condition| {
            condition.r#type == PACKAGE_RESOLVED && condition.status == Status::True
        };
        let condition = self.status.conditions.iter().find(found)?;
        let unchanged = condition.observed_generation == self.metadata.generation;
        Some((Reference::parse(&condition.message).ok()?, unchanged))
    }

    pub(crate) fn annotated(&self, key: &str) -> bool {
        self.metadata
            .annotations
            .get(key)
            .is_some_and(|value| value == labels::TRUE)
    }
}

/// How the stack manager was started.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The namespace that it runs in.
    pub own_namespace: String,
    /// What the namespaces of the stacks of the whole cluster begin with.
    pub cluster_namespace: String,
    /// The registry for packages and installs that name none.
    pub source: String,
    /// What any stack may have.
    pub policy: Policy,
    /// The image that it runs from.
    pub own_image: String,
    /// Which CRDs namespaced installs may bring.
    pub namespaced_crds: NamespacedCrds,
    /// How many instances stacks serve.
    pub instance_limits: InstanceLimits,
    /// How much compiling stacks and rendering instances may cost.
    pub budgets: Budgets,
}

impl Settings {
    /// Where the Stack of an install is, and the Secrets that the install names.
    pub fn namespace(&self, install: &Install) -> String {
        let Install {
            scope,
            metadata,
            status,
            ..
        } = install;
        match scope {
            PermissionScope::Namespaced => metadata.namespace.clone(),
            // Only administrators write the status of what is cluster-scoped.
            PermissionScope::Cluster if status.namespace.is_empty() => {
                names::cluster_stack(&self.cluster_namespace, &metadata.name)
            }
            PermissionScope::Cluster => status.namespace.clone(),
        }
    }

    /// Whether a namespace is for the stack manager and for stacks of the whole cluster alone.
    pub fn is_reserved(&self, namespace: &str) -> bool {
        let below = namespace
            .strip_prefix(&self.cluster_namespace)
            .filter(|_| !self.cluster_namespace.is_empty());
        namespace == self.own_namespace
            || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    /// The image that an install means: the one that it names, or the one that brings the kind that
    /// it names. A newer version in the index changes nothing that is installed.
    pub fn reference(&self, install: &Install, index: &Index) -> Result<Reference, Trouble> {
        let spec = &install.spec;
        if spec.package.is_empty() && !spec.crd.is_empty() {
            let kept = install
                .resolved()
                .filter(|(image, unchanged)| *unchanged || index.knows(&spec.crd, image));
            return kept.map_or_else(|| index.find(&spec.crd), |(image, _)| Ok(image));
        }
        let source = if spec.source.is_empty() {
            &self.source
        } else {
            &spec.source
        };
        Reference::resolve(&spec.package, source).map_err(|bad| {
            Trouble::new("PackageNameInvalid", format!("{}: {}", bad.what, bad.hint))
        })
    }
}

/// An install and what is around it.
#[derive(Debug)]
pub struct Facts<'f> {
    /// The install.
    pub install: &'f Install,
    /// How the manager was started.
    pub settings: &'f Settings,
    /// The image that is meant, by digest.
    pub resolved: Step<Reference>,
    /// The digest that its tag has now, if somebody looked.
    pub tagged: Option<&'f str>,
    /// What is in it; errors that it has make this step fail.
    pub package: Step<&'f Package>,
    /// What compiling it has shown.
    pub verdict: Step<&'f Verdict>,
    /// The CRDs that the package brings or the install is a parent of, as far as they are there,
    /// and those of the same groups.
    pub crds: &'f [LiveCrd],
    /// The names of those CRDs that have objects.
    pub in_use: &'f [String],
    /// The uids of installs that these CRDs are recorded for and that no longer exist.
    pub gone: &'f BTreeSet<String>,
    /// By name of a CRD that would change incompatibly: the namespaces of others that have
    /// instances of it.
    pub instances: &'f BTreeMap<String, Vec<String>>,
    /// By name of a CRD: the cluster install that defines it, whether it is there or not.
    pub reserved: &'f BTreeMap<String, String>,
    /// The kinds that the cluster serves.
    pub kinds: &'f Kinds,
    /// The packages that could be had.
    pub index: &'f Index,
    /// The Stack with the name that the install's Stack has.
    pub stack: Option<&'f Stack>,
    /// What the Stacks of the cluster serve.
    pub claims: &'f [KindOwnership],
    /// What the API server refused when the plan of this very look was carried out.
    pub refused: Option<&'f Refused>,
    /// The time, as conditions write it.
    pub now: &'f str,
}

/// An object that the API server would not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// In the words of the API server.
    pub why: String,
}

/// What is to be done for an install.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallPlan {
    /// Whether the install is held until what it made is gone.
    pub finalizer: bool,
    /// What to apply, in this order.
    pub applies: Vec<Value>,
    /// What to delete, in this order.
    pub deletes: Vec<ObjectRef>,
    /// The CRDs whose objects nobody serves any more: those that somebody deletes have to be seen
    /// off.
    pub unserved: Vec<String>,
    /// How it is getting on.
    pub status: InstallStatus,
    /// What is new.
    pub notices: Vec<EventRecord>,
    /// Whether nothing is left to do until something changes; otherwise it is tried again.
    pub settled: bool,
    /// Whether to look again before long, since it waits for something that nobody will tell of.
    pub soon: bool,
}

/// Plans an install.
pub fn plan(facts: &Facts<'_>) -> InstallPlan {
    let before = &facts.install.status;
    let mut work = Work {
        conditions: Conditions::new(
            &before.conditions,
            facts.install.metadata.generation,
            facts.now,
        ),
        status: before.clone(),
        applies: Vec::new(),
        deletes: Vec::new(),
        unserved: Vec::new(),
        finalizer: true,
        soon: false,
    };
    let outcome = if facts.install.is_deleting() {
        work.remove(facts)
    } else {
        work.install(facts)
    };
    let settled = match outcome {
        Ok(()) => true,
        Err(Stop { condition, trouble }) => {
            if let Some(condition) = condition {
                work.conditions.trouble(condition, &trouble);
            }
            // What runs goes on running: only its own state tells whether the install can be used.
            let running = stack_ready(facts);
            match running
                .filter(|ready| ready.status == Status::True && !facts.install.is_deleting())
            {
                Some(_) => {
                    let message = format!("version {} runs; {}", before.version, trouble.message);
                    work.conditions.done(READY, trouble.reason, message);
                }
                None => work.conditions.trouble(READY, &trouble),
            }
            if !facts.install.is_deleting() {
                work.conditions.trouble(UP_TO_DATE, &trouble);
            }
            false
        }
    };
    if facts.refused.is_some() {
        // It was tried, and is tried again later.
        work.applies.clear();
        work.deletes.clear();
    }
    let (conditions, notices) = work.conditions.finish(&before.conditions);
    work.status.conditions = conditions;
    InstallPlan {
        unserved: work.unserved,
        finalizer: work.finalizer,
        applies: work.applies,
        deletes: work.deletes,
        status: work.status,
        notices,
        settled,
        soon: work.soon,
    }
}

/// Why no further step is taken, and the condition that it is about.
pub(crate) struct Stop {
    pub(crate) condition: Option<&'static str>,
    pub(crate) trouble: Trouble,
}

impl Stop {
    pub(crate) fn at(
        condition: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            condition: Some(condition),
            trouble: Trouble::new(reason, message),
        }
    }

    fn refused(condition: &'static str, refused: &Refused) -> Self {
        let Refused { kind, name, why } = refused;
        Self::at(
            condition,
            "Refused",
            format!("the API server refuses the {kind} {name}: {why}"),
        )
    }
}

pub(crate) struct Work<'c> {
    pub(crate) conditions: Conditions<'c>,
    pub(crate) status: InstallStatus,
    pub(crate) applies: Vec<Value>,
    pub(crate) deletes: Vec<ObjectRef>,
    pub(crate) unserved: Vec<String>,
    pub(crate) finalizer: bool,
    pub(crate) soon: bool,
}

impl Work<'_> {
    fn install(&mut self, facts: &Facts<'_>) -> Result<(), Stop> {
        let install = facts.install;
        if install.scope == PermissionScope::Namespaced
            && facts.settings.is_reserved(&install.metadata.namespace)
        {
            let what = format!(
                "nothing is installed into the namespace {}, which is the manager's",
                install.metadata.namespace
            );
            return Err(Stop::at(PACKAGE_RESOLVED, "NamespaceReserved", what));
        }
        if install.spec.paused {
            let trouble =
                Trouble::new("Paused", "the install is paused: everything stays as it is");
            return Err(Stop {
                condition: None,
                trouble,
            });
        }
        let reference = take(PACKAGE_RESOLVED, &facts.resolved)?;
        self.conditions
            .done(PACKAGE_RESOLVED, "Resolved", reference.to_string());
        self.compare(reference, facts.tagged);
        let package = *take(UNPACKED, &facts.package)?;
        let unpacked = accept(facts, package)?;
        self.conditions.done(UNPACKED, "Unpacked", unpacked);
        depend(facts, package)?;
        self.conditions.done(
            DEPENDENCIES_SATISFIED,
            "Satisfied",
            "all that it depends on is there",
        );
        let notes = self.define(facts, package, reference)?;
        let served = match package.crds.len() {
            1 => "its CRD is served".to_owned(),
            count => format!("its {count} CRDs are served"),
        };
        let said: Vec<String> = std::iter::once(served).chain(notes).collect();
        self.conditions
            .done(CRDS_ESTABLISHED, "Established", said.join("; "));
        self.record(facts, package, reference)
    }

    /// Whether the tag still means what it meant. Until it does not, there is nothing to say.
    fn compare(&mut self, reference: &Reference, tagged: Option<&str>) {
        let installed = reference.digest.as_deref().unwrap_or_default();
        match tagged.filter(|tagged| *tagged != installed) {
            Some(tagged) => {
                let tag = reference.tag.as_deref().unwrap_or("latest");
                let what = format!(
                    "the tag {tag} means {tagged} now, while {installed} is installed; to have the new one, set \
                     `package` to {}",
                    reference.at(tagged)
                );
                self.conditions
                    .trouble(PACKAGE_CURRENT, &Trouble::new("TagMoved", what));
            }
            None if self.conditions.has(PACKAGE_CURRENT) => {
                self.conditions.done(
                    PACKAGE_CURRENT,
                    "Current",
                    format!("{installed} is installed"),
                );
            }
            None => {}
        }
    }

    /// The CRDs of the package, and those that it no longer brings.
    fn define(
        &mut self,
        facts: &Facts<'_>,
        package: &Package,
        reference: &Reference,
    ) -> Result<Vec<String>, Stop> {
        self.strand_nothing(facts, package)?;
        let parent = facts.install.parent();
        let live = |name: &str| facts.crds.iter().find(|live| live.crd.name == name);
        let (mut applies, mut anew) = (Vec::new(), Vec::new());
        let (mut waits, mut refusals, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        let publisher = publisher(reference);
        for file in &package.crds {
            let live = live(&file.crd.name);
            let wanted = Wanted {
                new: &file.crd,
                version: &package.app.version,
                live,
                parent: &parent,
                publisher: &publisher,
                allow_breaking: facts.install.annotated(annotations::ALLOW_BREAKING_CHANGES),
                group: facts.crds,
                gone: facts.gone,
                instances: facts
                    .instances
                    .get(&file.crd.name)
                    .map(Vec::as_slice)
                    .unwrap_or_default(),
                in_use: facts.in_use.contains(&file.crd.name),
                reserved: facts.reserved.get(&file.crd.name).map(String::as_str),
                namespaced: facts.settings.namespaced_crds,
            };
            match place(&wanted) {
                Placement::Apply(object) => applies.push(object),
                Placement::Inherit(object, note) => {
                    applies.push(object);
                    notes.push(note);
                }
                Placement::Keep => {}
                Placement::Recreate if facts.in_use.contains(&file.crd.name) => {
                    self.soon = true;
                    refusals.push(has_objects(&file.crd.name));
                }
                Placement::Recreate => anew.extend(live.map(reference_to)),
                Placement::Wait(why) => waits.push(why),
                Placement::Refuse(trouble) | Placement::Break(Break { trouble, .. }) => {
                    refusals.push(trouble);
                }
            }
        }
        // Nothing is written unless all of it can be.
        if let Some(first) = refusals.first() {
            let all: Vec<&str> = refusals
                .iter()
                .map(|trouble| trouble.message.as_str())
                .collect();
            return Err(Stop::at(CRDS_ESTABLISHED, first.reason, all.join("; ")));
        }
        if !waits.is_empty() {
            return Err(Stop::at(CRDS_ESTABLISHED, "Waiting", waits.join("; ")));
        }
        if let Some(refused) = facts.refused.filter(|refused| refused.kind != Stack::KIND) {
            return Err(Stop::refused(CRDS_ESTABLISHED, refused));
        }
        self.applies.extend(applies);
        if !anew.is_empty() {
            let names: Vec<&str> = anew.iter().map(|crd| crd.name.as_str()).collect();
            let what = format!(
                "waiting until {} is gone, to be made anew",
                names.join(", ")
            );
            self.deletes.extend(anew);
            return Err(Stop::at(CRDS_ESTABLISHED, "Waiting", what));
        }
        let late: Vec<&str> = package
            .crds
            .iter()
            .map(|file| file.crd.name.as_str())
            .filter(|name| !live(name).is_some_and(|live| live.established))
            .collect();
        if !late.is_empty() {
            let what = format!("waiting until the API server serves {}", late.join(", "));
            return Err(Stop::at(CRDS_ESTABLISHED, "Waiting", what));
        }
        self.drop_others(facts, package);
        Ok(notes)
    }

    /// The Stack, and whether it runs.
    fn record(
        &mut self,
        facts: &Facts<'_>,
        package: &Package,
        reference: &Reference,
    ) -> Result<(), Stop> {
        let desired = record(facts, package, reference).map_err(|wrong| {
            Stop::at(CONTROLLER_AVAILABLE, "ControllerInvalid", wrong.join("; "))
        })?;
        if let Some(stack) = facts.stack.filter(|stack| !is_ours(stack, facts.install)) {
            let what = format!(
                "a Stack {}/{} is there that this install did not make",
                stack.metadata.namespace, stack.metadata.name
            );
            return Err(Stop::at(CONTROLLER_AVAILABLE, "StackExists", what));
        }
        if let Some(refused) = facts.refused {
            return Err(Stop::refused(CONTROLLER_AVAILABLE, refused));
        }
        self.applies.push(desired);
        self.status.version.clone_from(&package.app.version);
        self.status.digest = reference.digest.clone().unwrap_or_default();
        let Some(stack) = facts.stack else {
            return Err(Stop::at(
                CONTROLLER_AVAILABLE,
                "Starting",
                "its Stack is being made",
            ));
        };
        self.status.stack_record = Some(ObjectRef {
            api_version: api::API_VERSION.to_owned(),
            kind: Stack::KIND.to_owned(),
            namespace: stack.metadata.namespace.clone(),
            name: stack.metadata.name.clone(),
            uid: stack.metadata.uid.clone(),
        });
        let conditions = stack
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let current =
            |condition: &&Condition| condition.observed_generation >= stack.metadata.generation;
        let of = |kind: &str| {
            conditions
                .iter()
                .filter(current)
                .find(|condition| condition.r#type == kind)
        };
        match of(CONTROLLER_AVAILABLE) {
            Some(available) => {
                self.conditions.set(
                    CONTROLLER_AVAILABLE,
                    available.status,
                    &available.reason,
                    &available.message,
                );
            }
            None => {
                self.conditions.set(
                    CONTROLLER_AVAILABLE,
                    Status::False,
                    "Starting",
                    "its Stack was not looked at yet",
                );
            }
        }
        match of(READY) {
            Some(ready) => self
                .conditions
                .set(READY, ready.status, &ready.reason, &ready.message),
            None => self.conditions.set(
                READY,
                Status::False,
                "Starting",
                "its Stack was not looked at yet",
            ),
        }
        if is_of(stack, reference) {
            let what = format!(
                "version {} is in place, as {}",
                package.app.version, self.status.digest
            );
            self.conditions
                .done(UP_TO_DATE, "Installed", what.trim_end_matches(", as "));
        } else {
            self.conditions.set(
                UP_TO_DATE,
                Status::False,
                "Starting",
                "its Stack is being changed",
            );
        }
        Ok(())
    }
}

fn take<'s, T>(condition: &'static str, step: &'s Step<T>) -> Result<&'s T, Stop> {
    match step {
        Step::Done(value) => Ok(value),
        Step::Pending(what) => Err(Stop::at(condition, "Pulling", what.as_str())),
        Step::Failed(trouble) => Err(Stop {
            condition: Some(condition),
            trouble: trouble.clone(),
        }),
    }
}

/// What the Stack says of itself.
pub(crate) fn stack_ready<'f>(facts: &Facts<'f>) -> Option<&'f Condition> {
    let stack = facts.stack.filter(|stack| is_ours(stack, facts.install))?;
    stack
        .status
        .as_ref()?
        .conditions
        .iter()
        .find(|condition| condition.r#type == READY)
}
