//! Tenants that share a stack manager: what one may not get through it from registries, and how
//! much of it one may have.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Choices, Cluster, Scene, variants};

use crate::processes::{MANAGED, defined, has, ours, package, signal, start_with};
use crate::registry::Registry;

/// A user who may have installs, Stacks and Secrets in the namespace of a scene, and nothing else.
struct Tenant {
    installs: Api<DynamicObject>,
    secrets: Api<Secret>,
}

impl Tenant {
    async fn new(scene: &Scene<'_>) -> Result<Self> {
        let user = format!("tenant-of-{}", scene.namespace());
        let role = json!({
            "metadata": { "name": "tenant" },
            "rules": [
                { "apiGroups": ["stacks.crossplane.io"], "resources": ["stackinstalls", "stacks"], "verbs": ["*"] },
                { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
            ],
        });
        let binding = json!({
            "metadata": { "name": "tenant" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user }],
        });
        scene
            .api::<Role>()
            .create(&PostParams::default(), &serde_json::from_value(role)?)
            .await?;
        scene
            .api::<RoleBinding>()
            .create(&PostParams::default(), &serde_json::from_value(binding)?)
            .await?;
        let client = scene.cluster().client_for_user(&user, &[])?;
        let kind = GroupVersionKind::gvk("stacks.crossplane.io", "v1alpha1", "StackInstall");
        let kind = ApiResource::from_gvk_with_plural(&kind, "stackinstalls");
        let installs = scene.dynamic(client.clone(), &kind);
        // A real server takes a moment to learn of the role.
        let allowed = async {
            while installs.list(&ListParams::default()).await.is_err() {
                tokio::task::yield_now().await;
            }
            Ok(())
        };
        scene.within("the tenant's role", allowed).await?;
        Ok(Self {
            installs,
            secrets: Api::namespaced(client, scene.namespace()),
        })
    }

    async fn install(&self, name: &str, package: &str, secret: &str) -> Result<()> {
        let secrets: Vec<Value> = [secret]
            .iter()
            .filter(|name| !name.is_empty())
            .map(|name| json!({ "name": name }))
            .collect();
        let object = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": name },
            "spec": { "package": package, "imagePullSecrets": secrets },
        });
        self.installs
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    async fn secret(&self, name: &str, config: &Value) -> Result<()> {
        let secret = json!({
            "metadata": { "name": name }, "type": "kubernetes.io/dockerconfigjson",
            "stringData": { ".dockerconfigjson": config.to_string() },
        });
        self.secrets
            .create(&PostParams::default(), &serde_json::from_value(secret)?)
            .await?;
        Ok(())
    }
}

/// A credential helper on the PATH of the manager, which leaves a mark when it is run.
fn helper(home: &Path) -> Result<PathBuf> {
    let (bin, mark) = (home.join("bin"), home.join("ran"));
    std::fs::create_dir_all(&bin)?;
    let program = bin.join("docker-credential-evil");
    let answer = r#"{"Username":"user","Secret":"pass"}"#;
    std::fs::write(
        &program,
        format!(
            "#!/bin/sh\necho ran > {}\necho '{answer}'\n",
            mark.display()
        ),
    )?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(mark)
}

pub async fn a_tenant_gets_no_private_package_runs_no_program_and_has_no_more_than_its_limits(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    let story = story(&cluster, home.path()).await;
    let log = std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
    story.with_context(|| format!("the manager's log:\n{log}"))
}

fn fails(kind: &'static str, reason: &'static str) -> impl Fn(Option<&DynamicObject>) -> bool {
    move |object| has(object, kind, "False", reason)
}

/// Whether a package could not be resolved, for any reason.
fn has_failed(object: Option<&DynamicObject>) -> bool {
    has(object, "PackageResolved", "False", "")
        && !has(object, "PackageResolved", "False", "Pulling")
}

/// What an install asks for: the package, and the Docker configuration of its pull Secret.
type Wish = (String, Option<Value>);

/// Creates installs, several at a time, waits until each has failed, and answers what they say.
async fn fail_all(
    scene: &Scene<'_>,
    attacker: &Tenant,
    wishes: Vec<(String, Wish)>,
) -> Result<Vec<String>> {
    let each = |(name, (package, config)): (String, Wish)| async move {
        let secret = if config.is_some() { name.as_str() } else { "" };
        if let Some(config) = &config {
            attacker.secret(&name, config).await?;
        }
        attacker.install(&name, &package, secret).await?;
        scene
            .wait(&attacker.installs, &name, has_failed)
            .await
            .with_context(|| format!("{name}: {package}"))?;
        let status = attacker.installs.get(&name).await?.data["status"].to_string();
        ensure!(
            !status.contains(r#""type":"Unpacked","status":"True""#),
            "{package}: {status}"
        );
        Ok(format!("{package}: {status}"))
    };
    stream::iter(wishes)
        .map(each)
        .buffer_unordered(8)
        .try_collect()
        .await
}

/// Another service that answers every client: its address and the number of requests.
fn inner() -> Result<(String, Arc<AtomicUsize>)> {
    let listener = std::net::TcpListener::bind("127.0.0.2:0")?;
    let (address, asked) = (
        listener.local_addr()?.to_string(),
        Arc::new(AtomicUsize::new(0)),
    );
    let count = asked.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(std::result::Result::ok) {
            count.fetch_add(1, Ordering::SeqCst);
            let body = "root-token-of-the-metadata-service";
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    Ok((address, asked))
}

/// Another tenant's private package: by digest and by tag, under any name of any registry, with
/// wrong credentials.
fn thefts(registry: &Registry, elsewhere: &Registry, digest: &str) -> Vec<(String, Wish)> {
    let wish = |(index, mut choices): (usize, Choices)| {
        let host = (*choices.pick(&[&registry.host, &registry.host, &elsewhere.host])).clone();
        let path = *choices.pick(&["private/notes", "private/notes", "private/other", "mine"]);
        let by = *choices.pick(&["", ":1.0.0", ":latest"]);
        let by = if by.is_empty() || choices.toss() {
            format!("{by}@{digest}")
        } else {
            by.to_owned()
        };
        let config = choices.toss().then(|| {
            let password = *choices.pick(&["wrong", "Pass", "pass ", ""]);
            json!({ "auths": { &host: { "username": "user", "password": password } } })
        });
        (
            choices.name(&format!("t{index}-"), 30),
            (format!("{host}/{path}{by}"), config),
        )
    };
    variants().map(wish).collect()
}

/// Repositories that lead into the private network.
fn redirections(registry: &Registry, inner: &str) -> Vec<(String, Wish)> {
    let (_, port) = inner.rsplit_once(':').unwrap_or_default();
    let hosts = [
        "127.0.0.2",
        "2130706434",
        "0x7f000002",
        "0177.0.0.2",
        "127.2",
        "[::ffff:127.0.0.2]",
        "127.0.0.2.",
        "0.0.0.0",
    ];
    let wish = |(index, mut choices): (usize, Choices)| {
        let user = *choices.pick(&["", "", "127.0.0.1@", "user:pass@"]);
        let path = *choices.pick(&["/", "/latest/meta-data/iam", "/v2/", "?x=1", "/%2e%2e/"]);
        let repository = choices.name(&format!("moved-{index}-"), 30);
        let location = format!(
            "{}://{user}{}:{port}{path}",
            choices.pick(&["http", "HTTP"]),
            choices.pick(&hosts)
        );
        registry.redirect(&repository, &location);
        (
            choices.name(&format!("m{index}-"), 30),
            (format!("{}/{repository}:1.0.0", registry.host), None),
        )
    };
    variants().map(wish).collect()
}

/// Pull Secrets that name programs.
fn programs(registry: &Registry, home: &Path) -> Vec<(String, Wish)> {
    let program = home
        .join("bin/docker-credential-evil")
        .display()
        .to_string();
    let outside = format!("x/../../../../../../{}", program.trim_start_matches('/'));
    let host = &registry.host;
    let wish = |(index, mut choices): (usize, Choices)| {
        let helper = *choices.pick(&["evil", "evil ", "docker-credential-evil", &outside]);
        let key = *choices.pick(&[
            "credHelpers",
            "CredHelpers",
            "cred_helpers",
            "credsStore",
            "credstore",
        ]);
        let spelling = *choices.pick(&["", "https://", "http://"]);
        let config = match key.to_lowercase().contains("store") {
            true => json!({ key: helper, "auths": { host: {} } }),
            false => json!({ "auths": { host: {} }, key: { format!("{spelling}{host}"): helper } }),
        };
        (
            choices.name(&format!("p{index}-"), 30),
            (format!("{host}/private/notes:1.0.0"), Some(config)),
        )
    };
    variants().map(wish).collect()
}

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let one = cluster.scene("private").await?;
    let (curious, roaming, running) = (
        cluster.scene("curious").await?,
        cluster.scene("roaming").await?,
        cluster.scene("running").await?,
    );
    let mark = helper(home)?;
    std::fs::write(home.join("index.yaml"), "packages: []\n")?;
    // The operator is logged in, too, which is no business of tenants.
    let (registry, elsewhere) = (Registry::start(), Registry::start());
    let login =
        |host: &str| json!({ "auths": { host: { "username": "user", "password": "pass" } } });
    std::fs::write(home.join("config.json"), login(&registry.host).to_string())?;
    registry.put("private/notes", "1.0.0", &package(one.group()));
    registry.guard("private/notes", "Basic dXNlcjpwYXNz");
    let digest = registry.digest("private/notes", "1.0.0");
    let most = format!("installs={}", variants().count());
    let mut manager = start_with(cluster, home, &["--limits", &most, "--pull-timeout", "30"])?;
    defined(&one).await?;
    let victim = Tenant::new(&one).await?;
    let (thief, rover, runner) = (
        Tenant::new(&curious).await?,
        Tenant::new(&roaming).await?,
        Tenant::new(&running).await?,
    );

    let image = format!("{}/private/notes", registry.host);
    victim.secret("login", &login(&registry.host)).await?;
    victim
        .install("notes", &format!("{image}:1.0.0"), "login")
        .await?;
    one.wait(
        &victim.installs,
        "notes",
        |object: Option<&DynamicObject>| has(object, "Ready", "True", ""),
    )
    .await?;

    let before = Instant::now();
    let (place, asked) = inner()?;
    let thefts = thefts(&registry, &elsewhere, &digest);
    let oldest = thefts[0].0.clone();
    let (stolen, moved, run) = tokio::try_join!(
        fail_all(&curious, &thief, thefts),
        fail_all(&roaming, &rover, redirections(&registry, &place)),
        fail_all(&running, &runner, programs(&registry, home)),
    )?;
    println!(
        "{} attacks failed within {:?}",
        stolen.len() + moved.len() + run.len(),
        before.elapsed()
    );
    for told in &stolen {
        ensure!(
            told.contains("RegistryDenied") || told.contains("PackageNotFound"),
            "{told}"
        );
    }
    ensure!(
        asked.load(Ordering::SeqCst) == 0,
        "a redirect led to another machine of the private network"
    );
    for told in &moved {
        ensure!(!told.contains("root-token"), "{told}");
    }
    for told in &run {
        ensure!(told.contains("RegistryDenied"), "{told}");
    }
    ensure!(!mark.exists(), "the helper in a tenant's Secret was run");

    // As many are there as may be. One more waits, with any name, and the others do not change.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let slow = format!("{}/slow/notes:1.0.0", silent.local_addr()?);
    thief.install("aaa", &slow, "").await?;
    curious
        .wait(
            &thief.installs,
            "aaa",
            fails("PackageResolved", "LimitReached"),
        )
        .await?;
    let told = thief.installs.get("aaa").await?.data["status"]["conditions"].to_string();
    ensure!(
        told.contains(&format!("the limit {most} of the namespace")),
        "{told}"
    );
    thief
        .installs
        .delete(&oldest, &DeleteParams::default())
        .await?;
    curious
        .wait(&thief.installs, "aaa", fails("PackageResolved", "Pulling"))
        .await?;

    // What comes after this has the cluster to itself.
    let others = ListParams::default().fields("metadata.name!=aaa");
    for (scene, tenant) in [
        (&one, &victim),
        (&curious, &thief),
        (&roaming, &rover),
        (&running, &runner),
    ] {
        tenant
            .installs
            .delete_collection(&DeleteParams::default(), &others)
            .await?;
        let gone = async {
            while !tenant.installs.list(&others).await?.items.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        };
        scene.within("the installs to go", gone).await?;
    }

    // A registry that never answers does not hold up the end.
    let before = Instant::now();
    signal(manager.id().context("the manager runs")?, Signal::TERM)?;
    let ended = tokio::time::timeout(Duration::from_secs(20), manager.wait()).await;
    ensure!(ended.context("it ends while a pull hangs")??.success());
    thief
        .installs
        .delete("aaa", &DeleteParams::default())
        .await?;
    println!(
        "the manager ended {:?} after SIGTERM while a pull hangs",
        before.elapsed()
    );
    Ok(())
}

pub async fn instances_beyond_the_limit_of_a_namespace_wait_until_there_is_room(
    cluster: Arc<Cluster>,
) -> Result<()> {
    let _turn = MANAGED.lock().await;
    let home = tempfile::tempdir()?;
    let story = crowd(&cluster, home.path()).await;
    let log = std::fs::read_to_string(home.path().join("log")).unwrap_or_default();
    story.with_context(|| format!("the manager's log:\n{log}"))
}

/// The package of notes of a group, which say how they are.
fn telling(group: &str) -> package::Files {
    let mut files = package(group);
    for text in files.values_mut() {
        let told = String::from_utf8_lossy(text);
        let conditions = "conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}";
        let status = format!(
            "status: {{type: object, properties: {{said: {{type: string}}, {conditions}}}}}"
        );
        *text = told
            .replace(
                "status: {type: object, properties: {said: {type: string}}}",
                &status,
            )
            .into_bytes();
    }
    files
}

async fn crowd(cluster: &Cluster, home: &Path) -> Result<()> {
    let scene = cluster.scene("crowded").await?;
    std::fs::write(home.join("index.yaml"), "packages: []\n")?;
    std::fs::write(home.join("config.json"), "{}")?;
    let registry = Registry::start();
    let groups = [scene.group().to_owned(), format!("b.{}", scene.group())];
    let mut manager = start_with(cluster, home, &["--limits", "instances=4"])?;
    defined(&scene).await?;
    let tenant = Tenant::new(&scene).await?;
    for (name, group) in ["a", "b"].into_iter().zip(&groups) {
        registry.put(name, "1.0.0", &telling(group));
        tenant
            .install(name, &format!("{}/{name}:1.0.0", registry.host), "")
            .await?;
        let ready = |object: Option<&DynamicObject>| has(object, "Ready", "True", "");
        scene.wait(&tenant.installs, name, ready).await?;
    }
    let notes = |group: &str| {
        let kind =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", "Note"), "notes");
        scene.dynamic(scene.client(), &kind)
    };
    let (first, second) = (notes(&groups[0]), notes(&groups[1]));
    let note = |group: &str, name: &str| {
        let note = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Note", "metadata": { "name": name }, "spec": { "text": "x" },
        });
        serde_json::from_value::<DynamicObject>(note)
    };
    for index in 0..4 {
        first
            .create(
                &PostParams::default(),
                &note(&groups[0], &format!("a{index}"))?,
            )
            .await?;
    }
    // One more than there may be, which the Stack manager hears of.
    second
        .create(&PostParams::default(), &note(&groups[1], "b")?)
        .await?;
    let stacks = ours(&scene, "Stack", "stacks");
    let limited = |most: Value| {
        move |stack: Option<&DynamicObject>| {
            stack.is_some_and(|stack| stack.data["status"]["instanceLimit"] == most)
        }
    };
    scene.wait(&stacks, "b", limited(json!(0))).await?;
    scene.wait(&stacks, "a", limited(json!(4))).await?;
    let mut names = Vec::new();
    for (index, mut choices) in variants() {
        names.push(choices.name(&format!("n{index}-"), 30));
        second
            .create(&PostParams::default(), &note(&groups[1], &names[index])?)
            .await?;
    }
    for name in &names {
        scene
            .wait(&second, name, |object: Option<&DynamicObject>| {
                has(object, "Synced", "False", "LimitReached")
            })
            .await?;
    }
    let told = second.get(&names[0]).await?.data["status"].to_string();
    ensure!(told.contains("raise `instances` in `--limits`"), "{told}");
    let maps = scene.api::<k8s_openapi::api::core::v1::ConfigMap>();
    ensure!(
        maps.get_opt(&names[0]).await?.is_none(),
        "something was made of it"
    );

    // Two go once all are counted, and two of the younger Stack have their place.
    let counted = |stack: Option<&DynamicObject>| {
        let kinds = stack.and_then(|stack| stack.data["status"]["instances"].as_object());
        kinds.is_some_and(|kinds| {
            kinds
                .values()
                .any(|counts| counts["total"] == names.len() + 1)
        })
    };
    scene.wait(&stacks, "b", counted).await?;
    for name in ["a0", "a1"] {
        first.delete(name, &DeleteParams::default()).await?;
    }
    scene.wait(&stacks, "b", limited(json!(2))).await?;
    let served = async {
        loop {
            let all = second.list(&ListParams::default()).await?.items;
            let served = all
                .iter()
                .filter(|note| has(Some(note), "Synced", "True", ""))
                .count();
            if served == 2 {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    scene.within("two instances to be served", served).await?;
    for name in ["a", "b"] {
        tenant
            .installs
            .delete(name, &DeleteParams::default())
            .await?;
        scene
            .wait(&tenant.installs, name, |object: Option<&DynamicObject>| {
                object.is_none()
            })
            .await?;
    }
    signal(manager.id().context("the manager runs")?, Signal::TERM)?;
    let ended = tokio::time::timeout(Duration::from_secs(20), manager.wait()).await;
    ensure!(ended.context("it ends")??.success());
    Ok(())
}
