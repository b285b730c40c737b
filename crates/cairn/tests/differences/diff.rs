//! `cairn diff` on a cluster: only what the stack owns counts, nothing is kept, secrets stay
//! secret, and the code at the end says whether there are differences.

use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

/// A package whose kind `Page` becomes a ConfigMap, a Secret with a drawn password, and a ConfigMap
/// that waits.
pub fn write_package(dir: &Path, group: &str) -> Result<()> {
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: pages.{group}}}\n\
         spec:\n  group: {group}\n  scope: Namespaced\n  names: {{kind: Page, plural: pages, singular: page}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      \
         openAPIV3Schema:\n        type: object\n        properties:\n          \
         spec: {{type: object, properties: {{text: {{type: string}}}}}}\n          \
         status: {{type: object, properties: {{said: {{type: string}}, more: {{type: string}}}}}}\n"
    );
    let named = |kind: &str, suffix: &str| {
        format!(
            "apiVersion: v1\nkind: {kind}\nmetadata: {{name: '{{{{ .metadata.name }}}}{suffix}'}}\n"
        )
    };
    let templates = format!(".registry/templates/page.{group}/v1");
    let files = [
        (".registry/app.yaml".to_owned(), APP.to_owned()),
        (".registry/resources/page.crd.yaml".to_owned(), crd),
        (
            format!("{templates}/map.yaml"),
            named("ConfigMap", "") + "data: {text: '{{ .spec.text }}'}\n",
        ),
        (
            format!("{templates}/key.yaml"),
            named("Secret", "-key") + "stringData: {key: '{{ randAlphaNum 20 }}'}\n",
        ),
        (
            format!("{templates}/old.yaml"),
            named("ConfigMap", "-old") + "data: {a: b}\n",
        ),
        (
            format!("{templates}/status.yaml"),
            format!("{SAID}more: too\n"),
        ),
    ];
    for (file, text) in files {
        let path = dir.join(file);
        std::fs::create_dir_all(path.parent().context("a directory")?)?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

const SAID: &str = "said: '{{ .map.data.text }}'\n";
const APP: &str =
    "title: Pages\nversion: 1.0.0\ndependsOn: [{crd: configmap/v1}, {crd: secret/v1}]\n";

fn edit(dir: &Path, group: &str, template: &str, text: Option<&str>) -> Result<()> {
    let path = dir.join(format!(
        ".registry/templates/page.{group}/v1/{template}.yaml"
    ));
    match text {
        Some(text) => std::fs::write(path, text)?,
        None => std::fs::remove_file(path)?,
    }
    Ok(())
}

pub fn ours(scene: &Scene<'_>, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("stacks.crossplane.io", "v1alpha1", kind);
    scene.dynamic(
        scene.client(),
        &ApiResource::from_gvk_with_plural(&kind, plural),
    )
}

pub fn page(group: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{group}/v1"), "kind": "Page", "metadata": { "name": name }, "spec": { "text": "hello" },
    })
}

/// Puts the package in place as the stack manager would, and runs it.
async fn install(scene: &Scene<'_>, dir: &Path) -> Result<Arc<TemplateStackManager>> {
    let mut files = package::Files::new();
    gather(dir, dir, &mut files)?;
    let (package, problems) = package::read(&files);
    ensure!(problems.is_empty(), "{problems:?}");
    for definition in api::definitions() {
        scene.install_crd(&definition).await?;
    }
    crate::shared::define(
        scene,
        &package,
        &crate::shared::install(scene, "registry.test/team/pages:v1").await?,
    )
    .await?;
    let (name, text) = (
        api::names::seed(scene.namespace(), "pages"),
        "a seed of exactly 32 characters!",
    );
    let seed = json!({ "metadata": { "name": name }, "stringData": { "seed": text } });
    let secrets: Api<Secret> = Api::namespaced(scene.client(), "default");
    secrets
        .create(&PostParams::default(), &serde_json::from_value(seed)?)
        .await?;
    let said = install::Commitment::to("default", &name, text.as_bytes()).to_string();
    let mut stack = serde_json::to_value(&package.stack)?;
    stack["metadata"] = json!({
        "name": "pages", "namespace": scene.namespace(), "annotations": { "stacks.crossplane.io/seed": said },
    });
    ours(scene, "Stack", "stacks")
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    let manager =
        TemplateStackManager::start(Parts::new(scene.client(), scene.namespace(), "pages")).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

pub fn gather(root: &Path, dir: &Path, files: &mut package::Files) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(root, &path, files)?;
        } else {
            files.insert(
                path.strip_prefix(root)?.to_string_lossy().into_owned(),
                std::fs::read(&path)?,
            );
        }
    }
    Ok(())
}

pub fn command(scene: &Scene<'_>, dir: &Path, more: &[&str]) -> tokio::process::Command {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .arg("diff")
        .arg(dir)
        .arg("--kubeconfig")
        .arg(scene.cluster().kubeconfig())
        .args(more);
    if !more.contains(&"-n") {
        command.args(["-n", scene.namespace()]);
    }
    command
}

pub async fn diff(scene: &Scene<'_>, dir: &Path, more: &[&str]) -> Result<Output> {
    Ok(command(scene, dir, more).output().await?)
}

/// What was printed, if it ended with this code.
pub fn told(output: &Output, code: i32) -> Result<String> {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(
        output.status.code() == Some(code),
        "{:?} in place of {code}:\n{text}",
        output.status
    );
    Ok(text)
}

pub fn all_in(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "{part:?} is missing:\n{text}");
    }
    Ok(())
}

pub async fn what_would_change_is_told_and_nothing_is_changed(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("diff").await?;
    let place = tempfile::tempdir()?;
    let (dir, group) = (place.path(), scene.group());
    write_package(dir, group)?;
    let manager = install(&scene, dir).await?;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", "Page"), "pages");
    let pages = scene.dynamic(scene.client(), &resource);
    pages
        .create(
            &PostParams::default(),
            &serde_json::from_value(page(group, "one"))?,
        )
        .await?;
    let said = |object: Option<&DynamicObject>| {
        object.is_some_and(|page| page.data["status"]["said"] == "hello")
    };
    scene.wait(&pages, "one", said).await?;
    let maps: Api<ConfigMap> = scene.api();
    scene
        .wait(&maps, "one-old", |map: Option<&ConfigMap>| map.is_some())
        .await?;

    all_in(
        &told(&diff(&scene, dir, &[]).await?, 0)?,
        &["the one instance stays as it is"],
    )?;

    // A field that the status loses.
    edit(dir, group, "status", Some(SAID))?;
    all_in(
        &told(&diff(&scene, dir, &[]).await?, 3)?,
        &["1 of 1 instance changes", "update  status", "-  more: too"],
    )?;
    edit(dir, group, "status", Some(&format!("{SAID}more: too\n")))?;

    // What others add is theirs, and no difference.
    let theirs = json!({ "metadata": { "labels": { "theirs": "1" } }, "data": { "theirs": "1" } });
    maps.patch("one", &PatchParams::default(), &Patch::Merge(theirs))
        .await?;
    told(&diff(&scene, dir, &[]).await?, 0)?;
    manager.stop();

    // What they take away from us is.
    maps.patch(
        "one",
        &PatchParams::default(),
        &Patch::Merge(json!({ "data": { "text": "seized" } })),
    )
    .await?;
    all_in(
        &told(&diff(&scene, dir, &[]).await?, 3)?,
        &[
            "update  map: ConfigMap/one",
            "-  text: seized",
            "+  text: hello",
        ],
    )?;

    edit(dir, group, "old", None)?;
    let key = "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .metadata.name }}-key'}\n\
               stringData: {key: hunter2, more: hunter3}\n";
    edit(dir, group, "key", Some(key))?;
    let late = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-late'}\n\
                data: {at: '{{ .map.metadata.annotations.at }}'}\n";
    edit(dir, group, "late", Some(late))?;
    let crd = dir.join(".registry/resources/page.crd.yaml");
    let wider = std::fs::read_to_string(&crd)?.replace(
        "text: {type: string}",
        "text: {type: string}, size: {type: integer}",
    );
    std::fs::write(&crd, wider)?;
    let before = maps.get("one").await?.metadata.resource_version;
    let mark = cluster.mark()?;
    let text = told(&diff(&scene, dir, &[]).await?, 3)?;
    let stack = format!("stack {}/pages: 1 of 1 instance changes", scene.namespace());
    let field = format!("+ field spec.size of Page ({group}/v1): integer");
    let template = format!("~ template page.{group}/v1 key: +1 -1 lines");
    all_in(
        &text,
        &[
            &stack,
            &field,
            &template,
            "update  key: Secret/one-key",
            "-  key: '*** (before)'",
            "+  key: '*** (after)'",
            "+  more: '***'",
            "hold    old: ConfigMap/one-old",
            "it goes once nothing waits any more",
            "hold    late: ConfigMap",
            "waits for map.metadata.annotations.at (late.yaml:4:",
        ],
    )?;
    // Neither what is made is shown, nor the lines of the template that makes it.
    ensure!(
        !text.contains("hunter") && !text.contains("aHVudGVy"),
        "a secret is shown:\n{text}"
    );
    let output = diff(&scene, dir, &["-o", "json"]).await?.stdout;
    ensure!(
        !String::from_utf8_lossy(&output).contains("hunter"),
        "a secret is shown"
    );
    let json: Value = serde_json::from_slice(&output)?;
    let objects = json["stacks"][0]["instances"][0]["objects"]
        .as_array()
        .context("objects")?;
    let action = |template: &str| {
        objects
            .iter()
            .find(|own| own["template"] == template)
            .map(|own| &own["action"])
    };
    ensure!(
        action("key") == Some(&json!("update")) && action("late") == Some(&json!("hold")),
        "{json:#}"
    );
    ensure!(
        !objects.iter().any(|own| own.to_string().contains("hunter")),
        "{json:#}"
    );
    let written = |request: &testkit::Request| {
        let reads = ["get", "list", "watch"].contains(&request.verb.as_str());
        request.namespace == scene.namespace() && !reads && !request.uri.contains("dryRun=All")
    };
    let written: Vec<_> = cluster.requests(mark, written).await?;
    ensure!(written.is_empty(), "{written:?}");
    ensure!(maps.get("one").await?.metadata.resource_version == before);

    edit(dir, group, "late", None)?;
    all_in(
        &told(&diff(&scene, dir, &[]).await?, 3)?,
        &["delete  old: ConfigMap/one-old"],
    )?;
    // A template by another name makes the same object.
    let old = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-old'}\ndata: {a: b}\n";
    edit(dir, group, "renamed", Some(old))?;
    let text = told(&diff(&scene, dir, &[]).await?, 3)?;
    all_in(&text, &["update  renamed: ConfigMap/one-old"])?;
    ensure!(!text.contains("delete"), "{text}");
    edit(dir, group, "renamed", None)?;

    // A type that would break its users is refused as the stack manager refuses it.
    let wide = std::fs::read_to_string(&crd)?;
    std::fs::write(
        &crd,
        wide.replace("text: {type: string}", "text: {type: string, maxLength: 9}"),
    )?;
    let broken = "! type Page: would break what uses it: v1: ";
    let text = told(&diff(&scene, dir, &[]).await?, 1)?;
    all_in(
        &text,
        &[
            broken,
            "allow-breaking-changes=true",
            "/pages: nothing changes until it is allowed",
        ],
    )?;
    ensure!(
        !text.contains("ConfigMap/") && !text.contains("status"),
        "nothing of it comes:\n{text}"
    );
    std::fs::write(&crd, wide)?;

    // One that is not there yet.
    let file = dir.join("two.yaml");
    std::fs::write(&file, page(group, "two").to_string())?;
    let file = file.to_string_lossy().into_owned();
    let text = told(&diff(&scene, dir, &["-f", &file]).await?, 3)?;
    all_in(
        &text,
        &[
            "create  map: ConfigMap/two",
            "+  text: hello",
            "create  key: Secret/two-key",
            "create  status",
        ],
    )?;
    ensure!(!text.contains("Page") || !text.contains("/one"), "{text}");
    ensure!(!text.contains("metadata: null"), "{text}");
    // Nobody reads to the end, and the code is the same.
    let mut cut = command(&scene, dir, &["-f", &file]);
    let mut cut = cut.stdout(std::process::Stdio::piped()).spawn()?;
    drop(cut.stdout.take());
    ensure!(cut.wait().await?.code() == Some(3));
    // Two namespaces for one instance make no sense.
    let mut other = page(group, "two");
    other["metadata"]["namespace"] = json!("elsewhere");
    std::fs::write(dir.join("other.yaml"), other.to_string())?;
    let other = dir.join("other.yaml").to_string_lossy().into_owned();
    all_in(
        &told(&diff(&scene, dir, &["-f", &other]).await?, 2)?,
        &["is in the namespace elsewhere, and `-n` says"],
    )?;
    // Where it is not installed, it is told where it is.
    let nowhere = diff(&scene, dir, &["-n", "no-such-place"]).await?;
    let installed = format!("note: it is installed in {}", scene.namespace());
    let owned = format!("is owned by StackInstall {}/pages", scene.namespace());
    let parts = [
        "it is not installed",
        "note: there is no namespace no-such-place",
        &installed,
        &owned,
    ];
    all_in(&told(&nowhere, 1)?, &parts)?;

    // What the API server would refuse is told in its words.
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-bad'}\ndata: {'a b': c}\n";
    edit(dir, group, "bad", Some(bad))?;
    let text = told(&diff(&scene, dir, &[]).await?, 1)?;
    let refused = "it is refused in 1 of 1 instance";
    all_in(
        &text,
        &[
            refused,
            "refused bad: ConfigMap/one-bad",
            "a valid config key must consist of",
        ],
    )?;
    // Perhaps it is what should take its place.
    all_in(
        &text,
        &[
            "hold    old: ConfigMap/one-old",
            "it is to be deleted, and stays as long as bad is refused",
        ],
    )?;
    ensure!(
        !text.contains(" status"),
        "what becomes of the status is not known:\n{text}"
    );
    Ok(())
}

pub async fn what_is_not_installed_is_all_new(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("diffnew").await?;
    let place = tempfile::tempdir()?;
    write_package(place.path(), scene.group())?;
    let file = place.path().join("one.yaml");
    std::fs::write(&file, page(scene.group(), "one").to_string())?;
    let file = file.to_string_lossy().into_owned();
    let text = told(&diff(&scene, place.path(), &["-f", &file]).await?, 3)?;
    let kind = format!("+ type Page ({}/v1)", scene.group());
    all_in(
        &text,
        &[
            "it is not installed",
            &kind,
            "create  map: ConfigMap/one",
            "create  key: Secret/one-key",
            "***",
        ],
    )
}
