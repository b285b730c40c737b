//! `cairn stack-manager --runner process`: each stack is a process of its own with its own rights,
//! started again when it dies, and gone with its manager, however that ends.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::wait::conditions::is_deleted;
use package::Files;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};
use tokio::process::{Child, Command};

use crate::registry::Registry;

pub fn ours(scene: &Scene<'_>, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("stacks.crossplane.io", "v1alpha1", kind);
    scene.dynamic(
        scene.client(),
        &ApiResource::from_gvk_with_plural(&kind, plural),
    )
}

/// A package whose kind `Note` becomes a ConfigMap.
pub fn package(group: &str) -> Files {
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: notes.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Note, plural: notes, singular: note}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      \
         openAPIV3Schema:\n        type: object\n        properties:\n          \
         spec: {{type: object, properties: {{text: {{type: string}}}}}}\n          \
         status: {{type: object, properties: {{said: {{type: string}}}}}}\n"
    );
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}'}\n\
               data: {text: '{{ .spec.text }}'}\n";
    let files = [
        (
            "app.yaml".to_owned(),
            "title: Notes\nversion: 1.0.0\ndependsOn: [{crd: configmap/v1}]\n".to_owned(),
        ),
        ("resources/note.crd.yaml".to_owned(), crd),
        (
            format!("templates/note.{group}/v1/map.yaml"),
            map.to_owned(),
        ),
        (
            format!("templates/note.{group}/v1/status.yaml"),
            "said: '{{ .map.data.text }}'\n".to_owned(),
        ),
    ];
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

/// The program; it is killed with the test.
pub fn start(cluster: &Cluster, home: &Path) -> Result<Child> {
    start_with(cluster, home, &[])
}

/// The same with more options.
pub fn start_with(cluster: &Cluster, home: &Path, more: &[&str]) -> Result<Child> {
    let path = std::env::join_paths([home.join("bin")].into_iter().chain(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    )))?;
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(home.join("log"))?;
    Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args([
            "stack-manager",
            "--runner",
            "process",
            "--listen",
            "127.0.0.1:0",
            "--namespace",
            "cairn",
        ])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig())
        .arg("--index")
        .arg(home.join("index.yaml"))
        .args(more)
        .env("PATH", path)
        .env("XDG_CACHE_HOME", home)
        .env("XDG_RUNTIME_DIR", home.join("run"))
        .env("DOCKER_CONFIG", home)
        .stdin(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .context("cairn cannot be started")
}

/// Writes down what an image brings, as the program says it.
async fn index(home: &Path, image: &str) -> Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(["index", image])
        .env("XDG_CACHE_HOME", home)
        .env("DOCKER_CONFIG", home);
    let output = command.output().await?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(std::fs::write(home.join("index.yaml"), output.stdout)?)
}

/// The process in which a Stack says that its controller runs.
fn process(stack: Option<&DynamicObject>) -> Option<u32> {
    let conditions = stack?.data["status"]["conditions"].as_array()?;
    let available = conditions
        .iter()
        .find(|one| one["type"] == "ControllerAvailable" && one["status"] == "True")?;
    available["message"]
        .as_str()?
        .strip_prefix("its controller runs as the process ")?
        .parse()
        .ok()
}

/// Waits until the Stack runs in a process other than this one.
async fn runs(scene: &Scene<'_>, other_than: u32) -> Result<u32> {
    let runs =
        move |stack: Option<&DynamicObject>| process(stack).is_some_and(|id| id != other_than);
    let stack = scene
        .wait(&ours(scene, "Stack", "stacks"), "notes", runs)
        .await?;
    process(stack.as_ref()).context("it runs")
}

/// Waits until a process is gone. One that nobody asked after is as good as gone.
pub async fn gone(scene: &Scene<'_>, id: u32) -> Result<()> {
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    scene
        .within("the process to end", async {
            while lives() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        })
        .await
}

pub fn signal(id: u32, signal: Signal) -> Result<()> {
    let id = Pid::from_raw(i32::try_from(id)?).context("no process")?;
    Ok(kill_process(id, signal)?)
}

pub fn says(text: &'static str) -> impl Fn(Option<&ConfigMap>) -> bool {
    move |map| {
        map.and_then(|map| map.data.as_ref())
            .is_some_and(|data| data["text"] == text)
    }
}

/// Waits until the kinds of installs and Stacks are served.
pub async fn defined(scene: &Scene<'_>) -> Result<()> {
    let crds = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let crds: Api<DynamicObject> = Api::all_with(scene.client(), &ApiResource::from_gvk(&crds));
    for kind in ["stackinstalls", "stacks"] {
        let established = |crd: Option<&DynamicObject>| has(crd, "Established", "True", "");
        scene
            .wait(&crds, &format!("{kind}.stacks.crossplane.io"), established)
            .await?;
    }
    Ok(())
}

/// A cluster has one stack manager at a time, so scenarios with one take turns.
pub static MANAGED: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

pub async fn a_stack_runs_as_a_process_with_its_own_rights_and_ends_with_its_manager(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    let story = story(&cluster, home.path()).await;
    let log = std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
    story.with_context(|| format!("the manager's log:\n{log}"))
}

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let scene = cluster.scene("process").await?;
    let registry = Registry::start();
    registry.put("notes", "1.0.0", &package(scene.group()));
    index(home, &format!("{}/notes:1.0.0", registry.host)).await?;
    let mut manager = start(cluster, home)?;
    defined(&scene).await?;

    let installs = ours(&scene, "StackInstall", "stackinstalls");
    let install = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": "notes" },
        "spec": { "crd": format!("note.{}/v1", scene.group()) },
    });
    let mark = cluster.mark()?;
    let install = installs
        .create(&PostParams::default(), &serde_json::from_value(install)?)
        .await?;
    scene
        .wait(&installs, "notes", |object: Option<&DynamicObject>| {
            has(object, "Ready", "True", "")
        })
        .await?;
    let first = runs(&scene, 0).await?;

    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(scene.group(), "v1", "Note"),
        "notes",
    );
    let notes = scene.dynamic(scene.client(), &kind);
    let note = json!({
        "apiVersion": kind.api_version, "kind": "Note", "metadata": { "name": "one" }, "spec": { "text": "hello" },
    });
    notes
        .create(&PostParams::default(), &serde_json::from_value(note)?)
        .await?;
    let maps: Api<ConfigMap> = scene.api();
    scene.wait(&maps, "one", says("hello")).await?;
    let told = |note: Option<&DynamicObject>| {
        note.is_some_and(|note| note.data["status"]["said"] == "hello")
    };
    scene.wait(&notes, "one", told).await?;
    let namespace = scene.namespace().to_owned();
    let written = move |request: &testkit::Request| {
        request.resource == "configmaps"
            && request.verb == "patch"
            && request.namespace == namespace
    };
    let account = scene.service_account_user("stack-notes");
    for request in cluster.requests(mark, written).await? {
        ensure!(request.user == account, "{request:?}");
    }

    a_package_with_a_controller_of_its_own_waits_for_pods(&scene).await?;

    // One that dies is started again.
    signal(first, Signal::KILL)?;
    let second = runs(&scene, first).await?;
    // Its manager is killed, which leaves nobody to tell it to end.
    manager.kill().await?;
    gone(&scene, second).await?;

    let mut manager = start(cluster, home)?;
    let third = runs(&scene, second).await?;
    let change = Patch::Merge(json!({ "spec": { "text": "again" } }));
    notes.patch("one", &PatchParams::default(), &change).await?;
    scene.wait(&maps, "one", says("again")).await?;

    installs.delete("notes", &DeleteParams::default()).await?;
    scene
        .wait(
            &installs,
            "notes",
            is_deleted(&install.metadata.uid.unwrap_or_default()),
        )
        .await?;
    gone(&scene, third).await?;
    signal(manager.id().context("the manager runs")?, Signal::TERM)?;
    ensure!(manager.wait().await?.success());
    ensure!(
        !home.join("run").exists(),
        "credentials have no place in the file system"
    );
    Ok(())
}

async fn a_package_with_a_controller_of_its_own_waits_for_pods(scene: &Scene<'_>) -> Result<()> {
    let stacks = ours(scene, "Stack", "stacks");
    let pod = json!({ "containers": [{ "name": "main", "image": "example.org/controller:1" }] });
    let stack = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "metadata": { "name": "brings" },
        "spec": { "controller": { "deployment": { "name": "main", "spec": { "template": { "spec": pod } } } } },
    });
    stacks
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    let refused =
        |stack: Option<&DynamicObject>| has(stack, "ControllerAvailable", "False", "NotRunnable");
    scene.wait(&stacks, "brings", refused).await?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(["list", "--namespace", scene.namespace(), "--kubeconfig"])
        .arg(scene.cluster().kubeconfig());
    let listed = command.output().await?;
    let listed = String::from_utf8(listed.stdout)?;
    let row = listed
        .lines()
        .find(|line| line.contains("brings"))
        .context("a Stack that no install made is listed")?;
    ensure!(row.contains("(Stack)") && row.contains("False"), "{listed}");
    ensure!(
        listed.lines().filter(|line| line.contains("notes")).count() == 1,
        "an install is listed once: {listed}"
    );
    stacks.delete("brings", &DeleteParams::default()).await?;
    scene
        .wait(&stacks, "brings", |stack: Option<&DynamicObject>| {
            stack.is_none()
        })
        .await?;
    Ok(())
}

/// Whether a condition of an object has a status and, unless that is empty, a reason.
pub fn has(object: Option<&DynamicObject>, kind: &str, status: &str, reason: &str) -> bool {
    let conditions = object.map_or(Value::Null, |object| {
        object.data["status"]["conditions"].clone()
    });
    conditions.as_array().is_some_and(|all| {
        all.iter().any(|one| {
            one["type"] == kind
                && one["status"] == status
                && (reason.is_empty() || one["reason"] == reason)
        })
    })
}
