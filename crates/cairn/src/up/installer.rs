//! Installs packages of this machine, and installs them anew when they have changed. One that is not sound is told of,
//! and what was installed before stays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::{ClusterStackInstall, PermissionScope, StackInstall, conditions};
use engine::Severity;
use engine::manage::needs_only_time;
use futures::StreamExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::differences::{Asked, Reader, compare, show, summary};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::plane::Shelf;
use crate::printer::{Paint, Printer};
use crate::project::Project;
use crate::snippet;

/// The field manager of installs.
const MANAGER: &str = "cairn-up";
/// How long to wait for an install before going on without it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A package in a directory.
pub(crate) struct Installer {
    /// The directory, as it was given.
    pub dir: PathBuf,
    /// The name of its install and its stack.
    pub name: String,
    namespace: String,
    client: Client,
    shelf: Arc<Shelf>,
}

/// An install that was changed.
pub(crate) struct Pending {
    begin: Instant,
    api: Api<DynamicObject>,
    generation: i64,
    kinds: Vec<String>,
    again: bool,
}

impl Installer {
    /// The packages in these directories, if there is one in each, and no two have the same name.
    pub fn all(
        dirs: &[PathBuf],
        namespace: &str,
        client: &Client,
        shelf: &Arc<Shelf>,
    ) -> Result<Vec<Installer>, Failure> {
        let installer = |(dir, name)| Installer {
            dir,
            name,
            namespace: namespace.to_owned(),
            client: client.clone(),
            shelf: shelf.clone(),
        };
        Ok(names(dirs)?.into_iter().map(installer).collect())
    }

    /// Reads the package and has it installed if it is another than before; tells what that changes.
    pub async fn refresh(&self, printer: &Printer) -> Result<Option<Pending>, Failure> {
        let project = Project::read(&self.dir)?;
        if self.faults(&project, printer) {
            return Ok(None);
        }
        let begin = Instant::now();
        let reference = self.shelf.put(&self.name, &project)?;
        let api = self.installs(project.package.app.permission_scope);
        let before = api.get_opt(&self.name).await.map_err(|error| Failure::new(error.to_string()))?;
        let package = reference.to_string();
        if before.as_ref().is_some_and(|before| before.data["spec"]["package"] == package.as_str()) {
            return Ok(Some(self.pending(&project, begin, api, before, false)));
        }
        let again = before.is_some();
        if again {
            printer.line(&format!("{} has changed:", self.title(printer)))?;
            let namespace = match project.package.app.permission_scope {
                PermissionScope::Namespaced => Some(self.namespace.as_str()),
                PermissionScope::Cluster => None,
            };
            let asked = Asked { namespace, instance: None, name: &self.name };
            for difference in compare(&Reader::new(self.client.clone()), &project, &asked).await? {
                show(&difference, printer)?;
                printer.line(&summary(&difference))?;
            }
        }
        let object = self.install(project.package.app.permission_scope, &package);
        let params = PatchParams::apply(MANAGER).force();
        let applied = api.patch(&self.name, &params, &Patch::Apply(&object)).await;
        let applied = applied.map_err(|error| Failure::new(format!("{} is not installed: {error}", self.name)))?;
        self.shelf.keep_only(&reference);
        Ok(Some(self.pending(&project, begin, api, Some(applied), again)))
    }

    /// Waits until what was changed is in place, and tells so, or why it is not.
    pub async fn settle(&self, pending: Pending, printer: &Printer) -> Result<(), Failure> {
        let config = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let mut events = watcher(pending.api.clone(), config).boxed();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut last = Value::Null;
        while let Ok(Some(event)) = tokio::time::timeout_at(deadline, events.next()).await {
            let Ok(Event::Apply(object) | Event::InitApply(object)) = event else { continue };
            let all = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let current = |one: &&Value| one["observedGeneration"].as_i64() >= Some(pending.generation);
            let ready = all.iter().filter(current).find(|one| one["type"] == conditions::READY);
            let Some(ready) = ready else { continue };
            if ready["status"] == "True" {
                let version = object.data["status"]["version"].as_str().unwrap_or_default();
                let anew = if pending.again { " anew" } else { "" };
                let took = pending.begin.elapsed().as_millis();
                let kinds = pending.kinds.join(", ");
                let place = self.place(&object);
                let told = format!("{} {version} is installed{anew} {place}: {kinds} ({took} ms)", self.title(printer));
                return printer.line(&told);
            }
            last = ready.clone();
            if !needs_only_time(ready["reason"].as_str().unwrap_or_default()) {
                break;
            }
        }
        let text = |field: &str| last[field].as_str().unwrap_or_default().to_owned();
        let why = if last.is_null() { "nobody has looked at it".to_owned() } else { text("message") };
        let mut failure = Failure::new(format!("{} is not installed ({}): {why}", self.name, text("reason")));
        if pending.again {
            failure = failure.hint("what was installed before keeps serving");
        }
        printer.failure(&failure);
        Ok(())
    }

    /// A file beside the package that holds one of its instances, to have something to begin with.
    pub fn specimen(&self) -> Option<PathBuf> {
        let project = Project::read(&self.dir).ok()?;
        let compiled = project.compiled.as_ref()?;
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.dir).ok()?.flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")).find(|path| {
            let value = std::fs::read_to_string(path).ok().and_then(|text| yaml::parse(&text).ok());
            value.and_then(|value| objects::Gvk::of(&value)).is_some_and(|gvk| compiled.kind(&gvk).is_some())
        })
    }

    fn pending(
        &self,
        project: &Project,
        begin: Instant,
        api: Api<DynamicObject>,
        object: Option<DynamicObject>,
        again: bool,
    ) -> Pending {
        let generation = object.and_then(|object| object.metadata.generation).unwrap_or_default();
        let kinds = project.package.crds.iter().map(|file| file.crd.names.kind.clone()).collect();
        Pending { begin, api, generation, kinds, again }
    }

    /// Tells everything that is wrong with a package; whether it cannot be installed.
    fn faults(&self, project: &Project, printer: &Printer) -> bool {
        for finding in &project.findings {
            let text = project.text(&finding.file);
            let shown = text.and_then(|text| snippet::of(text, finding.line, finding.column.checked_sub(1)));
            let file = if finding.file.is_empty() { self.dir.clone() } else { self.dir.join(&finding.file) };
            let finding = Finding { file: file.display().to_string(), ..finding.clone() };
            printer.finding(&finding, shown.as_deref());
        }
        let errors = project.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        if errors > 0 || project.compiled.is_none() {
            let count = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
            let failure = Failure::new(format!("{} has {count} and is not installed", self.name));
            printer.failure(&failure.hint("what was installed before, if anything, keeps serving; save to try again"));
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
            PermissionScope::Namespaced => Api::namespaced_with(self.client.clone(), &self.namespace, &resource),
            PermissionScope::Cluster => Api::all_with(self.client.clone(), &resource),
        }
    }

    fn install(&self, scope: PermissionScope, package: &str) -> Value {
        let (kind, metadata) = match scope {
            PermissionScope::Namespaced => {
                (StackInstall::KIND, json!({ "name": self.name, "namespace": self.namespace }))
            }
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

/// Directories of packages with the names of their installs, or why they cannot be installed together.
pub(crate) fn names(dirs: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for dir in dirs {
        let bad = |what: &str| Failure::new(format!("{} {what}", dir.display()));
        if !dir.is_dir() {
            return Err(bad("is no directory"));
        }
        if !dir.join(".registry").is_dir() {
            return Err(bad("is no package: it has no `.registry` directory")
                .hint("`cairn validate --help` shows what a package consists of"));
        }
        let full = dir.canonicalize().map_err(|error| bad(&format!("cannot be found: {error}")))?;
        let name = plain(&full.file_name().unwrap_or_default().to_string_lossy());
        if let Some((other, _)) = found.iter().find(|(_, known)| *known == name) {
            let what = format!("{} and {} would both be installed as {name}", other.display(), dir.display());
            return Err(Failure::usage(what).hint("rename one of the directories"));
        }
        found.push((dir.clone(), name));
    }
    Ok(found)
}

/// A name as objects have them.
fn plain(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(fit).take(50).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "stack".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn the_name_of_any_directory_becomes_the_name_of_an_object() {
        for (name, expected) in
            [("web", "web"), ("My Stack_2", "my-stack-2"), ("--x--", "x"), ("äöü", "stack"), ("a.b", "a-b")]
        {
            assert_eq!(plain(name), expected);
        }
    }
}
