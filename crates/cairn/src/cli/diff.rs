//! What can be typed after `cairn diff`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Connection, Format, NamespacedCrds};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn diff examples/caching-web-service
  cairn diff . -f shop.yaml
  cairn diff . -n team --kubeconfig ~/.kube/config -o json

Each change is tried on the API server without being kept (a server-side dry run), as the stack's own field manager: \
only what the stack owns counts. Values of Secrets are not shown, nor lines of the templates that make them. It ends with 0 if nothing would change, with 3 if \
something would, and with 1 if something would be refused.")]
pub(crate) struct Diff {
    /// The directory of the package
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,

    /// One instance, in place of all that are there
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// How to write the differences [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,

    /// The `--namespaced-crds` that the stack manager of the cluster was started with
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "Allow",
        ignore_case = true
    )]
    pub namespaced_crds: NamespacedCrds,

    #[command(flatten)]
    pub connection: Connection,
}
