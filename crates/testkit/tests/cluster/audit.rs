//! Requests are on record with who made them, so that a test can count them.

use std::sync::Arc;

use anyhow::{Result, ensure};
use futures::{TryStreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams},
};
use serde_json::json;
use testkit::{Cluster, Tally};

fn config_map(name: &str) -> Result<ConfigMap> {
    Ok(serde_json::from_value(json!({"metadata": {"name": name}}))?)
}

pub async fn requests_are_counted_by_verb_resource_subresource_and_user(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("counts").await?;
    let resource = scene
        .install_crd(&scene.crd("Gauge", &json!({"type": "object"})))
        .await?;
    let user = format!("counter-of-{}", scene.namespace());
    let client = cluster.client_for_user(&user, &["system:masters"])?;
    let (maps, gauges) = (
        Api::<ConfigMap>::namespaced(client.clone(), scene.namespace()),
        scene.dynamic(client, &resource),
    );
    let before = cluster.mark()?;
    for name in ["a", "b", "c"] {
        maps.create(&PostParams::default(), &config_map(name)?)
            .await?;
    }
    maps.get("a").await?;
    maps.list(&ListParams::default()).await?;
    let gauge =
        json!({"apiVersion": resource.api_version, "kind": "Gauge", "metadata": {"name": "g"}});
    gauges
        .patch("g", &PatchParams::apply("counter"), &Patch::Apply(&gauge))
        .await?;
    for phase in ["Low", "High"] {
        let status = json!({"status": {"phase": phase}});
        gauges
            .patch_status("g", &PatchParams::default(), &Patch::Merge(&status))
            .await?;
    }
    let middle = cluster.mark()?;
    maps.delete("a", &DeleteParams::default()).await?;

    let requests = cluster
        .requests(before, |request| request.user == user)
        .await?;
    let tally = Tally::of(&requests);
    for (verb, what, expect) in [
        ("create", "configmaps", 3),
        ("get", "configmaps", 1),
        ("list", "configmaps", 1),
        ("patch", "gauges", 1),
        ("patch", "gauges/status", 2),
        ("delete", "configmaps", 1),
        ("watch", "configmaps", 0),
    ] {
        ensure!(
            tally.count(&user, verb, what) == expect,
            "{verb} {what}: {tally:?}"
        );
    }
    ensure!(
        requests.len() == 9 && tally.count("admin", "create", "configmaps") == 0,
        "only these: {tally:?}"
    );
    ensure!(
        requests
            .iter()
            .all(|request| request.namespace == scene.namespace()),
        "{requests:?}"
    );
    ensure!(
        requests
            .iter()
            .filter(|request| request.group == scene.group())
            .count()
            == 3,
        "{requests:?}"
    );
    let later = cluster
        .requests(middle, |request| request.user == user)
        .await?;
    ensure!(
        later.len() == 1 && later[0].verb == "delete" && later[0].name == "a",
        "{later:?}"
    );
    Ok(())
}

pub async fn refused_and_conflicting_requests_are_on_record_with_their_codes(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("codes").await?;
    let since = cluster.mark()?;
    let user = scene.service_account_user("poor");
    let maps: Api<ConfigMap> =
        Api::namespaced(scene.service_account("poor").await?, scene.namespace());
    ensure!(maps.get("x").await.is_err());
    let own = scene.api::<ConfigMap>();
    own.create(&PostParams::default(), &config_map("twice")?)
        .await?;
    ensure!(
        own.create(&PostParams::default(), &config_map("twice")?)
            .await
            .is_err()
    );
    ensure!(own.get_opt("nothing").await?.is_none());
    let namespace = scene.namespace().to_owned();
    let wanted = |request: &testkit::Request| {
        request.namespace == namespace && request.resource == "configmaps"
    };
    let mut codes: Vec<_> = cluster
        .requests(since, wanted)
        .await?
        .into_iter()
        .map(|r| (r.user, r.verb, r.code))
        .collect();
    codes.retain(|(user, _, _)| !user.starts_with("system:kube") && !user.contains("kube-system"));
    let expect = [
        (user.as_str(), "get", 403),
        ("admin", "create", 201),
        ("admin", "create", 409),
        ("admin", "get", 404),
    ]
    .map(|(user, verb, code)| (user.to_owned(), verb.to_owned(), Some(code)));
    ensure!(codes == expect, "{codes:?}");
    Ok(())
}

pub async fn a_watch_counts_while_it_is_open(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("watch").await?;
    let since = cluster.mark()?;
    let maps = scene.api::<ConfigMap>();
    let stream = maps.watch(&WatchParams::default(), "0").await?;
    pin_mut!(stream);
    maps.create(&PostParams::default(), &config_map("seen")?)
        .await?;
    scene
        .within("an event", async { Ok(stream.try_next().await?) })
        .await?;
    let watches = cluster
        .requests(since, |request| {
            request.namespace == scene.namespace() && request.verb == "watch"
        })
        .await?;
    ensure!(
        watches.len() == 1 && watches[0].user == "admin" && watches[0].code.is_none(),
        "{watches:?}"
    );
    Ok(())
}
