//! The real kubectl, told the same on the real server and on the embedded one: what it prints has
//! to be the same but for times, uids and the like. It needs the kubectl that is built beside the
//! control plane.

mod mask;
mod script;

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use script::{Script, Session};
use testkit::{Cluster, Scenario, Suite, real::ASSETS};

fn main() -> ExitCode {
    let scripts = match Script::all() {
        Ok(scripts) => scripts,
        Err(error) => return fail(&error),
    };
    Suite::on_kubernetes(scripts.into_iter().map(scenario).collect()).main()
}

#[allow(
    clippy::print_stdout,
    reason = "a test program reports on the terminal"
)]
fn fail(error: &anyhow::Error) -> ExitCode {
    println!("error: {error:#}");
    ExitCode::FAILURE
}

/// A script as a scenario on the real cluster, which is compared with an embedded one of its own.
fn scenario(script: Script) -> Scenario {
    let name = script.name.clone();
    let script = Arc::new(script);
    Scenario::new(name, move |real: Arc<Cluster>| {
        let script = script.clone();
        async move {
            let embedded = testkit::embedded().await?;
            let expected = play(&script, real.kubeconfig()).await?;
            // What fails everywhere is equal everywhere.
            let first = expected.first().map_or("", String::as_str);
            ensure!(
                first.ends_with("created"),
                "the script does not begin well: {first}"
            );
            let found = play(&script, embedded.kubeconfig()).await?;
            let mut differences = String::new();
            for (command, (expected, found)) in
                script.commands.iter().zip(expected.iter().zip(&found))
            {
                if expected != found {
                    let command = command.lines().next().unwrap_or_default();
                    differences.push_str(&format!("$ {command}\n"));
                    differences.push_str(&mask::difference(expected, found));
                }
            }
            ensure!(differences.is_empty(), "{differences}");
            Ok(())
        }
    })
}

/// Runs the commands one after the other, and tells what each printed and how it ended.
async fn play(script: &Script, kubeconfig: &Path) -> Result<Vec<String>> {
    let session = Session::open(kubeconfig)?;
    let mut told = Vec::new();
    for command in &script.commands {
        told.push(mask::masked(&run(&session, command).await?));
    }
    Ok(told)
}

async fn run(session: &Session, text: &str) -> Result<String> {
    let assets = PathBuf::from(std::env::var_os(ASSETS).context(ASSETS)?);
    let path = format!(
        "{}:{}",
        assets.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg(text)
        .env("PATH", path)
        .stdin(Stdio::null())
        .current_dir(session.home());
    command
        .env("KUBECONFIG", session.kubeconfig())
        .env("HOME", session.home())
        .env("COLUMNS", "200");
    let output = tokio::task::spawn_blocking(move || command.output())
        .await?
        .context("cannot run /bin/sh")?;
    let code = output.status.code().unwrap_or(-1);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut told = text(&output.stdout);
    for line in text(&output.stderr).lines() {
        told.push_str(&format!("stderr: {line}\n"));
    }
    if code != 0 {
        told.push_str(&format!("exit: {code}\n"));
    }
    Ok(told)
}
