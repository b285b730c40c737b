//! `cairn up` and the real kubectl: what a person does in the first ten minutes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use testkit::Cluster;
use testkit::real::ASSETS;

use crate::running::Running;
use crate::support;

/// Runs kubectl, which has to succeed, and answers what it printed.
fn kubectl(place: &Path, args: &[&str]) -> Result<String> {
    let assets = std::env::var_os(ASSETS).context("the binaries of Kubernetes are named")?;
    let mut command = Command::new(PathBuf::from(assets).join("kubectl"));
    command
        .args(args)
        .current_dir(place)
        .env("KUBECONFIG", ".cairn/kubeconfig")
        .env("HOME", place);
    let output = command.output().context("kubectl is there")?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(
        output.status.success(),
        "kubectl {}: {text}",
        args.join(" ")
    );
    Ok(text)
}

pub async fn a_person_with_kubectl_uses_a_control_plane_of_their_own(
    _: Arc<Cluster>,
) -> Result<()> {
    tokio::task::spawn_blocking(story).await?
}

fn story() -> Result<()> {
    let place = tempfile::tempdir()?;
    let dir = place.path();
    support::copy(
        &support::root().join("examples/web-application"),
        &dir.join("app"),
    );
    let mut up = Running::start(dir, &["up", "app"]);
    up.says("is installed in the namespace default: WebApplication");
    kubectl(dir, &["apply", "-f", "app/shop.yaml"])?;
    kubectl(
        dir,
        &[
            "wait",
            "--for=condition=Ready",
            "webapplication/shop",
            "--timeout=100s",
        ],
    )?;
    let shown = kubectl(dir, &["get", "webapplications"])?;
    ensure!(shown.contains("shop") && shown.contains("True"), "{shown}");
    ensure!(kubectl(dir, &["get", "stackinstalls"])?.contains("True"));
    let rights = [
        "auth",
        "can-i",
        "create",
        "deployments",
        "--as",
        "system:serviceaccount:default:stack-app",
    ];
    ensure!(kubectl(dir, &rights)?.trim() == "yes");
    let unrighteous = [
        "auth",
        "can-i",
        "--list",
        "--as",
        "system:serviceaccount:default:stack-app",
        "-n",
        "kube-system",
    ];
    ensure!(!kubectl(dir, &unrighteous)?.contains("deployments"));
    kubectl(
        dir,
        &[
            "delete",
            "webapplication",
            "shop",
            "--wait",
            "--timeout=100s",
        ],
    )?;
    ensure!(kubectl(dir, &["get", "deployments"])?.contains("No resources found"));
    up.terminate();
    ensure!(up.end() == Some(0));
    Ok(())
}
