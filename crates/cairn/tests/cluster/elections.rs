//! `--leader-elect`: of several managers one works, and another takes over when it ends, however it
//! does.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::processes::{MANAGED, defined, has, ours, package, says, signal};
use crate::registry::Registry;

/// The stack of the scenario.
const STACK: &str = "notes";
/// Long enough for a busy machine to renew in time.
const LEASE: &str = "6";

/// One of several managers; it is killed with the test.
struct Manager {
    child: Child,
    id: u32,
    log: PathBuf,
}

impl Manager {
    fn start(home: &Path, kubeconfig: &Path, args: &[&str]) -> Result<Manager> {
        let log = tempfile::Builder::new()
            .prefix("log")
            .tempfile_in(home)?
            .keep()?;
        let child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(args)
            .args([
                "--listen",
                "127.0.0.1:0",
                "--leader-elect",
                "--lease-duration",
                LEASE,
                "--kubeconfig",
            ])
            .arg(kubeconfig)
            .env("XDG_CACHE_HOME", home)
            .env("DOCKER_CONFIG", home)
            .env_remove("RUST_LOG")
            .stdin(Stdio::null())
            .stderr(log.0)
            .kill_on_drop(true)
            .spawn()
            .context("cairn cannot be started")?;
        let id = child.id().context("it runs")?;
        Ok(Manager {
            child,
            id,
            log: log.1,
        })
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// What it answers over HTTP.
    async fn answers(&self, path: &str) -> Result<String> {
        let log = self.log();
        let address = log
            .split_once("address=")
            .and_then(|(_, rest)| rest.split_whitespace().next());
        let mut stream =
            tokio::net::TcpStream::connect(address.context("it says where it answers")?).await?;
        stream
            .write_all(
                format!("GET {path} HTTP/1.1\r\nHost: cairn\r\nConnection: close\r\n\r\n")
                    .as_bytes(),
            )
            .await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    }

    /// Waits until it waits for its turn. Nothing else tells of that.
    async fn waits(&self, scene: &Scene<'_>) -> Result<()> {
        let waits = async {
            while !self.log().contains("waiting for the Lease") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        scene.within("it to wait for its turn", waits).await
    }

    /// Ends it as a rollout does: it gives its turn to another.
    async fn end(mut self) -> Result<()> {
        signal(self.id, Signal::TERM)?;
        ensure!(
            self.child.wait().await?.success(),
            "it ends well:\n{}",
            self.log()
        );
        Ok(())
    }

    /// Ends it as a power cut does.
    async fn die(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// A Lease that managers want.
struct Turns<'s> {
    scene: &'s Scene<'s>,
    leases: Api<Lease>,
    name: String,
}

impl Turns<'_> {
    /// Waits until somebody else than this process has it; answers who, and how often it went to
    /// another.
    async fn taken(&self, other_than: u32) -> Result<(u32, i32)> {
        let holder = |lease: Option<&Lease>| -> Option<u32> {
            // HOST-PROCESS-RANDOM, and the name of a host may have dashes.
            lease?
                .spec
                .as_ref()?
                .holder_identity
                .as_ref()?
                .rsplit('-')
                .nth(1)?
                .parse()
                .ok()
        };
        let other = move |lease: Option<&Lease>| holder(lease).is_some_and(|id| id != other_than);
        let lease = self.scene.wait(&self.leases, &self.name, other).await?;
        let transitions = lease
            .as_ref()
            .and_then(|lease| lease.spec.as_ref()?.lease_transitions);
        Ok((
            holder(lease.as_ref()).context("somebody has it")?,
            transitions.unwrap_or_default(),
        ))
    }
}

/// Tells the one that works from the one that waits.
fn told_apart(one: Manager, other: Manager, works: u32) -> Result<(Manager, Manager)> {
    ensure!(
        [one.id, other.id].contains(&works),
        "{works} is neither {} nor {}",
        one.id,
        other.id
    );
    Ok(if one.id == works {
        (one, other)
    } else {
        (other, one)
    })
}

pub async fn of_several_managers_one_works_and_another_takes_over(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    let story = story(&cluster, home.path()).await;
    let logs = home
        .path()
        .read_dir()?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file());
    let logs: Vec<String> = logs
        .filter_map(|entry| std::fs::read_to_string(entry.path()).ok())
        .collect();
    story.with_context(|| format!("the managers' logs:\n{}", logs.join("\n---\n")))
}

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let scene = cluster.scene("elections").await?;
    stack_managers(&scene, home).await?;
    let last = template_stack_managers(&scene, home).await?;
    // Whoever comes next finds no stack that it would have to run.
    let manager = Manager::start(
        home,
        cluster.kubeconfig(),
        &["stack-manager", "--namespace", &managers(&scene)],
    )?;
    let gone = cairn(
        &scene,
        home,
        &[
            "uninstall",
            STACK,
            "-n",
            scene.namespace(),
            "--wait",
            "-o",
            "name",
        ],
    )
    .await?;
    ensure!(
        gone == format!("stackinstall.stacks.crossplane.io/{STACK}\n"),
        "{gone}"
    );
    let installs = ours(&scene, "StackInstall", "stackinstalls");
    ensure!(installs.get_opt(STACK).await?.is_none(), "it is gone");
    last.end().await?;
    manager.end().await
}

/// Runs the program to its end, as the admin; answers what it prints.
async fn cairn(scene: &Scene<'_>, home: &Path, args: &[&str]) -> Result<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .args(args)
        .arg("--kubeconfig")
        .arg(scene.cluster().kubeconfig())
        .env("XDG_CACHE_HOME", home);
    let output = command.output().await?;
    ensure!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The namespace of the stack managers; packages are not installed there.
fn managers(scene: &Scene<'_>) -> String {
    format!("{}-managers", scene.namespace())
}

/// Two stack managers install a package, the second one after the first was killed. They run
/// nothing.
async fn stack_managers(scene: &Scene<'_>, home: &Path) -> Result<()> {
    let own = managers(scene);
    let namespace = json!({ "metadata": { "name": own } });
    let namespaces: Api<Namespace> = Api::all(scene.client());
    namespaces
        .create(&PostParams::default(), &serde_json::from_value(namespace)?)
        .await?;
    let registry = Registry::start();
    registry.put(STACK, "1.0.0", &package(scene.group()));
    let args = ["stack-manager", "--namespace", &own];
    let kubeconfig = scene.cluster().kubeconfig();
    let one = Manager::start(home, kubeconfig, &args)?;
    let other = Manager::start(home, kubeconfig, &args)?;
    let leases = Api::namespaced(scene.client(), &own);
    let turns = Turns {
        scene,
        leases,
        name: "cairn-stack-manager".to_owned(),
    };
    let (works, _) = turns.taken(0).await?;
    let (works, waits) = told_apart(one, other, works)?;

    defined(scene).await?;
    let reference = format!("{}/{STACK}:1.0.0", registry.host);
    let install = cairn(
        scene,
        home,
        &["install", &reference, "-n", scene.namespace(), "-o", "json"],
    )
    .await?;
    let install: Value = serde_json::from_str(&install)?;
    ensure!(
        install["kind"] == "StackInstall" && install["spec"]["package"] == reference.as_str(),
        "{install}"
    );
    ensure!(
        install["metadata"]["uid"].is_string() && install["metadata"]["managedFields"].is_null(),
        "{install}"
    );
    let made = |stack: Option<&DynamicObject>| has(stack, "ControllerAvailable", "False", "");
    scene
        .wait(&ours(scene, "Stack", "stacks"), STACK, made)
        .await?;
    waits.waits(scene).await?;
    // A rollout waits until a new one is ready, and that one for its turn.
    ensure!(waits.answers("/readyz").await?.starts_with("HTTP/1.1 200"));

    let dead = works.id;
    works.die().await?;
    let (works, transitions) = turns.taken(dead).await?;
    ensure!(
        (works, transitions) == (waits.id, 1),
        "{works} works after {transitions} transitions"
    );
    let accounts: Api<ServiceAccount> = scene.api();
    let account = format!("stack-{STACK}");
    let uid = accounts.get(&account).await?.metadata.uid;
    accounts.delete(&account, &DeleteParams::default()).await?;
    let again = |account: Option<&ServiceAccount>| {
        account.is_some_and(|account| account.metadata.uid != uid)
    };
    scene.wait(&accounts, &account, again).await?;
    waits.end().await?;
    let lease = turns.leases.get(&turns.name).await?;
    ensure!(
        lease
            .spec
            .and_then(|spec| spec.holder_identity)
            .unwrap_or_default()
            .is_empty(),
        "its turn is given up"
    );
    Ok(())
}

/// Three template stack managers, as the account of the stack: the first ends, the second is
/// killed, the third is left.
async fn template_stack_managers(scene: &Scene<'_>, home: &Path) -> Result<Manager> {
    let kubeconfig = kubeconfig(scene, home).await?;
    let args = [
        "template-stack-manager",
        "--stack",
        STACK,
        "--namespace",
        scene.namespace(),
    ];
    let one = Manager::start(home, &kubeconfig, &args)?;
    let other = Manager::start(home, &kubeconfig, &args)?;
    let turns = Turns {
        scene,
        leases: scene.api(),
        name: api::names::templates(STACK),
    };
    let (works, _) = turns.taken(0).await?;
    let (works, waits) = told_apart(one, other, works)?;
    note(scene, "one").await?;
    waits.waits(scene).await?;
    ensure!(waits.answers("/readyz").await?.starts_with("HTTP/1.1 200"));
    for (manager, renders) in [(&works, true), (&waits, false)] {
        let metrics = manager.answers("/metrics").await?;
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix("cairn_renders_total "));
        ensure!(
            count.is_some_and(|count| count != "0") == renders,
            "{metrics}"
        );
    }

    let (first, second) = (works.id, waits.id);
    works.end().await?;
    ensure!(turns.taken(first).await?.0 == second);
    note(scene, "two").await?;
    let third = Manager::start(home, &kubeconfig, &args)?;
    third.waits(scene).await?;
    waits.die().await?;
    let (works, transitions) = turns.taken(second).await?;
    ensure!(
        (works, transitions) == (third.id, 2),
        "{works} works after {transitions} transitions"
    );
    note(scene, "three").await?;
    Ok(third)
}

/// A kubeconfig of the stack's account.
async fn kubeconfig(scene: &Scene<'_>, home: &Path) -> Result<PathBuf> {
    let mut config = yaml::parse(&std::fs::read_to_string(scene.cluster().kubeconfig())?)?;
    let token = scene
        .cluster()
        .service_account_token(scene.namespace(), &format!("stack-{STACK}"))
        .await?;
    config["users"][0]["user"] = json!({ "token": token });
    let path = home.join("stack").join("kubeconfig");
    std::fs::create_dir(home.join("stack"))?;
    std::fs::write(&path, serde_json::to_vec(&config)?)?;
    Ok(path)
}

/// Makes an instance, and waits for what becomes of it.
async fn note(scene: &Scene<'_>, name: &str) -> Result<()> {
    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(scene.group(), "v1", "Note"),
        "notes",
    );
    let note = json!({
        "apiVersion": kind.api_version, "kind": "Note", "metadata": { "name": name }, "spec": { "text": "hello" },
    });
    let notes = scene.dynamic(scene.client(), &kind);
    notes
        .create(&PostParams::default(), &serde_json::from_value(note)?)
        .await?;
    let maps: Api<ConfigMap> = scene.api();
    scene.wait(&maps, name, says("hello")).await?;
    Ok(())
}
