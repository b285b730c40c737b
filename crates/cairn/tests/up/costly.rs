//! Templates that cost too much, installed by a user with permissions on installs and Stacks of one
//! namespace only: the API, health and the stacks of others answer as fast as without.

use std::path::Path;
use std::time::{Duration, Instant};

use install::reconcile::install::TOO_COSTLY;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use package::Files;
use serde_json::{Value, json};

use crate::pace::{ALONE, overload, used};
use crate::registry::Registry;
use crate::running::{PATIENCE, Running};
use crate::{api, client, create_instance, deployments, support, until};

/// What costs too much, of the security review.
const COSTLY: [&str; 3] = [
    "{{ $n := \"\" }}{{ $s := repeat 10000000 \"a\" }}{{ range until 700 }}{{ $n = sha256sum $s | trunc 10 }}{{ end }}",
    "{{ $l := until 100000 }}{{ range until 100000 }}{{ if has -1 $l }}x{{ end }}{{ end }}",
    "{{ range until 10000 }}{{ $_ := bcrypt \"x\" }}{{ end }}",
];
/// How often it is measured with and without, in turns.
const TURNS: usize = 3;
/// How many times each, in a turn.
const SAMPLES: usize = 7;
/// What the costly templates may add.
const MOST: Duration = Duration::from_millis(100);

/// A package with a costly template, unlike all others.
fn package(turn: usize, number: usize, costly: &str) -> Files {
    let group = format!("costly-{number}.example.net");
    let crd = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: webs.{group}}}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{kind: Web, plural: webs, singular: web}}\n  versions:\n  - name: v1\n    \
         served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object}}}}}}}}\n"
    );
    let map =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}'}\ndata: {a: b}\n";
    let files = [
        (
            "app.yaml".to_owned(),
            "title: Costly\ndependsOn: [{crd: configmap/v1}]\n".to_owned(),
        ),
        ("resources/web.crd.yaml".to_owned(), crd),
        (
            format!("templates/web.{group}/v1/map.yaml"),
            format!("# {turn}\n{costly}\n{map}"),
        ),
    ];
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

/// A client of a user with all permissions on installs and Stacks in the namespace `team-b`, and no
/// others.
async fn attacker(place: &Path, admin: &Client) -> Client {
    let post = async |path: &str, object: Value| -> Value {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request
            .body(object.to_string().into_bytes())
            .expect("a request");
        admin.request(request).await.expect("it is created")
    };
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-b";
    post(
        "/api/v1/namespaces",
        json!({ "metadata": { "name": "team-b" } }),
    )
    .await;
    post(
        "/api/v1/namespaces/team-b/serviceaccounts",
        json!({ "metadata": { "name": "attacker" } }),
    )
    .await;
    let rules = json!([{ "apiGroups": [api::GROUP], "resources": ["stackinstalls", "stacks"], "verbs": ["*"] }]);
    post(
        &format!("{rbac}/roles"),
        json!({ "metadata": { "name": "attacker" }, "rules": rules }),
    )
    .await;
    let binding = json!({
        "metadata": { "name": "attacker" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "attacker" },
        "subjects": [{ "kind": "ServiceAccount", "name": "attacker", "namespace": "team-b" }],
    });
    post(&format!("{rbac}/rolebindings"), binding).await;
    let asked =
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let token = post(
        "/api/v1/namespaces/team-b/serviceaccounts/attacker/token",
        asked,
    )
    .await;
    let text = std::fs::read_to_string(place.join(".cairn/kubeconfig")).expect("a kubeconfig");
    let mut value = yaml::parse(&text).expect("YAML");
    value["users"][0]["user"] = json!({ "token": token["status"]["token"] });
    let kubeconfig: Kubeconfig = serde_json::from_value(value).expect("a kubeconfig");
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

/// How long each thing took, each time.
#[derive(Default)]
struct Times([Vec<Duration>; 3]);

const MEASURED: [&str; 3] = ["/readyz", "a GET", "from a spec to its child"];

impl Times {
    async fn measure(&mut self, client: &Client, replicas: &mut i64) {
        for _ in 0..SAMPLES {
            for (number, path) in ["/readyz", "/api/v1/namespaces/default"]
                .into_iter()
                .enumerate()
            {
                let begin = Instant::now();
                let request = http::Request::get(path)
                    .body(Vec::new())
                    .expect("a request");
                client.request_text(request).await.expect("an answer");
                self.0[number].push(begin.elapsed());
            }
            *replicas = 3 + (*replicas + 1) % 5;
            let wanted = *replicas;
            let services = api(
                client,
                "example.org",
                "CachingWebService",
                "cachingwebservices",
            );
            let patch = Patch::Merge(json!({ "spec": { "replicas": wanted } }));
            let begin = Instant::now();
            services
                .patch("cacheme", &PatchParams::default(), &patch)
                .await
                .expect("it is changed");
            until(deployments(client), "cacheme-web", |web| {
                web.data["spec"]["replicas"] == wanted
            })
            .await;
            self.0[2].push(begin.elapsed());
        }
    }

    fn medians(&self) -> [Duration; 3] {
        self.0.each_ref().map(|times| {
            let mut times = times.clone();
            times.sort();
            times[times.len() / 2]
        })
    }
}

fn says(install: &DynamicObject, condition: &str, reason: &str) -> bool {
    let conditions = install.data["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    conditions
        .iter()
        .any(|one| one["type"] == condition && one["reason"] == reason)
}

/// Waits until a process has next to nothing to do.
async fn quiet(pid: u32) {
    let begin = Instant::now();
    loop {
        let before = used(pid);
        tokio::time::sleep(Duration::from_millis(300)).await;
        if used(pid) - before < 0.1 {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "it comes to rest");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_health_and_other_stacks_answer_as_usual_while_templates_cost_too_much() {
    let _alone = ALONE.lock().await;
    let place = tempfile::tempdir().expect("a directory");
    support::copy(
        &support::root().join("examples/caching-web-service"),
        &place.path().join("web"),
    );
    let mut up = Running::start(place.path(), &["up", "web"]);
    up.says("is installed in the namespace default");
    let admin = client(place.path()).await;
    create_instance(&admin).await;
    up.says("CachingWebService default/cacheme: ready");
    let attacker = attacker(place.path(), &admin).await;
    let registry = Registry::start();
    let gvk = GroupVersionKind::gvk(api::GROUP, api::VERSION, "StackInstall");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "stackinstalls");
    let installs = Api::<DynamicObject>::namespaced_with(attacker, "team-b", &resource);

    let (mut without, mut with) = (Times::default(), Times::default());
    let (mut replicas, mut busy, mut overloaded) = (0, Vec::new(), 1.0_f64);
    for turn in 0..TURNS {
        quiet(up.id()).await;
        overloaded = overloaded.max(overload());
        without.measure(&admin, &mut replicas).await;
        for (number, costly) in COSTLY.iter().enumerate() {
            let (name, tag) = (format!("costly-{number}"), format!("t{turn}"));
            registry.put_anyway(
                &format!("attacker/{name}"),
                &tag,
                &package(turn, number, costly),
            );
            let object = json!({
                "apiVersion": api::API_VERSION, "kind": "StackInstall", "metadata": { "name": name },
                "spec": { "package": format!("{}/attacker/{name}:{tag}", registry.host) },
            });
            let object = serde_json::from_value(object).expect("an object");
            installs
                .create(&PostParams::default(), &object)
                .await
                .expect("she may install");
        }
        // It is compiled as soon as it is there.
        until(installs.clone(), "costly-0", |install| {
            says(install, "PackageResolved", "Resolved")
        })
        .await;
        let (begin, before) = (Instant::now(), used(up.id()));
        with.measure(&admin, &mut replicas).await;
        busy.push((used(up.id()) - before) / begin.elapsed().as_secs_f64());
        if turn + 1 == TURNS {
            for name in ["costly-0", "costly-1", "costly-2"] {
                until(installs.clone(), name, |install| {
                    says(install, "Unpacked", TOO_COSTLY)
                })
                .await;
            }
        }
        for install in installs
            .list(&ListParams::default())
            .await
            .expect("a list")
            .items
        {
            let name = install.metadata.name.expect("a name");
            let gone = installs.delete(&name, &DeleteParams::default()).await;
            gone.expect("she may delete");
            until_gone(&installs, &name).await;
        }
    }
    let (usual, now) = (without.medians(), with.medians());
    println!("processors: {busy:.2?}, overload: {overloaded:.2}");
    for ((what, usual), now) in MEASURED.iter().zip(usual).zip(now) {
        println!("{what}: {usual:?} without, {now:?} with");
        // What else the machine is busy with makes both slower.
        let most = MOST.mul_f64(overloaded);
        assert!(
            now.saturating_sub(usual) <= most,
            "{what}: {usual:?} without costly templates, {now:?} with them"
        );
    }
    up.terminate();
    assert_eq!(up.end(), Some(0));
}

async fn until_gone(installs: &Api<DynamicObject>, name: &str) {
    let waiting = kube::runtime::wait::await_condition(
        installs.clone(),
        name,
        |object: Option<&DynamicObject>| object.is_none(),
    );
    let waiting = tokio::time::timeout(PATIENCE, waiting).await;
    waiting.expect("it goes").expect("it is watched");
}
