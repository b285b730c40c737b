//! A local user attacks root, who runs the stack manager: what she can write to in the directory
//! for temporary files never becomes what a controller process runs.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use serde_json::json;
use testkit::Cluster;
use tokio::process::{Child, Command};

use crate::processes::{MANAGED, defined, has, ours, package};
use crate::registry::Registry;

/// The attacker: in no group of ours, owner of none of our files.
const ATTACKER: &str = "65534";

/// She takes the names that the manager's directory could have, and puts one of hers in the place
/// of each directory that she finds and may rename, with a kubeconfig that names a program. She
/// never gives up.
const SWAP: &str = r#"
cd "$1" || exit 1
mkdir -m 777 "cairn-stack-manager-$2" "cairn-$2" cairn
echo planted
while :; do
  for place in * */*; do
    [ -d "$place" ] || continue
    [ -O "$place" ] && continue
    mv "$place" "$place.taken" 2>/dev/null && mkdir -m 777 "$place" && cp "$3" "$place/kubeconfig" && echo x > "$place/token"
  done
done
"#;

struct Attack<'a> {
    /// The directory for temporary files: everybody's, as /tmp is.
    shared: &'a Path,
    /// Where her program would leave its mark.
    mark: &'a Path,
    evil: &'a Path,
}

impl Attack<'_> {
    fn prepare(&self) -> Result<()> {
        for (path, mode) in [(self.shared, 0o1777), (self.mark, 0o777)] {
            std::fs::create_dir(path)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
        }
        let program = format!("id -u > {}/ran-as; exit 1", self.mark.display());
        let evil = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": { "server": "https://127.0.0.1:1" } }],
            "users": [{ "name": "u", "user": { "exec": {
                "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", program],
                "interactiveMode": "Never",
            } } }],
        });
        std::fs::write(self.evil, evil.to_string())?;
        Ok(std::fs::set_permissions(
            self.evil,
            std::fs::Permissions::from_mode(0o644),
        )?)
    }

    /// Starts her; she is killed with the test.
    async fn begin(&self, manager: u32) -> Result<Child> {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            ATTACKER,
            "--regid",
            ATTACKER,
            "--clear-groups",
            "sh",
            "-c",
            SWAP,
            "attack",
        ]);
        command.args([
            self.shared.as_os_str(),
            manager.to_string().as_ref(),
            self.evil.as_os_str(),
        ]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let said = child.stdout.take().context("she says when she is ready")?;
        let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(said));
        ensure!(
            lines.next_line().await?.as_deref() == Some("planted"),
            "the attacker could not begin"
        );
        Ok(child)
    }
}

pub async fn what_a_local_user_plants_in_the_temporary_directory_never_runs_as_root(
    cluster: Arc<Cluster>,
) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        bail!("this test needs root, to act as another user: run it in a container");
    }
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    // Everybody may pass, so that only the directories' own modes protect them.
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755))?;
    let story = story(&cluster, home.path()).await;
    let log = std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
    story.with_context(|| format!("the manager's log:\n{log}"))
}

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let scene = cluster.scene("local").await?;
    let (shared, mark, evil) = (home.join("tmp"), home.join("mark"), home.join("evil"));
    let attack = Attack {
        shared: &shared,
        mark: &mark,
        evil: &evil,
    };
    attack.prepare()?;
    let registry = Registry::start();
    registry.put("notes", "1.0.0", &package(scene.group()));
    let mut manager = Command::new(env!("CARGO_BIN_EXE_cairn"))
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
        .env("XDG_CACHE_HOME", home)
        .env("DOCKER_CONFIG", home)
        .env("TMPDIR", &shared)
        .env_remove("XDG_RUNTIME_DIR")
        .stdin(Stdio::null())
        .stderr(std::fs::File::create(home.join("log"))?)
        .kill_on_drop(true)
        .spawn()
        .context("cairn cannot be started")?;
    let mut attacker = attack
        .begin(manager.id().context("the manager runs")?)
        .await?;
    defined(&scene).await?;

    let installs = ours(&scene, "StackInstall", "stackinstalls");
    let install = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": "notes" },
        "spec": { "package": format!("{}/notes:1.0.0", registry.host) },
    });
    let install = installs
        .create(&PostParams::default(), &serde_json::from_value(install)?)
        .await?;
    let ran = || std::fs::read_to_string(mark.join("ran-as")).ok();
    // Either her program runs, or the stack does.
    let ready = scene.wait(&installs, "notes", |object: Option<&DynamicObject>| {
        ran().is_some() || has(object, "Ready", "True", "")
    });
    ready.await?;
    ensure!(
        ran().is_none(),
        "her program ran as uid {}",
        ran().unwrap_or_default()
    );

    installs.delete("notes", &DeleteParams::default()).await?;
    scene
        .wait(
            &installs,
            "notes",
            is_deleted(&install.metadata.uid.unwrap_or_default()),
        )
        .await?;
    ensure!(
        ran().is_none(),
        "her program ran as uid {}",
        ran().unwrap_or_default()
    );
    ensure!(manager.try_wait()?.is_none(), "the manager runs");
    manager.kill().await?;
    attacker.kill().await?;
    let others = std::fs::read_dir(&shared)?
        .flatten()
        .map(|entry| entry.file_name());
    let others: Vec<_> = others
        .filter(|name| !name.to_string_lossy().starts_with("cairn"))
        .collect();
    ensure!(
        others.is_empty(),
        "credentials have no place in the file system: {others:?}"
    );
    Ok(())
}
