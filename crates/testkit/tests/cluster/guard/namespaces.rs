//! How namespaces end, and what every one of them has.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use testkit::Cluster;

use super::{Answer, ask, make, post, until, until_gone};

pub async fn a_namespace_goes_once_nothing_is_left_in_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("ending").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let path = format!("/api/v1/namespaces/{space}");
    let hold = json!({"metadata": {"name": "held", "finalizers": ["acme.io/hold"]}});
    make(&admin, &format!("{path}/configmaps"), &hold).await?;
    let going = ask(&admin, "DELETE", &path, &[], None).await?.good()?;
    ensure!(
        going["status"]["phase"] == "Terminating"
            && going["spec"]["finalizers"] == json!(["kubernetes"]),
        "{going}"
    );
    let late = post(
        &admin,
        &format!("{path}/configmaps"),
        &json!({"metadata": {"name": "late"}}),
    )
    .await?;
    late.says(403, &format!("configmaps \"late\" is forbidden: unable to create new content in namespace {space} because it is being terminated"))?;
    ensure!(
        late.body["details"]["causes"][0]["reason"] == "NamespaceTerminating",
        "{}",
        late.body
    );
    let condition = |body: &Value, kind: &str| {
        let all = body["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        all.into_iter()
            .find(|condition| condition["type"] == kind)
            .unwrap_or_default()
    };
    let told = |answer: &Answer| {
        condition(&answer.body, "NamespaceFinalizersRemaining")["status"] == "True"
    };
    let left = until(
        &scene,
        "conditions that say what is left",
        &admin,
        &path,
        told,
    )
    .await?
    .body;
    let said = condition(&left, "NamespaceContentRemaining");
    ensure!(
        said["message"] == "Some resources are remaining: configmaps. has 1 resource instances",
        "{said}"
    );
    let said = condition(&left, "NamespaceFinalizersRemaining");
    ensure!(
        said["message"]
            == "Some content in the namespace has finalizers remaining: acme.io/hold in 1 resource instances",
        "{said}"
    );
    ask(
        &admin,
        "PATCH",
        &format!("{path}/configmaps/held"),
        &[],
        Some(&json!({"metadata": {"finalizers": null}})),
    )
    .await?
    .good()?;
    until_gone(&scene, &path).await?;
    let nowhere = post(
        &admin,
        &format!("{path}/configmaps"),
        &json!({"metadata": {"name": "late"}}),
    )
    .await?;
    nowhere.says(404, &format!("namespaces {space:?} not found"))?;
    ask(&admin, "DELETE", "/api/v1/namespaces/default", &[], None)
        .await?
        .says(
            403,
            "namespaces \"default\" is forbidden: this namespace may not be deleted",
        )
}

pub async fn a_namespace_is_kept_by_whoever_finalizes_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("finalize").await?;
    let admin = scene.client();
    let name = format!("kept-{}", scene.namespace());
    let path = format!("/api/v1/namespaces/{name}");
    let object = json!({"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": "other"}}, "spec": {"finalizers": ["acme.io/x", "kubernetes"]}});
    let made = make(&admin, "/api/v1/namespaces", &object).await?;
    ensure!(
        made["metadata"]["labels"]["kubernetes.io/metadata.name"] == *name
            && made["status"]["phase"] == "Active",
        "{made}"
    );
    let plain = ask(
        &admin,
        "PATCH",
        &path,
        &[],
        Some(&json!({"spec": {"finalizers": null}})),
    )
    .await?
    .good()?;
    ensure!(
        plain["spec"]["finalizers"] == json!(["acme.io/x", "kubernetes"]),
        "only finalize changes them: {plain}"
    );
    ask(&admin, "DELETE", &path, &[], None).await?.good()?;
    let left = |answer: &Answer| answer.body["spec"]["finalizers"] == json!(["acme.io/x"]);
    until(&scene, "the server to be done", &admin, &path, left).await?;
    let done = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}});
    ask(&admin, "PUT", &format!("{path}/finalize"), &[], Some(&done))
        .await?
        .good()?;
    until_gone(&scene, &path).await
}

pub async fn every_namespace_keeps_its_account_and_its_certificate(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("furniture").await?;
    let admin = scene.client();
    let base = format!("/api/v1/namespaces/{}", scene.namespace());
    let (account, map) = (
        format!("{base}/serviceaccounts/default"),
        format!("{base}/configmaps/kube-root-ca.crt"),
    );
    let there = |answer: &Answer| answer.code == 200;
    let old = until(&scene, "the account", &admin, &account, there)
        .await?
        .body;
    let certificate = until(&scene, "the certificate", &admin, &map, there)
        .await?
        .body["data"]
        .clone();
    ensure!(
        certificate["ca.crt"]
            .as_str()
            .is_some_and(|text| text.starts_with("-----BEGIN CERTIFICATE-----")),
        "{certificate}"
    );
    ask(&admin, "DELETE", &account, &[], None).await?.good()?;
    let again =
        |answer: &Answer| there(answer) && answer.body["metadata"]["uid"] != old["metadata"]["uid"];
    until(&scene, "the account to come back", &admin, &account, again).await?;
    ask(
        &admin,
        "PATCH",
        &map,
        &[],
        Some(&json!({"data": {"ca.crt": "x", "more": "y"}})),
    )
    .await?
    .good()?;
    let restored = |answer: &Answer| answer.body["data"] == certificate;
    until(
        &scene,
        "the certificate to be put right",
        &admin,
        &map,
        restored,
    )
    .await?;
    ask(&admin, "DELETE", &map, &[], None).await?.good()?;
    until(
        &scene,
        "the certificate to come back",
        &admin,
        &map,
        restored,
    )
    .await
    .map(drop)
}
