//! What can be typed after `cairn init`.

use std::path::PathBuf;

use clap::Args;

use super::Outcome;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn init shop
  cairn init web-shop --group platform.example.org --dir stacks/web-shop
  cairn init shop --from deployment.yaml service.yaml
  cairn init shop --from manifests/
  helm template shop ./chart | cairn init shop --from -
  kubectl get deploy,svc,cm -l app=shop -o yaml | cairn init shop --from -

With --from, images, replicas, hosts, the namespace and the shared name of the objects become the instance's. What is \
printed says what was left out, and what a second instance would share with the first. The instance that comes with the \
stack renders to the objects that were given: this is checked before anything is written.")]
pub(crate) struct Init {
    /// What the stack is called; its kind is made of it: web-shop, WebShop
    pub name: String,

    /// The directory to write into [default: the name]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,

    /// The group of its kind
    #[arg(long, default_value = "example.org")]
    pub group: String,

    /// Manifests to make it from, or directories of them without those below; `-` is standard input
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub from: Vec<PathBuf>,

    #[command(flatten)]
    pub outcome: Outcome,
}
