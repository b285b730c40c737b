//! What becomes of objects when their owners go.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use super::{Answer, RBAC, ask, get, make, role, until, until_gone};

/// A config map in a scene's namespace with owners: kind, name, uid and whether it blocks.
async fn owned(scene: &Scene<'_>, name: &str, owners: &[(&str, &Value, bool)]) -> Result<Value> {
    let reference = |(kind, owner, blocks): &(&str, &Value, bool)| json!({"apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks});
    let references: Vec<Value> = owners.iter().map(reference).collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": references}});
    make(
        &scene.client(),
        &format!("/api/v1/namespaces/{}/configmaps", scene.namespace()),
        &object,
    )
    .await
}

pub async fn what_is_owned_goes_with_its_last_owner(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("owners").await?;
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let (a, b) = (
        owned(&scene, "a", &[]).await?,
        owned(&scene, "b", &[]).await?,
    );
    let ghost =
        json!({"metadata": {"name": "ghost", "uid": "11111111-2222-4333-8444-555555555555"}});
    let child = owned(&scene, "child", &[("ConfigMap", &a, true)]).await?;
    owned(&scene, "grandchild", &[("ConfigMap", &child, false)]).await?;
    owned(
        &scene,
        "shared",
        &[("ConfigMap", &a, true), ("ConfigMap", &b, false)],
    )
    .await?;
    owned(&scene, "lost", &[("ConfigMap", &ghost, false)]).await?;
    owned(
        &scene,
        "half",
        &[("ConfigMap", &ghost, false), ("ConfigMap", &b, false)],
    )
    .await?;
    until_gone(&scene, &format!("{maps}/lost")).await?;
    let one_owner = |answer: &Answer| {
        answer.body["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|owners| matches!(&**owners, [owner] if owner["name"] == "b"))
    };
    until(
        &scene,
        "an owner that is not there to be forgotten",
        &admin,
        &format!("{maps}/half"),
        one_owner,
    )
    .await?;
    ask(&admin, "DELETE", &format!("{maps}/a"), &[], None)
        .await?
        .good()?;
    until_gone(&scene, &format!("{maps}/child")).await?;
    until_gone(&scene, &format!("{maps}/grandchild")).await?;
    until(
        &scene,
        "an owner that went to be forgotten",
        &admin,
        &format!("{maps}/shared"),
        one_owner,
    )
    .await?;
    ask(
        &admin,
        "DELETE",
        &format!("{maps}/b?propagationPolicy=Orphan"),
        &[],
        None,
    )
    .await?
    .good()?;
    until_gone(&scene, &format!("{maps}/b")).await?;
    let free = get(&admin, &format!("{maps}/shared")).await?.good()?;
    ensure!(
        free["metadata"]["ownerReferences"].is_null(),
        "an orphan has no owner: {free}"
    );
    Ok(())
}

pub async fn in_the_foreground_owners_wait_even_in_a_circle(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("foreground").await?;
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let owner = owned(&scene, "owner", &[]).await?;
    owned(&scene, "child", &[("ConfigMap", &owner, true)]).await?;
    let hold = json!({"metadata": {"finalizers": ["acme.io/hold"]}});
    ask(&admin, "PATCH", &format!("{maps}/child"), &[], Some(&hold))
        .await?
        .good()?;
    let held = ask(
        &admin,
        "DELETE",
        &format!("{maps}/owner?propagationPolicy=Foreground"),
        &[],
        None,
    )
    .await?
    .good()?;
    ensure!(
        held["metadata"]["finalizers"] == json!(["foregroundDeletion"]),
        "{held}"
    );
    until(
        &scene,
        "the child to be told",
        &admin,
        &format!("{maps}/child"),
        |answer| answer.body["metadata"]["deletionTimestamp"].is_string(),
    )
    .await?;
    get(&admin, &format!("{maps}/owner"))
        .await?
        .good()
        .context("the owner waits")?;
    ask(
        &admin,
        "PATCH",
        &format!("{maps}/child"),
        &[],
        Some(&json!({"metadata": {"finalizers": null}})),
    )
    .await?
    .good()?;
    until_gone(&scene, &format!("{maps}/owner")).await?;
    let first = owned(&scene, "first", &[]).await?;
    let second = owned(&scene, "second", &[("ConfigMap", &first, true)]).await?;
    let back = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "second", "uid": second["metadata"]["uid"], "blockOwnerDeletion": true}]}});
    ask(&admin, "PATCH", &format!("{maps}/first"), &[], Some(&back))
        .await?
        .good()?;
    ask(
        &admin,
        "DELETE",
        &format!("{maps}/first?propagationPolicy=Foreground"),
        &[],
        None,
    )
    .await?
    .good()?;
    until_gone(&scene, &format!("{maps}/first")).await?;
    until_gone(&scene, &format!("{maps}/second")).await
}

pub async fn scopes_decide_who_can_own_whom(cluster: Arc<Cluster>) -> Result<()> {
    let (scene, other) = (cluster.scene("scope").await?, cluster.scene("scope").await?);
    let admin = scene.client();
    let maps = format!("/api/v1/namespaces/{}/configmaps", scene.namespace());
    let cluster_role = make(
        &admin,
        &format!("{RBAC}/clusterroles"),
        &role(&format!("owner-{}", scene.namespace()), &json!([])),
    )
    .await?;
    let reference = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": cluster_role["metadata"]["name"], "uid": cluster_role["metadata"]["uid"]});
    make(
        &admin,
        &maps,
        &json!({"metadata": {"name": "below", "ownerReferences": [reference]}}),
    )
    .await?;
    let owner = owned(&other, "owner", &[]).await?;
    let stranger = owned(&scene, "stranger", &[("ConfigMap", &owner, false)]).await?;
    until_gone(&scene, &format!("{maps}/stranger")).await?;
    let message = format!(
        "ownerRef [v1/ConfigMap, namespace: {space}, name: owner, uid: {uid}] does not exist in namespace \"{space}\"",
        space = scene.namespace(),
        uid = owner["metadata"]["uid"].as_str().unwrap_or_default(),
    );
    let events = format!("/api/v1/namespaces/{}/events", scene.namespace());
    let told = |answer: &Answer| {
        let about = |event: &Value| {
            event["reason"] == "OwnerRefInvalidNamespace"
                && event["message"] == *message
                && event["involvedObject"]["uid"] == stranger["metadata"]["uid"]
        };
        answer.body["items"]
            .as_array()
            .is_some_and(|items| items.iter().any(about))
    };
    until(
        &scene,
        "an event about the owner elsewhere",
        &admin,
        &events,
        told,
    )
    .await?;
    get(&admin, &format!("{maps}/below"))
        .await?
        .good()
        .context("what is in a namespace can be owned from above")?;
    let above = format!("above-{}", scene.namespace());
    let mut object = role(&above, &json!([]));
    let owner = owned(&scene, "owner", &[]).await?;
    object["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    make(&admin, &format!("{RBAC}/clusterroles"), &object).await?;
    ask(&admin, "DELETE", &format!("{maps}/owner"), &[], None)
        .await?
        .good()?;
    let role_path = format!(
        "{RBAC}/clusterroles/{}",
        cluster_role["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
    );
    ask(&admin, "DELETE", &role_path, &[], None).await?.good()?;
    until_gone(&scene, &format!("{maps}/below")).await?;
    get(&admin, &format!("{RBAC}/clusterroles/{above}"))
        .await?
        .good()
        .context("nothing above is owned from within")?;
    Ok(())
}
