//! Tenants that share a stack manager: what one may not get through it from registries, and how much of it one may have.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

use crate::processes::{MANAGED, defined, has, package, signal, start_with};
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
        scene.api::<Role>().create(&PostParams::default(), &serde_json::from_value(role)?).await?;
        scene.api::<RoleBinding>().create(&PostParams::default(), &serde_json::from_value(binding)?).await?;
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
        Ok(Self { installs, secrets: Api::namespaced(client, scene.namespace()) })
    }

    async fn install(&self, name: &str, package: &str, secret: &str) -> Result<()> {
        let secrets: Vec<Value> =
            [secret].iter().filter(|name| !name.is_empty()).map(|name| json!({ "name": name })).collect();
        let object = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall", "metadata": { "name": name },
            "spec": { "package": package, "imagePullSecrets": secrets },
        });
        self.installs.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
        Ok(())
    }

    async fn secret(&self, name: &str, config: &Value) -> Result<()> {
        let secret = json!({
            "metadata": { "name": name }, "type": "kubernetes.io/dockerconfigjson",
            "stringData": { ".dockerconfigjson": config.to_string() },
        });
        self.secrets.create(&PostParams::default(), &serde_json::from_value(secret)?).await?;
        Ok(())
    }
}

/// A credential helper on the PATH of the manager, which leaves a mark when it is run.
fn helper(home: &Path) -> Result<PathBuf> {
    let (bin, mark) = (home.join("bin"), home.join("ran"));
    std::fs::create_dir_all(&bin)?;
    let program = bin.join("docker-credential-evil");
    let answer = r#"{"Username":"user","Secret":"pass"}"#;
    std::fs::write(&program, format!("#!/bin/sh\necho ran > {}\necho '{answer}'\n", mark.display()))?;
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

async fn story(cluster: &Cluster, home: &Path) -> Result<()> {
    let (one, other) = (cluster.scene("private").await?, cluster.scene("curious").await?);
    let mark = helper(home)?;
    std::fs::write(home.join("index.yaml"), "packages: []\n")?;
    // The operator is logged in, too, which is no business of tenants.
    let (registry, elsewhere) = (Registry::start(), Registry::start());
    let login = |host: &str| json!({ "auths": { host: { "username": "user", "password": "pass" } } });
    std::fs::write(home.join("config.json"), login(&registry.host).to_string())?;
    registry.put("private/notes", "1.0.0", &package(one.group()));
    registry.guard("private/notes", "Basic dXNlcjpwYXNz");
    let digest = registry.digest("private/notes", "1.0.0");
    let options = ["--limits", "installs=4", "--pull-timeout", "30"];
    let mut manager = start_with(cluster, home, &options)?;
    defined(&one).await?;
    let (victim, attacker) = (Tenant::new(&one).await?, Tenant::new(&other).await?);

    let image = format!("{}/private/notes", registry.host);
    victim.secret("login", &login(&registry.host)).await?;
    victim.install("notes", &format!("{image}:1.0.0"), "login").await?;
    one.wait(&victim.installs, "notes", |object: Option<&DynamicObject>| has(object, "Ready", "True", "")).await?;

    // By digest, by tag with the operator's login at hand, under another name, and with programs.
    let evil = json!({
        "auths": { &registry.host: {} }, "credHelpers": { &registry.host: "evil" }, "credsStore": "evil",
    });
    attacker.secret("evil", &evil).await?;
    let elsewhere = format!("{}/private/notes@{digest}", elsewhere.host);
    for (name, package, secret, reason) in [
        ("digest", format!("{image}@{digest}"), "", "RegistryDenied"),
        ("tag", format!("{image}:1.0.0"), "", "RegistryDenied"),
        ("name", elsewhere, "", "PackageNotFound"),
        ("program", format!("{image}:1.0.0@{digest}"), "evil", "RegistryDenied"),
    ] {
        attacker.install(name, &package, secret).await?;
        other.wait(&attacker.installs, name, fails("PackageResolved", reason)).await.context(name)?;
    }
    ensure!(!mark.exists(), "the helper in a tenant's Secret was run");

    // Four are there. The fifth waits, whatever its name, and the others do not change.
    let silent = std::net::TcpListener::bind("127.0.0.1:0")?;
    let slow = format!("{}/slow/notes:1.0.0", silent.local_addr()?);
    attacker.install("aaa", &slow, "").await?;
    other.wait(&attacker.installs, "aaa", fails("PackageResolved", "LimitReached")).await?;
    let told = attacker.installs.get("aaa").await?.data["status"]["conditions"].to_string();
    ensure!(told.contains("the limit installs=4 of the namespace") && told.contains("4 older StackInstalls"), "{told}");
    attacker.installs.delete("tag", &DeleteParams::default()).await?;
    other.wait(&attacker.installs, "aaa", fails("PackageResolved", "Pulling")).await?;

    // What comes after this has the cluster to itself.
    for (scene, tenant, name) in [
        (&one, &victim, "notes"),
        (&other, &attacker, "digest"),
        (&other, &attacker, "name"),
        (&other, &attacker, "program"),
    ] {
        tenant.installs.delete(name, &DeleteParams::default()).await?;
        scene.wait(&tenant.installs, name, |object: Option<&DynamicObject>| object.is_none()).await?;
    }

    // A registry that never answers does not hold up the end.
    let before = Instant::now();
    signal(manager.id().context("the manager runs")?, Signal::TERM)?;
    let ended = tokio::time::timeout(Duration::from_secs(20), manager.wait()).await;
    ensure!(ended.context("it ends while a pull hangs")??.success());
    attacker.installs.delete("aaa", &DeleteParams::default()).await?;
    println!("the manager ended {:?} after SIGTERM while a pull hangs", before.elapsed());
    Ok(())
}
