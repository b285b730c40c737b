//! What `cairn up` tells of what does not go on by itself, and of what somebody else does to it.

use std::fs;
use std::path::Path;

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

use crate::running::Running;
use crate::{CRD, api, client, create_instance, edit, installs, support, until};

const APP: &str = "web/.registry/app.yaml";

fn package() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    place
}

/// A new stack `shop` in a directory.
fn init_shop(place: &Path) {
    let args = ["init", "shop"];
    let made = support::cairn(place, &args);
    assert_eq!(
        made.status.code(),
        Some(0),
        "{}",
        support::told(&args, &made)
    );
}

fn of_kind(client: &kube::Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, "v1alpha1", kind);
    Api::default_namespaced_with(
        client.clone(),
        &ApiResource::from_gvk_with_plural(&kind, plural),
    )
}

/// The instance that comes with the stack, made and ready; answers where its kind is.
async fn open_shop(place: &Path, up: &mut Running) -> (kube::Client, Api<DynamicObject>) {
    let client = client(place).await;
    let text = fs::read_to_string(place.join("shop/shop.yaml")).expect("an instance");
    let shop = serde_json::from_value(yaml::parse(&text).expect("YAML")).expect("an object");
    let shops = of_kind(&client, "example.org", "Shop", "shops");
    shops
        .create(&PostParams::default(), &shop)
        .await
        .expect("it is made");
    up.says("Shop default/shop: ready");
    (client, shops)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misspelt_field_is_renamed_while_no_object_uses_it_and_refused_once_one_does() {
    let place = package();
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("web 0.1.0 is installed in the namespace default");
    up.says("save a file");
    edit(
        place.path(),
        CRD,
        "nginxVersion:",
        "banr: {type: string}\n              nginxVersion:",
    );
    up.says("web 0.1.0 is installed anew");
    edit(place.path(), CRD, "banr:", "banner:");
    up.says("`spec.banr` would be gone; no object here loses anything by it, so it is installed");
    up.says("web 0.1.0 is installed anew");
    let client = client(place.path()).await;
    let is_taken_back = |install: &DynamicObject| {
        install
            .metadata
            .annotations
            .iter()
            .flatten()
            .all(|(key, _)| !key.contains("allow-breaking-changes"))
    };
    until(installs(&client), "web", is_taken_back).await;

    create_instance(&client).await;
    let instances = api(
        &client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    );
    let patch = Patch::Merge(json!({ "spec": { "banner": "hello" } }));
    instances
        .patch("cacheme", &Default::default(), &patch)
        .await
        .expect("it is changed");
    up.says("CachingWebService default/cacheme: ready");
    edit(place.path(), CRD, "banner:", "headline:");
    up.says("! type CachingWebService: would break what uses it");
    up.says("nothing changes until it is allowed");
    let refused = "error: the change of web is not installed: the CRD cachingwebservices.example.org would change";
    up.says(refused);
    // To save it once more changes nothing, nor does another start.
    edit(place.path(), CRD, "headline:", "headline:");
    up.says(refused);
    up.says("hint: what was installed before keeps serving");
    up.terminate();
    assert_eq!(up.end(), Some(0));
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says(refused);
    up.says("hint: what was installed before keeps serving");
    let client = crate::client(place.path()).await;
    let instances = api(
        &client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    );
    let patch = Patch::Merge(json!({ "spec": { "banner": null } }));
    instances
        .patch("cacheme", &Default::default(), &patch)
        .await
        .expect("it is changed");
    edit(place.path(), CRD, "headline:", "headline:");
    up.says("web 0.1.0 is installed anew");
    until(installs(&client), "web", is_taken_back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_is_renamed_is_installed_once_the_objects_of_the_old_one_are_gone() {
    let place = tempfile::tempdir().expect("a directory");
    init_shop(place.path());
    let mut up = Running::start(place.path(), &["up", "shop", "--ephemeral"]);
    up.says("save a file");
    let (client, shops) = open_shop(place.path(), &mut up).await;

    let templates = place.path().join("shop/.registry/templates");
    for file in [
        "shop/.registry/resources/shop.crd.yaml",
        "shop/shop.yaml",
        "shop/tests/shop.yaml",
    ] {
        let text = fs::read_to_string(place.path().join(file)).expect("a file");
        let text = text
            .replace("kind: Shop", "kind: Store")
            .replace("shops", "stores")
            .replace("singular: shop", "singular: store");
        fs::write(place.path().join(file), text).expect("saved");
    }
    fs::rename(
        templates.join("shop.example.org"),
        templates.join("store.example.org"),
    )
    .expect("renamed");
    up.says("- type Shop");
    up.says("does not bring shops.example.org, which still has objects that nobody would serve");
    up.says("hint: what was installed before keeps serving");
    assert!(
        up.said("version: none").is_empty(),
        "what is installed is known"
    );
    let more = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    shops
        .patch("shop", &PatchParams::default(), &more)
        .await
        .expect("it is changed");
    let deployments = api(&client, "apps", "Deployment", "deployments");
    until(deployments, "shop", |deployment| {
        deployment.data["spec"]["replicas"] == 3
    })
    .await;
    shops
        .delete("shop", &Default::default())
        .await
        .expect("it is deleted");
    up.says("shop 0.1.0 is installed anew in the namespace default: Store");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_what_nobody_brings_is_told_and_so_is_what_somebody_took_away() {
    let place = package();
    edit(
        place.path(),
        APP,
        "deployment.apps/v1",
        "deployment.apps/v1\n- crd: gadget.missing.example.org/v1",
    );
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("waiting: web is not installed yet: waiting for gadget.missing.example.org/v1");
    up.says("save a file");
    let args = ["trace", "cachingwebservice"];
    let told = support::told(&args, &support::cairn(place.path(), &args));
    let waits = "hint: the install web is not in place yet, and may bring it: waiting for gadget.missing.example.org/v1";
    assert!(told.contains(waits), "{told}");
    edit(
        place.path(),
        APP,
        "\n- crd: gadget.missing.example.org/v1",
        "",
    );
    up.says("web 0.1.0 is installed in the namespace default");
    assert!(
        up.said("web has changed").is_empty(),
        "nothing was there that could change"
    );
    edit(
        place.path(),
        APP,
        "deployment.apps/v1",
        "deployment.apps/v1\n- crd: gadget.missing.example.org/v1",
    );
    up.says("waiting: the change of web is not installed yet: waiting for gadget.missing.example.org/v1");
    edit(
        place.path(),
        APP,
        "\n- crd: gadget.missing.example.org/v1",
        "",
    );
    up.says("web 0.1.0 is installed");
    // A save that changes nothing that anybody would notice.
    let app = fs::read_to_string(place.path().join(APP)).expect("a file");
    fs::write(place.path().join(APP), format!("# a comment\n{app}")).expect("saved");
    up.says("web has changed, and nothing of its types and templates");

    // In another namespace nobody serves it.
    let client = client(place.path()).await;
    let spaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
    let team =
        serde_json::from_value(json!({ "metadata": { "name": "team" } })).expect("a namespace");
    spaces
        .create(&PostParams::default(), &team)
        .await
        .expect("it is made");
    create_instance(&client).await;
    let mut far = api(
        &client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    )
    .get("cacheme")
    .await
    .expect("an instance");
    far.metadata =
        serde_json::from_value(json!({ "name": "far", "namespace": "team" })).expect("metadata");
    let kind = GroupVersionKind::gvk("example.org", "v1", "CachingWebService");
    let kind = ApiResource::from_gvk_with_plural(&kind, "cachingwebservices");
    let there: Api<DynamicObject> = Api::namespaced_with(client.clone(), "team", &kind);
    there
        .create(&PostParams::default(), &far)
        .await
        .expect("it is made");
    // Something else has the name that one of its objects is to have.
    let foreign = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "blocked-cache-redis" },
        "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "a", "image": "b" }] },
            },
        },
    });
    let foreign = serde_json::from_value(foreign).expect("a Deployment");
    api(&client, "apps", "Deployment", "deployments")
        .create(&PostParams::default(), &foreign)
        .await
        .expect("made");
    let mut blocked = far.clone();
    blocked.metadata = serde_json::from_value(json!({ "name": "blocked" })).expect("metadata");
    let here = api(
        &client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    );
    here.create(&PostParams::default(), &blocked)
        .await
        .expect("it is made");
    until(
        api(&client, "example.org", "Redis", "redises"),
        "blocked-cache",
        |_| true,
    )
    .await;
    let unserved = "no stack serves CachingWebService in the namespace team: `web` is installed in default only";
    up.says(&format!("CachingWebService team/far: {unserved}"));
    for (args, parts) in [
        (
            &["trace", "cachingwebservice/far", "-n", "team"][..],
            &[unserved][..],
        ),
        (
            &["trace", "cachingwebservice"],
            &["CachingWebService/cacheme", "cache: Redis/cacheme-cache"],
        ),
        (
            &["trace", "cachingwebservice/cacheme", "-o", "name"],
            &["cachingwebservice.example.org/cacheme\n"],
        ),
        (
            &["trace", "redis/blocked-cache"],
            &[
                "deployment: Deployment/blocked-cache-redis",
                "exists and is not ours",
            ],
        ),
        (
            &["uninstall", "nope"],
            &["not found", "hint: `cairn list -A`"],
        ),
        (
            &["uninstall", "web", "--wait"],
            &["stackinstall/web deleted, with its kind Redis and 4 instances"],
        ),
    ] {
        let told = support::told(args, &support::cairn(place.path(), args));
        for part in parts {
            assert!(told.contains(part), "{part:?} is missing: {told}");
        }
    }
    up.says("web was uninstalled");
    // What is elsewhere was nobody's, and its type stays with it.
    assert!(
        there
            .get_opt("far")
            .await
            .expect("it is looked for")
            .is_some()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_would_serve_a_kind_the_first_named_does_and_only_what_it_changes_is_told() {
    let place = tempfile::tempdir().expect("a directory");
    init_shop(place.path());
    support::copy(&place.path().join("shop"), &place.path().join("copy"));
    let mut up = Running::start(place.path(), &["up", "shop", "copy"]);
    up.says(
        "error: copy has the kind Shop too, which shop brings: only one of them can serve it here",
    );
    up.says("shop 0.1.0 is installed in the namespace default");
    let (client, _) = open_shop(place.path(), &mut up).await;

    // Another Stack of the kind, which is kept out: in the same second the name decides.
    let stacks = of_kind(&client, "stacks.crossplane.io", "Stack", "stacks");
    let mut other = stacks.get("shop").await.expect("a Stack");
    other.metadata = serde_json::from_value(json!({ "name": "zzz" })).expect("metadata");
    other.data["status"] = json!(null);
    stacks
        .create(&PostParams::default(), &other)
        .await
        .expect("it is made");
    let is_kept_out =
        |stack: &DynamicObject| stack.data["status"]["conditions"][0]["reason"] == "KindTaken";
    until(stacks.clone(), "zzz", is_kept_out).await;
    let service = "shop/.registry/templates/shop.example.org/v1alpha1/service.yaml";
    edit(
        place.path(),
        &service.replacen("shop", "copy", 1),
        "port: 80",
        "port: 81",
    );
    let args = ["diff", "copy"];
    let told = support::told(&args, &support::cairn(place.path(), &args));
    assert!(
        told.contains("stack default/shop: 1 of 1 instance changes"),
        "{told}"
    );
    assert!(!told.contains("default/zzz"), "{told}");
    edit(place.path(), service, "port: 80", "port: 82");
    up.says("1 of 1 instance changes");
    up.says("shop 0.1.0 is installed anew");
    assert_eq!(
        up.said("Shop default/shop")
            .iter()
            .filter(|line| line.ends_with("default/shop"))
            .count(),
        1
    );
    // Its instances are another's, and stay when it goes.
    stacks
        .delete("zzz", &Default::default())
        .await
        .expect("it goes");
    let is_gone = |stack: Option<&DynamicObject>| stack.is_none();
    let gone = kube::runtime::wait::await_condition(stacks, "zzz", is_gone);
    tokio::time::timeout(crate::running::PATIENCE, gone)
        .await
        .expect("it goes in time")
        .expect("it is watched");
    let args = ["uninstall", "shop", "--wait"];
    let told = support::told(&args, &support::cairn(place.path(), &args));
    assert!(
        told.ends_with("stackinstall/shop deleted, with its kind Shop and 1 instance\n"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stays_when_its_stack_says_so_is_not_told_to_go() {
    let place = tempfile::tempdir().expect("a directory");
    init_shop(place.path());
    let mut up = Running::start(place.path(), &["up", "shop", "--ephemeral"]);
    up.says("shop 0.1.0 is installed in the namespace default");
    let (client, shops) = open_shop(place.path(), &mut up).await;
    let stacks = of_kind(&client, "stacks.crossplane.io", "Stack", "stacks");
    let keep =
        json!({ "metadata": { "annotations": { "stacks.crossplane.io/keep-crds": "true" } } });
    stacks
        .patch("shop", &PatchParams::default(), &Patch::Merge(&keep))
        .await
        .expect("it is annotated");
    let args = ["uninstall", "shop", "--wait"];
    let told = support::told(&args, &support::cairn(place.path(), &args));
    assert!(
        told.ends_with("stackinstall/shop deleted; its kinds and their instances stay\n"),
        "{told}"
    );
    assert!(
        shops
            .get_opt("shop")
            .await
            .expect("it is looked for")
            .is_some()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_refused_is_told_with_the_instances_that_refuse_it() {
    let place = tempfile::tempdir().expect("a directory");
    init_shop(place.path());
    let mut up = Running::start(place.path(), &["up", "shop", "--ephemeral"]);
    up.says("shop 0.1.0 is installed in the namespace default");
    open_shop(place.path(), &mut up).await;
    let config = "shop/.registry/templates/shop.example.org/v1alpha1/config.yaml";
    edit(
        place.path(),
        config,
        "index.html:",
        "'a b': c\n  index.html:",
    );
    up.says("refused config: ConfigMap/shop");
    up.says("it is refused in 1 of 1 instance");
    // Which of the two comes first is nobody's business.
    let (installed, told) = (
        "shop 0.1.0 is installed anew",
        "Shop default/shop: config: ConfigMap/shop its change is refused: ",
    );
    for part in [installed, told] {
        if up.said(part).is_empty() {
            up.says(part);
        }
    }
    assert!(
        up.said(installed)[0].ends_with("; it is refused in 1 of 1 instance"),
        "{:?}",
        up.said(installed)
    );
    let args = ["trace", "shop/shop"];
    let told = support::told(&args, &support::cairn(place.path(), &args));
    assert!(told.contains("False   its change is refused: "), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ephemeral_runs_beside_what_is_kept_and_a_house_that_is_taken_away_is_missed() {
    let place = tempfile::tempdir().expect("a directory");
    fs::create_dir_all(place.path().join("inner/dir")).expect("a directory");
    let mut kept = Running::start(
        place.path(),
        &["up", "--kubeconfig-out", "elsewhere/x.yaml"],
    );
    kept.says("no package is given");
    assert!(place.path().join("elsewhere/x.yaml").exists());
    let mut beside = Running::start(place.path(), &["up", "--ephemeral"]);
    beside.says("in memory, gone when it ends");
    beside.says("no package is given");
    beside.terminate();
    assert_eq!(beside.end(), Some(0));
    for file in ["kubeconfig", "lock", ".gitignore"] {
        assert!(place.path().join(".cairn").join(file).exists(), "{file}");
    }
    // As git does it, from further down, too.
    let args = ["list", "-A"];
    let found = support::cairn(&place.path().join("inner/dir"), &args);
    assert!(
        support::told(&args, &found).contains("nothing is installed"),
        "{}",
        support::told(&args, &found)
    );
    let mut inner = Running::start(&place.path().join("inner"), &["up", "--ephemeral"]);
    inner.says("runs already, in ");
    fs::remove_dir_all(place.path().join(".cairn")).expect("it goes");
    kept.says("error: .cairn was taken away");
    kept.terminate();
    kept.says("ended; nothing is kept, since .cairn was taken away");
    assert_eq!(kept.end(), Some(0));
}
