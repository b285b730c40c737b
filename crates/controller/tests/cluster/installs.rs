//! Installs on a cluster: made, used, changed and taken away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use install::Trouble;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, RoleBinding};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::conditions::is_deleted;
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::manager::{
    USER, definitions, has, install, installed, installs, manager, package, resource, stacks,
};

pub fn redises(scene: &Scene<'_>, client: Client) -> Api<DynamicObject> {
    Api::namespaced_with(
        client,
        scene.namespace(),
        &resource(scene.group(), "v1", "Redis", "redises"),
    )
}

pub fn redis(scene: &Scene<'_>, name: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": format!("{}/v1", scene.group()), "kind": "Redis", "metadata": { "name": name }, "spec": {},
    });
    serde_json::from_value(object).unwrap()
}

pub fn code(outcome: &kube::Result<impl Sized>) -> u16 {
    match outcome {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(_) => 0,
    }
}

pub async fn an_install_becomes_ready_with_everything_in_place(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("install").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let object = installs.get("redis").await?;
    let conditions = object.data["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let types = [
        "PackageResolved",
        "Unpacked",
        "DependenciesSatisfied",
        "CRDsEstablished",
        "ControllerAvailable",
        "Ready",
    ];
    for kind in types {
        let found = conditions
            .iter()
            .find(|condition| condition["type"] == kind);
        ensure!(
            found.is_some_and(|found| found["status"] == "True"),
            "{kind}: {conditions:?}"
        );
    }
    ensure!(object.data["status"]["version"] == "1.0.0");
    let stack = stacks(&scene).get("redis").await?;
    ensure!(object.data["status"]["stackRecord"]["uid"] == json!(stack.metadata.uid));
    ensure!(stack.data["status"]["serviceAccount"] == "stack-redis");
    scene.api::<ServiceAccount>().get("stack-redis").await?;
    let seeds: Api<Secret> = Api::namespaced(scene.client(), "cairn");
    let seed = seeds
        .get(&api::names::seed(scene.namespace(), "redis"))
        .await?;
    ensure!(seed.data.is_some_and(|data| data["seed"].0.len() == 32));
    let roles: Api<ClusterRole> = Api::all(scene.client());
    for role in ["system", "types", "admin", "edit", "view"] {
        roles
            .get(&format!("stack:{}:redis:{role}", scene.namespace()))
            .await?;
    }
    let events: Api<k8s_openapi::api::core::v1::Event> = scene.api();
    let events = events
        .list(&ListParams::default().fields("involvedObject.kind=StackInstall"))
        .await?;
    ensure!(
        events
            .items
            .iter()
            .any(|event| event.reason.as_deref() == Some("Unpacked"))
    );
    Ok(())
}

/// The schema of a list of objects of lists, ten levels deep: what a definition with a pod in it
/// has.
fn deep_schema() -> Value {
    let mut schema = json!({ "type": "string" });
    for _ in 0..10 {
        let fields = json!({
            "a": schema, "b": { "type": "array", "items": { "type": "string" } },
            "c": { "type": "object", "additionalProperties": { "type": "string" } },
        });
        schema = json!({ "type": "array", "items": { "type": "object", "required": ["b"], "properties": fields } });
    }
    schema
}

pub async fn a_package_with_a_deep_schema_becomes_ready_as_soon_as_any_other(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let (usual, deep) = (
        cluster.scene("flatschema").await?,
        cluster.scene("deepschema").await?,
    );
    let begin = Instant::now();
    installed(&usual, &manager, &["a"], "").await?;
    let usually = begin.elapsed();
    let mut files = package(deep.group(), "1.0.0", &["a"], "");
    for (_, text) in files
        .iter_mut()
        .filter(|(path, _)| path.ends_with("crd.yaml"))
    {
        let nested = format!("a: {}, ", deep_schema());
        *text = String::from_utf8_lossy(text)
            .replace("a: {type: string}, ", &nested)
            .into_bytes();
    }
    manager
        .shelf
        .put(&format!("{}/redis", deep.namespace()), "1.0.0", files);
    let begin = Instant::now();
    let object = serde_json::from_value(install(&deep, "1.0.0"))?;
    installs(&deep)
        .create(&PostParams::default(), &object)
        .await?;
    deep.wait(&installs(&deep), "redis", has("Ready", "True", ""))
        .await?;
    let took = begin.elapsed();
    // It used to take twice as long with each level, and with ten for ever; others install at the
    // same time.
    ensure!(
        took < usually * 3 + Duration::from_secs(5),
        "{took:?}, a flat one {usually:?}"
    );
    // The schema is that of the package: what is wrong ten levels down is found.
    let client = deep.client();
    let mut instance = redis(&deep, "deep");
    let nested = (0..9).fold(
        json!([{ "b": ["x"] }]),
        |inner, _| json!([{ "a": inner, "b": [] }]),
    );
    instance.data["spec"] = json!({ "a": nested });
    redises(&deep, client.clone())
        .create(&PostParams::default(), &instance)
        .await?;
    let nested = (0..9).fold(
        json!([{ "b": [1] }]),
        |inner, _| json!([{ "a": inner, "b": [] }]),
    );
    let mut wrong = redis(&deep, "wrong");
    wrong.data["spec"] = json!({ "a": nested });
    ensure!(
        code(
            &redises(&deep, client)
                .create(&PostParams::default(), &wrong)
                .await
        ) == 422
    );
    Ok(())
}

pub async fn a_stack_may_do_what_its_kinds_need_and_no_more(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("least").await?;
    installed(
        &scene,
        &manager,
        &["a"],
        "dependsOn: [{crd: deployment.apps/v1}, {crd: configmap/v1}]\n",
    )
    .await?;
    let client = cluster
        .client_for_service_account(scene.namespace(), "stack-redis")
        .await?;
    let own = redises(&scene, client.clone());
    own.create(&PostParams::default(), &redis(&scene, "mine"))
        .await?;
    own.patch_status(
        "mine",
        &PatchParams::default(),
        &Patch::Merge(json!({ "status": { "x": 1 } })),
    )
    .await?;
    let deployments: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(client.clone(), scene.namespace());
    deployments.list(&ListParams::default()).await?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), scene.namespace());
    maps.list(&ListParams::default()).await?;
    let itself = Api::<DynamicObject>::namespaced_with(
        client.clone(),
        scene.namespace(),
        &resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks"),
    );
    itself.get("redis").await?;

    let elsewhere: Api<Secret> = Api::namespaced(client.clone(), "default");
    let refused = [
        (
            "secrets elsewhere",
            code(&elsewhere.list(&ListParams::default()).await),
        ),
        (
            "types elsewhere",
            code(
                &Api::<DynamicObject>::namespaced_with(
                    client.clone(),
                    "default",
                    &resource(scene.group(), "v1", "Redis", "redises"),
                )
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
            "bindings",
            code(
                &Api::<RoleBinding>::namespaced(client.clone(), scene.namespace())
                    .list(&ListParams::default())
                    .await,
            ),
        ),
        (
            "pods",
            code(
                &Api::<k8s_openapi::api::core::v1::Pod>::namespaced(
                    client.clone(),
                    scene.namespace(),
                )
                .list(&ListParams::default())
                .await,
            ),
        ),
        (
            "other stacks",
            code(&itself.list(&ListParams::default()).await),
        ),
        (
            "its own spec",
            code(
                &itself
                    .patch(
                        "redis",
                        &PatchParams::default(),
                        &Patch::Merge(json!({ "spec": { "title": "x" } })),
                    )
                    .await,
            ),
        ),
        (
            "accounts",
            code(
                &Api::<ServiceAccount>::namespaced(client, scene.namespace())
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

pub async fn looking_at_what_is_in_place_costs_no_request(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("quiet").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let stacks = stacks(&scene);
    // Something that has to be put back shows that the manager has looked at what came before. In
    // the first rounds, an Event of what was still under way may come, too; nothing else may, ever.
    let system = format!("stack:{}:redis:system", scene.namespace());
    let bindings: Api<RoleBinding> = scene.api();
    let mut rounds: Vec<usize> = Vec::new();
    for round in ["1", "2", "3", "4", "5"] {
        let mark = cluster.mark()?;
        let poke = Patch::Merge(json!({ "metadata": { "annotations": { "poke": round } } }));
        installs
            .patch("redis", &PatchParams::default(), &poke)
            .await?;
        stacks
            .patch("redis", &PatchParams::default(), &poke)
            .await?;
        let uid = bindings.get(&system).await?.metadata.uid;
        bindings.delete(&system, &DeleteParams::default()).await?;
        let restored = move |object: Option<&RoleBinding>| {
            object.is_some_and(|object| object.metadata.uid != uid)
        };
        scene.wait(&bindings, &system, restored).await?;
        let namespace = scene.namespace().to_owned();
        let ours = move |request: &testkit::Request| {
            request.user == USER && request.verb != "watch" && request.uri.contains(&namespace)
        };
        let made = cluster.requests(mark, ours).await?;
        let told: Vec<_> = made
            .iter()
            .map(|request| (request.verb.as_str(), request.resource.as_str()))
            .collect();
        let (events, rest): (Vec<_>, Vec<_>) = told
            .into_iter()
            .partition(|request| *request == ("create", "events"));
        ensure!(
            rest == [("create", "rolebindings")],
            "round {round}: {made:?}"
        );
        rounds.push(events.len());
    }
    ensure!(
        rounds.ends_with(&[0, 0]),
        "it never gets quiet; Events of each round: {rounds:?}"
    );
    Ok(())
}

pub async fn an_uninstall_takes_instances_rights_and_types_along(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("uninstall").await?;
    let installs = installed(&scene, &manager, &["a"], "").await?;
    let instances = redises(&scene, scene.client());
    instances
        .create(&PostParams::default(), &redis(&scene, "one"))
        .await?;
    let mut held = redis(&scene, "held");
    held.metadata.finalizers = Some(vec!["example.org/wait".into()]);
    instances.create(&PostParams::default(), &held).await?;
    let uid = installs
        .get("redis")
        .await?
        .metadata
        .uid
        .unwrap_or_default();
    installs.delete("redis", &DeleteParams::default()).await?;
    // The install waits for an instance that somebody holds, and so do its rights.
    scene
        .wait(&instances, "one", |object: Option<&DynamicObject>| {
            object.is_none()
        })
        .await?;
    let stacks = stacks(&scene);
    scene
        .wait(&stacks, "redis", has("Ready", "False", "Deleting"))
        .await?;
    scene.api::<ServiceAccount>().get("stack-redis").await?;
    instances
        .patch(
            "held",
            &PatchParams::default(),
            &Patch::Merge(json!({ "metadata": { "finalizers": null } })),
        )
        .await?;
    scene.wait(&installs, "redis", is_deleted(&uid)).await?;
    let roles: Api<ClusterRole> = Api::all(scene.client());
    ensure!(
        roles
            .get_opt(&format!("stack:{}:redis:system", scene.namespace()))
            .await?
            .is_none()
    );
    ensure!(stacks.get_opt("redis").await?.is_none());
    let crds = definitions(scene.client());
    scene
        .wait(
            &crds,
            &format!("redises.{}", scene.group()),
            |object: Option<&DynamicObject>| object.is_none(),
        )
        .await?;
    Ok(())
}

pub async fn two_namespaces_share_a_type(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let one = cluster.scene("share-one").await?;
    let two = cluster.scene("share-two").await?;
    let first = installed(&one, &manager, &["a"], "").await?;
    let second = installs(&two);
    let mut wish = install(&one, "1.0.0");
    wish["metadata"]["namespace"] = json!(two.namespace());
    second
        .create(&PostParams::default(), &serde_json::from_value(wish)?)
        .await?;
    two.wait(&second, "redis", has("Ready", "True", "")).await?;
    let crds = definitions(one.client());
    let name = format!("redises.{}", one.group());
    let labels = crds.get(&name).await?.metadata.labels.unwrap_or_default();
    for scene in [&one, &two] {
        ensure!(
            labels.contains_key(&format!("namespace.crossplane.io/{}", scene.namespace())),
            "{labels:?}"
        );
    }
    // Only the first may change it, whatever the version of the second; then both have it.
    let repository = format!("{}/redis", one.namespace());
    manager.shelf.put(
        &repository,
        "1.1.0",
        package(one.group(), "1.1.0", &["a", "b"], ""),
    );
    let upgrade = Patch::Merge(json!({ "spec": { "package": format!("{repository}:1.1.0") } }));
    second
        .patch("redis", &PatchParams::default(), &upgrade)
        .await?;
    let told = two
        .wait(
            &second,
            "redis",
            has("CRDsEstablished", "False", "CRDOwnedBy"),
        )
        .await?;
    let told = told
        .map(|told| told.data["status"].to_string())
        .unwrap_or_default();
    ensure!(
        told.contains(&format!("owned by StackInstall {}/redis", one.namespace())),
        "{told}"
    );
    first
        .patch("redis", &PatchParams::default(), &upgrade)
        .await?;
    two.wait(&second, "redis", has("UpToDate", "True", ""))
        .await?;
    let uid = first.get("redis").await?.metadata.uid.unwrap_or_default();
    first.delete("redis", &DeleteParams::default()).await?;
    one.wait(&first, "redis", is_deleted(&uid)).await?;
    let left = crds.get(&name).await?;
    let labels = left.metadata.labels.unwrap_or_default();
    ensure!(
        !labels.contains_key(&format!("namespace.crossplane.io/{}", one.namespace())),
        "{labels:?}"
    );
    let annotations = left.metadata.annotations.unwrap_or_default();
    ensure!(
        annotations["stacks.crossplane.io/spec-owner"]
            == format!("StackInstall/{}/redis", two.namespace())
    );
    ensure!(
        left.data["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["b"]
            .is_object()
    );
    Ok(())
}

pub async fn people_use_new_types_by_their_persona(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("people").await?;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(scene.client());
    let wish = json!({ "metadata": { "labels": { "rbac.crossplane.io/managed-roles": "true" } } });
    namespaces
        .patch(
            scene.namespace(),
            &PatchParams::default(),
            &Patch::Merge(wish),
        )
        .await?;
    installed(&scene, &manager, &["a"], "").await?;
    let roles: Api<ClusterRole> = Api::all(scene.client());
    for persona in ["admin", "view"] {
        let role = format!("crossplane:ns:{}:{persona}", scene.namespace());
        let group = scene.group().to_owned();
        let gathered = move |role: Option<&ClusterRole>| {
            let rules = role.and_then(|role| role.rules.clone()).unwrap_or_default();
            rules
                .iter()
                .any(|rule| rule.api_groups == Some(vec![group.clone()]))
        };
        scene.wait(&roles, &role, gathered).await?;
        let binding: Value = json!({
            "metadata": { "name": persona },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": format!("{persona}-{}", scene.namespace()) }],
        });
        scene
            .api::<RoleBinding>()
            .create(&PostParams::default(), &serde_json::from_value(binding)?)
            .await?;
    }
    let person =
        |persona: &str| cluster.client_for_user(&format!("{persona}-{}", scene.namespace()), &[]);
    let admin = redises(&scene, person("admin")?);
    let viewer = redises(&scene, person("view")?);
    // Rights take a moment to reach the authorizer.
    scene
        .within("the admin to be let in", async {
            while code(&admin.list(&ListParams::default()).await) != 200
                || code(&viewer.list(&ListParams::default()).await) != 200
            {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
        .await?;
    admin
        .create(&PostParams::default(), &redis(&scene, "theirs"))
        .await?;
    viewer.get("theirs").await?;
    let refused = code(&viewer.delete("theirs", &DeleteParams::default()).await);
    ensure!(refused == 403, "{refused}");
    Ok(())
}

pub async fn trouble_is_told_and_heals(cluster: Arc<Cluster>) -> Result<()> {
    let manager = manager(&cluster).await?;
    let scene = cluster.scene("trouble").await?;
    let repository = format!("{}/redis", scene.namespace());
    manager.shelf.put(
        &repository,
        "1.0.0",
        package(
            scene.group(),
            "1.0.0",
            &["a"],
            "dependsOn: [{crd: configmap/v1}, {crd: 'mysql.later.example.org/v1'}]\n",
        ),
    );
    manager.shelf.break_down(
        &repository,
        Some(Trouble::new("RegistryUnreachable", "nobody answers")),
    );
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
            has("PackageResolved", "False", "RegistryUnreachable"),
        )
        .await?;
    manager.shelf.break_down(&repository, None);
    scene
        .wait(
            &installs,
            "redis",
            has("DependenciesSatisfied", "False", "Waiting"),
        )
        .await?;
    let crds = definitions(scene.client());
    ensure!(
        crds.get_opt(&format!("redises.{}", scene.group()))
            .await?
            .is_none(),
        "nothing is half installed"
    );
    let later = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "mysqls.later.example.org" },
        "spec": {
            "group": "later.example.org", "scope": "Namespaced", "names": { "kind": "Mysql", "plural": "mysqls" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    });
    crds.create(&PostParams::default(), &serde_json::from_value(later)?)
        .await?;
    scene
        .wait(&installs, "redis", has("Ready", "True", ""))
        .await?;
    Ok(())
}
