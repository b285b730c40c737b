//! What can be typed. What it means is the verbs' business.

mod budget;
mod cluster;
mod diff;
mod eval;
mod init;
mod install;
mod manager;
mod output;
mod package;
mod serving;
mod stack;
mod template;
mod up;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::budget::{Budget, Capacity};
pub(crate) use self::cluster::{Connection, Listing};
pub(crate) use self::diff::Diff;
pub(crate) use self::eval::{Eval, Funcs, MissingKey};
pub(crate) use self::init::Init;
pub(crate) use self::install::{Install, List, Trace, Uninstall};
pub(crate) use self::manager::{NamespacedCrds, RunnerKind, StackManager, TemplateStackManager};
pub(crate) use self::output::{Format, Objects, Outcome, Target};
pub(crate) use self::package::{Build, Index, Pull, Push, Registries, Unpack};
pub(crate) use self::serving::{Log, Serving};
pub(crate) use self::stack::{Explain, Render, Test, Validate};
pub(crate) use self::template::*;
pub(crate) use self::up::Up;

/// A CRD and a few templates become a working Kubernetes API, with no controller to write.
#[derive(Parser, Debug)]
#[command(
    name = "cairn",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  cairn demo                        see it work
  cairn init shop                   start a stack of your own, with a test
  cairn test shop                   run its tests
  cairn up shop                     run it on this machine, for kubectl
  cairn up --help                   every command has examples"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show the product working, on this machine, in a second
    Demo(Demo),
    /// Start a stack: a small one to change, or one made from manifests
    Init(Init),
    /// Run a control plane on this machine, with packages installed, and installed anew when they
    /// are saved
    Up(Up),
    /// Show what a package would change in a cluster, for one instance or for all
    Diff(Diff),
    /// Check a package: everything that is wrong with it, at once
    Validate(Validate),
    /// Show what the controller would do for an instance
    Render(Render),
    /// Run the tests kept with a package
    Test(Test),
    /// Tell which line of a template made a field, and from which inputs
    Explain(Explain),
    /// Evaluate a template over data
    Eval(Eval),
    /// Build a package into an image, in a file
    Build(Build),
    /// Push a package to a registry
    Push(Push),
    /// Pull a package from a registry into a directory
    Pull(Pull),
    /// Print the objects that installing a package adds to a cluster
    Unpack(Unpack),
    /// Print which packages bring which kinds, for `cairn stack-manager --index`
    Index(Index),
    /// Install a package into a cluster
    Install(Install),
    /// Take an installed package away, with its types, its instances and its rights
    Uninstall(Uninstall),
    /// List what is installed
    List(List),
    /// Use templates with parameters: fill in, apply, delete, store, export
    Template(Template),
    /// Show what became of an instance: its tree of children, and what each waits for
    Trace(Trace),
    /// Run the stack manager: the controller of installs and stacks
    StackManager(Box<StackManager>),
    /// Run the template stack manager of one stack: the controller of its instances
    TemplateStackManager(TemplateStackManager),
    /// Run the template server: templates processed over HTTP, for the API server to pass requests
    /// on to
    TemplateServer(TemplateServer),
    /// Print a script that completes cairn's commands in your shell
    Completions(Completions),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn demo
  cairn demo --exit")]
pub(crate) struct Demo {
    /// End with status 0 when everything is ready, without the closing words
    #[arg(long)]
    pub exit: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(cairn completions bash)
  cairn completions bash > ~/.local/share/bash-completion/completions/cairn
  cairn completions zsh > ~/.zfunc/_cairn
  cairn completions fish > ~/.config/fish/completions/cairn.fish")]
pub(crate) struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}
