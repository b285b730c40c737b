//! A real Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager as
//! child processes that cannot outlive this one. It builds nothing; `cargo xtask k8s` does.

mod control_plane;
mod flags;
mod kubeconfig;
mod pki;
mod process;
mod supervisor;

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, bail};

pub use control_plane::ControlPlane;

/// The variable that names the directory of the binaries.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The controllers that Cairn relies on, and those that a namespace is not complete without.
pub const CONTROLLERS: [&str; 9] = [
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
];

/// How to start a control plane.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory of the binaries.
    pub assets: PathBuf,
    /// The API server's first choice of a port; a free one is taken if it is not free or not given.
    pub port: Option<u16>,
    /// How long the whole may take to be ready.
    pub patience: Duration,
    /// Which controllers run.
    pub controllers: Vec<String>,
    /// More flags for kube-apiserver.
    pub apiserver_flags: Vec<String>,
    /// Whether etcd waits for the disk before it answers; tests have no use for that, measurements
    /// do.
    pub durable: bool,
    /// A directory for the logs to be kept in; otherwise they go with the cluster.
    pub logs: Option<PathBuf>,
}

impl Options {
    /// The ordinary cluster from the binaries in a directory.
    pub fn with_assets(assets: impl Into<PathBuf>) -> Self {
        Self {
            assets: assets.into(),
            port: None,
            patience: Duration::from_secs(120),
            controllers: CONTROLLERS.iter().map(|&name| name.to_owned()).collect(),
            apiserver_flags: Vec::new(),
            durable: false,
            logs: None,
        }
    }

    /// The ordinary cluster from the binaries in `KUBEBUILDER_ASSETS`; `CAIRN_CLUSTER_LOGS` keeps
    /// the logs.
    pub fn from_env() -> Result<Self> {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let Some(assets) = set(ASSETS) else {
            bail!(
                "{ASSETS} is not set\nhint: run `cargo xtask cluster-test`, or set it to what `cargo xtask k8s` prints"
            );
        };
        Ok(Self {
            logs: set("CAIRN_CLUSTER_LOGS"),
            ..Self::with_assets(assets)
        })
    }
}
