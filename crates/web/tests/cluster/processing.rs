//! What the group answers, over plain requests: results in both forms, refusals with their places,
//! and rights.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::Client;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::home;

const GROUP: &str = "/apis/processing.stacks.crossplane.io/v1alpha1";

/// A template of one ConfigMap.
pub fn template(name: &str) -> Value {
    json!({
        "apiVersion": "templates.stacks.crossplane.io/v1alpha1", "kind": "Template",
        "metadata": {"name": name, "annotations": {"description": "Says something"}},
        "labels": {"app": "$(NAME)"},
        "objects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "$(NAME)"},
            "data": {"text": "$(TEXT)"}, "immutable": "$((FIXED))"}],
        "parameters": [
            {"name": "NAME", "value": "said"},
            {"name": "TEXT", "required": true},
            {"name": "FIXED", "type": "bool", "value": "true"},
        ],
    })
}

fn processed() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "said", "labels": {"app": "said"}},
        "data": {"text": "hello"}, "immutable": true})
}

/// Sends a body; the code and the answer, whatever they are.
async fn post(client: &Client, path: &str, body: impl Into<Vec<u8>>) -> Result<(u16, Value)> {
    let request =
        http::Request::post(format!("{GROUP}{path}")).header("content-type", "application/json");
    match client.request::<Value>(request.body(body.into())?).await {
        Ok(value) => Ok((201, value)),
        Err(kube::Error::Api(status)) => Ok((status.code, serde_json::to_value(status)?)),
        Err(error) => Err(error.into()),
    }
}

async fn get(client: &Client, path: &str) -> Result<Value> {
    Ok(client
        .request(http::Request::get(path).body(Vec::new())?)
        .await?)
}

/// Stores a template as an object of its namespace.
pub async fn store(scene: &Scene<'_>, name: &str) -> Result<()> {
    let path = format!(
        "/apis/templates.stacks.crossplane.io/v1alpha1/namespaces/{}/templates",
        scene.namespace()
    );
    let body = serde_json::to_vec(&template(name))?;
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(body)?;
    let stored: Value = scene.client().request(request).await?;
    ensure!(
        stored["objects"] == template(name)["objects"],
        "what was stored is what was written: {stored}"
    );
    Ok(())
}

pub async fn a_template_that_is_posted_comes_back_filled_in(cluster: Arc<Cluster>) -> Result<()> {
    let scene = home::scene(&cluster, "posted").await?;
    let path = format!("/namespaces/{}/processedtemplates", scene.namespace());
    let mut filled = template("greeting");
    filled["parameters"][1]["value"] = json!("hello");
    let (code, result) = post(&scene.client(), &path, filled.to_string()).await?;
    ensure!(code == 201, "{code} {result}");
    let mut expected = filled.clone();
    expected["objects"] = json!([processed()]);
    expected["labels"] = json!({"app": "said"});
    ensure!(result == expected, "{result}");
    let (_, list) = post(
        &scene.client(),
        &format!("{path}?result=list"),
        filled.to_string(),
    )
    .await?;
    ensure!(
        list == json!({"apiVersion": "v1", "kind": "List", "items": [processed()]}),
        "{list}"
    );
    // OpenShift's own, as it is, and in YAML.
    let openshift = "kind: Template\napiVersion: template.openshift.io/v1\nobjects: [{kind: Route, apiVersion: v1, port: '${{P}}'}]\n\
                     parameters: [{name: P, generate: expression, from: '[1-9]{3}'}]\n";
    let (code, result) = post(&scene.client(), &path, openshift).await?;
    ensure!(
        code == 201 && result["objects"][0]["apiVersion"] == "route.openshift.io/v1",
        "{result}"
    );
    ensure!(
        result["objects"][0]["port"]
            .as_u64()
            .is_some_and(|port| (111..=999).contains(&port)),
        "{result}"
    );
    let maps = format!("/api/v1/namespaces/{}/configmaps/said", scene.namespace());
    ensure!(
        get(&scene.client(), &maps).await.is_err(),
        "nothing is created by processing"
    );
    Ok(())
}

pub async fn a_stored_template_takes_values_alone(cluster: Arc<Cluster>) -> Result<()> {
    let scene = home::scene(&cluster, "stored").await?;
    store(&scene, "greeting").await?;
    let path = format!(
        "/namespaces/{}/templates/greeting/processed",
        scene.namespace()
    );
    for body in [
        json!({"parameters": {"TEXT": "hello"}}),
        json!({"kind": "TemplateParameters", "apiVersion": "processing.stacks.crossplane.io/v1alpha1",
            "name": "greeting", "parameters": {"TEXT": "hello"}}),
    ] {
        let (code, result) = post(&scene.client(), &path, body.to_string()).await?;
        ensure!(
            code == 201 && result["objects"] == json!([processed()]),
            "{code} {result}"
        );
        ensure!(
            result["metadata"]["uid"].is_null(),
            "the result is no stored object: {result}"
        );
    }
    let elsewhere = path.replace("greeting", "absent");
    let (code, result) = post(&scene.client(), &elsewhere, "{}").await?;
    ensure!(
        code == 404 && result["message"].to_string().contains("absent"),
        "{code} {result}"
    );
    let (code, result) = post(&scene.client(), &path, json!({"name": "other"}).to_string()).await?;
    ensure!(
        code == 400 && result["message"].to_string().contains("for the template"),
        "{code} {result}"
    );
    Ok(())
}

pub async fn what_is_wrong_is_refused_with_its_place(cluster: Arc<Cluster>) -> Result<()> {
    let scene = home::scene(&cluster, "wrong").await?;
    store(&scene, "greeting").await?;
    let posted = format!("/namespaces/{}/processedtemplates", scene.namespace());
    let stored = format!(
        "/namespaces/{}/templates/greeting/processed",
        scene.namespace()
    );
    let mut wrong = template("wrong");
    wrong["parameters"][2]["value"] = json!("perhaps");
    let values = |values: Value| json!({"parameters": values}).to_string();
    for (path, body, code, parts) in [
        (
            &posted,
            wrong.to_string(),
            422,
            &["parameters[1]: the parameter TEXT is required", "`perhaps` is neither"][..],
        ),
        (
            &posted,
            json!({"kind": "Template", "apiVersion": "v1", "objects": [], "paramters": [],
                "parameters": [{"name": "A", "deault": "x"}]})
            .to_string(),
            422,
            &["a template has no field `paramters` (did you mean `parameters`?)", "a parameter has no field `deault`"],
        ),
        (
            &posted,
            json!({"kind": "Template", "apiVersion": "v1", "objects": [], "objectLabels": {"a": "no label!"}})
                .to_string(),
            422,
            &["objectLabels.a: `no label!` cannot be the value of a label"],
        ),
        (&posted, "{]".to_owned(), 400, &["the body cannot be read"]),
        (&posted, "[".repeat(100_000), 400, &["the body cannot be read"]),
        (&posted, "null".to_owned(), 422, &["a template is a mapping"]),
        (&posted, json!({"kind": "Pod", "apiVersion": "v1"}).to_string(), 422, &["this is a Pod, not a Template"]),
        (&format!("{posted}?result=heap"), template("x").to_string(), 400, &["it is list or template"]),
        (&stored, values(json!({"TEXT": 1})), 422, &["parameters.TEXT", "is the number 1"]),
        (&stored, values(json!({"TEXT": "x", "TXT": "x"})), 422, &["no parameter TXT (is TEXT meant?)"]),
    ] {
        let (found, status) = post(&scene.client(), path, body.clone()).await?;
        ensure!(found == code, "{path} {found} {status}");
        let text = status["message"].as_str().context("a message")?;
        for part in parts {
            ensure!(text.contains(part), "{text:?} lacks {part:?}");
        }
    }
    let (_, status) = post(&scene.client(), &posted, wrong.to_string()).await?;
    let causes = &status["details"]["causes"];
    ensure!(
        causes[0]["field"] == "parameters[1]" && causes[0]["reason"] == "FieldValueRequired",
        "{status}"
    );
    ensure!(
        causes[1]["field"] == "parameters[2].value" && causes[1]["reason"] == "FieldValueInvalid",
        "{status}"
    );
    Ok(())
}

pub async fn nobody_processes_without_the_right_to(cluster: Arc<Cluster>) -> Result<()> {
    let scene = home::scene(&cluster, "rights").await?;
    let namespace = scene.namespace();
    store(&scene, "greeting").await?;
    store(&scene, "secret").await?;
    let mut filled = template("own");
    filled["parameters"][1]["value"] = json!("hello");
    let posted = format!("/namespaces/{namespace}/processedtemplates");
    let stored = |name: &str| format!("/namespaces/{namespace}/templates/{name}/processed");
    let values = json!({"parameters": {"TEXT": "hello"}}).to_string();
    let user = cluster.client_for_user("jane", &[])?;
    let (code, status) = post(&user, &posted, filled.to_string()).await?;
    let expected = "processedtemplates.processing.stacks.crossplane.io is forbidden: User \"jane\" cannot create resource \
                    \"processedtemplates\" in API group \"processing.stacks.crossplane.io\"";
    ensure!(
        code == 403
            && status["message"]
                .to_string()
                .replace('\\', "")
                .contains(expected),
        "{code} {status}"
    );
    ensure!(post(&user, &stored("greeting"), values.clone()).await?.0 == 403);
    // The right to fill in one stored template, and templates of one's own.
    let rules = json!([
        {"apiGroups": ["processing.stacks.crossplane.io"], "resources": ["processedtemplates"], "verbs": ["create"]},
        {"apiGroups": ["processing.stacks.crossplane.io"], "resources": ["templates/processed"], "verbs": ["create"],
         "resourceNames": ["greeting"]},
    ]);
    let rbac = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}");
    let role = json!({"metadata": {"name": "fill-in"}, "rules": rules});
    let binding = json!({"metadata": {"name": "fill-in"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "fill-in"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]});
    for (plural, object) in [("roles", role), ("rolebindings", binding)] {
        let request = http::Request::post(format!("{rbac}/{plural}"))
            .header("content-type", "application/json");
        scene
            .client()
            .request::<Value>(request.body(serde_json::to_vec(&object)?)?)
            .await?;
    }
    // The real server's authorizer follows its caches.
    let granted = async {
        while post(&user, &posted, filled.to_string()).await?.0 != 201 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Ok(())
    };
    scene.within("the right to be granted", granted).await?;
    ensure!(post(&user, &stored("greeting"), values.clone()).await?.0 == 201);
    ensure!(post(&user, &stored("secret"), values.clone()).await?.0 == 403);
    let other = "/namespaces/default/processedtemplates";
    ensure!(post(&user, other, filled.to_string()).await?.0 == 403);
    let path = format!(
        "/apis/templates.stacks.crossplane.io/v1alpha1/namespaces/{namespace}/templates/greeting"
    );
    ensure!(
        get(&user, &path).await.is_err(),
        "to fill in is not to read"
    );
    Ok(())
}

pub async fn the_group_is_discovered_with_its_types(cluster: Arc<Cluster>) -> Result<()> {
    let scene = home::scene(&cluster, "types").await?;
    let client = scene.client();
    let list = get(&client, GROUP).await?;
    let names: Vec<&Value> = list["resources"]
        .as_array()
        .context("a list")?
        .iter()
        .map(|one| &one["name"])
        .collect();
    ensure!(
        names == ["processedtemplates", "templates/processed"],
        "{list}"
    );
    let groups = get(&client, "/apis").await?;
    let ours = |groups: &Value| {
        groups["groups"]
            .to_string()
            .contains("processing.stacks.crossplane.io")
    };
    ensure!(ours(&groups), "{groups}");
    // The real server collects the documents of others now and then.
    let path = "/openapi/v3/apis/processing.stacks.crossplane.io/v1alpha1";
    let document = async {
        loop {
            if let Ok(document) = get(&client, path).await {
                return Ok(document);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let document = scene.within("the document to be served", document).await?;
    let way = "/apis/processing.stacks.crossplane.io/v1alpha1/namespaces/{namespace}/templates/{name}/processed";
    ensure!(
        document["paths"][way]["post"]["operationId"].is_string(),
        "{document}"
    );
    Ok(())
}
