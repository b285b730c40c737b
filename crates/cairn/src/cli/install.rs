//! What can be typed after the commands about what is installed.

use clap::Args;

use super::{Connection, Listing, Objects, Outcome};

/// Whether to wait for the end.
#[derive(Args, Debug)]
pub(crate) struct Waiting {
    /// Wait until it is done, and tell what it waits for
    #[arg(long)]
    pub wait: bool,

    /// The longest to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub timeout: u64,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn install registry.example.org/team/redis:1.0.0 -n team --wait
  cairn install --cluster team/database:2.1.0 --source registry.example.org
  kubectl cairn install example/foo-template-stack

A link to cairn that is named kubectl-cairn is a plugin of kubectl.

It creates a StackInstall (or with --cluster a ClusterStackInstall), as this does:
  kubectl apply -f - <<END
  apiVersion: stacks.crossplane.io/v1alpha1
  kind: StackInstall
  metadata: {name: redis, namespace: team}
  spec: {package: \"registry.example.org/team/redis:1.0.0\"}
  END")]
pub(crate) struct Install {
    /// The package: [registry/]path[:tag][@sha256:...]
    #[arg(value_name = "REF")]
    pub reference: String,

    /// The name of the install and its stack [default: the last part of the path]
    #[arg(long)]
    pub name: Option<String>,

    /// The registry for packages that name none
    #[arg(long, value_name = "HOST")]
    pub source: Option<String>,

    /// A Secret in the namespace with credentials for the registry
    #[arg(long = "pull-secret", value_name = "NAME")]
    pub pull_secrets: Vec<String>,

    /// Install for the whole cluster
    #[arg(long)]
    pub cluster: bool,

    #[command(flatten)]
    pub waiting: Waiting,

    #[command(flatten)]
    pub outcome: Outcome,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn uninstall redis -n team --wait

Instances go first, while their controller still runs. To keep types and data:
  kubectl annotate stackinstall redis stacks.crossplane.io/keep-crds=true")]
pub(crate) struct Uninstall {
    /// The name of the install
    pub name: String,

    /// It is installed for the whole cluster
    #[arg(long)]
    pub cluster: bool,

    #[command(flatten)]
    pub waiting: Waiting,

    #[command(flatten)]
    pub outcome: Outcome,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn list -A
  cairn list -n team -o json

Stacks that no install made are listed, too, as `(Stack)`.")]
pub(crate) struct List {
    #[command(flatten)]
    pub listing: Listing,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn trace redis cache -n team
  cairn trace redis/cache -o name
  cairn trace redis
  cairn trace webapplications.example.org shop -o json

It only reads, with the rights of your kubeconfig. Children that are instances of other stacks are followed.")]
pub(crate) struct Trace {
    /// The kind of the instance: its kind, singular or plural, with the group behind a dot if
    /// several have that name
    pub kind: String,

    /// The name of the instance, which may also stand behind the kind: KIND/NAME [default: all of
    /// the kind]
    pub name: Option<String>,

    /// How to write the tree [default: a table]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,

    #[command(flatten)]
    pub connection: Connection,
}
