//! Stacks of the whole cluster, and those that only claim to be.

use std::sync::Arc;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use package::Files;
use serde_json::json;
use testkit::{Cluster, Scene};

use crate::installs::{code, redis, redises};
use crate::manager::{definitions, has, install, installs, manager, package, resource, stacks};

/// A package for the whole cluster with a kind of the whole cluster beside `Redis`.
fn wide(group: &str) -> Files {
    let mut files = package(
        group,
        "1.0.0",
        &["a"],
        "permissionScope: Cluster\ndependsOn: [{crd: configmap/v1}, {crd: service/v1}]\n",
    );
    let fleet = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: fleets.{group}}}\n\
         spec:\n  group: {group}\n  scope: Cluster\n  names: {{kind: Fleet, plural: fleets, singular: fleet}}\n  \
         versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object}}}}\n"
    );
    files.insert(
        ".registry/resources/fleet.crd.yaml".to_owned(),
        fleet.into_bytes(),
    );
    files
}

fn cluster_installs(scene: &Scene<'_>) -> Api<DynamicObject> {
    let kind = resource(
        "stacks.crossplane.io",
        "v1alpha1",
        "ClusterStackInstall",
        "clusterstackinstalls",
    );
    Api::all_with(scene.client(), &kind)
}

fn stacks_of_the_cluster(scene: &Scene<'_>, place: &str) -> Api<DynamicObject> {
    let kind = resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks");
    Api::namespaced_with(scene.client(), place, &kind)
}

pub async fn a_stack_of_the_whole_cluster_lives_and_goes(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("wide").await?;
    let repository = format!("{}/redis", scene.namespace());
    manager.shelf.put(&repository, "1.0.0", wide(scene.group()));
    let name = scene.namespace().to_owned();
    let all = cluster_installs(&scene);
    let object = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "ClusterStackInstall", "metadata": { "name": name },
        "spec": { "package": format!("{repository}:1.0.0") },
    });
    let made = all
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await?;
    let ready = scene.wait(&all, &name, has("Ready", "True", "")).await;
    let state = all.get(&name).await?;
    ready.map_err(|error| error.context(state.data["status"].to_string()))?;
    let record = state.data["status"]["stackRecord"].clone();
    let place = format!("cairn-stacks-{name}");
    ensure!(
        record["namespace"] == place.as_str() && record["name"] == name.as_str(),
        "{record}"
    );
    ensure!(
        state.data["status"]["namespace"] == place.as_str(),
        "{}",
        state.data["status"]
    );
    let stack = stacks_of_the_cluster(&scene, &place).get(&name).await?;
    let owner = stack.metadata.owner_references.clone().unwrap_or_default();
    ensure!(
        owner.len() == 1
            && owner[0].kind == "ClusterStackInstall"
            && Some(&owner[0].uid) == made.metadata.uid.as_ref()
    );
    let crds = definitions(scene.client());
    for plural in ["redises", "fleets"] {
        let labels = crds
            .get(&format!("{plural}.{}", scene.group()))
            .await?
            .metadata
            .labels
            .unwrap_or_default();
        ensure!(
            labels
                .get("crossplane.io/scope")
                .is_none_or(|scope| scope == "environment"),
            "{labels:?}"
        );
        ensure!(
            !labels
                .keys()
                .any(|key| key.starts_with("namespace.crossplane.io/")),
            "{labels:?}"
        );
    }
    its_account_reaches_everywhere_and_no_further(&cluster, &scene, &name, &place).await?;

    let account = format!("stack-{name}");
    all.delete(&name, &DeleteParams::default()).await?;
    scene
        .wait(
            &all,
            &name,
            is_deleted(&made.metadata.uid.unwrap_or_default()),
        )
        .await?;
    let instances = redises(&scene, scene.client());
    ensure!(
        code(&instances.list(&ListParams::default()).await) == 404,
        "its instances and its type are gone"
    );
    let accounts: Api<ServiceAccount> = Api::namespaced(scene.client(), &place);
    ensure!(accounts.get_opt(&account).await?.is_none());
    ensure!(
        Api::<Namespace>::all(scene.client())
            .get_opt(&place)
            .await?
            .is_none(),
        "its namespace is gone"
    );
    let system = format!("stack:{place}:{name}:system");
    ensure!(
        Api::<ClusterRole>::all(scene.client())
            .get_opt(&system)
            .await?
            .is_none()
    );
    ensure!(
        Api::<ClusterRoleBinding>::all(scene.client())
            .get_opt(&system)
            .await?
            .is_none()
    );
    Ok(())
}

async fn its_account_reaches_everywhere_and_no_further(
    cluster: &Cluster,
    scene: &Scene<'_>,
    name: &str,
    place: &str,
) -> Result<()> {
    let client = cluster
        .client_for_service_account(place, &format!("stack-{name}"))
        .await?;
    redises(scene, client.clone())
        .create(&PostParams::default(), &redis(scene, "far"))
        .await?;
    let fleets: Api<DynamicObject> = Api::all_with(
        client.clone(),
        &resource(scene.group(), "v1", "Fleet", "fleets"),
    );
    let fleet = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "Fleet", "metadata": { "name": name },
    });
    fleets
        .create(&PostParams::default(), &serde_json::from_value(fleet)?)
        .await?;
    let services: Api<k8s_openapi::api::core::v1::Service> =
        Api::namespaced(client.clone(), scene.namespace());
    services.list(&ListParams::default()).await?;
    let own: Api<ConfigMap> = Api::namespaced(client.clone(), place);
    own.list(&ListParams::default()).await?;
    let refused = [
        (
            "secrets elsewhere",
            code(
                &Api::<Secret>::namespaced(client.clone(), "default")
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "all secrets",
            code(
                &Api::<Secret>::all(client.clone())
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "roles",
            code(
                &Api::<ClusterRole>::all(client.clone())
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "nodes",
            code(
                &Api::<k8s_openapi::api::core::v1::Node>::all(client.clone())
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "types",
            code(
                &definitions(client.clone())
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "accounts",
            code(
                &Api::<ServiceAccount>::all(client)
                    .list(&ListParams::default())
                    .await,
            ),
        ),
    ];
    for (what, code) in refused {
        ensure!(code == 403, "{what}: {code}");
    }
    Ok(())
}

pub async fn a_package_for_the_cluster_is_not_installed_into_a_namespace(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("narrow").await?;
    let repository = format!("{}/redis", scene.namespace());
    manager.shelf.put(&repository, "1.0.0", wide(scene.group()));
    let installs = installs(&scene);
    installs
        .create(
            &PostParams::default(),
            &serde_json::from_value(install(&scene, "1.0.0"))?,
        )
        .await?;
    scene
        .wait(
            &installs,
            "redis",
            has("Unpacked", "False", "ScopeMismatch"),
        )
        .await?;
    ensure!(stacks(&scene).get_opt("redis").await?.is_none());
    let crds = definitions(scene.client());
    ensure!(
        crds.get_opt(&format!("fleets.{}", scene.group()))
            .await?
            .is_none()
    );
    Ok(())
}
