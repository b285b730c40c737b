//! A control plane in this process: the embedded API server, the stack manager, and whoever plays
//! the controllers of a cluster with nodes.

mod in_process;
mod local_packages;
pub(crate) mod template_api;
mod workloads;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apiserver::{Server, User};
use controller::stack_manager::{Bounds, Packages, Parts, Runner, StackManager, TAGS};
use controller::{Cluster, Metrics};
use engine::budget::Budgets;
use engine::limits::InstanceLimits;
use install::NamespacedCrds;
use install::reconcile::install::Settings;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinHandle;

pub(crate) use in_process::InProcess;
pub(crate) use local_packages::LocalPackages;
pub(crate) use workloads::WorkloadSimulator;

use crate::commands::stack_manager::{MANAGER, define};
use crate::terminal::error::Failure;

/// The namespace that the stack manager counts as its own.
const OWN: &str = "cairn-system";
/// What the namespaces of the stacks of the whole cluster begin with.
const CLUSTER_STACKS: &str = "cairn-stacks";
/// How long a server that cannot keep anything any more still says so to whoever writes.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long what is being done may take when everything ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the stacks of a control plane may have.
#[derive(Default)]
pub(crate) struct Terms {
    pub namespaced_crds: NamespacedCrds,
    pub bounds: Bounds,
    pub instance_limits: InstanceLimits,
    pub budgets: Budgets,
}

/// A running control plane.
pub(crate) struct Plane {
    server: Server,
    manager: Arc<StackManager>,
    working: JoinHandle<()>,
}

impl Plane {
    /// Puts our own kinds into a server and manages stacks there, with these packages and this
    /// runner.
    pub async fn start(
        server: Server,
        packages: Arc<dyn Packages>,
        terms: Terms,
        runner: impl FnOnce(Cluster) -> Result<Arc<dyn Runner>, Failure>,
    ) -> Result<Plane, Failure> {
        let admin = Client::new(server.in_process_service(Some(User::admin())), "default");
        define(&admin).await?;
        namespace(&admin, OWN).await?;
        let user = User::new(MANAGER, &["system:masters"]);
        let metrics = Metrics::default();
        let tenant = Cluster::new(
            Client::new(server.in_process_service(Some(user)), "default"),
            MANAGER,
        )
        .counted(metrics.clone());
        let Terms {
            namespaced_crds,
            bounds,
            instance_limits,
            budgets,
        } = terms;
        let settings = Settings {
            own_namespace: OWN.to_owned(),
            cluster_namespace: CLUSTER_STACKS.to_owned(),
            own_image: "cairn:latest".to_owned(),
            namespaced_crds,
            instance_limits,
            budgets,
            ..Settings::default()
        };
        let runner = runner(tenant.clone())?;
        let parts = Parts {
            host: tenant.clone(),
            tenant,
            packages,
            runner,
            settings,
            metrics,
            tags: TAGS,
            bounds,
        };
        let manager = StackManager::start(parts).await;
        let worker = manager.clone();
        let working = tokio::spawn(async move { worker.run().await });
        Ok(Plane {
            server,
            manager,
            working,
        })
    }

    /// A client that may do everything.
    pub fn admin(&self) -> Client {
        Client::new(
            self.server.in_process_service(Some(User::admin())),
            "default",
        )
    }

    /// Waits until the server cannot keep anything any more, if that happens, and says why.
    pub async fn failed(&self, dir: &Path) -> Failure {
        let why = self.server.failed().await;
        tokio::time::sleep(LAST_WORDS).await;
        let failure = Failure::new(format!("{}: {why}", dir.display()));
        match why.is_full() {
            true => {
                failure.hint("make room on that disk, then start it again: it goes on with all that was acknowledged")
            }
            false => failure.hint("start it again: it goes on with all that was acknowledged"),
        }
    }

    /// Ends the stack manager; the server goes on.
    pub async fn rest(&mut self) {
        self.manager.stop();
        // What is being done is done to its end, unless it hangs.
        let _ = tokio::time::timeout(PATIENCE, &mut self.working).await;
    }

    /// Ends the server; what was acknowledged is kept.
    pub async fn stop(self) {
        self.server.shutdown().await;
    }
}

/// Makes a namespace unless it is there.
pub(crate) async fn namespace(client: &Client, name: &str) -> Result<(), Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot make the namespace {name}: {error}"))
    };
    let object: Namespace = serde_json::from_value(json!({ "metadata": { "name": name } }))
        .map_err(|error| bad(&error))?;
    match Api::<Namespace>::all(client.clone())
        .create(&PostParams::default(), &object)
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(bad(&error)),
    }
}
