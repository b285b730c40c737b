//! What is only true of the real control plane: its version, its processes, its port.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use testkit::{
    Backend, Cluster, Identity,
    real::{ASSETS, ControlPlane, Options},
};

/// What `tools/k8s/go.mod` pins.
fn pinned() -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/k8s/go.mod");
    let text = fs::read_to_string(path)?;
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("k8s.io/kubernetes "));
    Ok(line
        .and_then(|rest| rest.split_whitespace().next())
        .context("Kubernetes is not pinned")?
        .to_owned())
}

pub async fn the_server_says_the_pinned_version(cluster: Arc<Cluster>) -> Result<()> {
    let info = cluster.admin()?.apiserver_version().await?;
    ensure!(info.git_version == pinned()?, "{}", info.git_version);
    ensure!(
        pinned()?.starts_with(&format!("v{}.{}.", info.major, info.minor)),
        "{}.{}",
        info.major,
        info.minor
    );
    Ok(())
}

pub async fn kubectl_works_with_the_kubeconfig(cluster: Arc<Cluster>) -> Result<()> {
    let kubectl = PathBuf::from(std::env::var_os(ASSETS).context(ASSETS)?).join("kubectl");
    let kubeconfig = cluster.kubeconfig().to_owned();
    let call = move || {
        Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["auth", "whoami"])
            .output()
    };
    let output = tokio::task::spawn_blocking(call).await??;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success() && said.contains("system:masters"),
        "{said}{output:?}"
    );
    Ok(())
}

pub async fn a_taken_port_is_no_obstacle(_: Arc<Cluster>) -> Result<()> {
    let blocker = TcpListener::bind("127.0.0.1:0")?;
    let port = blocker.local_addr()?.port();
    let plane = ControlPlane::start(Options {
        port: Some(port),
        ..Options::from_env()?
    })
    .await?;
    ensure!(
        !plane.server().ends_with(&format!(":{port}")),
        "{}",
        plane.server()
    );
    plane.client(&Identity::Admin)?.apiserver_version().await?;
    Ok(())
}

/// The processes of a group that are more than an entry waiting to be collected.
fn members(group: i32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .collect();
        if fields.get(2) == Some(&group.to_string().as_str()) && !matches!(fields[0], "Z" | "X") {
            found.push(stat.split(' ').nth(1).unwrap_or("?").to_owned());
        }
    }
    found
}

pub async fn a_killed_owner_leaves_no_process_and_no_file(_: Arc<Cluster>) -> Result<()> {
    tokio::task::spawn_blocking(killed_owner).await?
}

fn killed_owner() -> Result<()> {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_cluster-run"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(owner.stdout.take().context("stdout")?).read_line(&mut line)?;
    let mut words = line.split_whitespace().skip(1);
    let dir = PathBuf::from(words.next().context("it did not start")?);
    let group: i32 = words.next().context("no group")?.parse()?;
    ensure!(dir.join("pki").is_dir());
    let running = members(group);
    ensure!(
        running.len() >= 4,
        "the holder and three programs: {running:?}"
    );
    owner.kill()?;
    // The supervisor has the other end of this pipe until it is done.
    owner
        .stderr
        .take()
        .context("stderr")?
        .read_to_end(&mut Vec::new())?;
    owner.wait()?;
    ensure!(!dir.exists(), "{} is still there", dir.display());
    ensure!(members(group).is_empty(), "{:?}", members(group));
    Ok(())
}
