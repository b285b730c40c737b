//! What can be typed. What it means is the verbs' business.

mod diff;
mod init;
mod template;
mod up;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::diff::Diff;
pub(crate) use self::init::Init;
pub(crate) use self::template::*;
pub(crate) use self::up::Up;

/// A CRD and a few templates become a working Kubernetes API, with no controller to write.
#[derive(Parser, Debug)]
#[command(name = "cairn", version, arg_required_else_help = true)]
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
    /// Run a control plane on this machine, with packages installed, and installed anew when they are saved
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
    StackManager(StackManager),
    /// Run the template stack manager of one stack: the controller of its instances
    TemplateStackManager(TemplateStackManager),
    /// Run the template server: templates processed over HTTP, for the API server to pass requests on to
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

/// How a report is written for programs; without it, it is for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    #[default]
    Yaml,
}

/// How objects are written; without it, as people like to read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Objects {
    Json,
    Yaml,
    /// Kind and name alone, as `kubectl -o name` has them
    Name,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn validate examples/web-application
  cairn validate . -o json

A package is a directory with these files:
  .registry/app.yaml                                        title, and dependsOn: the kinds it makes
  .registry/resources/NAME.crd.yaml                         CRDs, several in a file if you like
  .registry/templates/KIND.GROUP/VERSION/NAME.yaml          a template: one object of each instance
  .registry/templates/KIND.GROUP/VERSION/status.yaml        the template of the instance's status
  .registry/templates/ANY/DIR/NAME.tpl                      included by {{ include \"ANY/DIR\" \"NAME\" . }}
  tests/NAME.yaml                                           tests, for `cairn test`")]
pub(crate) struct Validate {
    /// Directories of packages, those that hold .registry
    #[arg(value_name = "DIR", default_value = ".")]
    pub dirs: Vec<PathBuf>,

    /// How to write the findings [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn render examples/web-application -f examples/web-application/shop.yaml
  cairn render . -f app.yaml --observed live.yaml
  cairn render . -f app.yaml --simulate
  cairn render . -f app.yaml --simulate controllers.yaml

A file for --simulate says what outside controllers do once a child is there:
  - child: database
    status: {endpoint: db.example.org}")]
pub(crate) struct Render {
    /// The directory of the package
    #[arg(default_value = ".")]
    pub dir: PathBuf,

    /// The instance
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,

    /// Children that are there already: objects, or a mapping from template to object
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,

    /// Step to convergence, playing the outside controllers that this file describes, or none
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub simulate: Option<Option<PathBuf>>,

    /// How to write the plan: all of it, or its objects with words around them [default: yaml]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn test examples/web-application
  cairn test . --update
  cairn test . --junit results.xml")]
pub(crate) struct Test {
    /// Directories of packages; their tests are in tests/*.yaml
    #[arg(value_name = "DIR", default_value = ".")]
    pub dirs: Vec<PathBuf>,

    /// Write golden files anew instead of comparing with them
    #[arg(long)]
    pub update: bool,

    /// Write the results for a CI server, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// How to write the results [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn explain .registry/templates/app.example.org/v1/web.yaml:spec.replicas -f app.yaml
  cairn explain web:spec.replicas -f app.yaml")]
pub(crate) struct Explain {
    /// A template, by its file or its name, and a field of the object it makes
    #[arg(value_name = "FILE:PATH")]
    pub target: String,

    /// The instance
    #[arg(short, long, value_name = "FILE")]
    pub file: PathBuf,

    /// Children that are there already: objects, or a mapping from template to object
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,

    /// How to write the explanation [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn eval -t page.tpl -d values.yaml
  echo '{\"name\": \"web\"}' | cairn eval -e 'Hello {{ .name | upper }}' -d -
  cairn eval -t deployment.yaml -t _helpers.tpl -d web.json --missing-key error
  cairn eval -t deployment.yaml -d web.json --reads
  echo '{\"id\": 1, \"template\": \"{{ .a }}\", \"data\": {\"a\": 7}}' | cairn eval --jsonl")]
pub(crate) struct Eval {
    /// A template file; the first is evaluated, the others are there to be included
    #[arg(short, long = "template", value_name = "FILE", required_unless_present_any = ["expression", "jsonl"])]
    pub templates: Vec<PathBuf>,

    /// A template given right here, in place of the first file
    #[arg(short, long, value_name = "TEXT")]
    pub expression: Option<String>,

    /// The data, JSON or YAML; `-` is standard input, nothing is null
    #[arg(short, long, value_name = "FILE")]
    pub data: Option<PathBuf>,

    /// What a missing key gives
    #[arg(long, value_name = "WHAT", default_value = "default")]
    pub missing_key: MissingKey,

    /// What opens and closes an action
    #[arg(long, value_names = ["LEFT", "RIGHT"], num_args = 2)]
    pub delims: Option<Vec<String>>,

    /// Which functions there are
    #[arg(long, value_name = "LIBRARY", default_value = "helm")]
    pub funcs: Funcs,

    /// In place of the output, list what the template read, whether it was there, and where it went
    #[arg(long, conflicts_with = "jsonl")]
    pub reads: bool,

    /// With --reads, how to write the list [default: a table]
    #[arg(short, long, value_name = "FORMAT", requires = "reads")]
    pub output: Option<Format>,

    /// Read cases from standard input, one JSON object a line, and answer each with a line
    #[arg(long, conflicts_with_all = ["templates", "expression", "data"])]
    pub jsonl: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MissingKey {
    /// Nothing, printed as `<no value>`
    Default,
    /// The zero value of the element type
    Zero,
    /// An error
    Error,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Funcs {
    /// Go's own
    Builtin,
    /// Go's and sprig's
    Sprig,
    /// Go's, sprig's, Helm's, and some of gtf's
    Helm,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn completions bash > ~/.local/share/bash-completion/completions/cairn
  cairn completions zsh > ~/.zfunc/_cairn
  cairn completions fish > ~/.config/fish/completions/cairn.fish")]
pub(crate) struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// How to talk to registries.
#[derive(Args, Debug)]
pub(crate) struct Registries {
    /// Talk to this registry (HOST:PORT) without encryption; one on this machine needs no word
    #[arg(long, value_name = "HOST")]
    pub plain_http: Vec<String>,

    /// Where names and passwords are, in Docker's format [default: ~/.docker/config.json]
    #[arg(long, value_name = "FILE")]
    pub docker_config: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn build examples/web-application
  cairn build . -o web.tar -t registry.example.org/team/web:1.0.0

The same files always give the same digest. Others read the file too:
  skopeo inspect oci-archive:web.tar")]
pub(crate) struct Build {
    /// The directory of the package
    #[arg(default_value = ".")]
    pub dir: PathBuf,

    /// The file to write [default: NAME-VERSION.tar, after the directory and app.yaml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The name it will have in a registry; its tag must be the version in app.yaml, if there is one
    #[arg(short, long, value_name = "REF")]
    pub tag: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn push . registry.example.org/team/web:1.0.0
  cairn push web.tar localhost:5000/web:1.0.0")]
pub(crate) struct Push {
    /// The directory of the package, or a file that `cairn build` wrote
    #[arg(value_name = "DIR|FILE")]
    pub what: PathBuf,

    /// Where to: [registry/]path[:tag]
    #[arg(value_name = "REF")]
    pub reference: String,

    #[command(flatten)]
    pub registries: Registries,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn pull registry.example.org/team/web:1.0.0
  cairn pull localhost:5000/web:1.0.0 -o web")]
pub(crate) struct Pull {
    /// What: [registry/]path[:tag][@sha256:...]
    #[arg(value_name = "REF")]
    pub reference: String,

    /// The directory to make [default: the last part of the path]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub registries: Registries,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn index registry.example.org/team/web:1.0.0 registry.example.org/team/redis:2.1.0 > index.yaml
  cairn stack-manager --index index.yaml

An install with `crd: redis.example.org/v1` then gets the highest version of the package that brings it. Only manifests
are fetched: `cairn build` writes into them what a package brings.")]
pub(crate) struct Index {
    /// Images: [registry/]path[:tag][@sha256:...]
    #[arg(value_name = "REF", required = true)]
    pub references: Vec<String>,

    #[command(flatten)]
    pub registries: Registries,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn unpack examples/web-application
  cairn unpack registry.example.org/team/web:1.0.0 | kubectl apply --dry-run=server -f -

First the CRDs by name, each with what the package says of it, then the Stack. Nothing else of a package reaches a
cluster.")]
pub(crate) struct Unpack {
    /// The directory of a package, a file that `cairn build` wrote, or an image in a registry
    #[arg(value_name = "DIR|FILE|REF", default_value = ".")]
    pub what: String,

    /// How to write the objects [default: yaml]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,

    #[command(flatten)]
    pub registries: Registries,
}

/// Which cluster, as kubectl names it.
#[derive(Args, Debug)]
pub(crate) struct Connection {
    /// The kubeconfig [default: KUBECONFIG, or that of `cairn up` here, or ~/.kube/config, or the pod's own account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,

    /// The namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
}

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
  kubectl cairn install example/foo-template-stack      as a plugin of kubectl: a link to cairn named kubectl-cairn

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
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn list -A
  cairn list -n team -o json")]
pub(crate) struct List {
    /// In all namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,

    /// How to write the list [default: a table]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn trace redis cache -n team
  cairn trace webapplications.example.org shop -o json

It only reads, with the rights of your kubeconfig. Children that are instances of other stacks are followed.")]
pub(crate) struct Trace {
    /// The kind of the instance: its kind, singular or plural, with the group behind a dot if several have that name
    pub kind: String,

    /// The name of the instance
    pub name: String,

    /// How to write the tree [default: a table]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn stack-manager --kubeconfig ~/.kube/config -n cairn
  cairn stack-manager --allow-types '*.example.org' --allow-types configmaps

It puts its own CRDs in place, so that it needs nothing but rights: it grants stacks what they need, and nobody can
grant what they do not have.")]
pub(crate) struct StackManager {
    /// The namespace for the stacks of the whole cluster
    #[arg(long, value_name = "NAME", default_value = "cairn-stacks")]
    pub cluster_stack_namespace: String,

    /// The registry for packages and installs that name none
    #[arg(long, value_name = "HOST")]
    pub source: Option<String>,

    /// A file that says which package brings which kinds, for installs that name a kind; `cairn index` makes one
    #[arg(long, value_name = "FILE")]
    pub index: Option<PathBuf>,

    /// Kinds that stacks may have: deployments.apps, *.example.org, configmaps, * [default: the usual ones]
    #[arg(long, value_name = "KINDS")]
    pub allow_types: Vec<String>,

    /// The image that this program runs from, for the controllers of stacks with templates
    #[arg(long, value_name = "IMAGE", default_value = "cairn:latest")]
    pub image: String,

    /// What runs the controllers of stacks
    #[arg(long, value_name = "RUNNER", default_value = "kubernetes")]
    pub runner: RunnerKind,

    /// Where to answer /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: std::net::SocketAddr,

    /// Work only while holding a Lease, so that several can run
    #[arg(long)]
    pub leader_elect: bool,

    /// Write the log as JSON
    #[arg(long)]
    pub log_json: bool,

    #[command(flatten)]
    pub registries: Registries,

    #[command(flatten)]
    pub connection: Connection,
}

/// What runs the controllers of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunnerKind {
    /// Deployments, in a cluster that runs pods
    Kubernetes,
    /// Processes beside this one, each with the token of its stack's account; only for stacks of templates
    Process,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template-stack-manager --stack redis --namespace team

The stack manager starts one for every stack with templates. It needs the rights of the stack's own account, and no
more.")]
pub(crate) struct TemplateStackManager {
    /// The name of the Stack, in the namespace
    #[arg(long, value_name = "NAME")]
    pub stack: String,

    /// Where to answer /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: std::net::SocketAddr,

    /// Work only while holding a Lease in the namespace of the Stack, so that several can run
    #[arg(long)]
    pub leader_elect: bool,

    /// Write the log as JSON
    #[arg(long)]
    pub log_json: bool,

    /// Say `ready` on standard output, and end with standard input: for a program that runs this one
    #[arg(long, hide = true)]
    pub supervised: bool,

    #[command(flatten)]
    pub connection: Connection,
}
