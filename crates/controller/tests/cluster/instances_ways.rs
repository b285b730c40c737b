//! Ways an instance may go: paused, with children that stay, of the whole cluster, made by another
//! stack's instance, and through watches that break off.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher, watcher::Config};
use serde_json::{Value, json};
use testkit::faults::{ApiError, Fault, Filter, Trouble};
use testkit::{Cluster, Request, Scene};

use crate::actor::{
    CONFIG, NEVER, STACK, open_kind, own, package_of, running, says, start_as, web, webs,
};
use crate::instances_sweep::{USER, furnished, work};
use crate::manager::{definitions, furnish, has, resource, stacks};
use crate::mishap::fresh;

async fn ready(scene: &Scene<'_>, name: &str, text: &str) -> Result<()> {
    own(scene, "Web")
        .create(&PostParams::default(), &web(scene, name, text))
        .await?;
    scene
        .wait(&own(scene, "Web"), name, has("Ready", "True", ""))
        .await?;
    Ok(())
}

fn text(map: Option<&ConfigMap>) -> Option<String> {
    map.and_then(|map| map.data.as_ref()?.get("text").cloned())
}

fn merge(patch: Value) -> Patch<Value> {
    Patch::Merge(patch)
}

pub async fn a_paused_instance_is_left_alone(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("paused").await?;
    let _running = webs(&scene, &[]).await?;
    let (webs, maps) = (own(&scene, "Web"), scene.api::<ConfigMap>());
    ready(&scene, "one", "hello").await?;
    let pause = |on: Value| {
        merge(json!({ "metadata": { "annotations": { "stacks.crossplane.io/paused": on } } }))
    };
    webs.patch("one", &PatchParams::default(), &pause(json!("true")))
        .await?;
    webs.patch(
        "one",
        &PatchParams::default(),
        &merge(json!({ "spec": { "text": "new" } })),
    )
    .await?;
    let drift = Patch::Merge(json!({ "data": { "text": "drifted" } }));
    maps.patch("one-extra", &PatchParams::default(), &drift)
        .await?;
    // Another that came later is ready: whoever would look at the first had the time to.
    ready(&scene, "two", "hello").await?;
    ensure!(text(Some(&maps.get("one-extra").await?)).as_deref() == Some("drifted"));
    webs.patch("one", &PatchParams::default(), &pause(Value::Null))
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
            text(map).as_deref() == Some("new")
        })
        .await?;
    Ok(())
}

pub async fn a_kind_that_loses_its_templates_loses_what_they_made(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("untemplated").await?;
    let _running = webs(&scene, &[]).await?;
    let (webs, maps) = (own(&scene, "Web"), scene.api::<ConfigMap>());
    ready(&scene, "one", "hello").await?;
    let none = merge(json!({ "spec": { "templates": null, "templateStatus": null } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &none)
        .await?;
    for map in ["one-extra", "one-config"] {
        scene
            .wait(&maps, map, |map: Option<&ConfigMap>| map.is_none())
            .await
            .context(map)?;
    }
    let one = webs.get("one").await?;
    ensure!(
        one.metadata.deletion_timestamp.is_none(),
        "the instance itself stays"
    );
    Ok(())
}

pub async fn a_new_field_with_a_default_is_never_missing(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("default").await?;
    let _running = webs(&scene, &[]).await?;
    ready(&scene, "one", "hello").await?;
    let config = Config::default().fields("metadata.name=one");
    let states = watcher(own(&scene, "Web"), config).applied_objects();
    let size = json!({ "type": "integer", "default": 3 });
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size";
    let add = serde_json::from_value(json!([{ "op": "add", "path": place, "value": size }]))?;
    let crds = definitions(scene.client());
    crds.patch(
        &format!("webs.{}", scene.group()),
        &PatchParams::default(),
        &Patch::<()>::Json(add),
    )
    .await?;
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-extra'}\n\
                    data: {text: '{{ .spec.size }}'}\n";
    let key = format!("web.{}/v1", scene.group());
    let change = merge(json!({ "spec": { "templates": { key: { "extra": template } } } }));
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &change)
        .await?;
    let maps = scene.api::<ConfigMap>();
    let done = scene.wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
        text(map).as_deref() == Some("3")
    });
    // Nobody was told that it is not set, on the way there.
    let told = states.try_filter(|web| std::future::ready(has("Synced", "False", "")(Some(web))));
    tokio::pin!(told);
    tokio::select! {
        done = done => done.map(drop),
        told = told.next() => anyhow::bail!("{:?}", told.map(|web| web.map(|web| web.data["status"].to_string()))),
    }
}

/// An image may bring a CRD that says more and the templates of before. The stack manager changes
/// the CRD, then names the image in the Stack.
pub async fn a_status_field_that_a_new_image_brings_is_written(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("brought").await?;
    let mark = cluster.mark()?;
    let _running = webs(&scene, &[("status", "note: '{{ .spec.text }}'\n")]).await?;
    ready(&scene, "one", "hello").await?;
    // After the second time, nobody asks what is served without a reason.
    let user = scene.service_account_user(&format!("stack-{STACK}"));
    let page = format!("/openapi/v3/apis/{}/v1", scene.group());
    let asking = async {
        loop {
            let (user, page) = (user.clone(), page.clone());
            let asks =
                move |request: &Request| request.user == user && request.uri.starts_with(&page);
            if cluster.requests(mark, asks).await?.len() >= 2 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    scene
        .within("the manager to ask twice what is served", asking)
        .await?;
    let note = json!({ "type": "string" });
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/note";
    let add = serde_json::from_value(json!([{ "op": "add", "path": place, "value": note }]))?;
    let crds = definitions(scene.client());
    crds.patch(
        &format!("webs.{}", scene.group()),
        &PatchParams::default(),
        &Patch::<()>::Json(add),
    )
    .await?;
    let image = merge(
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/package-image": "example.org/web" } } }),
    );
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &image)
        .await?;
    let noted =
        |web: Option<&DynamicObject>| web.is_some_and(|web| web.data["status"]["note"] == "hello");
    scene.wait(&own(&scene, "Web"), "one", noted).await?;
    Ok(())
}

pub async fn a_child_with_the_policy_orphan_stays(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("orphan").await?;
    let stays = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{{{ .metadata.name }}}}-{name}'\n  \
             annotations: {{stacks.crossplane.io/deletion-policy: Orphan}}\ndata: {{text: '{{{{ .spec.text }}}}'}}\n"
        )
    };
    let more = [("kept", &*stays("kept")), ("left", &*stays("left"))];
    let _running = webs(&scene, &more).await?;
    let maps: Api<ConfigMap> = scene.api();
    ready(&scene, "one", "hello").await?;
    ensure!(
        maps.get("one-kept")
            .await?
            .metadata
            .owner_references
            .is_none(),
        "nothing would take it along"
    );

    let key = format!("web.{}/v1", scene.group());
    let gone = json!({ "spec": { "templates": { key: { "left": null, "extra": null } } } });
    stacks(&scene)
        .patch(STACK, &PatchParams::default(), &merge(gone))
        .await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| map.is_none())
        .await?;
    ensure!(
        maps.get_opt("one-left").await?.is_some(),
        "its template is gone, and it stays"
    );

    own(&scene, "Web")
        .delete("one", &DeleteParams::default())
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    scene
        .wait(
            &own(&scene, "Db"),
            "one",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    for name in ["one-kept", "one-left"] {
        ensure!(
            maps.get(name).await?.metadata.deletion_timestamp.is_none(),
            "{name}"
        );
    }
    Ok(())
}

/// A Stack and its seed as the stack manager leaves them, run by somebody who may do everything.
pub async fn by_hand(
    scene: &Scene<'_>,
    name: &str,
    spec: &Value,
) -> Result<Arc<TemplateStackManager>> {
    crate::manager::manager(scene.cluster()).await?;
    let annotations = crate::actor::seeded(scene, name).await?;
    let stack = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack",
        "metadata": { "name": name, "annotations": annotations }, "spec": spec,
    });
    stacks(scene)
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    manage(scene, name).await
}

/// A manager of such a Stack.
pub async fn manage(scene: &Scene<'_>, name: &str) -> Result<Arc<TemplateStackManager>> {
    let client = scene
        .cluster()
        .client_for_user(&format!("{name}-manager"), &["system:masters"])?;
    let parts = Parts {
        resync: NEVER,
        ..Parts::new(client, scene.namespace(), name)
    };
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    tokio::spawn(async move { worker.run().await });
    Ok(manager)
}

pub async fn an_instance_of_the_whole_cluster_has_children_in_namespaces_and_outside(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("whole").await?;
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    for kind in ["Realm", "Zone"] {
        let mut crd = scene.crd(kind, &open);
        crd["spec"]["scope"] = json!("Cluster");
        scene.install_crd(&crd).await?;
    }
    let group = scene.group();
    let zone = format!(
        "apiVersion: {group}/v1\nkind: Zone\nmetadata: {{name: '{{{{ .metadata.name }}}}-zone'}}\n"
    );
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: realm, namespace: '{{ .metadata.name }}'}\n\
               data: {zone: '{{ .zone.status.code }}'}\n";
    let key = format!("realm.{group}/v1");
    let manager = by_hand(
        &scene,
        "realms",
        &json!({
            "permissionScope": "Cluster",
            "customresourcedefinitions": [{ "kind": "Realm", "apiVersion": format!("{group}/v1") }],
            "dependsOn": [{ "crd": "configmap/v1" }, { "crd": format!("zone.{group}/v1") }],
            "templates": { key: { "zone": zone, "map": map } },
        }),
    )
    .await?;
    let all = |kind: &str| -> Api<DynamicObject> {
        let plural = format!("{}s", kind.to_lowercase());
        Api::all_with(scene.client(), &resource(group, "v1", kind, &plural))
    };
    let name = scene.namespace();
    let realm = json!({ "apiVersion": format!("{group}/v1"), "kind": "Realm", "metadata": { "name": name } });
    all("Realm")
        .create(&PostParams::default(), &serde_json::from_value(realm)?)
        .await?;
    says(
        &scene,
        &all("Zone"),
        &format!("{name}-zone"),
        json!({ "code": "z1" }),
    )
    .await?;
    let maps: Api<ConfigMap> = scene.api();
    let coded = |map: Option<&ConfigMap>| {
        map.and_then(|map| map.data.as_ref()?.get("zone").cloned())
            .as_deref()
            == Some("z1")
    };
    let map = scene
        .wait(&maps, "realm", coded)
        .await?
        .context("it is there")?;
    ensure!(
        map.metadata
            .owner_references
            .is_some_and(|all| all.iter().any(|owner| owner.kind == "Realm"))
    );
    all("Realm").delete(name, &DeleteParams::default()).await?;
    scene
        .wait(&all("Realm"), name, |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    ensure!(
        maps.get_opt("realm").await?.is_none()
            && all("Zone")
                .get_opt(&format!("{name}-zone"))
                .await?
                .is_none()
    );
    manager.stop();
    Ok(())
}

pub async fn a_kind_that_does_not_exist_yet_is_waited_for(cluster: Arc<Cluster>) -> Result<()> {
    let scene = cluster.scene("nokind").await?;
    let (package, _) = package::read(&package_of(scene.group(), CONFIG, &[]));
    for crd in &package.crds {
        scene.install_crd(&crd.crd.object).await?;
    }
    let manager = by_hand(&scene, "early", &serde_json::to_value(&package.stack.spec)?).await?;
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    scene
        .wait(
            &own(&scene, "Web"),
            "one",
            has("Synced", "False", "KindNotServed"),
        )
        .await?;
    ensure!(
        scene
            .api::<ConfigMap>()
            .get_opt("one-extra")
            .await?
            .is_some(),
        "what can be made is made"
    );
    open_kind(&scene, "Db").await?;
    says(
        &scene,
        &own(&scene, "Db"),
        "one",
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    manager.stop();
    Ok(())
}

pub async fn stacks_make_instances_of_other_stacks_and_all_of_it_goes(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let scene = cluster.scene("nested").await?;
    open_kind(&scene, "Db").await?;
    let _inner = running(&scene, &package_of(scene.group(), CONFIG, &[]), NEVER).await?;
    let conditions = json!({ "type": "array", "items": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
    } });
    let text = json!({ "type": "string" });
    let mut crd = scene.crd(
        "Site",
        &json!({ "type": "object", "properties": { "text": text } }),
    );
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] =
        json!({ "type": "object", "properties": { "address": text, "conditions": conditions } });
    scene.install_crd(&crd).await?;
    let group = scene.group();
    let inner = format!(
        "apiVersion: {group}/v1\nkind: Web\nmetadata: {{name: '{{{{ .metadata.name }}}}-web'}}\n\
         spec: {{text: '{{{{ .spec.text }}}}'}}\n"
    );
    let page = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-page'}\n\
                data: {address: '{{ .web.status.address }}'}\n";
    let key = format!("site.{group}/v1");
    let stack = json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "Stack", "metadata": { "name": "outer" },
        "spec": {
            "customresourcedefinitions": [{ "kind": "Site", "apiVersion": format!("{group}/v1") }],
            "dependsOn": [{ "crd": "configmap/v1" }, { "crd": format!("web.{group}/v1") }],
            "templates": { &key: { "web": inner, "page": page } },
            "templateStatus": { &key: "address: {{ .web.status.address }}\n" },
        },
    });
    stacks(&scene)
        .create(&PostParams::default(), &serde_json::from_value(stack)?)
        .await?;
    scene
        .wait(&stacks(&scene), "outer", has("Ready", "True", ""))
        .await?;
    let outer = start_as(&scene, "outer", NEVER).await?;

    let site = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Site", "metadata": { "name": "s" }, "spec": { "text": "hello" },
    });
    own(&scene, "Site")
        .create(&PostParams::default(), &serde_json::from_value(site)?)
        .await?;
    scene
        .wait(&own(&scene, "Site"), "s", has("Ready", "False", "Waiting"))
        .await?;
    says(
        &scene,
        &own(&scene, "Db"),
        "s-web",
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    let object = scene
        .wait(&own(&scene, "Site"), "s", has("Ready", "True", ""))
        .await?
        .context("it is there")?;
    ensure!(
        object.data["status"]["address"] == "db:1",
        "{}",
        object.data["status"]
    );

    own(&scene, "Site")
        .delete("s", &DeleteParams::default())
        .await?;
    scene
        .wait(
            &own(&scene, "Site"),
            "s",
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    for (kind, name) in [("Web", "s-web"), ("Db", "s-web")] {
        ensure!(
            own(&scene, kind).get_opt(name).await?.is_none(),
            "{kind} goes before what made it"
        );
    }
    let maps: Api<ConfigMap> = scene.api();
    for name in ["s-page", "s-web-config"] {
        ensure!(maps.get_opt(name).await?.is_none(), "{name}");
    }
    outer.stop();
    Ok(())
}

/// On the embedded server, which can be told to break off and to have forgotten.
pub async fn watches_that_break_off_or_come_too_late_lose_nothing(_: Arc<Cluster>) -> Result<()> {
    let (cluster, faults) = fresh().await?;
    furnish(&cluster).await?;
    let scene = cluster.scene("gone").await?;
    furnished(&scene).await?;
    for resource in ["configmaps", "webs", "dbs"] {
        let filter = Filter {
            user: Some(USER.into()),
            ..Filter::of("watch", resource)
        };
        let expired = ApiError::expired("too old resource version");
        faults.add(Fault {
            filter: filter.clone(),
            at: 1,
            trouble: Trouble::Fail(expired),
        });
        let broken = ApiError::internal("a mishap");
        faults.add(Fault {
            filter,
            at: 2,
            trouble: Trouble::Fail(broken),
        });
    }
    let worker = work(&scene).await?;
    own(&scene, "Web")
        .create(&PostParams::default(), &web(&scene, "one", "hello"))
        .await?;
    says(
        &scene,
        &own(&scene, "Db"),
        "one",
        json!({ "endpoint": "db:1" }),
    )
    .await?;
    scene
        .wait(&own(&scene, "Web"), "one", has("Ready", "True", ""))
        .await?;
    let maps: Api<ConfigMap> = scene.api();
    maps.delete("one-extra", &DeleteParams::default()).await?;
    scene
        .wait(&maps, "one-extra", |map: Option<&ConfigMap>| {
            text(map).as_deref() == Some("hello")
        })
        .await?;
    worker.abort();
    Ok(())
}
