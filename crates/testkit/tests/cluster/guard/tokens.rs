//! Tokens of service accounts: what they are good for, and when they end.

use std::sync::Arc;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use testkit::{Cluster, Identity};

use super::{WHO, ask, get, make, post, until, until_gone};

pub async fn a_token_is_good_for_its_audience_while_its_account_and_its_secret_are_there(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("tokens").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let base = format!("/api/v1/namespaces/{space}");
    let account = make(
        &admin,
        &format!("{base}/serviceaccounts"),
        &json!({"metadata": {"name": "robot"}}),
    )
    .await?;
    make(
        &admin,
        &format!("{base}/secrets"),
        &json!({"metadata": {"name": "s"}}),
    )
    .await?;
    let token = format!("{base}/serviceaccounts/robot/token");
    let refused = post(&admin, &token, &json!({"spec": {"expirationSeconds": 60}})).await?;
    refused.says(
        422,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
    )?;
    post(
        &admin,
        &format!("{base}/serviceaccounts/nope/token"),
        &json!({"spec": {}}),
    )
    .await?
    .says(404, "serviceaccounts \"nope\" not found")?;
    let bound = |kind: &str, name: &str| json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}}});
    post(&admin, &token, &bound("ConfigMap", "x")).await?.says(
        400,
        "cannot bind token to object of type /v1, Kind=ConfigMap",
    )?;
    post(&admin, &token, &bound("Secret", "x"))
        .await?
        .says(404, "secrets \"x\" not found")?;
    let text = |answer: &Value| {
        answer["status"]["token"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let vault = text(&make(&admin, &token, &json!({"spec": {"audiences": ["vault"]}})).await?);
    let secret = text(&make(&admin, &token, &bound("Secret", "s")).await?);
    let plain = text(&make(&admin, &token, &json!({"spec": {}})).await?);
    let review = async |token: &str, audiences: &[&str]| {
        let body = json!({"spec": {"token": token, "audiences": audiences}});
        Ok::<_, anyhow::Error>(
            make(&admin, &format!("{WHO}/tokenreviews"), &body).await?["status"].clone(),
        )
    };
    let found = review(&vault, &["vault", "other"]).await?;
    ensure!(
        found["authenticated"] == true && found["audiences"] == json!(["vault"]),
        "{found}"
    );
    ensure!(
        found["user"]["uid"] == account["metadata"]["uid"],
        "{found}"
    );
    let found = review(&vault, &[]).await?;
    let why = r#"[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]]"#;
    ensure!(found["error"] == why, "{found}");
    ensure!(review("nonsense", &[]).await?["error"] == "invalid bearer token");
    let with = |token: &str| {
        cluster
            .backend()
            .client(&Identity::Bearer(token.to_owned()))
    };
    let maps = format!("{base}/configmaps");
    for (token, code) in [(&vault, 401), (&secret, 403), (&plain, 403)] {
        let answer = get(&with(token)?, &maps).await?;
        ensure!(answer.code == code, "{} {}", answer.code, answer.body);
    }
    ask(&admin, "DELETE", &format!("{base}/secrets/s"), &[], None)
        .await?
        .good()?;
    let found = until(
        &scene,
        "the bound token to end",
        &with(&secret)?,
        &maps,
        |answer| answer.code == 401,
    )
    .await?;
    ensure!(found.message() == "Unauthorized", "{}", found.body);
    ensure!(
        get(&with(&plain)?, &maps).await?.code == 403,
        "the other is not bound"
    );
    ask(
        &admin,
        "DELETE",
        &format!("{base}/serviceaccounts/robot"),
        &[],
        None,
    )
    .await?
    .good()?;
    until(
        &scene,
        "the account's token to end",
        &with(&plain)?,
        &maps,
        |answer| answer.code == 401,
    )
    .await
    .map(drop)
}

pub async fn a_secret_holds_the_token_of_its_account_and_goes_with_it(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("secrets").await?;
    let (admin, space) = (scene.client(), scene.namespace());
    let base = format!("/api/v1/namespaces/{space}");
    let account = make(
        &admin,
        &format!("{base}/serviceaccounts"),
        &json!({"metadata": {"name": "robot"}}),
    )
    .await?;
    let secret = |name: &str, annotations: Value| json!({"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"});
    let of = |account: &str| json!({"kubernetes.io/service-account.name": account});
    post(&admin, &format!("{base}/secrets"), &secret("bad", json!({}))).await?.says(
        422,
        "Secret \"bad\" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value",
    )?;
    make(
        &admin,
        &format!("{base}/secrets"),
        &secret("lost", of("nobody")),
    )
    .await?;
    make(
        &admin,
        &format!("{base}/secrets"),
        &secret("token", of("robot")),
    )
    .await?;
    until_gone(&scene, &format!("{base}/secrets/lost")).await?;
    let filled = until(
        &scene,
        "the token",
        &admin,
        &format!("{base}/secrets/token"),
        |answer| answer.body["data"]["token"].is_string(),
    )
    .await?
    .body;
    ensure!(
        filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
            == account["metadata"]["uid"],
        "{filled}"
    );
    let plain = |field: &str| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let bytes = STANDARD
            .decode(filled["data"][field].as_str().unwrap_or_default())
            .unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    ensure!(
        plain("namespace") == space && plain("ca.crt").starts_with("-----BEGIN CERTIFICATE-----"),
        "{filled}"
    );
    let robot = cluster
        .backend()
        .client(&Identity::Bearer(plain("token")))?;
    let me = make(&robot, &format!("{WHO}/selfsubjectreviews"), &json!({})).await?;
    ensure!(
        me["status"]["userInfo"]["username"] == scene.service_account_user("robot"),
        "{me}"
    );
    ask(
        &admin,
        "DELETE",
        &format!("{base}/serviceaccounts/robot"),
        &[],
        None,
    )
    .await?
    .good()?;
    until_gone(&scene, &format!("{base}/secrets/token")).await
}
