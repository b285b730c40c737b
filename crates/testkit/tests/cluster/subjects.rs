//! Clients act as who they are said to be, with that subject's rights.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Secret},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{Cluster, Identity, Scene};

/// Lets a subject read the config maps of the scene.
async fn grant(scene: &Scene<'_>, subject: &Value) -> Result<()> {
    let role: Role = serde_json::from_value(json!({"metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]}))?;
    scene
        .api::<Role>()
        .create(&PostParams::default(), &role)
        .await?;
    let binding: RoleBinding = serde_json::from_value(
        json!({"metadata": {"name": "reader"}, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}}),
    )?;
    scene
        .api::<RoleBinding>()
        .create(&PostParams::default(), &binding)
        .await?;
    Ok(())
}

async fn list_config_maps(client: &Client, namespace: &str) -> Result<u16> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    status(api.list(&ListParams::default()).await.map(drop))
}

fn status(outcome: Result<(), kube::Error>) -> Result<u16> {
    match outcome {
        Ok(()) => Ok(200),
        Err(kube::Error::Api(status)) => Ok(status.code),
        Err(other) => Err(other.into()),
    }
}

async fn whoami(client: Client) -> Result<(String, Vec<String>)> {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let user = review
        .status
        .and_then(|status| status.user_info)
        .context("no user in the review")?;
    Ok((
        user.username.unwrap_or_default(),
        user.groups.unwrap_or_default(),
    ))
}

/// The binding is with the authorizer a moment after it was written, so the first answer may still
/// be a refusal.
async fn await_allowed(scene: &Scene<'_>, client: &Client) -> Result<()> {
    let allowed = async {
        while list_config_maps(client, scene.namespace()).await? != 200 {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    scene.within("the role to hold", allowed).await
}

pub async fn a_user_may_do_what_its_group_is_granted_and_no_more(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("user").await?;
    let groups = ["crew", "night shift:2", "third"];
    let ann = cluster.client_for_user("ann@example.org", &groups)?;
    let bob = cluster.client_for_user("bob", &[])?;
    let (name, mut found) = whoami(ann.clone()).await?;
    found.retain(|group| group != "system:authenticated");
    ensure!(
        name == "ann@example.org" && found == groups,
        "{name} {found:?}"
    );
    ensure!(
        list_config_maps(&ann, scene.namespace()).await? == 403,
        "nothing is granted yet"
    );
    let api = "rbac.authorization.k8s.io";
    grant(
        &scene,
        &json!({"apiGroup": api, "kind": "Group", "name": "night shift:2"}),
    )
    .await?;
    await_allowed(&scene, &ann).await?;
    ensure!(
        list_config_maps(&bob, scene.namespace()).await? == 403,
        "bob is not in the group"
    );
    ensure!(
        list_config_maps(&ann, "default").await? == 403,
        "another namespace"
    );
    let secrets: Api<Secret> = Api::namespaced(ann, scene.namespace());
    ensure!(
        status(secrets.list(&ListParams::default()).await.map(drop))? == 403,
        "another resource"
    );
    Ok(())
}

pub async fn a_service_account_may_do_what_its_role_grants_and_no_more(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("account").await?;
    let (robot, other) = (
        scene.service_account("robot").await?,
        scene.service_account("other").await?,
    );
    let (name, groups) = whoami(robot.clone()).await?;
    ensure!(name == scene.service_account_user("robot"), "{name}");
    let of_namespace = format!("system:serviceaccounts:{}", scene.namespace());
    ensure!(groups.contains(&of_namespace), "{groups:?}");
    ensure!(
        list_config_maps(&robot, scene.namespace()).await? == 403,
        "nothing is granted yet"
    );
    grant(
        &scene,
        &json!({"kind": "ServiceAccount", "name": "robot", "namespace": scene.namespace()}),
    )
    .await?;
    await_allowed(&scene, &robot).await?;
    ensure!(
        list_config_maps(&other, scene.namespace()).await? == 403,
        "the other has no role"
    );
    let maps: Api<ConfigMap> = Api::namespaced(robot, scene.namespace());
    let made = maps
        .create(
            &PostParams::default(),
            &serde_json::from_value(json!({"metadata": {"name": "x"}}))?,
        )
        .await;
    ensure!(status(made.map(drop))? == 403, "reading is not writing");
    let missing = cluster
        .client_for_service_account(scene.namespace(), "nobody")
        .await;
    let said = missing
        .err()
        .map(|error| format!("{error:#}"))
        .unwrap_or_default();
    ensure!(
        said.contains(&format!("{}/nobody", scene.namespace())) && said.contains("not found"),
        "{said}"
    );
    Ok(())
}

pub async fn without_good_credentials_nobody_is_let_in(cluster: Arc<Cluster>) -> Result<()> {
    let bad = cluster
        .backend()
        .client(&Identity::Bearer("nonsense".into()))?;
    ensure!(
        list_config_maps(&bad, "default").await? == 401,
        "a bad token is no user"
    );
    let nobody = cluster.backend().client(&Identity::Anonymous)?;
    ensure!(
        list_config_maps(&nobody, "default").await? == 403,
        "nobody may do nothing"
    );
    let (admin, groups) = whoami(cluster.admin()?).await?;
    ensure!(
        admin == "admin" && groups.iter().any(|group| group == "system:masters"),
        "{admin} {groups:?}"
    );
    Ok(())
}

pub async fn tests_do_not_see_each_others_scenes(cluster: Arc<Cluster>) -> Result<()> {
    let (one, two) = (cluster.scene("same").await?, cluster.scene("same").await?);
    ensure!(one.namespace() != two.namespace() && one.group() != two.group());
    let schema = json!({"type": "object"});
    let first = one.install_crd(&one.crd("Thing", &schema)).await?;
    let second = two.install_crd(&two.crd("Thing", &schema)).await?;
    ensure!(
        first.api_version != second.api_version,
        "the same kind, twice"
    );
    Ok(())
}
