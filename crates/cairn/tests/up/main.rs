//! `cairn up` from outside: a person starts it, uses it, edits, breaks and mends a package, ends it
//! and starts it again.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic, and reports what it measured"
)]

mod costly;
mod ended;
mod pace;
mod told;

#[path = "../support/registry.rs"]
mod registry;
#[path = "../support/running.rs"]
mod running;
#[path = "../support/mod.rs"]
mod support;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use kube::api::{DynamicObject, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;

use running::Running;

/// A client as kubectl would be one.
async fn client(place: &Path) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let text = fs::read_to_string(place.join(".cairn/kubeconfig")).expect("a kubeconfig");
    let value = yaml::parse(&text).expect("YAML");
    let kubeconfig: Kubeconfig = serde_json::from_value(value).expect("a kubeconfig");
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

fn api(client: &Client, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind), plural);
    Api::default_namespaced_with(client.clone(), &resource)
}

fn deployments(client: &Client) -> Api<DynamicObject> {
    api(client, "apps", "Deployment", "deployments")
}

async fn create_instance(client: &Client) {
    let object = json!({
        "apiVersion": "example.org/v1", "kind": "CachingWebService", "metadata": { "name": "cacheme" },
        "spec": { "nginxVersion": "1.17.4", "replicas": 2 },
    });
    let object = serde_json::from_value(object).expect("an object");
    let instances = api(
        client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    );
    instances
        .create(&PostParams::default(), &object)
        .await
        .expect("it is created");
}

/// Waits until an object is as it should be.
async fn until(api: Api<DynamicObject>, name: &str, is: impl Fn(&DynamicObject) -> bool) {
    let is = |object: Option<&DynamicObject>| object.is_some_and(&is);
    let waiting = kube::runtime::wait::await_condition(api, name, is);
    let waiting = tokio::time::timeout(running::PATIENCE, waiting).await;
    waiting
        .unwrap_or_else(|_| panic!("{name} is as it should be"))
        .expect("it is watched");
}

/// Whether the web server is told its cache by a variable of this name.
fn uses(web: &DynamicObject, variable: &str) -> bool {
    web.data["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"] == variable
}

async fn still_uses(client: &Client, variable: &str) -> bool {
    uses(
        &deployments(client)
            .get("cacheme-web")
            .await
            .expect("the web server"),
        variable,
    )
}

const WEB: &str = "web/.registry/templates/cachingwebservice.example.org/v1/web.yaml";

const CRD: &str =
    "web/.registry/resources/example.org/cachingwebservice/v1/cachingwebservice.v1.crd.yaml";

fn edit(place: &Path, file: &str, from: &str, to: &str) {
    let path = place.join(file);
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{from:?} is in {file}");
    fs::write(path, text.replace(from, to)).expect("saved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_installed_used_edited_broken_mended_ended_and_resumed() {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );

    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("for kubectl    export KUBECONFIG=");
    up.says("reported as if they ran");
    up.says("web 0.1.0 is installed in the namespace default: CachingWebService, Redis");
    up.says("try: kubectl apply -f web/cacheme.yaml");
    let first = client(place.path()).await;
    create_instance(&first).await;
    up.says("CachingWebService default/cacheme: ready");
    assert!(still_uses(&first, "CACHE").await);

    // Another one is told who is there.
    let args = ["up", "web"];
    let second = support::cairn(place.path(), &args);
    let told = support::told(&args, &second);
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(
        told.contains(&format!("(process {}, https://127.0.0.1:", up.id()))
            && told.contains("--data"),
        "{told}"
    );

    edit(place.path(), WEB, "name: CACHE", "name: CACHE_URL");
    up.says("~ template cachingwebservice.example.org/v1 web: +1 -1 lines");
    up.says("CachingWebService default/cacheme");
    up.says("update  web: Deployment/cacheme-web");
    up.says("+        - name: CACHE_URL");
    up.says("1 of 2 instances changes");
    up.says("web 0.1.0 is installed anew");
    until(deployments(&first), "cacheme-web", |web| {
        uses(web, "CACHE_URL")
    })
    .await;
    let args = ["diff", "web"];
    let same = support::cairn(place.path(), &args);
    assert_eq!(
        same.status.code(),
        Some(0),
        "{}",
        support::told(&args, &same)
    );

    edit(place.path(), WEB, ".spec.nginxVersion", ".spec.nginxVersio");
    up.says(&format!(
        "error: {WEB}:15:30: `.spec.nginxVersio` does not exist"
    ));
    up.says("hint: did you mean `nginxVersion`?");
    up.says("web has an error and is not installed");
    assert!(still_uses(&first, "CACHE_URL").await);

    up.terminate();
    up.says("all is kept in .cairn");
    assert_eq!(up.end(), Some(0));

    // It goes on with what was there, though the package is still broken.
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("resumed from .cairn");
    up.says("goes on with   web 0.1.0");
    up.says("web has an error and is not installed");
    up.says("CachingWebService default/cacheme: ready");
    let again = client(place.path()).await;
    assert!(still_uses(&again, "CACHE_URL").await);
    edit(place.path(), WEB, ".spec.nginxVersio", ".spec.nginxVersion");
    up.says("web 0.1.0 is installed in the namespace default");
    edit(place.path(), WEB, "name: CACHE_URL", "name: CACHE");
    up.says("web 0.1.0 is installed anew");
    until(deployments(&again), "cacheme-web", |web| uses(web, "CACHE")).await;
    up.interrupt();
    assert_eq!(up.end(), Some(0));
}

#[test]
fn a_port_that_is_taken_and_a_directory_that_is_no_package_are_told_before_anything_is_kept() {
    let place = tempfile::tempdir().expect("a directory");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    fs::create_dir_all(place.path().join("one/web/.registry")).expect("a directory");
    fs::create_dir_all(place.path().join("two/web/.registry")).expect("a directory");
    fs::create_dir_all(place.path().join("empty")).expect("a directory");
    for (args, code, parts) in [
        (
            &["up", "--ephemeral", "--port", &port][..],
            1,
            &["is taken", "hint: take another"][..],
        ),
        (&["up", "missing"], 1, &["missing is no directory"]),
        (
            &["up", "empty"],
            1,
            &["empty is no package", ".registry", "hint:"],
        ),
        (
            &["up", "one/web", "two/web"],
            2,
            &["one/web and two/web would both be installed as web"],
        ),
        (&["up", "--port", "many"], 2, &["--port"]),
    ] {
        let found = support::cairn(place.path(), args);
        let told = support::told(args, &found);
        assert_eq!(
            (found.status.code(), found.stdout.as_slice()),
            (Some(code), &b""[..]),
            "{told}"
        );
        for part in parts {
            assert!(told.contains(part), "{part:?} is missing: {told}");
        }
        assert!(!place.path().join(".cairn").exists(), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ephemeral_leaves_nothing_and_without_players_nothing_gets_ready() {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    let mut up = Running::start(place.path(), &["up", "web", "--ephemeral", "--no-play"]);
    up.says("in memory, gone when it ends");
    up.says("nobody reports on them");
    up.says("web 0.1.0 is installed");
    let client = client(place.path()).await;
    create_instance(&client).await;
    up.says("CachingWebService default/cacheme: web: Deployment waits for cache.status.endpoint (web.yaml:18:27)");
    // Somebody else says that it runs.
    let redises = api(&client, "example.org", "Redis", "redises");
    until(redises, "cacheme-cache", |redis| {
        redis.data["status"]["readyReplicas"] == 0
    })
    .await;
    let status = json!({ "status": { "replicas": 1, "readyReplicas": 1 } });
    let patch = kube::api::Patch::Merge(status);
    deployments(&client)
        .patch_status("cacheme-cache-redis", &Default::default(), &patch)
        .await
        .expect("said");
    up.says("CachingWebService default/cacheme: web: Deployment/cacheme-web 0 of 2 ready");
    up.terminate();
    up.says("nothing was kept");
    assert_eq!(up.end(), Some(0));
    assert!(!place.path().join(".cairn").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_would_break_its_users_waits_for_a_word_and_a_package_that_is_replaced_is_still_watched()
 {
    let place = tempfile::tempdir().expect("a directory");
    let web = place.path().join("web");
    support::copy(&support::root().join("examples/caching-web-service"), &web);
    let mut up = Running::start(place.path(), &["up", "web", "--ephemeral"]);
    up.says("web 0.1.0 is installed in the namespace default");
    up.says("save a file");
    let client = client(place.path()).await;
    create_instance(&client).await;
    up.says("CachingWebService default/cacheme: ready");

    // As a checkout of another revision does it.
    support::copy(&web.join(".registry"), &place.path().join("next"));
    edit(place.path(), CRD, "minimum: 0", "minimum: 3");
    up.says("~ field spec.replicas of CachingWebService (example.org/v1): minimum 0 -> 3");
    up.says("! type CachingWebService: would break what uses it");
    up.says("kubectl annotate stackinstall web stacks.crossplane.io/allow-breaking-changes=true");
    up.says("error: the change of web is not installed: the CRD cachingwebservices.example.org would change");
    up.says("hint: what was installed before keeps serving");
    let allowed = json!({ "metadata": { "annotations": { "stacks.crossplane.io/allow-breaking-changes": "true" } } });
    let allowed = kube::api::Patch::Merge(allowed);
    installs(&client)
        .patch("web", &Default::default(), &allowed)
        .await
        .expect("it is allowed");
    up.says("web 0.1.0 is installed anew");

    fs::remove_dir_all(web.join(".registry")).expect("it goes");
    fs::rename(place.path().join("next"), web.join(".registry")).expect("another comes");
    up.says("minimum 3 -> 0");
    up.says("web 0.1.0 is installed anew");
    edit(place.path(), WEB, "name: CACHE", "name: CACHE_URL");
    up.says("~ template cachingwebservice.example.org/v1 web: +1 -1 lines");
    up.says("1 of 2 instances changes");
    up.says("web 0.1.0 is installed anew");

    // As a checkout of a branch without it does, and one of a branch that has it.
    let aside = place.path().join("aside");
    fs::rename(&web, &aside).expect("it goes");
    up.says("error: web is gone");
    up.says("hint: what was installed keeps serving; put it back to go on, or take that away: cairn uninstall web");
    let next = place.path().join("next");
    support::copy(&aside, &next);
    edit(
        &next,
        WEB.trim_start_matches("web/"),
        "name: CACHE_URL",
        "name: CACHE",
    );
    fs::rename(&next, &web).expect("another comes");
    up.says("web 0.1.0 is installed anew");
    edit(place.path(), WEB, "name: CACHE", "name: CACHE_TOO");
    up.says("~ template cachingwebservice.example.org/v1 web: +1 -1 lines");
    up.says("web 0.1.0 is installed anew");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_fails_is_told_once_and_again_when_it_is_mended() {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    let path = place.path().join(WEB);
    let text = fs::read_to_string(&path).expect("a template");
    fs::write(
        &path,
        format!(
            "{text}{{{{ if gt (int .spec.replicas) 3 }}}}{{{{ fail \"too many\" }}}}{{{{ end }}}}\n"
        ),
    )
    .expect("saved");
    let mut up = Running::start(place.path(), &["up", "web", "--ephemeral"]);
    up.says("web 0.1.0 is installed in the namespace default");
    let client = client(place.path()).await;
    create_instance(&client).await;
    up.says("CachingWebService default/cacheme: ready");
    let instances = api(
        &client,
        "example.org",
        "CachingWebService",
        "cachingwebservices",
    );
    for (replicas, told) in [
        (5, "fails: web.yaml:"),
        (2, "CachingWebService default/cacheme: ready"),
    ] {
        let patch = kube::api::Patch::Merge(json!({ "spec": { "replicas": replicas } }));
        instances
            .patch("cacheme", &Default::default(), &patch)
            .await
            .expect("it is changed");
        up.says(told);
    }
    up.terminate();
    up.says("nothing was kept");
    assert_eq!(up.said("too many").len(), 1, "{:?}", up.said("too many"));
    assert_eq!(up.end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_field_with_a_default_is_no_failure_of_what_was_there_before() {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("web 0.1.0 is installed in the namespace default");
    let client = client(place.path()).await;
    create_instance(&client).await;
    up.says("CachingWebService default/cacheme: ready");
    edit(
        place.path(),
        CRD,
        "nginxVersion:",
        "variable: {type: string, default: BY_DEFAULT}\n              nginxVersion:",
    );
    up.says("web 0.1.0 is installed anew");
    edit(
        place.path(),
        WEB,
        "name: CACHE",
        "name: {{ .spec.variable }}",
    );
    up.says("web 0.1.0 is installed anew");
    until(deployments(&client), "cacheme-web", |web| {
        uses(web, "BY_DEFAULT")
    })
    .await;
    let args = ["trace", "cachingwebservice", "cacheme"];
    let traced = support::cairn(place.path(), &args);
    let told = support::told(&args, &traced);
    assert!(
        told.contains("web: Deployment/cacheme-web") && !told.contains("fails"),
        "{told}"
    );
    up.terminate();
    up.says("all is kept in .cairn");
    assert!(up.said("fails").is_empty(), "{:?}", up.said("fails"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_is_full_is_told_and_nothing_is_lost() {
    let place = tempfile::tempdir().expect("a directory");
    // No file may grow beyond 1 MiB: as good as a full disk, and no matter of rights.
    let mut up = Running::start_in_shell(
        place.path(),
        "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\"",
        &["up"],
    );
    up.says("for kubectl    export KUBECONFIG=");
    let first = client(place.path()).await;
    let maps = |client: &Client| api(client, "", "ConfigMap", "configmaps");
    let mut kept = 0;
    let refused = loop {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": format!("map-{kept}") },
            "data": { "text": "x".repeat(50_000) },
        });
        let object = serde_json::from_value(object).expect("an object");
        match maps(&first).create(&PostParams::default(), &object).await {
            Ok(_) => kept += 1,
            Err(error) => break error.to_string(),
        }
        assert!(kept < 100, "there is no end of the room");
    };
    for part in [
        "cannot write the journal: File too large",
        "nothing of this is kept",
        "make room on the disk",
    ] {
        assert!(refused.contains(part), "{part:?} is missing: {refused}");
    }
    up.says("error: .cairn: cannot write the journal: File too large");
    up.says("hint: make room on that disk, then start it again");
    assert_eq!(up.end(), Some(1));

    let mut up = Running::start(place.path(), &["up"]);
    up.says("resumed from .cairn");
    let names = maps(&client(place.path()).await)
        .list(&ListParams::default())
        .await
        .expect("a list")
        .items;
    let found = names.iter().filter(|map| {
        map.metadata
            .name
            .as_deref()
            .is_some_and(|name| name.starts_with("map-"))
    });
    assert_eq!(
        found.count(),
        kept,
        "all that was acknowledged, and no more"
    );
    up.terminate();
    assert_eq!(up.end(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_for_the_whole_cluster_is_installed_for_the_whole_cluster() {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/hello-world"),
        &place.path().join("hello"),
    );
    let app = place.path().join("hello/.registry/app.yaml");
    let text = fs::read_to_string(&app)
        .expect("a file")
        .replace("permissionScope: Namespaced", "");
    fs::write(app, text + "\npermissionScope: Cluster\n").expect("saved");
    let mut up = Running::start(place.path(), &["up", "hello", "--ephemeral"]);
    up.says("hello 0.1.0 is installed for the whole cluster: HelloWorld");
    let status = "hello/.registry/templates/helloworld.crossplane.example.com/v1/status.yaml";
    let text = fs::read_to_string(place.path().join(status)).expect("a file");
    fs::write(place.path().join(status), format!("# a comment\n{text}")).expect("saved");
    up.says("~ status template");
    up.says("hello 0.1.0 is installed anew for the whole cluster");
}

/// What is told of breaking changes is told by the install.
fn installs(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("stacks.crossplane.io", "v1alpha1", "StackInstall");
    Api::default_namespaced_with(
        client.clone(),
        &ApiResource::from_gvk_with_plural(&kind, "stackinstalls"),
    )
}
