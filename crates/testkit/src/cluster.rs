//! A cluster as a test sees it, whatever serves it: clients for subjects, and the requests they
//! made.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, Client, api::PostParams};
use tokio::{sync::OnceCell, time::Instant};

use crate::{Identity, Request, Scene, real};

/// How long a request may take from being received to being answered before counting gives up.
const SETTLE: Duration = Duration::from_secs(20);

/// What serves a cluster. Dropping it stops the cluster and leaves nothing behind.
pub trait Backend: Send + Sync {
    /// What it is, for messages.
    fn name(&self) -> &'static str;
    /// A client that is authorized, and recorded, as `who`. Called inside the runtime that will
    /// drive the client.
    fn client(&self, who: &Identity) -> Result<Client>;
    /// As [`Backend::client`], but every answer is handed on, where an ordinary client tries again
    /// in vain.
    fn plain_client(&self, who: &Identity) -> Result<Client> {
        self.client(who)
    }
    /// The longest that anything a test waits for may take.
    fn patience(&self) -> Duration {
        Duration::from_secs(60)
    }
    /// A kubeconfig of the admin, for programs.
    fn kubeconfig(&self) -> &Path;
    /// All requests received so far, in order, without the first `from`.
    fn requests(&self, from: usize) -> Result<Vec<Request>>;
    /// Why nothing can work any more, if so: a process that died, with the end of its log.
    fn trouble(&self) -> Option<String>;
}

/// A running cluster.
pub struct Cluster {
    backend: Box<dyn Backend>,
    scenes: AtomicU64,
}

/// A moment in the list of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

impl Cluster {
    /// Starts a real control plane from the binaries in `KUBEBUILDER_ASSETS`.
    pub async fn start() -> Result<Self> {
        Ok(Self::of(
            real::ControlPlane::start(real::Options::from_env()?).await?,
        ))
    }

    /// The cluster that a backend serves.
    pub fn of(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Box::new(backend),
            scenes: AtomicU64::new(0),
        }
    }

    /// The one real cluster of this process, started by the first caller; it ends with the process.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<Result<Cluster, String>> = OnceCell::const_new();
        let start = || async { Self::start().await.map_err(|error| format!("{error:#}")) };
        SHARED
            .get_or_init(start)
            .await
            .as_ref()
            .map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// What serves this cluster.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A client that may do everything.
    pub fn admin(&self) -> Result<Client> {
        self.backend.client(&Identity::Admin)
    }

    /// A client of a user with these groups; it may do what RBAC grants them.
    pub fn client_for_user(&self, name: &str, groups: &[&str]) -> Result<Client> {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        self.backend.client(&Identity::User {
            name: name.to_owned(),
            groups,
        })
    }

    /// A client of an existing service account, with a token of its own from the TokenRequest API.
    pub async fn client_for_service_account(&self, namespace: &str, name: &str) -> Result<Client> {
        let token = self.service_account_token(namespace, name).await?;
        self.backend.client(&Identity::Bearer(token))
    }

    /// A token of an existing service account, good for an hour.
    pub async fn service_account_token(&self, namespace: &str, name: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin()?, namespace);
        let spec = TokenRequestSpec {
            audiences: Vec::new(),
            expiration_seconds: Some(3600),
            bound_object_ref: None,
        };
        let request = TokenRequest {
            spec,
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for the service account {namespace}/{name}"))?;
        Ok(answer
            .status
            .context("the TokenRequest was answered without a status")?
            .token)
    }

    /// The path of a kubeconfig of the admin.
    pub fn kubeconfig(&self) -> &Path {
        self.backend.kubeconfig()
    }

    /// A corner of the cluster for one test: its own namespace and its own API group.
    pub async fn scene(&self, name: &str) -> Result<Scene<'_>> {
        let number = self.scenes.fetch_add(1, Ordering::Relaxed);
        Scene::open(self, &format!("{name}-{number}")).await
    }

    /// Marks now: requests after it can be counted alone.
    pub fn mark(&self) -> Result<Mark> {
        Ok(Mark(self.backend.requests(0)?.len()))
    }

    /// The requests since a mark that a test cares for, once each of them is answered (a watch need
    /// not be).
    pub async fn requests(
        &self,
        since: Mark,
        wanted: impl Fn(&Request) -> bool,
    ) -> Result<Vec<Request>> {
        let deadline = Instant::now() + SETTLE;
        loop {
            let mut requests = self.backend.requests(since.0)?;
            requests.retain(|request| wanted(request));
            let Some(open) = requests
                .iter()
                .find(|request| request.code.is_none() && request.verb != "watch")
            else {
                return Ok(requests);
            };
            if Instant::now() > deadline {
                bail!(
                    "{} {} by {} has no answer on record",
                    open.verb,
                    open.uri,
                    open.user
                );
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
