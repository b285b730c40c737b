//! How `cairn up` ends: within two seconds of the signal, whatever it is busy with, and with everything that it
//! acknowledged.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::running::Running;
use crate::{client, support};

/// Two seconds are promised; a machine that is busy with other tests is given more.
const MOST: Duration = Duration::from_secs(10);

/// Ends it, prints how long that took, and holds it to the limit.
fn end(up: Running, state: &str) {
    up.terminate();
    let begin = Instant::now();
    let code = up.end();
    let took = begin.elapsed();
    println!("{state}: ended after {took:?}");
    assert_eq!(code, Some(0), "{state}");
    assert!(took < MOST, "{state}: {took:?}");
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
    let object = serde_json::from_value(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}));
    maps.create(&kube::api::PostParams::default(), &object.expect("an object")).await.expect("it is created");
}

async fn is_there(place: &Path, name: &str) -> bool {
    let resource = kube::core::ApiResource::from_gvk_with_plural(
        &kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap"),
        "configmaps",
    );
    let maps = kube::Api::<kube::api::DynamicObject>::default_namespaced_with(client(place).await, &resource);
    maps.get_opt(name).await.expect("an answer").is_some()
}

/// Starts it, makes it busy, ends it, and starts it once more to see what is left.
async fn survives(state: &str, busy: impl AsyncFnOnce(&Path, &mut Running)) {
    let place = tempfile::tempdir().expect("a directory");
    support::copy(&support::root().join("examples/caching-web-service"), &place.path().join("web"));
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
    value["clusters"][0]["cluster"]["server"].as_str().unwrap_or_default().trim_start_matches("https://").to_owned()
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
        fs::write(place.join("web/.registry/templates/cachingwebservice.example.org/v1/endless.yaml"), nested)
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
        let gvk = kube::core::GroupVersionKind::gvk(api::GROUP, api::VERSION, "StackInstall");
        let resource = kube::core::ApiResource::from_gvk_with_plural(&gvk, "stackinstalls");
        let installs = kube::Api::<kube::api::DynamicObject>::default_namespaced_with(client(place).await, &resource);
        let object = json!({
            "apiVersion": format!("{}/{}", api::GROUP, api::VERSION), "kind": "StackInstall", "metadata": {"name": "hangs"},
            "spec": {"package": format!("127.0.0.1:{port}/team/app:v1")},
        });
        let object = serde_json::from_value(object).expect("an object");
        installs.create(&kube::api::PostParams::default(), &object).await.expect("it is created");
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
            let request = http::Request::get("/api/v1/namespaces/default/configmaps?watch=1&allowWatchBookmarks=true");
            let events = client.request_events::<Value>(request.body(Vec::new()).expect("a request"));
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

/// Fills the pipe that the program prints to before it starts, and never reads it: its first line keeps it waiting.
const UNREAD: &str =
    "{ sh -c 'echo $$ > pid; head -c 65536 /dev/zero; exec \"$0\" \"$@\" 2>/dev/null' \"$0\" \"$@\"; } | sleep 30";

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_and_cleans_up_while_a_thread_is_stuck_in_printing() {
    let place = tempfile::tempdir().expect("a directory");
    let out = place.path().join("out");
    let _up = Running::start_in_shell(place.path(), UNREAD, &["up", "--ephemeral", "--kubeconfig-out", "out"]);
    // The file is all that is to be seen of it.
    let begin = Instant::now();
    while !out.exists() {
        assert!(begin.elapsed() < crate::running::PATIENCE, "it starts");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let pid = fs::read_to_string(place.path().join("pid")).expect("an id").trim().parse::<i32>().expect("a number");
    let begin = Instant::now();
    kill_process(Pid::from_raw(pid).expect("an id"), Signal::TERM).expect("it is told");
    while !is_over(pid) {
        assert!(begin.elapsed() < MOST, "it ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("a stuck thread: ended after {:?}", begin.elapsed());
    assert!(!out.exists() && !place.path().join(".cairn").exists(), "nothing is left");
}

/// Whether a process has ended, be it that the shell has not noticed yet.
fn is_over(pid: i32) -> bool {
    let said = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    said.rsplit(')').next().is_none_or(|rest| rest.trim().is_empty() || rest.trim().starts_with(['Z', 'X']))
}
