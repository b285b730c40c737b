//! `cairn stack-manager`: the controller of installs and Stacks.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use controller::stack_manager::{
    Bounds, Endpoint, Fetched, Future, KubernetesRunner, Packages, Parts, ProcessOptions,
    ProcessRunner, Runner, StackManager, TAGS,
};
use controller::{Cluster, Metrics};
use install::reconcile::install::Settings;
use install::{Index, Pattern, Policy, Trouble, quantity};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use objects::Key;
use package::image::Reference;
use registry::{Client, Credentials, HostPattern};

use crate::cli::{Capacity, RunnerKind, StackManager as Args};
use crate::cluster::connect::unanswered;
use crate::cluster::registries::{TenantBounds, block_on_many};
use crate::controller_main::Serving;
use crate::terminal::env::passed_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

/// The field manager of everything that the stack manager writes.
pub(crate) const MANAGER: &str = "stack-manager";

pub(crate) fn run(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    let allow = args
        .allow_types
        .iter()
        .map(|text| Pattern::parse(text))
        .collect::<Result<Vec<_>, _>>();
    let policy = Policy {
        allow: allow.map_err(Failure::usage)?,
    };
    let bounds = args.capacity.bounds()?;
    let packages = Registry::new(args.registries.client_of_tenants(&tenants(args)?)?)
        .indexed(args.index.clone());
    printer.log(&args.serving.log);
    block_on_many(manage(args, policy, bounds, packages))?
}

/// What tenants may have of registries.
fn tenants(args: &Args) -> Result<TenantBounds, Failure> {
    let hosts = |option: &str, texts: &[String]| {
        let patterns = texts
            .iter()
            .flat_map(|text| text.split(','))
            .map(HostPattern::parse);
        patterns
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| Failure::usage(format!("{option}: {why}")))
    };
    let bytes = |option: &str, text: &str| {
        let bad = || {
            Failure::usage(format!(
                "{option}: `{text}` is not a valid size: write 1000000, 64Mi or 2Gi"
            ))
        };
        quantity(text).ok_or_else(bad)
    };
    Ok(TenantBounds {
        allow: hosts("--allow-registries", &args.allow_registries)?,
        config_hosts: hosts("--registry-config-hosts", &args.registry_config_hosts)?,
        layer_bytes: bytes("--layer-limit", &args.layer_limit)?,
        store_bytes: bytes("--cache-limit", &args.cache_limit)?,
        timeout: Duration::from_secs(args.capacity.pull_timeout),
    })
}

async fn manage(
    args: &Args,
    policy: Policy,
    bounds: Bounds,
    packages: Registry,
) -> Result<Code, Failure> {
    let connected = args.connection.connect().await?;
    let metrics = Metrics::default();
    let tenant = Cluster::new(connected.client.clone(), MANAGER).counted(metrics.clone());
    let lease = Key::new(&connected.namespace, "cairn-stack-manager");
    let mut serving = Serving::start(&args.serving, &tenant, lease, metrics.clone()).await?;
    if !serving.turn().await {
        return Ok(Code::Ok);
    }
    // Only now: kinds of another version are not for one that waits.
    define(&connected.client).await?;
    room(&connected.client, &connected.namespace).await?;
    let settings = Settings {
        own_namespace: connected.namespace.clone(),
        cluster_namespace: args.cluster_stack_namespace.clone(),
        source: args.source.clone().unwrap_or_default(),
        policy,
        own_image: args.image.clone(),
        namespaced_crds: args.namespaced_crds.into(),
        instance_limits: args.capacity.instance_limits,
        budgets: args.capacity.budget.budgets(),
    };
    let processes = match args.runner {
        RunnerKind::Process => Some(Arc::new(processes(
            &tenant,
            connected.endpoint,
            passed_on(),
            &args.capacity,
        )?)),
        RunnerKind::Kubernetes => None,
    };
    let runner: Arc<dyn Runner> = match &processes {
        Some(processes) => processes.clone(),
        None => Arc::new(KubernetesRunner::new(tenant.clone())),
    };
    let parts = Parts {
        tenant: tenant.clone(),
        host: tenant,
        packages: Arc::new(packages),
        runner,
        settings,
        metrics,
        tags: TAGS,
        bounds,
    };
    let manager = StackManager::start(parts).await;
    tracing::info!("managing stacks");
    let worker = manager.clone();
    let mut working = tokio::spawn(async move { worker.run().await });
    let code = serving
        .live(&mut working, std::future::ready(Ok(())))
        .await?;
    manager.stop();
    // Its children go before another may start the same.
    if let Some(processes) = processes {
        processes.end_all().await;
    }
    serving.close(code, working).await;
    Ok(code)
}

/// What runs controllers as processes of this program, with these variables.
pub(crate) fn processes(
    tenant: &Cluster,
    endpoint: Endpoint,
    environment: Vec<(OsString, OsString)>,
    capacity: &Capacity,
) -> Result<ProcessRunner, Failure> {
    let program = std::env::current_exe();
    let options = ProcessOptions {
        program: program
            .map_err(|error| Failure::new(format!("this program cannot find itself: {error}")))?,
        environment,
        endpoint,
        tenant: tenant.clone(),
        token_lifetime: Duration::from_secs(3600),
        instance_limits: capacity.instance_limits,
        budgets: capacity.budget.budgets(),
    };
    Ok(ProcessRunner::new(options))
}

/// Creates the stack manager's own namespace, where seeds and its key are, unless it exists.
async fn room(client: &kube::Client, name: &str) -> Result<(), Failure> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let metadata = kube::api::ObjectMeta {
        name: Some(name.to_owned()),
        ..Default::default()
    };
    let namespace = Namespace {
        metadata,
        ..Default::default()
    };
    match namespaces.create(&PostParams::default(), &namespace).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(Failure::new(format!(
            "cannot create namespace {name}, where the stack manager keeps seeds: {error}"
        ))),
    }
}

/// Puts our own CRDs in place, and waits until they are served.
pub(crate) async fn define(client: &kube::Client) -> Result<(), Failure> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions");
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    for definition in api::definitions() {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        let bad =
            |error: String| Failure::new(format!("the CRD {name} cannot be put in place: {error}"));
        let params = PatchParams::apply(MANAGER).force();
        crds.patch(name, &params, &Patch::Apply(&definition))
            .await
            .map_err(|error| match error {
                kube::Error::Api(status) => bad(status.message.clone()),
                error => unanswered(&error),
            })?;
        let served = kube::runtime::wait::await_condition(
            crds.clone(),
            name,
            |object: Option<&DynamicObject>| {
                let conditions =
                    object.and_then(|object| object.data["status"]["conditions"].as_array());
                conditions.is_some_and(|all| {
                    all.iter()
                        .any(|one| one["type"] == "Established" && one["status"] == "True")
                })
            },
        );
        served.await.map_err(|error| bad(error.to_string()))?;
    }
    Ok(())
}

/// Packages from registries.
pub(crate) struct Registry {
    client: Client,
    /// A file that may change.
    index: Option<PathBuf>,
    /// What was in it last, and when that was written.
    read: Mutex<Option<Seen>>,
}

/// Tells a file from itself before it was changed.
type Stamp = (Option<SystemTime>, u64);

/// What was in a file when it was last read.
type Seen = (Stamp, Result<Arc<Index>, Trouble>);

impl Registry {
    /// From registries that this client talks to.
    pub fn new(client: Client) -> Registry {
        Registry {
            client,
            index: None,
            read: Mutex::default(),
        }
    }

    /// With an index of packages in a file.
    fn indexed(self, index: Option<PathBuf>) -> Registry {
        Registry { index, ..self }
    }

    fn with(&self, secrets: &[Vec<u8>]) -> Result<Client, Trouble> {
        let mut credentials = Credentials::default();
        for secret in secrets {
            let own = Credentials::from_pull_secret(secret);
            let own = own.map_err(|cause| {
                Trouble::new("PullSecretInvalid", format!("a pull secret: {cause}"))
            })?;
            credentials = credentials.or(own);
        }
        Ok(self.client.with(credentials))
    }
}

fn trouble(error: &registry::Error) -> Trouble {
    let hint = error
        .hint()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    Trouble::new(error.reason(), format!("{error}{hint}"))
}

impl Packages for Registry {
    fn resolve<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Reference, Trouble>> {
        Box::pin(async move {
            let resolved = self.with(secrets)?.resolve(reference).await;
            resolved
                .map(|resolved| resolved.reference)
                .map_err(|error| trouble(&error))
        })
    }

    fn fetch<'f>(
        &'f self,
        reference: &'f Reference,
        secrets: &'f [Vec<u8>],
    ) -> Future<'f, Result<Fetched, Trouble>> {
        Box::pin(async move {
            let downloaded = self
                .with(secrets)?
                .download(reference)
                .await
                .map_err(|error| trouble(&error))?;
            let unpack = move |going: &dyn Fn() -> bool| {
                downloaded
                    .unpack(going)
                    .map(|pulled| pulled.files)
                    .map_err(|error| trouble(&error))
            };
            Ok(Box::new(unpack) as Fetched)
        })
    }

    fn index(&self) -> Future<'_, Result<Arc<Index>, Trouble>> {
        Box::pin(async move {
            let Some(path) = self.index.clone() else {
                return Ok(Arc::default());
            };
            let known = self
                .read
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            // A disk may take its time.
            let read = tokio::task::spawn_blocking(move || read_index(&path, known));
            let bad =
                |error: tokio::task::JoinError| Trouble::new("IndexInvalid", error.to_string());
            let (stamp, outcome) = read.await.map_err(bad)?;
            *self.read.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((stamp, outcome.clone()));
            outcome
        })
    }
}

/// The index in a file, which is read only if it has changed.
fn read_index(path: &Path, known: Option<Seen>) -> Seen {
    let bad = |why: String| {
        Trouble::new(
            "IndexInvalid",
            format!("the index {}: {why}", path.display()),
        )
    };
    let stamp = match std::fs::metadata(path) {
        Ok(found) => (found.modified().ok(), found.len()),
        Err(error) => return ((None, 0), Err(bad(error.to_string()))),
    };
    if let Some((before, outcome)) =
        known.filter(|(before, _)| before.0.is_some() && *before == stamp)
    {
        return (before, outcome);
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    (
        stamp,
        text.and_then(|text| Index::read(&text))
            .map(Arc::new)
            .map_err(bad),
    )
}
