//! Installs packages of this machine, and installs them anew when they have changed. One that is
//! not sound is told of, and what was installed before stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{ClusterStackInstall, PermissionScope, StackInstall, annotations, conditions};
use engine::Severity;
use futures::StreamExt;
use install::{needs_only_time, waits_for_kind};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::kind_owners::KindOwners;
use crate::control_plane::LocalPackages;
use crate::diff::{Asked, Difference, Reader, compare, harmless, show, summary};
use crate::project::{Project, packages_near};
use crate::terminal::error::Failure;
use crate::terminal::printer::{Paint, Printer};

/// The field manager of installs.
const MANAGER: &str = "cairn-up";
/// How long something may wait for what is not installed before that is told.
const A_MOMENT: Duration = Duration::from_secs(1);
/// The same for what needs nothing but time.
const A_WHILE: Duration = Duration::from_secs(15);

/// A package in a directory.
pub(crate) struct Installer {
    /// The directory, as it was given.
    pub dir: PathBuf,
    /// The name of its install and its stack.
    pub name: String,
    namespace: String,
    client: Client,
    shelf: Arc<LocalPackages>,
    shares: Arc<KindOwners>,
    /// Whether it was told why it is not installed.
    stuck: watch::Sender<bool>,
}

/// An install that was changed.
pub(crate) struct Pending {
    begin: Instant,
    api: Api<DynamicObject>,
    generation: i64,
    /// Of the image that is to be installed.
    digest: String,
    kinds: Vec<String>,
    again: bool,
    /// The instances that refuse something of it, in words.
    refused: Option<String>,
    /// The install as it is to be afterwards, if it was told for this change alone that it may
    /// break.
    afterwards: Option<Value>,
}

impl Installer {
    /// The packages in these directories, if there is one in each, and no two have the same name.
    pub fn all(
        dirs: &[PathBuf],
        namespace: &str,
        client: &Client,
        shelf: &Arc<LocalPackages>,
    ) -> Result<Vec<Installer>, Failure> {
        let shares = Arc::new(KindOwners::default());
        let installer = |(dir, name)| Installer {
            dir,
            name,
            namespace: namespace.to_owned(),
            client: client.clone(),
            shelf: shelf.clone(),
            shares: shares.clone(),
            stuck: watch::Sender::new(false),
        };
        Ok(names(dirs)?.into_iter().map(installer).collect())
    }

    /// Waits until it was told why it is not installed, which may be never.
    pub async fn stuck(&self) {
        // The sender is ours, so that it cannot be gone.
        let _ = self.stuck.subscribe().wait_for(|stuck| *stuck).await;
    }

    /// Reads the package and has it installed if it is another than before; tells what that
    /// changes.
    pub async fn refresh(&self, printer: &Printer) -> Result<Option<Pending>, Failure> {
        let registry = self.dir.join(".registry");
        if let Some(gone) = [&self.dir, &registry]
            .into_iter()
            .find(|path| !path.exists())
        {
            let hint = format!(
                "what was installed keeps serving; put it back to go on, or take that away: cairn uninstall {}",
                self.name
            );
            return Err(Failure::new(format!("{} is gone", gone.display())).hint(hint));
        }
        let project = Project::read(&self.dir)?;
        if self.faults(&project, printer) {
            return Ok(None);
        }
        self.shares.take(&self.name, &self.namespace, &project)?;
        let begin = Instant::now();
        self.stuck.send_replace(false);
        let reference = self.shelf.put(&self.name, &project)?;
        let api = self.installs(project.package.app.permission_scope);
        let before = api
            .get_opt(&self.name)
            .await
            .map_err(|error| Failure::new(error.to_string()))?;
        let package = reference.to_string();
        let kinds = project
            .package
            .crds
            .iter()
            .map(|file| file.crd.names.kind.clone())
            .collect();
        let digest = reference.digest.clone().unwrap_or_default();
        let mut pending = Pending {
            begin,
            api: api.clone(),
            generation: 0,
            again: before
                .as_ref()
                .is_some_and(|before| serves_other(&before.data["status"], &digest)),
            digest,
            kinds,
            refused: None,
            afterwards: None,
        };
        let is_asked = before
            .as_ref()
            .is_some_and(|before| before.data["spec"]["package"] == package.as_str());
        if let Some(before) = before.as_ref().filter(|_| is_asked && !pending.again) {
            pending.generation = before.metadata.generation.unwrap_or_default();
            return Ok(Some(pending));
        }
        let mut object = self.install(project.package.app.permission_scope, &package);
        // One that does not serve makes nothing of the instances that are there.
        if before
            .as_ref()
            .is_some_and(|before| !is_kept_out(&before.data))
        {
            let reader = Reader::new(self.client.clone());
            let differences = self.compared(&reader, &project).await?;
            // What is asked for already was told when it was, and beside nothing at all everything
            // is new.
            if !is_asked && (pending.again || differences.iter().any(Difference::is_refused)) {
                self.tell(&differences, printer)?;
            }
            if differences.iter().any(|difference| difference.allowed) {
                pending.afterwards = Some(object.clone());
                object["metadata"]["annotations"] =
                    json!({ annotations::ALLOW_BREAKING_CHANGES: "true" });
            }
            let refused = differences
                .iter()
                .find(|difference| difference.refused() > 0);
            pending.refused = refused.map(summary);
        }
        let params = PatchParams::apply(MANAGER).force();
        let applied = api.patch(&self.name, &params, &Patch::Apply(&object)).await;
        let applied = applied
            .map_err(|error| Failure::new(format!("{} is not installed: {error}", self.name)))?;
        self.shelf.keep_only(&reference);
        pending.generation = applied.metadata.generation.unwrap_or_default();
        Ok(Some(pending))
    }

    /// What the package would change. A type that breaks nothing that is there may change: this is
    /// where it is made.
    async fn compared(
        &self,
        reader: &Reader,
        project: &Project,
    ) -> Result<Vec<Difference>, Failure> {
        let namespace = match project.package.app.permission_scope {
            PermissionScope::Namespaced => Some(self.namespace.as_str()),
            PermissionScope::Cluster => None,
        };
        let name = self.name.as_str();
        let asked = Asked {
            namespace,
            name,
            context: "default",
            ..Asked::default()
        };
        let mut differences = compare(reader, project, &asked).await?;
        if differences.iter().any(Difference::may_be_allowed) && harmless(reader, project).await? {
            for difference in differences
                .iter_mut()
                .filter(|difference| difference.may_be_allowed())
            {
                difference.allowed = true;
            }
        }
        differences.iter_mut().for_each(Difference::stay);
        Ok(differences)
    }

    fn tell(&self, differences: &[Difference], printer: &Printer) -> Result<(), Failure> {
        let title = self.title(printer);
        if !differences
            .iter()
            .any(|difference| difference.is_any() || difference.is_refused())
        {
            return printer.line(&format!(
                "{title} has changed, and nothing of its types and templates"
            ));
        }
        printer.line(&format!("{title} has changed:"))?;
        for difference in differences {
            show(difference, printer)?;
            printer.line(&summary(difference))?;
        }
        Ok(())
    }

    /// Waits until what was changed is in place, however long that takes, and tells so; before
    /// that, why it is not.
    pub async fn settle(&self, pending: Pending, printer: &Printer) -> Result<(), Failure> {
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let mut events = watcher(pending.api.clone(), config)
            .default_backoff()
            .boxed();
        let mut told = String::new();
        // What it waits for, and when that is to be told.
        let mut waits: Option<(String, tokio::time::Instant)> = None;
        let (what, hint) = match pending.again {
            true => (
                format!("the change of {}", self.name),
                Some("what was installed before keeps serving"),
            ),
            false => (self.name.clone(), None),
        };
        loop {
            let patience = async {
                match &waits {
                    Some((why, until)) if *why != told => tokio::time::sleep_until(*until).await,
                    _ => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                event = events.next() => event,
                () = patience => {
                    if let Some((why, _)) = &waits {
                        let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                        printer.waiting(&format!("{what} is not installed yet: {why}{hint}"));
                        told.clone_from(why);
                        self.stuck.send_replace(true);
                    }
                    continue;
                }
            };
            let Some(event) = event else { return Ok(()) };
            let object = match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => object,
                // Somebody took it away, and that is told elsewhere.
                Ok(Event::Delete(_)) => return Ok(()),
                _ => continue,
            };
            match progress(&object.data["status"], &pending) {
                Progress::Done => {
                    if let Some(afterwards) = &pending.afterwards {
                        self.take_back(&pending.api, afterwards).await?;
                    }
                    let version = object.data["status"]["version"]
                        .as_str()
                        .unwrap_or_default();
                    let anew = if pending.again { " anew" } else { "" };
                    let (kinds, place) = (pending.kinds.join(", "), self.place(&object));
                    // Once it was stuck, it took as long as somebody took to help.
                    let took = match told.as_str() {
                        "" => format!(" ({} ms)", pending.begin.elapsed().as_millis()),
                        _ => String::new(),
                    };
                    let refused = pending
                        .refused
                        .map(|refused| format!("; {refused}"))
                        .unwrap_or_default();
                    let what =
                        format!("{version} is installed{anew} {place}: {kinds}{took}{refused}");
                    return printer.line(&format!("{} {}", self.title(printer), what.trim_start()));
                }
                Progress::Stuck(why) => {
                    waits = None;
                    if why != told {
                        let failure = Failure::new(format!("{what} is not installed: {why}"));
                        printer.failure(
                            &hint
                                .iter()
                                .fold(failure, |failure, hint| failure.hint(*hint)),
                        );
                        told = why;
                        self.stuck.send_replace(true);
                    }
                }
                Progress::Waiting(why, patience)
                    if waits.as_ref().is_none_or(|(known, _)| *known != why) =>
                {
                    waits = Some((why, tokio::time::Instant::now() + patience));
                }
                Progress::Waiting(..) => {}
                Progress::Coming => waits = None,
            }
        }
    }

    /// Tells whenever somebody takes the install away, for as long as it is polled.
    pub async fn uninstalled(&self, printer: &Printer) -> Result<(), Failure> {
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let events = |scope| {
            watcher(self.installs(scope), config.clone())
                .default_backoff()
                .boxed()
        };
        let scopes = [PermissionScope::Namespaced, PermissionScope::Cluster];
        let mut events = futures::stream::select_all(scopes.map(events));
        while let Some(event) = events.next().await {
            if matches!(event, Ok(Event::Delete(_))) {
                let what = "was uninstalled; save a file of its package, and it is installed again";
                printer.line(&format!("{} {what}", self.title(printer)))?;
            }
        }
        Ok(())
    }

    /// Says no longer that the types of an install may break.
    async fn take_back(&self, api: &Api<DynamicObject>, install: &Value) -> Result<(), Failure> {
        let params = PatchParams::apply(MANAGER).force();
        let done = api.patch(&self.name, &params, &Patch::Apply(install)).await;
        done.map(|_| ())
            .map_err(|error| Failure::new(format!("{}: {error}", self.name)))
    }

    /// A file beside the package that holds one of its instances, to have something to begin with.
    pub fn specimen(&self) -> Option<PathBuf> {
        Project::read(&self.dir).ok()?.specimen()
    }

    /// Tells everything that is wrong with a package; whether it cannot be installed.
    fn faults(&self, project: &Project, printer: &Printer) -> bool {
        for finding in &project.findings {
            let (finding, snippet) = finding.shown(project.text(&finding.file));
            printer.finding(&project.placed(&finding), snippet.as_deref());
        }
        let errors = project
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        if errors > 0 || project.compiled.is_none() {
            let count = if errors == 1 {
                "an error".to_owned()
            } else {
                format!("{errors} errors")
            };
            let failure = Failure::new(format!("{} has {count} and is not installed", self.name));
            printer.failure(
                &failure.hint(
                    "what was installed before, if anything, keeps serving; save to try again",
                ),
            );
            return true;
        }
        false
    }

    fn installs(&self, scope: PermissionScope) -> Api<DynamicObject> {
        let (kind, plural) = match scope {
            PermissionScope::Namespaced => (StackInstall::KIND, StackInstall::PLURAL),
            PermissionScope::Cluster => (ClusterStackInstall::KIND, ClusterStackInstall::PLURAL),
        };
        let gvk = GroupVersionKind::gvk(api::GROUP, api::VERSION, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        match scope {
            PermissionScope::Namespaced => {
                Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
            }
            PermissionScope::Cluster => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn install(&self, scope: PermissionScope, package: &str) -> Value {
        let (kind, metadata) = match scope {
            PermissionScope::Namespaced => (
                StackInstall::KIND,
                json!({ "name": self.name, "namespace": self.namespace }),
            ),
            PermissionScope::Cluster => (ClusterStackInstall::KIND, json!({ "name": self.name })),
        };
        json!({
            "apiVersion": api::API_VERSION, "kind": kind, "metadata": metadata, "spec": { "package": package },
        })
    }

    fn title(&self, printer: &Printer) -> String {
        printer.painted(Paint::Strong, &self.name)
    }

    fn place(&self, object: &DynamicObject) -> String {
        match &object.metadata.namespace {
            Some(namespace) => format!("in the namespace {namespace}"),
            None => "for the whole cluster".to_owned(),
        }
    }
}

/// Takes back what was allowed for one change alone by a run that was ended before that was in
/// place. What somebody else has allowed stays.
pub(crate) async fn take_back_all(client: &Client) -> Result<(), Failure> {
    for (kind, plural) in [
        (StackInstall::KIND, StackInstall::PLURAL),
        (ClusterStackInstall::KIND, ClusterStackInstall::PLURAL),
    ] {
        let bad = |error: kube::Error| Failure::new(error.to_string());
        let gvk = GroupVersionKind::gvk(api::GROUP, api::VERSION, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for install in all.list(&ListParams::default()).await.map_err(bad)?.items {
            let metadata = &install.metadata;
            let is_allowed = metadata
                .annotations
                .iter()
                .flatten()
                .any(|(key, _)| key == annotations::ALLOW_BREAKING_CHANGES);
            let is_ours = metadata
                .managed_fields
                .iter()
                .flatten()
                .any(|entry| entry.manager.as_deref() == Some(MANAGER));
            let (Some(name), true) = (&metadata.name, is_allowed && is_ours) else {
                continue;
            };
            let own: Api<DynamicObject> = match &metadata.namespace {
                Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
                None => all.clone(),
            };
            let object = json!({
                "apiVersion": api::API_VERSION, "kind": kind, "metadata": { "name": name },
                "spec": { "package": install.data["spec"]["package"] },
            });
            let params = PatchParams::apply(MANAGER).force();
            own.patch(name, &params, &Patch::Apply(&object))
                .await
                .map_err(bad)?;
        }
    }
    Ok(())
}

/// Whether an install waits until another that serves its kind is gone, and serves nothing until
/// then.
pub(crate) fn is_kept_out(install: &Value) -> bool {
    let conditions = install["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_ready =
        |condition: &Value| condition["type"] == conditions::READY && condition["status"] == "True";
    waits_for_kind(install) && !conditions.iter().any(is_ready)
}

/// Whether an install serves another image than this one.
fn serves_other(status: &Value, digest: &str) -> bool {
    status["digest"]
        .as_str()
        .is_some_and(|serving| !serving.is_empty() && serving != digest)
}

/// How far an install is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Coming,
    /// It may go on by itself, and if not within this time, somebody has to do something.
    Waiting(String, Duration),
    /// It does not go on by itself.
    Stuck(String),
    Done,
}

/// How far an install is with what was asked of it last. It may be ready with what it was before.
fn progress(status: &Value, pending: &Pending) -> Progress {
    let all = status["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let current = |one: &&Value| one["observedGeneration"].as_i64() >= Some(pending.generation);
    let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let stuck = all
        .iter()
        .filter(current)
        .find(|one| one["status"] == "False" && !needs_only_time(&text(one, "reason")))
        .map(|one| format!("{} ({})", text(one, "message"), text(one, "reason")));
    // Conditions that sum up repeat what another says, and may come before it.
    let fails = |one: &&Value| one["status"] == "False";
    let depends = |one: &&Value| one["type"] == conditions::DEPENDENCIES_SATISFIED;
    let cause = all.iter().filter(current).filter(fails).find(depends);
    let waits = cause
        .or_else(|| all.iter().filter(current).find(fails))
        .map(|one| {
            let patience = if one["type"] == conditions::DEPENDENCIES_SATISFIED {
                A_MOMENT
            } else {
                A_WHILE
            };
            Progress::Waiting(text(one, "message"), patience)
        });
    let ready = all
        .iter()
        .any(|one| one["type"] == conditions::READY && one["status"] == "True");
    match stuck {
        Some(why) => Progress::Stuck(why),
        None if ready && status["digest"] == pending.digest.as_str() => Progress::Done,
        None => waits.unwrap_or(Progress::Coming),
    }
}

/// Directories of packages with the names of their installs, or why they cannot be installed
/// together.
pub(crate) fn names(dirs: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for dir in dirs {
        let bad = |what: &str| Failure::new(format!("{} {what}", dir.display()));
        if !dir.is_dir() {
            return Err(bad("is no directory").hint(packages_near(dir)));
        }
        if !dir.join(".registry").is_dir() {
            return Err(
                bad("is no package: it has no `.registry` directory").hint(packages_near(dir))
            );
        }
        let full = dir
            .canonicalize()
            .map_err(|error| bad(&format!("cannot be found: {error}")))?;
        let name = plain(&full.file_name().unwrap_or_default().to_string_lossy());
        if let Some((other, _)) = found.iter().find(|(_, known)| *known == name) {
            let what = format!(
                "{} and {} would both be installed as {name}",
                other.display(),
                dir.display()
            );
            return Err(Failure::usage(what).hint("rename one of the directories"));
        }
        found.push((dir.clone(), name));
    }
    Ok(found)
}

/// A name as objects have them.
fn plain(name: &str) -> String {
    let fit = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let name: String = name.chars().map(fit).take(50).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        "stack".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use kube::api::DynamicObject;
    use kube::core::{ApiResource, GroupVersionKind};
    use kube::{Api, Client};
    use serde_json::{Value, json};

    use super::{A_MOMENT, A_WHILE, Pending, Progress, plain, progress};

    #[tokio::test]
    async fn an_install_is_done_when_it_is_ready_with_the_very_image_that_was_asked_for() {
        let server = apiserver::Server::start(Default::default()).await.unwrap();
        let client = Client::new(server.in_process_service(None), "default");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        let api: Api<DynamicObject> = Api::all_with(client, &resource);
        let pending = Pending {
            begin: Instant::now(),
            api,
            generation: 2,
            digest: "new".to_owned(),
            kinds: Vec::new(),
            again: true,
            refused: None,
            afterwards: None,
        };
        let ready = |generation: i64| json!({ "type": "Ready", "status": "True", "observedGeneration": generation });
        let crds = |generation: i64, reason: &str| {
            json!({
                "type": "CRDsEstablished", "status": "False", "reason": reason, "message": "no",
                "observedGeneration": generation,
            })
        };
        let depends = || {
            json!({
                "type": "DependenciesSatisfied", "status": "False", "reason": "Waiting", "message": "no",
                "observedGeneration": 2,
            })
        };
        let sum = |kind: &str| {
            json!({
                "type": kind, "status": "False", "reason": "Waiting", "message": "no", "observedGeneration": 2,
            })
        };
        let stuck = || Progress::Stuck("no (CRDConflict)".to_owned());
        for (digest, conditions, expected) in [
            ("new", vec![ready(2)], Progress::Done),
            ("old", vec![ready(2)], Progress::Coming),
            ("old", vec![ready(2), crds(2, "CRDConflict")], stuck()),
            (
                "old",
                vec![ready(2), crds(1, "CRDConflict")],
                Progress::Coming,
            ),
            (
                "old",
                vec![ready(2), crds(2, "Waiting")],
                Progress::Waiting("no".to_owned(), A_WHILE),
            ),
            (
                "",
                vec![depends()],
                Progress::Waiting("no".to_owned(), A_MOMENT),
            ),
            (
                "",
                vec![sum("Ready"), sum("UpToDate"), depends()],
                Progress::Waiting("no".to_owned(), A_MOMENT),
            ),
            ("", vec![], Progress::Coming),
        ] {
            let status: Value = json!({ "digest": digest, "conditions": conditions });
            assert_eq!(progress(&status, &pending), expected, "{status}");
        }
    }

    #[test]
    fn the_name_of_any_directory_becomes_the_name_of_an_object() {
        for (name, expected) in [
            ("web", "web"),
            ("My Stack_2", "my-stack-2"),
            ("--x--", "x"),
            ("äöü", "stack"),
            ("a.b", "a-b"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }
}
