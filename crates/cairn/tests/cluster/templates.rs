//! `cairn template` on a cluster: a library of stored templates, instances that are applied and
//! deleted, live objects as templates; and `cairn template-server` as a program beside the API
//! server.

use std::process::{Output, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

/// A template in OpenShift's dialect, with a value to be drawn.
const SHOP: &str = "\
apiVersion: templates.stacks.crossplane.io/v1alpha1
kind: Template
metadata:
  name: shop
  annotations: {description: A shop}
message: The password is ${PASSWORD}
objects:
- apiVersion: v1
  kind: Secret
  metadata: {name: '${NAME}'}
  stringData: {password: '${PASSWORD}'}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: '${NAME}'}
  spec:
    replicas: '${{REPLICAS}}'
    selector: {matchLabels: {app: '${NAME}'}}
    template:
      metadata: {labels: {app: '${NAME}'}}
      spec: {containers: [{name: web, image: 'registry.example.org/shop:1'}]}
- apiVersion: v1
  kind: Service
  metadata: {name: '${NAME}'}
  spec: {selector: {app: '${NAME}'}, ports: [{port: 80}]}
parameters:
- {name: NAME, value: shop}
- {name: REPLICAS, value: '0', type: int}
- {name: PASSWORD, generate: expression, from: '[a-z]{12}'}
";

async fn cairn(scene: &Scene<'_>, args: &[&str]) -> Result<Output> {
    let kubeconfig = scene.cluster().kubeconfig().display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command
        .arg("template")
        .args(args)
        .args(["--kubeconfig", &kubeconfig, "-n", scene.namespace()]);
    command
        .stdin(Stdio::null())
        .output()
        .await
        .context("cairn does not start")
}

/// What a run printed, if it went well.
async fn printed(scene: &Scene<'_>, args: &[&str]) -> Result<String> {
    let output = cairn(scene, args).await?;
    ensure!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// How a run failed.
async fn refused(scene: &Scene<'_>, args: &[&str]) -> Result<String> {
    let output = cairn(scene, args).await?;
    ensure!(
        output.status.code() == Some(1),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stdout)
    );
    Ok(String::from_utf8(output.stderr)?)
}

async fn get(scene: &Scene<'_>, path: &str) -> Result<Value> {
    Ok(scene
        .client()
        .request(http::Request::get(path).body(Vec::new())?)
        .await?)
}

async fn stores_templates<'c>(cluster: &'c Cluster, name: &str) -> Result<Scene<'c>> {
    let scene = cluster.scene(name).await?;
    let stored = "templates.templates.stacks.crossplane.io";
    let crd = api::definitions()
        .into_iter()
        .find(|crd| crd["metadata"]["name"] == stored)
        .context("a definition")?;
    scene.install_crd(&crd).await?;
    Ok(scene)
}

pub async fn a_stored_template_becomes_an_instance_and_goes(cluster: Arc<Cluster>) -> Result<()> {
    let scene = stores_templates(&cluster, "shop").await?;
    let namespace = scene.namespace().to_owned();
    let nothing = refused(&scene, &["params", "shop"]).await?;
    ensure!(
        nothing.contains("there is neither a file nor a stored template `shop`"),
        "{nothing}"
    );
    let path =
        format!("/apis/templates.stacks.crossplane.io/v1alpha1/namespaces/{namespace}/templates");
    let request = http::Request::post(path).header("content-type", "application/json");
    let body = serde_json::to_vec(&yaml::parse(SHOP)?)?;
    scene.client().request::<Value>(request.body(body)?).await?;
    let list = printed(&scene, &["list"]).await?;
    ensure!(
        list.contains("shop   A shop        3 (1 generated)   3"),
        "{list}"
    );
    let list: Value =
        serde_json::from_str(&printed(&scene, &["process", "shop", "-o", "json"]).await?)?;
    ensure!(list["items"][1]["spec"]["replicas"] == 0, "{list}");

    let applied = cairn(
        &scene,
        &["apply", "shop", "--instance", "one", "-p", "NAME=first"],
    )
    .await?;
    let told = String::from_utf8_lossy(&applied.stderr).into_owned();
    ensure!(
        applied.status.success() && told.starts_with("The password is "),
        "{told}"
    );
    let made = String::from_utf8(applied.stdout)?;
    let expected = "secret/first applied\ndeployment.apps/first applied\nservice/first applied\nsecret/one-parameters applied\n";
    ensure!(made == expected, "{made}");
    let secret = format!("/api/v1/namespaces/{namespace}/secrets/first");
    let before = get(&scene, &secret).await?;
    ensure!(
        before["metadata"]["labels"]["templates.stacks.crossplane.io/instance"] == "one",
        "{before}"
    );
    // Applied again, a value that was drawn stays what it is.
    printed(
        &scene,
        &[
            "apply",
            "shop",
            "--instance",
            "one",
            "-p",
            "NAME=first",
            "-p",
            "REPLICAS=1",
        ],
    )
    .await?;
    let after = get(&scene, &secret).await?;
    ensure!(before["data"] == after["data"], "{before}\n{after}");
    printed(
        &scene,
        &["apply", "shop", "--instance", "two", "-p", "NAME=second"],
    )
    .await?;

    // What the stack manager made for a package is nobody's application.
    let labels = json!({"app.kubernetes.io/managed-by": "stack-manager"});
    let account = serde_json::to_vec(&json!({"metadata": {"name": "stack-a", "labels": labels}}))?;
    let request = http::Request::post(format!("/api/v1/namespaces/{namespace}/serviceaccounts"));
    scene
        .client()
        .request::<Value>(
            request
                .header("content-type", "application/json")
                .body(account)?,
        )
        .await?;
    let whole = cairn(&scene, &["export"]).await?;
    let told = String::from_utf8_lossy(&whole.stderr).into_owned();
    ensure!(
        told.starts_with("1 object of installed packages is left out; name them to export them: "),
        "{told}"
    );
    let named = printed(&scene, &["export", "serviceaccount/stack-a"]).await?;
    ensure!(named.contains("name: stack-a"), "{named}");
    let exported = printed(
        &scene,
        &[
            "export",
            "--parametrize",
            "names,images,replicas",
            "--name",
            "copy",
        ],
    )
    .await?;
    let copy = yaml::parse(&exported)?;
    ensure!(
        !exported.contains("resourceVersion") && !exported.contains("clusterIP:"),
        "{exported}"
    );
    let kinds: Vec<&Value> = copy["objects"]
        .as_array()
        .context("objects")?
        .iter()
        .map(|one| &one["kind"])
        .collect();
    ensure!(
        kinds == ["Service", "Service", "Deployment", "Deployment"],
        "{exported}"
    );
    let names: Vec<&Value> = copy["parameters"]
        .as_array()
        .context("list")?
        .iter()
        .map(|one| &one["name"])
        .collect();
    ensure!(
        names.contains(&&json!("FIRST_NAME")) && names.contains(&&json!("SHOP_IMAGE")),
        "{exported}"
    );
    ensure!(names.contains(&&json!("SECOND_REPLICAS")), "{exported}");
    // What was exported can be applied as it is, somewhere else.
    let elsewhere = stores_templates(&cluster, "copy").await?;
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &exported)?;
    let path = file.path().display().to_string();
    let told = printed(&elsewhere, &["apply", &path, "--dry-run"]).await?;
    ensure!(
        told.lines().count() == 4 && told.contains("deployment.apps/first applied (dry run)"),
        "{told}"
    );

    let dry = printed(&scene, &["delete", "one", "--dry-run"]).await?;
    ensure!(
        dry.contains("deployment.apps/first would be deleted"),
        "{dry}"
    );
    let gone = printed(&scene, &["delete", "one"]).await?;
    ensure!(
        gone.lines().count() == 4 && gone.contains("service/first deleted"),
        "{gone}"
    );
    ensure!(get(&scene, &secret).await.is_err(), "the Secret is gone");
    get(
        &scene,
        &format!("/api/v1/namespaces/{namespace}/services/second"),
    )
    .await?;
    let again = refused(&scene, &["delete", "one"]).await?;
    ensure!(
        again.contains("there is no instance one in the namespace"),
        "{again}"
    );
    Ok(())
}

pub async fn a_library_is_stored_and_used_from_another_namespace(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let library = stores_templates(&cluster, "library").await?;
    let team = cluster.scene("team").await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("shop.json");
    // As OpenShift has it: only the version says how references are written.
    let mut shop = yaml::parse(SHOP)?;
    shop["apiVersion"] = json!("template.openshift.io/v1");
    shop["objectLabels"] = json!({"from": "library"});
    std::fs::write(&file, shop.to_string())?;
    let path = file.display().to_string();

    let dry = printed(&library, &["store", &path, "--dry-run"]).await?;
    ensure!(
        dry.contains("template.templates.stacks.crossplane.io/shop stored (dry run)"),
        "{dry}"
    );
    let name = format!("{}/shop", library.namespace());
    let absent = refused(&team, &["process", &name]).await?;
    ensure!(
        absent.contains("not found") && absent.contains("cairn template list -n"),
        "{absent}"
    );
    let stored = printed(&library, &["store", &path]).await?;
    ensure!(
        stored.contains(&format!(
            "/shop stored in the namespace {}",
            library.namespace()
        )),
        "{stored}"
    );
    // Again, which changes nothing, and under another name.
    printed(&library, &["store", &path]).await?;
    let named: Value = serde_json::from_str(
        &printed(&library, &["store", &path, "--name", "other", "-o", "json"]).await?,
    )?;
    ensure!(
        named["metadata"]["name"] == "other" && named["labels"]["from"] == "library",
        "{named}"
    );
    let list = printed(&library, &["list"]).await?;
    ensure!(list.contains("shop") && list.contains("other"), "{list}");

    // Not by its name alone: it is of another namespace.
    let absent = refused(&team, &["process", "shop"]).await?;
    ensure!(absent.contains("NAMESPACE/shop"), "{absent}");
    let checked = printed(&team, &["validate", &name]).await?;
    ensure!(checked == format!("{name}: ok\n"), "{checked}");
    let params = printed(&team, &["params", &name]).await?;
    ensure!(params.contains("generated from [a-z]{12}"), "{params}");
    let values = directory.path().join("values.yaml");
    let text = format!("kind: TemplateParameters\nname: {name}\nparameters: {{NAME: mine}}\n");
    std::fs::write(&values, text)?;
    let applied = printed(
        &team,
        &["apply", &values.display().to_string(), "--instance", "mine"],
    )
    .await?;
    ensure!(
        applied.starts_with("secret/mine applied\ndeployment.apps/mine applied\n"),
        "{applied}"
    );
    let deployment = format!(
        "/apis/apps/v1/namespaces/{}/deployments/mine",
        team.namespace()
    );
    let deployment = get(&team, &deployment).await?;
    ensure!(
        deployment["metadata"]["labels"]["from"] == "library",
        "{deployment}"
    );

    // kubectl's short names.
    let exported = printed(&team, &["export", "deploy/mine", "svc/mine"]).await?;
    let kinds = yaml::parse(&exported)?["objects"]
        .as_array()
        .map_or(0, Vec::len);
    ensure!(kinds == 2, "{exported}");
    let unknown = refused(&team, &["export", "dply/mine"]).await?;
    ensure!(
        unknown.contains("the cluster has no kind `dply`"),
        "{unknown}"
    );

    // What is not valid is not stored.
    shop["paramters"] = json!([]);
    std::fs::write(&file, shop.to_string())?;
    let told = refused(&library, &["store", &path, "--name", "bad"]).await?;
    ensure!(
        told.contains("a template has no field `paramters`")
            && told.contains("did you mean `parameters`?"),
        "{told}"
    );
    let bad = format!("{}/bad", library.namespace());
    ensure!(
        refused(&team, &["process", &bad])
            .await?
            .contains("not found"),
        "nothing was stored"
    );
    printed(&team, &["delete", "mine"]).await?;
    Ok(())
}

pub async fn what_cannot_be_applied_is_told_before_anything_is(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = stores_templates(&cluster, "unapplied").await?;
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("t.yaml");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: Template\nmetadata: {name: t}\nobjects:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n\
         - {apiVersion: example.org/v9, kind: Nothing, metadata: {name: b}}\n",
    )?;
    let path = file.display().to_string();
    let told = refused(&scene, &["apply", &path]).await?;
    ensure!(
        told.contains("the cluster has no kind Nothing of example.org/v9"),
        "{told}"
    );
    let map = format!("/api/v1/namespaces/{}/configmaps/a", scene.namespace());
    ensure!(get(&scene, &map).await.is_err(), "nothing was applied");
    Ok(())
}

pub async fn what_others_made_is_told_before_anything_is_written_and_stays_as_it_is(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = stores_templates(&cluster, "claims").await?;
    let namespace = scene.namespace().to_owned();
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("shop.yaml");
    std::fs::write(&file, SHOP)?;
    let path = file.display().to_string();
    let secret = |name: &str| format!("/api/v1/namespaces/{namespace}/secrets/{name}");
    printed(&scene, &["apply", &path, "--instance", "one"]).await?;
    let before = get(&scene, &secret("shop")).await?;

    // Another instance's: not even by force.
    for force in [&[][..], &["--force-conflicts"]] {
        let args = [&["apply", path.as_str(), "--instance", "two"], force].concat();
        let told = refused(&scene, &args).await?;
        for shown in ["secret/shop", "deployment.apps/shop", "service/shop"] {
            ensure!(
                told.contains(&format!("{shown} belongs to the instance one\n")),
                "{told}"
            );
        }
        ensure!(
            told.contains("hint: give the object another name: "),
            "{told}"
        );
        ensure!(
            get(&scene, &secret("two-parameters")).await.is_err(),
            "something was written"
        );
    }
    ensure!(
        get(&scene, &secret("shop")).await? == before,
        "it is as it was"
    );

    // Nobody's, so far: a Secret, of whose fields no manager would be in the way.
    let body = json!({"metadata": {"name": "made"}, "stringData": {"password": "own"}});
    let request = http::Request::post(format!(
        "/api/v1/namespaces/{namespace}/secrets?fieldManager=somebody"
    ));
    let request = request
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&body)?)?;
    let made = scene.client().request::<Value>(request).await?;
    let args = [
        "apply",
        &path,
        "--instance",
        "two",
        "-p",
        "NAME=made",
        "-p",
        "PASSWORD=other",
    ];
    let told = refused(&scene, &args).await?;
    let expected = "secret/made is there already, and no template made it: somebody manages it";
    ensure!(
        told.contains(expected) && told.contains("`--force-conflicts`"),
        "{told}"
    );
    ensure!(!told.contains("deployment.apps/made"), "{told}");
    ensure!(
        get(&scene, &secret("made")).await? == made,
        "it is as it was"
    );
    ensure!(
        get(&scene, &secret("two-parameters")).await.is_err(),
        "something was written"
    );
    let nothing = refused(&scene, &["delete", "two"]).await?;
    ensure!(nothing.contains("there is no instance two"), "{nothing}");

    printed(&scene, &[&args[..], &["--force-conflicts"]].concat()).await?;
    let taken = get(&scene, &secret("made")).await?;
    ensure!(taken["data"]["password"] == "b3RoZXI=", "{taken}");
    let gone = printed(&scene, &["delete", "two"]).await?;
    ensure!(
        gone.contains("secret/made deleted") && !gone.contains("/shop"),
        "{gone}"
    );
    ensure!(
        get(&scene, &secret("shop")).await? == before,
        "it is as it was"
    );
    Ok(())
}

/// The program itself beside a real API server, which then passes requests on to it.
pub async fn the_template_server_is_a_program_that_registers_itself(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("server").await?;
    let mut server = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args([
            "template-server",
            "--listen",
            "127.0.0.1:0",
            "--external-name",
            "localhost",
            "--register",
        ])
        .args(["--namespace", scene.namespace(), "--kubeconfig"])
        .arg(cluster.kubeconfig())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut lines = BufReader::new(server.stderr.take().context("a pipe")?).lines();
    let serving = async {
        while let Some(line) = lines.next_line().await? {
            if line.contains("serving processing.stacks.crossplane.io/v1alpha1") {
                return Ok(());
            }
        }
        anyhow::bail!("the server ended")
    };
    scene.within("the server to serve", serving).await?;
    let place = format!(
        "/apis/processing.stacks.crossplane.io/v1alpha1/namespaces/{}",
        scene.namespace()
    );
    let body = serde_json::to_vec(
        &json!({"apiVersion": "v1", "kind": "Template", "objects": [{"kind": "A", "x": "$(A)"}],
        "parameters": [{"name": "A", "value": "b"}]}),
    )?;
    // The API server looks now and then whether those that it passes requests on to are there.
    let answered = async {
        loop {
            let request = http::Request::post(format!("{place}/processedtemplates"));
            let request = request
                .header("content-type", "application/json")
                .body(body.clone())?;
            if let Ok(result) = scene.client().request::<Value>(request).await {
                return Ok(result);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let result = scene.within("requests to be passed on", answered).await?;
    ensure!(result["objects"][0]["x"] == "b", "{result}");
    // Its group has `templates/processed` and no `templates`, which is a list of kinds like any
    // other.
    let nothing = refused(&scene, &["delete", "nothing"]).await?;
    ensure!(
        nothing.contains("there is no instance nothing"),
        "{nothing}"
    );
    server.kill().await?;
    Ok(())
}
