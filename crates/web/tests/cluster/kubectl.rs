//! The same with kubectl, where it is built: raw requests, and stored templates as any other kind.

use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use testkit::Cluster;
use tokio::process::Command;

use crate::home;
use crate::processing::{store, template};

/// kubectl, beside the programs of the control plane.
fn kubectl() -> Option<PathBuf> {
    let directory = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from)?;
    Some(directory.join("kubectl")).filter(|path| path.is_file())
}

async fn run(program: &PathBuf, cluster: &Cluster, args: &[&str]) -> Result<String> {
    let output: Output = Command::new(program)
        .args(args)
        .env("KUBECONFIG", cluster.kubeconfig())
        .env("HOME", "/nonexistent")
        .output()
        .await
        .context("kubectl does not start")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "kubectl {}: {}",
        args.join(" "),
        text(&output.stderr)
    );
    Ok(text(&output.stdout))
}

pub async fn kubectl_processes_and_lists_templates(cluster: Arc<Cluster>) -> Result<()> {
    // `cargo xtask cluster-test` builds it; without it there is nothing to try.
    let Some(program) = kubectl() else {
        return Ok(());
    };
    let scene = home::scene(&cluster, "kubectl").await?;
    let namespace = scene.namespace();
    store(&scene, "greeting").await?;
    let directory = tempfile::tempdir()?;
    let file = |name: &str, text: &str| -> Result<String> {
        let path = directory.path().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let mut filled = template("own");
    filled["parameters"][1]["value"] = "hello".into();
    let whole = file("template.json", &filled.to_string())?;
    let values = file("values.json", r#"{"parameters": {"TEXT": "hello"}}"#)?;
    let group = format!("/apis/processing.stacks.crossplane.io/v1alpha1/namespaces/{namespace}");
    for (path, body) in [
        ("processedtemplates", &whole),
        ("templates/greeting/processed", &values),
    ] {
        let told = run(
            &program,
            &cluster,
            &["create", "--raw", &format!("{group}/{path}"), "-f", body],
        )
        .await?;
        let result: serde_json::Value = serde_json::from_str(&told).context(told)?;
        ensure!(result["objects"][0]["data"]["text"] == "hello", "{result}");
    }
    let table = run(&program, &cluster, &["get", "templates", "-n", namespace]).await?;
    let row: Vec<&str> = table
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    ensure!(
        row.starts_with(&["greeting", "Says", "something"]),
        "{table}"
    );
    let kinds = run(
        &program,
        &cluster,
        &[
            "api-resources",
            "--api-group=processing.stacks.crossplane.io",
        ],
    )
    .await?;
    ensure!(kinds.contains("processedtemplates"), "{kinds}");
    let fields = run(
        &program,
        &cluster,
        &[
            "explain",
            "templates.templates.stacks.crossplane.io.parameters",
        ],
    )
    .await?;
    ensure!(
        fields.contains("required") && fields.contains("generate"),
        "{fields}"
    );
    Ok(())
}
