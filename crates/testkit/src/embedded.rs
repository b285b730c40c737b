//! The embedded API server as a backend: in this process, without a socket for clients, and with
//! one for programs.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    pin::Pin,
};

use anyhow::{Context, Result};
use apiserver::{Listener, Options, Server, User};
use kube::Client;

use crate::{Backend, Cluster, Identity, Request};

/// How many requests are kept for tests that count them.
const RECORDS: usize = 1 << 20;

/// A running embedded API server.
pub struct Embedded {
    server: Server,
    _listener: Listener,
    directory: tempfile::TempDir,
    kubeconfig: std::path::PathBuf,
}

/// Starts an embedded API server as a cluster, for [`crate::Suite::also_on`].
pub fn embedded() -> Pin<Box<dyn Future<Output = Result<Cluster>> + Send>> {
    Box::pin(async { Ok(Cluster::of(Embedded::start(Options::default()).await?)) })
}

impl Embedded {
    /// Starts a server with these options, with records of all requests.
    pub async fn start(options: Options) -> Result<Self> {
        let server = Server::start(Options {
            records: RECORDS,
            ..options
        })
        .await?;
        let listener = server
            .listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await?;
        let directory = tempfile::tempdir().context("no directory for the kubeconfig")?;
        let kubeconfig = directory.path().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig(&listener, &User::admin()))?;
        Ok(Self {
            server,
            _listener: listener,
            directory,
            kubeconfig,
        })
    }

    /// The server itself, for faults and revisions.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// A directory that goes with the server.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Backend for Embedded {
    fn name(&self) -> &'static str {
        "the embedded API server"
    }

    fn client(&self, who: &Identity) -> Result<Client> {
        let in_process_service = match who {
            Identity::Admin => self.server.in_process_service(Some(User::admin())),
            Identity::User { name, groups } => {
                let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
                self.server
                    .in_process_service(Some(User::new(name, &groups)))
            }
            Identity::Bearer(token) => self
                .server
                .in_process_service(None)
                .with_bearer_token(token),
            Identity::Anonymous => self.server.in_process_service(None),
        };
        Ok(Client::new(in_process_service, "default"))
    }

    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    fn requests(&self, from: usize) -> Result<Vec<Request>> {
        let requests = self.server.requests(from).into_iter();
        Ok(requests
            .map(|record| Request {
                user: record.user,
                verb: record.verb,
                group: record.group,
                resource: record.resource,
                subresource: record.subresource,
                namespace: record.namespace,
                name: record.name,
                uri: record.uri,
                user_agent: record.user_agent,
                code: record.code,
            })
            .collect())
    }

    fn trouble(&self) -> Option<String> {
        self.server.trouble()
    }
}
