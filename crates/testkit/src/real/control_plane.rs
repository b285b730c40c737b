//! Starting the three programs in order, waiting until they serve, and the clients of what they
//! serve.

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use http::{HeaderName, HeaderValue, Request as HttpRequest};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::{Api, Client, Config, config::AuthInfo};
use serde_json::json;
use tokio::time::Instant;

use super::{
    Options, flags, kubeconfig,
    pki::{self, Pki},
    process::{self, Process},
    supervisor::Supervisor,
};
use crate::{Backend, Identity, Request, audit::AuditLog};

const PROGRAMS: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];
/// A port can be taken between our choosing it and the server's binding it, but hardly this often.
const PORTS: usize = 5;
/// The longest path that a socket can have on every system we know.
const SOCKET_PATH: usize = 103;
const PAUSE: Duration = Duration::from_millis(25);

/// A running control plane. Dropping it ends its processes and removes its directory.
pub struct ControlPlane {
    dir: PathBuf,
    kubeconfig: PathBuf,
    server: String,
    pki: Pki,
    audit: AuditLog,
    processes: Vec<Process>,
    supervisor: Supervisor,
}

impl ControlPlane {
    /// Starts a control plane and waits until it is of use.
    pub async fn start(mut options: Options) -> Result<Self> {
        let deadline = Instant::now() + options.patience;
        // The programs run in another directory than this process.
        options.assets =
            std::path::absolute(&options.assets).context("the directory of the binaries")?;
        options.logs = options
            .logs
            .map(std::path::absolute)
            .transpose()
            .context("the directory of the logs")?;
        let missing: Vec<&str> = PROGRAMS
            .iter()
            .copied()
            .filter(|name| !options.assets.join(name).is_file())
            .collect();
        ensure!(
            missing.is_empty(),
            "{} lacks {}\nhint: `cargo xtask k8s` builds them and prints the directory",
            options.assets.display(),
            missing.join(", ")
        );
        let dir = fresh_path()?;
        let supervisor = Supervisor::start(&dir)?;
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .with_context(|| format!("cannot create {}", dir.display()))?;
        let logs = match &options.logs {
            Some(logs) => logs.join(dir.file_name().unwrap_or_default()),
            None => dir.join("log"),
        };
        fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
        pki::write_private(&dir.join("audit-policy.json"), flags::AUDIT_POLICY)?;
        let mut plane = Self {
            pki: Pki::create(&dir.join("pki"))?,
            audit: AuditLog::new(&logs.join("audit.jsonl")),
            kubeconfig: dir.join("kubeconfig"),
            server: String::new(),
            processes: Vec::new(),
            supervisor,
            dir,
        };
        plane.run(&options, "etcd", &flags::etcd(&options, &plane.dir), &logs)?;
        plane.await_etcd(deadline).await?;
        plane.start_apiserver(&options, &logs, deadline).await?;
        kubeconfig::write(
            &plane.dir.join("controller-manager.kubeconfig"),
            &plane.server,
            &plane.pki.ca_pem,
            &plane.pki.controller_manager,
        )?;
        let flags = flags::controller_manager(&options, &plane.dir, &plane.pki);
        plane.run(&options, "kube-controller-manager", &flags, &logs)?;
        plane.await_controllers(deadline).await?;
        Ok(plane)
    }

    /// The URL of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The directory of everything that belongs to this cluster.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The process group of the children.
    pub fn process_group(&self) -> i32 {
        self.supervisor.group()
    }

    fn run(
        &mut self,
        options: &Options,
        name: &'static str,
        flags: &[String],
        logs: &Path,
    ) -> Result<()> {
        let program = options.assets.join(name);
        let process = Process::start(
            name,
            &program,
            flags,
            self.supervisor.group(),
            &self.dir,
            logs,
        )?;
        self.processes.push(process);
        Ok(())
    }

    async fn start_apiserver(
        &mut self,
        options: &Options,
        logs: &Path,
        deadline: Instant,
    ) -> Result<()> {
        let mut choice = options.port;
        for _ in 0..PORTS {
            let port = match choice.take() {
                Some(port) => port,
                None => free_port()?,
            };
            self.server = format!("https://127.0.0.1:{port}");
            kubeconfig::write(
                &self.kubeconfig,
                &self.server,
                &self.pki.ca_pem,
                &self.pki.admin,
            )?;
            let flags = flags::apiserver(options, &self.dir, logs, &self.pki, port);
            self.run(options, "kube-apiserver", &flags, logs)?;
            match self.await_ready(deadline).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let taken = |last: &Process| {
                        last.death().is_some() && process::port_was_taken(&last.tail())
                    };
                    if !self.processes.last().is_some_and(taken) {
                        return Err(error);
                    }
                    self.processes.pop();
                }
            }
        }
        bail!(
            "{PORTS} ports in a row were taken before kube-apiserver could bind them\nhint: try again"
        )
    }

    /// An API server that finds no etcd waits a second before it looks again, so it does not start
    /// before there is one.
    async fn await_etcd(&self, deadline: Instant) -> Result<()> {
        let socket = self.dir.join(flags::ETCD_SOCKET);
        let there = || async { socket.try_exists()?.then_some(()).context("no socket") };
        self.poll(deadline, "etcd to listen", there).await
    }

    /// Polls `/readyz` until it is well, and looks after the processes meanwhile.
    async fn await_ready(&self, deadline: Instant) -> Result<()> {
        let client = self.client(&Identity::Admin)?;
        let ready = || async {
            let request = HttpRequest::get("/readyz").body(Vec::new())?;
            client
                .request_text(request)
                .await
                .map_err(anyhow::Error::from)
        };
        self.poll(deadline, "kube-apiserver to be ready", ready)
            .await
            .map(drop)
    }

    /// The controllers are at work once they have made the first service account.
    async fn await_controllers(&self, deadline: Instant) -> Result<()> {
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.client(&Identity::Admin)?, "default");
        let made = || async { accounts.get("default").await.map_err(anyhow::Error::from) };
        self.poll(
            deadline,
            "kube-controller-manager to make a service account",
            made,
        )
        .await
        .map(drop)
    }

    async fn poll<T, F>(
        &self,
        deadline: Instant,
        what: &str,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        loop {
            let last = match self.alive_during(deadline, attempt()).await? {
                Some(Ok(value)) => return Ok(value),
                Some(Err(error)) => error,
                None => anyhow!("no answer"),
            };
            if Instant::now() + PAUSE > deadline {
                let log = self.processes.last().map(Process::tail).unwrap_or_default();
                bail!(
                    "waited in vain for {what}: {last:#}\nthe end of its log:\n{log}\nhint: a busy machine may need more time"
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The outcome of a future, unless a process dies meanwhile or the time is up; an attempt may
    /// well hang on a port that is another's.
    async fn alive_during<T>(
        &self,
        deadline: Instant,
        future: impl Future<Output = T>,
    ) -> Result<Option<T>> {
        tokio::pin!(future);
        loop {
            if let Some(trouble) = self.trouble() {
                bail!("{trouble}");
            }
            let tick = Instant::now() + PAUSE;
            if let Ok(value) = tokio::time::timeout_at(tick, &mut future).await {
                return Ok(Some(value));
            }
            if tick > deadline {
                return Ok(None);
            }
        }
    }

    fn config(&self, who: &Identity) -> Result<Config> {
        let mut config = Config::new(self.server.parse()?);
        config.root_cert = Some(vec![self.pki.ca_der.clone()]);
        let certificate = |pair: &pki::Pair| -> Result<AuthInfo> {
            let (certificate, key) = pair.base64();
            Ok(serde_json::from_value(
                json!({"client-certificate-data": certificate, "client-key-data": key}),
            )?)
        };
        match who {
            Identity::Admin => config.auth_info = certificate(&self.pki.admin)?,
            Identity::User { name, groups } => {
                config.auth_info = certificate(&self.pki.proxy)?;
                let header = |name: &'static str, value: &str| -> Result<_> {
                    let value = HeaderValue::from_str(value)
                        .with_context(|| format!("{value:?} fits no header"))?;
                    Ok((HeaderName::from_static(name), value))
                };
                config.headers.push(header("x-remote-user", name)?);
                for group in groups {
                    config.headers.push(header("x-remote-group", group)?);
                }
            }
            Identity::Bearer(token) => {
                config.auth_info = serde_json::from_value(json!({"token": token}))?;
            }
            Identity::Anonymous => {}
        }
        Ok(config)
    }
}

impl Backend for ControlPlane {
    fn name(&self) -> &'static str {
        "kubernetes"
    }

    fn client(&self, who: &Identity) -> Result<Client> {
        Ok(Client::try_from(self.config(who)?)?)
    }

    fn plain_client(&self, who: &Identity) -> Result<Client> {
        let mut config = self.config(who)?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    fn patience(&self) -> Duration {
        // The garbage collector learns new kinds every 30 seconds.
        Duration::from_secs(120)
    }

    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn requests(&self, from: usize) -> Result<Vec<Request>> {
        self.audit.requests(from)
    }

    fn trouble(&self) -> Option<String> {
        self.processes.iter().find_map(Process::death)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.supervisor
            .finish(self.processes.iter_mut().map(Process::child));
    }
}

/// A path in the temporary directory that nobody else has.
fn fresh_path() -> Result<PathBuf> {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    let parent = std::path::absolute(std::env::temp_dir())?;
    let path = parent.join(format!("cairn-{:016x}", hasher.finish()));
    ensure!(
        path.join(flags::ETCD_SOCKET).as_os_str().len() <= SOCKET_PATH,
        "the path of the temporary directory {} is too long for a socket below it\nhint: set TMPDIR to a shorter one",
        parent.display()
    );
    Ok(path)
}

fn free_port() -> Result<u16> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}
