//! What can be typed after `cairn up`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Capacity, NamespacedCrds};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn up examples/caching-web-service
  cairn up web database --ephemeral
  KUBECONFIG=.cairn/kubeconfig kubectl get stackinstalls

It is a Kubernetes API with the stack manager, for one machine. Each stack's controller is a process of its own with the \
rights of its stack and no more. Nothing is scheduled: Deployments, StatefulSets, DaemonSets, ReplicaSets, Jobs, claims, \
Ingresses and Services of type LoadBalancer are reported as if all they ask for ran, so that instances become ready. \
Objects of all other kinds get their status from real controllers, or from you: kubectl edit --subresource=status.

A change of a type that would break its users is told, and installed as long as no object that is there loses anything by \
it; otherwise it is refused, as on any cluster.")]
pub(crate) struct Up {
    /// Directories of packages to install, those that hold .registry [default: this one, if it
    /// does]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dirs: Vec<PathBuf>,

    /// Where to keep everything
    #[arg(long, value_name = "DIR", default_value = ".cairn", value_hint = ValueHint::DirPath)]
    pub data: PathBuf,

    /// The port to serve on, on this machine alone [default: that of the last time, or a free one]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Where to write the kubeconfig, besides the directory of --data; only what `cairn up` wrote
    /// is written over
    #[arg(long, value_name = "FILE")]
    pub kubeconfig_out: Option<PathBuf>,

    /// Keep nothing; what is kept here stays as it is, and may run beside it
    #[arg(long)]
    pub ephemeral: bool,

    /// Do not report Deployments and the like as running
    #[arg(long)]
    pub no_play: bool,

    /// CRDs that namespaced installs may bring with their packages
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "Allow",
        ignore_case = true
    )]
    pub namespaced_crds: NamespacedCrds,

    #[command(flatten)]
    pub capacity: Capacity,

    /// The namespace for the stacks of namespaces
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
}
