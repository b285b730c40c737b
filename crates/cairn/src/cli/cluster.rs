//! What can be typed of a cluster: which one, and what to list there.

use std::path::PathBuf;

use clap::Args;

use super::Objects;

/// Which cluster, as kubectl names it.
#[derive(Args, Debug)]
pub(crate) struct Connection {
    /// The kubeconfig [default: KUBECONFIG, or that of `cairn up` here or above, or ~/.kube/config,
    /// or the pod's own account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// The namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// What to list, and how.
#[derive(Args, Debug)]
pub(crate) struct Listing {
    /// In all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,

    /// How to write the list [default: a table]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,

    #[command(flatten)]
    pub connection: Connection,
}
