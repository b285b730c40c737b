//! How `cairn up` ends: within two seconds of the signal where a processor is free, whatever it is
//! busy with, and with everything that it acknowledged.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use package::Files;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::pace::{ALONE, overload};
use crate::registry::Registry;
use crate::running::Running;
use crate::{client, create_instance, deployments, support, until};

/// What is promised where a processor is free.
const MOST: Duration = Duration::from_secs(2);

/// Ends it, prints how long that took, and holds it to the limit. A machine that is busy with other
/// things is given as many times longer as it takes for any work.
fn end(up: Running, state: &str) {
    let before = overload();
    up.terminate();
    let begin = Instant::now();
    let code = up.end();
    let took = begin.elapsed();
    assert_eq!(code, Some(0), "{state}");
    hold(state, took, before);
}

fn hold(state: &str, took: Duration, overloaded: f64) {
    let overloaded = if took < MOST {
        overloaded
    } else {
        overloaded.max(overload())
    };
    println!("{state}: ended after {took:?}, overload {overloaded:.2}");
    assert!(
        took < MOST.mul_f64(overloaded),
        "{state}: {took:?}, overload {overloaded:.2}"
    );
}

/// A config map that was acknowledged, to be found again.
async fn create(place: &Path, name: &str) {
    let maps = kube::Api::<kube::api::DynamicObject>::default_namespaced_with(
        client(place).await,
        &kube::core::ApiResource::from_gvk_with_plural(
            &kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap"),
            "configmaps",
        ),
    );
    let object = serde_json::from_value(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}),
    );
    maps.create(
        &kube::api::PostParams::default(),
        &object.expect("an object"),
    )
    .await
    .expect("it is created");
}

async fn is_there(place: &Path, name: &str) -> bool {
    let resource = kube::core::ApiResource::from_gvk_with_plural(
        &kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap"),
        "configmaps",
    );
    let maps = kube::Api::<kube::api::DynamicObject>::default_namespaced_with(
        client(place).await,
        &resource,
    );
    maps.get_opt(name).await.expect("an answer").is_some()
}

fn package() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    place
}

fn installs(client: kube::Client) -> kube::Api<kube::api::DynamicObject> {
    let gvk = kube::core::GroupVersionKind::gvk(api::GROUP, api::VERSION, "StackInstall");
    kube::Api::default_namespaced_with(
        client,
        &kube::core::ApiResource::from_gvk_with_plural(&gvk, "stackinstalls"),
    )
}

async fn install(place: &Path, name: &str, package: &str) {
    let object = json!({
        "apiVersion": api::API_VERSION, "kind": "StackInstall", "metadata": {"name": name}, "spec": {"package": package},
    });
    let object = serde_json::from_value(object).expect("an object");
    let made = installs(client(place).await)
        .create(&kube::api::PostParams::default(), &object)
        .await;
    made.expect("it is created");
}

/// Starts it, makes it busy, ends it, and starts it once more to see what is left.
async fn survives(state: &str, busy: impl AsyncFnOnce(&Path, &mut Running)) {
    let _alone = ALONE.lock().await;
    let place = package();
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("is installed in the namespace default");
    create(place.path(), "kept").await;
    busy(place.path(), &mut up).await;
    end(up, state);
    let mut again = Running::start(place.path(), &["up"]);
    again.says("goes on with");
    assert!(!again.said("web 0.1.0").is_empty(), "{state}");
    assert!(is_there(place.path(), "kept").await, "{state}");
    end(again, "resumed");
}

/// The address that the kubeconfig names.
fn address(place: &Path) -> String {
    let text = fs::read_to_string(place.join(".cairn/kubeconfig")).expect("a kubeconfig");
    let value = yaml::parse(&text).expect("YAML");
    value["clusters"][0]["cluster"]["server"]
        .as_str()
        .unwrap_or_default()
        .trim_start_matches("https://")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_a_template_without_end_is_compiled_or_rendered() {
    survives("an endless template", async |place, up| {
        // However fast rendering gives up, this is more than it does in the time.
        let nested = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: \"{}{}\"}}\n",
            "{{ range until 1000 }}".repeat(6),
            "{{ end }}".repeat(6)
        );
        fs::write(
            place.join("web/.registry/templates/cachingwebservice.example.org/v1/endless.yaml"),
            nested,
        )
        .expect("saved");
        // It has seen the change as soon as it says anything of it, or is too busy to.
        tokio::time::sleep(Duration::from_millis(700)).await;
        let _ = up;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_a_registry_does_not_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    survives("a silent registry", async |place, _| {
        install(place, "hangs", &format!("127.0.0.1:{port}/team/app:v1")).await;
        let (connection, _) = silent.accept().expect("a connection");
        // It is held open, and never answered.
        std::mem::forget(connection);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_clients_hold_connections_and_watches() {
    let mut held: Vec<TcpStream> = Vec::new();
    let mut watches = Vec::new();
    survives("held connections", async |place, _| {
        for _ in 0..20 {
            let mut stream = TcpStream::connect(address(place)).expect("a connection");
            let _ = stream.write_all(b"\x16\x03\x01");
            held.push(stream);
        }
        let client = client(place).await;
        for _ in 0..50 {
            let request = http::Request::get(
                "/api/v1/namespaces/default/configmaps?watch=1&allowWatchBookmarks=true",
            );
            let events =
                client.request_events::<Value>(request.body(Vec::new()).expect("a request"));
            watches.push(events.await.expect("a watch"));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_the_journal_is_written_without_pause() {
    survives("a full journal", async |place, _| {
        let client = client(place).await;
        let text = "x".repeat(200_000);
        for writer in 0..8 {
            let (client, text) = (client.clone(), text.clone());
            tokio::spawn(async move {
                for number in 0.. {
                    let object = json!({"metadata": {"name": format!("w{writer}-{number}")}, "data": {"a": text}});
                    let request = http::Request::post("/api/v1/namespaces/default/configmaps")
                        .header("content-type", "application/json");
                    let request = request.body(object.to_string().into_bytes()).expect("a request");
                    if client.request::<Value>(request).await.is_err() {
                        return;
                    }
                }
            });
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    })
    .await;
}

/// A schema of lists in lists, as deep as that of a pod in a definition: reading it used to take
/// time that doubled with each level.
fn deep() -> Files {
    let mut schema = json!({"type": "string"});
    for _ in 0..10 {
        let fields = json!({"a": schema, "b": {"type": "string"}});
        schema = json!({"type": "array", "items": {"type": "object", "properties": fields}});
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "deeps.example.net"},
        "spec": {
            "group": "example.net", "scope": "Namespaced", "names": {"kind": "Deep", "plural": "deeps", "singular": "deep"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}},
            }}}],
        },
    });
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}'}\ndata: {a: b}\n";
    let files = [
        (
            "app.yaml",
            "title: Deep\nversion: 1.0.0\ndependsOn: [{crd: configmap/v1}]\n".to_owned(),
        ),
        ("resources/deep.crd.yaml", crd.to_string()),
        ("templates/deep.example.net/v1/map.yaml", map.to_owned()),
    ];
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_a_package_with_a_deep_schema_is_installed() {
    let registry = Registry::start();
    registry.put("team/deep", "1.0.0", &deep());
    survives("a deep schema", async |place, _| {
        install(place, "deep", &format!("{}/team/deep:1.0.0", registry.host)).await;
        let gvk = kube::core::GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        );
        let resource =
            kube::core::ApiResource::from_gvk_with_plural(&gvk, "customresourcedefinitions");
        until(
            kube::Api::all_with(client(place).await, &resource),
            "deeps.example.net",
            |_| true,
        )
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_it_starts() {
    let _alone = ALONE.lock().await;
    let place = package();
    let mut up = Running::start(place.path(), &["up", "web"]);
    // Any first line.
    up.says("");
    end(up, "starting");
    let mut again = Running::start(place.path(), &["up", "web"]);
    again.says("web 0.1.0 is installed in the namespace default");
    end(again, "started after all");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_while_an_install_is_taken_away() {
    let _alone = ALONE.lock().await;
    let place = package();
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("is installed in the namespace default");
    let client = client(place.path()).await;
    create_instance(&client).await;
    up.says("CachingWebService default/cacheme: ready");
    // A child that somebody holds keeps the Stack, its instance and its install while it is being
    // deleted.
    let hold = |finalizers: Value| {
        kube::api::Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }))
    };
    let params = kube::api::PatchParams::default();
    let held = deployments(&client);
    held.patch("cacheme-web", &params, &hold(json!(["example.org/wait"])))
        .await
        .expect("it is held");
    installs(client)
        .delete("web", &kube::api::DeleteParams::default())
        .await
        .expect("it is to go");
    until(held, "cacheme-web", |child| {
        child.metadata.deletion_timestamp.is_some()
    })
    .await;
    end(up, "uninstalling");
    // What was begun comes to its end, although nothing runs the templates of a Stack that is being
    // deleted.
    let again = Running::start(place.path(), &["up"]);
    let deadline = Instant::now() + crate::running::PATIENCE;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(Instant::now() < deadline, "it goes");
        let Ok(text) = fs::read_to_string(place.path().join(".cairn/kubeconfig")) else {
            continue;
        };
        if text.is_empty() {
            continue;
        }
        let client = crate::client(place.path()).await;
        let held = deployments(&client);
        let _ = held.patch("cacheme-web", &params, &hold(json!(null))).await;
        if matches!(installs(client).get_opt("web").await, Ok(None)) {
            break;
        }
    }
    end(again, "uninstalled");
}

/// Fills the pipe that the program prints to before it starts, and never reads it: its first line
/// keeps it waiting.
const UNREAD: &str = "{ sh -c 'echo $$ > pid; head -c 65536 /dev/zero; exec \"$0\" \"$@\" 2>/dev/null' \"$0\" \"$@\"; } | sleep 30";

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_and_cleans_up_while_a_thread_is_stuck_in_printing() {
    let _alone = ALONE.lock().await;
    let place = tempfile::tempdir().expect("a directory");
    let out = place.path().join("out");
    let _up = Running::start_in_shell(
        place.path(),
        UNREAD,
        &["up", "--ephemeral", "--kubeconfig-out", "out"],
    );
    // The file is all that is to be seen of it.
    let begin = Instant::now();
    while !out.exists() {
        assert!(begin.elapsed() < crate::running::PATIENCE, "it starts");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pid = fs::read_to_string(place.path().join("pid"))
        .expect("an id")
        .trim()
        .parse::<i32>()
        .expect("a number");
    let before = overload();
    let begin = Instant::now();
    kill_process(Pid::from_raw(pid).expect("an id"), Signal::TERM).expect("it is told");
    while !is_over(pid) {
        assert!(begin.elapsed() < crate::running::PATIENCE, "it ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    hold("a stuck thread", begin.elapsed(), before);
    assert!(
        !out.exists() && !place.path().join(".cairn").exists(),
        "nothing is left"
    );
}

/// Whether a process has ended, be it that the shell has not noticed yet.
fn is_over(pid: i32) -> bool {
    let said = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    said.rsplit(')')
        .next()
        .is_none_or(|rest| rest.trim().is_empty() || rest.trim().starts_with(['Z', 'X']))
}
