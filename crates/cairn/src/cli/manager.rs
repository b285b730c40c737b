//! What can be typed after the commands that run controllers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use engine::limits::InstanceLimits;

use super::{Budget, Capacity, Connection, Registries, Serving};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn stack-manager --kubeconfig ~/.kube/config -n cairn
  cairn stack-manager --allow-types '*.example.org' --allow-types configmaps

It puts its own CRDs in place, so that it needs nothing but rights: it grants stacks what they need, and nobody can \
grant what they do not have.")]
pub(crate) struct StackManager {
    /// What the namespaces of cluster stacks begin with; each has one of its own, PREFIX-NAME
    #[arg(long, value_name = "NAME", default_value = "cairn-stacks")]
    pub cluster_stack_namespace: String,

    /// The registry for packages and installs that name none
    #[arg(long, value_name = "HOST")]
    pub source: Option<String>,

    /// A file that says which package brings which kinds, for installs that name a kind; `cairn
    /// index` makes one
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,

    /// Kinds that stacks may have: deployments.apps, *.example.org, configmaps, * [default: the
    /// usual ones]
    #[arg(long, value_name = "KINDS")]
    pub allow_types: Vec<String>,

    /// CRDs that namespaced installs may bring with their packages
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "Allow",
        ignore_case = true
    )]
    pub namespaced_crds: NamespacedCrds,

    /// Registries that packages may come from, and the hosts they may redirect to:
    /// registry.example.org, *.example.org, HOST:PORT [default: all]
    #[arg(long, value_name = "HOSTS")]
    pub allow_registries: Vec<String>,

    /// Registries for which tenants get the credentials of --docker-config; same patterns [default:
    /// none]
    #[arg(long, value_name = "HOSTS")]
    pub registry_config_hosts: Vec<String>,

    /// Most compressed bytes of an image layer; all layers of an image may have four times as many
    #[arg(long, value_name = "BYTES", default_value = "64Mi")]
    pub layer_limit: String,

    /// Most bytes of the on-disk cache of pulled images
    #[arg(long, value_name = "BYTES", default_value = "2Gi")]
    pub cache_limit: String,

    /// The image that this program runs from, for the controllers of stacks with templates
    #[arg(long, value_name = "IMAGE", default_value = "cairn:latest")]
    pub image: String,

    /// What runs the controllers of stacks
    #[arg(long, value_name = "RUNNER", default_value = "kubernetes")]
    pub runner: RunnerKind,

    #[command(flatten)]
    pub capacity: Capacity,

    #[command(flatten)]
    pub serving: Serving,

    #[command(flatten)]
    pub registries: Registries,

    #[command(flatten)]
    pub connection: Connection,
}

/// Which CRDs namespaced installs may bring. Cluster installs may bring any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamespacedCrds {
    /// New CRDs, in API groups that no other publisher uses
    #[value(name = "Allow")]
    Allow,
    /// Only CRDs that exist already, brought by a ClusterStackInstall or by an administrator
    #[value(name = "Use")]
    Use,
    /// None: packages with CRDs are installed by ClusterStackInstalls alone
    #[value(name = "Deny")]
    Deny,
}

impl From<NamespacedCrds> for install::NamespacedCrds {
    fn from(which: NamespacedCrds) -> Self {
        match which {
            NamespacedCrds::Allow => Self::Allow,
            NamespacedCrds::Use => Self::Use,
            NamespacedCrds::Deny => Self::Deny,
        }
    }
}

/// What runs the controllers of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerKind {
    /// Deployments, in a cluster that runs pods
    Kubernetes,
    /// Processes beside this one, each with the token of its stack's account; only for stacks of
    /// templates
    Process,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template-stack-manager --stack redis --namespace team

The stack manager starts one for every stack with templates. It needs the rights of the stack's own account, and no \
more.")]
pub(crate) struct TemplateStackManager {
    /// The name of the Stack, in the namespace
    #[arg(long, value_name = "NAME")]
    pub stack: String,

    /// How many instances the stack serves: in a chain of instances that make instances, made by
    /// one instance, in one namespace, and in all
    #[arg(long, value_name = "LIMITS", default_value_t = InstanceLimits::default())]
    pub instance_limits: InstanceLimits,

    #[command(flatten)]
    pub budget: Budget,

    #[command(flatten)]
    pub serving: Serving,

    /// Read credentials from stdin, print `ready` on stdout once started, and exit when stdin
    /// closes: for a program that runs this one
    #[arg(long, hide = true, requires = "namespace", conflicts_with_all = ["kubeconfig", "context"])]
    pub supervised: bool,

    #[command(flatten)]
    pub connection: Connection,
}
