//! The controllers that Cairn relies on are at work.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::{TryStreamExt, pin_mut};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    batch::v1::Job,
    core::v1::{ConfigMap, Namespace, Pod},
    rbac::v1::ClusterRole,
};
use kube::{
    Api, Resource,
    api::{DeleteParams, ListParams, PostParams},
    runtime::{WatchStreamExt, conditions, watcher},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use testkit::{Cluster, Scene};

/// Waits on a watch until there are as many objects as wanted.
async fn await_count<K>(scene: &Scene<'_>, count: usize) -> Result<Vec<K>>
where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + 'static,
    K::DynamicType: Default,
{
    let api = scene.api::<K>();
    let changes = watcher(api.clone(), watcher::Config::default()).default_backoff();
    let enough = async {
        pin_mut!(changes);
        loop {
            let found = api.list(&ListParams::default()).await?.items;
            if found.len() == count {
                return Ok(found);
            }
            changes.try_next().await?.context("the watch ended")?;
        }
    };
    scene.within(&format!("{count} objects"), enough).await
}

pub async fn a_deployment_gets_its_replica_set_and_pods(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("deployment").await?;
    let deployment: Deployment = serde_json::from_value(
        json!({"metadata": {"name": "web"}, "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}},
        }}),
    )?;
    scene
        .api::<Deployment>()
        .create(&PostParams::default(), &deployment)
        .await?;
    let sets = await_count::<ReplicaSet>(&scene, 1).await?;
    let owners = sets[0]
        .metadata
        .owner_references
        .clone()
        .unwrap_or_default();
    ensure!(
        owners
            .iter()
            .any(|owner| owner.kind == "Deployment" && owner.name == "web"),
        "{owners:?}"
    );
    await_count::<Pod>(&scene, 2).await?;
    Ok(())
}

pub async fn a_job_gets_its_pod(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("job").await?;
    let job: Job = serde_json::from_value(
        json!({"metadata": {"name": "once"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}],
        }}}}),
    )?;
    scene
        .api::<Job>()
        .create(&PostParams::default(), &job)
        .await?;
    await_count::<Pod>(&scene, 1).await?;
    Ok(())
}

pub async fn cluster_roles_are_aggregated(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("aggregation").await?;
    let roles: Api<ClusterRole> = Api::all(scene.client());
    let (whole, part) = (
        format!("{}-whole", scene.namespace()),
        format!("{}-part", scene.namespace()),
    );
    let selector = json!({"matchLabels": {"part-of": whole}});
    let aggregate = json!({"metadata": {"name": whole}, "aggregationRule": {"clusterRoleSelectors": [selector]}});
    roles
        .create(&PostParams::default(), &serde_json::from_value(aggregate)?)
        .await?;
    let rule = json!({"apiGroups": [scene.group()], "resources": ["widgets"], "verbs": ["get"]});
    let partial =
        json!({"metadata": {"name": part, "labels": {"part-of": whole}}, "rules": [rule]});
    roles
        .create(&PostParams::default(), &serde_json::from_value(partial)?)
        .await?;
    let filled = |role: Option<&ClusterRole>| {
        role.and_then(|role| role.rules.as_ref())
            .is_some_and(|rules| rules.iter().any(|r| r.verbs == ["get"]))
    };
    scene.wait(&roles, &whole, filled).await?;
    Ok(())
}

pub async fn deleting_a_namespace_deletes_what_is_in_it(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("namespace").await?;
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "inside"}}))?;
    scene
        .api::<ConfigMap>()
        .create(&PostParams::default(), &map)
        .await?;
    let namespaces: Api<Namespace> = Api::all(scene.client());
    let uid = namespaces
        .get(scene.namespace())
        .await?
        .metadata
        .uid
        .context("a uid")?;
    namespaces
        .delete(scene.namespace(), &DeleteParams::default())
        .await?;
    scene
        .wait(&namespaces, scene.namespace(), conditions::is_deleted(&uid))
        .await?;
    ensure!(
        scene.api::<ConfigMap>().get_opt("inside").await?.is_none(),
        "the content is gone too"
    );
    Ok(())
}
