//! One stack manager for all scenarios on a cluster, with packages from memory and controllers that
//! run at once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use controller::stack_manager::{
    Availability, Bounds, Fetched, Future, KubernetesRunner, Live, Packages, Parts, Runner,
    StackManager,
};
use controller::{Cluster as Hands, Error};
use install::Trouble;
use install::reconcile::install::Settings;
use install::reconcile::stack::Run;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use objects::Key;
use package::Files;
use package::image::{Digest, Reference};
use serde_json::{Value, json};
use testkit::{Cluster, Scene};

/// The user that the stack manager is.
pub const USER: &str = "stack-manager";

/// Packages by `repository:tag` and by digest, and what is wrong with the place they come from.
#[derive(Default)]
pub struct Shelf {
    tags: Mutex<BTreeMap<String, String>>,
    packages: Mutex<BTreeMap<String, Files>>,
    broken: Mutex<BTreeMap<String, Trouble>>,
    gates: Mutex<BTreeMap<String, Arc<Gate>>>,
}

impl Shelf {
    /// Puts a package there; answers its digest.
    pub fn put(&self, repository: &str, version: &str, files: Files) -> String {
        let digest = Digest::of(format!("{repository}{files:?}").as_bytes()).to_string();
        self.tags
            .lock()
            .unwrap()
            .insert(format!("{repository}:{version}"), digest.clone());
        self.packages.lock().unwrap().insert(digest.clone(), files);
        digest
    }

    pub fn break_down(&self, repository: &str, trouble: Option<Trouble>) {
        let mut broken = self.broken.lock().unwrap();
        match trouble {
            Some(trouble) => broken.insert(repository.to_owned(), trouble),
            None => broken.remove(repository),
        };
    }

    /// The gate of a namespace, which its repositories begin with.
    pub fn gate(&self, repository: &str) -> Arc<Gate> {
        let namespace = repository.split('/').next().unwrap_or_default().to_owned();
        self.gates
            .lock()
            .unwrap()
            .entry(namespace)
            .or_default()
            .clone()
    }

    fn digest(&self, reference: &Reference) -> Result<String, Trouble> {
        if let Some(trouble) = self.broken.lock().unwrap().get(&reference.repository) {
            return Err(trouble.clone());
        }
        if let Some(digest) = &reference.digest {
            return Ok(digest.clone());
        }
        let name = format!(
            "{}:{}",
            reference.repository,
            reference.tag.as_deref().unwrap_or_default()
        );
        let missing = || Trouble::new("PackageNotFound", format!("there is no {name}"));
        self.tags
            .lock()
            .unwrap()
            .get(&name)
            .cloned()
            .ok_or_else(missing)
    }
}

/// What of a namespace was fetched and is not unpacked, and whether it may be.
#[derive(Default)]
pub struct Gate {
    closed: AtomicBool,
    held: AtomicUsize,
    /// The most at a time, and how many in all.
    pub most: AtomicUsize,
    pub passed: AtomicUsize,
}

impl Gate {
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    fn pass(&self, going: &dyn Fn() -> bool) {
        while self.closed.load(Ordering::SeqCst) && going() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.passed.fetch_add(1, Ordering::SeqCst);
    }
}

/// A package that was fetched and waits to be unpacked.
struct Held(Arc<Gate>);

impl Held {
    fn new(gate: Arc<Gate>) -> Self {
        let held = gate.held.fetch_add(1, Ordering::SeqCst) + 1;
        gate.most.fetch_max(held, Ordering::SeqCst);
        Self(gate)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Packages for Shelf {
    fn resolve<'f>(
        &'f self,
        reference: &'f Reference,
        _: &'f [Vec<u8>],
    ) -> Future<'f, Result<Reference, Trouble>> {
        Box::pin(async move {
            if reference.registry.starts_with("slow") {
                // It took the request, and never answers.
                std::future::pending::<()>().await;
            }
            Ok(reference.at(&self.digest(reference)?))
        })
    }

    fn fetch<'f>(
        &'f self,
        reference: &'f Reference,
        _: &'f [Vec<u8>],
    ) -> Future<'f, Result<Fetched, Trouble>> {
        Box::pin(async move {
            let digest = self.digest(reference)?;
            let missing = || Trouble::new("PackageNotFound", format!("there is no {digest}"));
            let files = self
                .packages
                .lock()
                .unwrap()
                .get(&digest)
                .cloned()
                .ok_or_else(missing)?;
            let held = Held::new(self.gate(&reference.repository));
            Ok(Box::new(move |going: &dyn Fn() -> bool| {
                held.0.pass(going);
                Ok(files)
            }) as Fetched)
        })
    }
}

/// Deployments that count as running as soon as they are there: nobody runs pods here.
struct AtOnce(KubernetesRunner);

impl Runner for AtOnce {
    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        live: Live<'f>,
    ) -> Future<'f, Result<Availability, Error>> {
        Box::pin(async move {
            self.0.ensure(run, live).await?;
            Ok(Availability::yes("its controller runs"))
        })
    }

    fn objects<'r>(&self, run: &'r Run) -> Vec<&'r Value> {
        self.0.objects(run)
    }

    fn stop<'f>(&'f self, stack: &'f Key) -> Future<'f, Result<(), Error>> {
        self.0.stop(stack)
    }
}

/// The stack manager of a cluster.
pub struct Manager {
    pub shelf: Arc<Shelf>,
}

/// The stack manager of this cluster, which the first scenario starts.
pub async fn manager(cluster: &Cluster) -> Result<Arc<Manager>> {
    static RUNNING: tokio::sync::Mutex<BTreeMap<&str, Arc<Manager>>> =
        tokio::sync::Mutex::const_new(BTreeMap::new());
    let mut running = RUNNING.lock().await;
    if let Some(manager) = running.get(cluster.backend().name()) {
        return Ok(manager.clone());
    }
    furnish(cluster).await?;
    let shelf = Arc::new(Shelf::default());
    start(cluster, shelf.clone()).await?;
    let manager = Arc::new(Manager { shelf });
    running.insert(cluster.backend().name(), manager.clone());
    Ok(manager)
}

/// Puts our own kinds and the namespace of the stack manager into a cluster.
pub async fn furnish(cluster: &Cluster) -> Result<()> {
    let crds = definitions(cluster.admin()?);
    for definition in api::definitions() {
        let name = definition["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        crds.patch(
            &name,
            &PatchParams::apply("test").force(),
            &Patch::Apply(&definition),
        )
        .await?;
        let served = kube::runtime::wait::await_condition(
            crds.clone(),
            &name,
            has("Established", "True", ""),
        );
        served.await.context("our own CRDs are served")?;
    }
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.admin()?);
    let namespace = serde_json::from_value(json!({ "metadata": { "name": "cairn" } }))?;
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(())
}

/// Starts a stack manager, which ends when its task does.
pub async fn start(cluster: &Cluster, shelf: Arc<Shelf>) -> Result<tokio::task::JoinHandle<()>> {
    let client = cluster.client_for_user(USER, &["system:masters"])?;
    let hands = Hands::new(client, "stack-manager");
    let parts = Parts {
        tenant: hands.clone(),
        host: hands.clone(),
        packages: shelf,
        runner: Arc::new(AtOnce(KubernetesRunner::new(hands))),
        settings: Settings {
            own_namespace: "cairn".into(),
            cluster_namespace: "cairn-stacks".into(),
            source: "registry.example.org".into(),
            policy: install::Policy::default(),
            own_image: "example.org/cairn:1".into(),
            namespaced_crds: install::NamespacedCrds::Allow,
            instance_limits: Default::default(),
            budgets: Default::default(),
        },
        metrics: controller::Metrics::default(),
        tags: std::time::Duration::from_millis(300),
        bounds: Bounds::default(),
    };
    let manager = StackManager::start(parts).await;
    Ok(tokio::spawn(async move { manager.run().await }))
}

/// The CRDs of a cluster.
pub fn definitions(client: kube::Client) -> Api<DynamicObject> {
    let kind = resource(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    Api::all_with(client, &kind)
}

pub fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

pub fn installs(scene: &Scene<'_>) -> Api<DynamicObject> {
    Api::namespaced_with(
        scene.client(),
        scene.namespace(),
        &resource(
            "stacks.crossplane.io",
            "v1alpha1",
            "StackInstall",
            "stackinstalls",
        ),
    )
}

pub fn stacks(scene: &Scene<'_>) -> Api<DynamicObject> {
    Api::namespaced_with(
        scene.client(),
        scene.namespace(),
        &resource("stacks.crossplane.io", "v1alpha1", "Stack", "stacks"),
    )
}

/// A package with one kind, `Redis`, of a group, whose spec has these fields.
pub fn package(group: &str, version: &str, fields: &[&str], more: &str) -> Files {
    let depends = if more.contains("dependsOn") {
        ""
    } else {
        "dependsOn: [{crd: configmap/v1}]\n"
    };
    let fields: String = fields
        .iter()
        .map(|name| format!("{name}: {{type: string}}, "))
        .collect();
    let files = [
        (
            "app.yaml".to_owned(),
            format!("title: Redis\nversion: {version}\n{depends}{more}"),
        ),
        (
            "resources/crd.yaml".to_owned(),
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
                 metadata: {{name: redises.{group}}}\nspec:\n  group: {group}\n  scope: Namespaced\n  \
                 names: {{kind: Redis, plural: redises, singular: redis}}\n  versions:\n  - name: v1\n    served: true\n    \
                 storage: true\n    subresources: {{status: {{}}}}\n    schema:\n      openAPIV3Schema:\n        \
                 type: object\n        properties:\n          spec: {{type: object, properties: {{{fields}}}}}\n          \
                 status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
            ),
        ),
        (
            format!("templates/redis.{group}/v1/config.yaml"),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .metadata.name }}'\n"
                .to_owned(),
        ),
    ];
    files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect()
}

pub fn install(scene: &Scene<'_>, version: &str) -> Value {
    json!({
        "apiVersion": "stacks.crossplane.io/v1alpha1", "kind": "StackInstall",
        "metadata": { "name": "redis", "namespace": scene.namespace() },
        "spec": { "package": format!("{}/redis:{version}", scene.namespace()) },
    })
}

/// Whether an object has a condition with a status and a reason, unless these are empty.
pub fn has(
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
) -> impl Fn(Option<&DynamicObject>) -> bool {
    move |object| {
        let conditions = object
            .map(|object| object.data["status"]["conditions"].clone())
            .unwrap_or_default();
        conditions.as_array().is_some_and(|all| {
            all.iter().any(|one| {
                one["type"] == kind
                    && (status.is_empty() || one["status"] == status)
                    && (reason.is_empty() || one["reason"] == reason)
            })
        })
    }
}

/// Creates the install and waits until it is ready.
pub async fn installed(
    scene: &Scene<'_>,
    manager: &Manager,
    fields: &[&str],
    more: &str,
) -> Result<Api<DynamicObject>> {
    let repository = format!("{}/redis", scene.namespace());
    manager.shelf.put(
        &repository,
        "1.0.0",
        package(scene.group(), "1.0.0", fields, more),
    );
    let installs = installs(scene);
    let object = serde_json::from_value(install(scene, "1.0.0"))?;
    installs.create(&PostParams::default(), &object).await?;
    if let Err(error) = scene
        .wait(&installs, "redis", has("Ready", "True", ""))
        .await
    {
        let (install, stack) = (
            installs.get("redis").await?,
            stacks(scene).get_opt("redis").await?,
        );
        let stack = stack
            .map(|stack| stack.data["status"].to_string())
            .unwrap_or_default();
        return Err(error.context(format!(
            "the install says {}, its Stack {stack}",
            install.data["status"]
        )));
    }
    Ok(installs)
}
