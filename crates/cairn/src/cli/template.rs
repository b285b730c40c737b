//! What can be typed after `cairn template` and `cairn template-server`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Connection, Format, Listing, Log, Objects, Outcome};

#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  cairn template params mongodb.yaml
  cairn template process mongodb.yaml -p MONGODB_PASSWORD=secret
  cairn template validate mongodb.yaml
  cairn template store mongodb.yaml -n library
  cairn template apply library/mongodb -n team
  cairn template export --parametrize names,images,replicas -n team

A template holds objects with references to its parameters: $(NAME) stays text, $((NAME)) becomes a number or a truth \
value. OpenShift's templates, with ${NAME} and ${{NAME}}, are taken as they are."
)]
pub(crate) struct Template {
    #[command(subcommand)]
    pub command: TemplateCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum TemplateCommand {
    /// Fill a template in and print its objects; nothing is created
    Process(Process),
    /// List the parameters of a template
    Params(Params),
    /// Check templates and print every problem with its place; needs no values and no cluster
    Validate(ValidateTemplates),
    /// Store a template in a cluster, for everybody who may read it there
    Store(StoreTemplate),
    /// List the templates that are stored in a cluster
    List(ListTemplates),
    /// Fill a template in and apply its objects to a cluster, as one instance
    Apply(Apply),
    /// Delete the objects of an instance
    Delete(Delete),
    /// Print live objects as a template, without what the cluster wrote into them
    Export(Export),
}

/// The values a template is filled in with.
#[derive(Args, Debug)]
pub(crate) struct Values {
    /// The value of a parameter; may be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    pub params: Vec<String>,

    /// A file of values: NAME=VALUE lines, or a TemplateParameters object; `-` is standard input;
    /// may be repeated
    #[arg(long = "param-file", value_name = "FILE")]
    pub param_files: Vec<PathBuf>,

    /// Labels for all objects; they win over those of the template
    #[arg(short, long, value_name = "KEY=VALUE", value_delimiter = ',')]
    pub labels: Vec<String>,

    /// Let values pass that the template has no parameter for
    #[arg(long)]
    pub ignore_unknown_parameters: bool,

    /// Refuse references that are neither a parameter nor a variable of the container
    #[arg(long)]
    pub strict: bool,

    /// Label the objects alone, not their selectors and pods
    #[arg(long)]
    pub keep_selectors: bool,

    /// How references are written, where the template leaves it open
    #[arg(long, value_name = "HOW")]
    pub dialect: Option<DialectName>,

    /// Ask for every parameter, not only for what is missing
    #[arg(short, long)]
    pub interactive: bool,

    /// Never ask: what is missing is an error, as it is where there is no terminal
    #[arg(long, conflicts_with = "interactive")]
    pub no_input: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// $(NAME) and $((NAME))
    Parentheses,
    /// ${NAME} and ${{NAME}}
    Braces,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultForm {
    /// A List of the objects
    #[default]
    List,
    /// The Template, filled in
    Template,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template process mongodb.yaml -p MONGODB_PASSWORD=x | kubectl apply -f -
  cairn template process mongodb.yaml --param-file my.env -l app=shop -o json
  cairn template process production.yaml
  cairn template process library/mongodb --result template

A file of values can name its template, and is then all that is needed:
  apiVersion: templates.stacks.crossplane.io/v1alpha1
  kind: TemplateParameters
  file: mongodb.yaml        # or `name: library/mongodb`, if the cluster has it
  parameters:
    MONGODB_PASSWORD: secret

On a terminal it asks for what is missing. Labels of a template also go to the selectors and pods of its objects, so \
that instances keep apart; selectors of apps/v1 cannot change later, so neither can these labels.")]
pub(crate) struct Process {
    /// A file with a template or with values that name one, `-` for stdin, or a stored template:
    /// NAME or NAMESPACE/NAME
    #[arg(value_name = "FILE|[NAMESPACE/]NAME")]
    pub template: String,

    #[command(flatten)]
    pub values: Values,

    /// Talk to no cluster: the template is in a file
    #[arg(long)]
    pub local: bool,

    /// What to print
    #[arg(long, value_name = "FORM", default_value = "list")]
    pub result: ResultForm,

    /// How to write it
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub output: Format,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template params mongodb.yaml
  cairn template params library/mongodb -o json")]
pub(crate) struct Params {
    /// A file with a template, `-` for stdin, or a stored template: NAME or NAMESPACE/NAME
    #[arg(value_name = "FILE|[NAMESPACE/]NAME")]
    pub template: String,

    /// Talk to no cluster: the template is in a file
    #[arg(long)]
    pub local: bool,

    /// How to write the list [default: a table]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template validate mongodb.yaml
  cairn template validate templates/*.yaml -o json

It reports misspelt fields, references that nothing declares, parameters that nothing refers to, and values that do not \
fit their type, all at once. Exit status 1 if there is an error; warnings alone are no error.")]
pub(crate) struct ValidateTemplates {
    /// Files with templates, `-` for stdin, or stored templates: NAME or NAMESPACE/NAME
    #[arg(value_name = "FILE|[NAMESPACE/]NAME", required = true)]
    pub templates: Vec<String>,

    /// Talk to no cluster: the templates are in files
    #[arg(long)]
    pub local: bool,

    /// How to write the problems [default: with the lines they are about]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template store mongodb.yaml -n library
  cairn template store https-proxy.json --name proxy --dry-run

A template that is not valid is not stored. It becomes a Template of templates.stacks.crossplane.io/v1alpha1 whatever it \
was written for; OpenShift's keep their dialect. Whoever may get Templates in the namespace can use it: \
`cairn template apply library/mongodb -n team`.")]
pub(crate) struct StoreTemplate {
    /// A file with a template, or `-` for stdin
    #[arg(value_name = "FILE")]
    pub template: String,

    /// Name to store it under [default: its own, or that of the file]
    #[arg(long)]
    pub name: Option<String>,

    /// Server-side dry run: validate, but persist nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Take over fields that another field manager owns
    #[arg(long)]
    pub force_conflicts: bool,

    #[command(flatten)]
    pub outcome: Outcome,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template list
  cairn template list -A -o json

`cairn template store FILE -n NAMESPACE` adds one; RBAC on Templates shares them.")]
pub(crate) struct ListTemplates {
    #[command(flatten)]
    pub listing: Listing,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template apply mongodb.yaml -p MONGODB_PASSWORD=secret -n team
  cairn template apply library/mongodb --instance orders-db -n team
  cairn template apply mongodb.yaml --dry-run

Every object gets the label templates.stacks.crossplane.io/instance, by which `cairn template delete` finds it again. \
Objects of another instance are never written over, and what no template made only with --force-conflicts. \
Values that the template generates are kept in a Secret of the instance, so that applying again does not change them.")]
pub(crate) struct Apply {
    /// A file with a template or with values that name one, `-` for stdin, or a stored template:
    /// NAME or NAMESPACE/NAME
    #[arg(value_name = "FILE|[NAMESPACE/]NAME")]
    pub template: String,

    /// The name of the instance [default: the template's]
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,

    #[command(flatten)]
    pub values: Values,

    /// Let the API server check everything and keep nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Take over objects that no template made, and fields that somebody else manages
    #[arg(long)]
    pub force_conflicts: bool,

    #[command(flatten)]
    pub outcome: Outcome,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template delete orders-db -n team")]
pub(crate) struct Delete {
    /// The name of the instance, as it was applied
    pub instance: String,

    /// Say what would go, and let it stay
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub outcome: Outcome,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template export -n team > team.yaml
  cairn template export deploy/web svc/web --parametrize names,images
  cairn template export -l app=shop --name shop

What the cluster wrote goes, as do objects that other objects make. Installed packages, with what the stack manager made \
for them, are left out unless they are named. Secrets are left out unless asked for: a template \
is made to be passed on.")]
pub(crate) struct Export {
    /// The objects; all of the namespace if none is named
    #[arg(value_name = "KIND[/NAME]")]
    pub objects: Vec<String>,

    /// Only objects with these labels
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,

    /// The template's name [default: the namespace's]
    #[arg(long)]
    pub name: Option<String>,

    /// Propose parameters: names, images, replicas
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub parametrize: Vec<WishName>,

    /// Secrets too, with what is in them
    #[arg(long)]
    pub with_secrets: bool,

    /// How to write it
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    pub output: Format,

    #[command(flatten)]
    pub connection: Connection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WishName {
    /// Names of objects, with the places that refer to them
    Names,
    /// Images of containers
    Images,
    /// Counts of replicas
    Replicas,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn template-server -n cairn --register
  cairn template-server -n cairn --external-name localhost --register
  cairn template-server -n cairn --print | kubectl apply -f -

It serves the API group processing.stacks.crossplane.io, to which the API server passes requests on:
  API=/apis/processing.stacks.crossplane.io/v1alpha1/namespaces/team
  kubectl create --raw $API/processedtemplates -f mongodb.yaml
  kubectl create --raw $API/templates/mongodb/processed \\
    -f - <<< '{\"parameters\": {\"MONGODB_PASSWORD\": \"secret\"}}'

Who asks and whether they may is asked of the API server. Nothing is created by processing. Whoever may create \
templates/processed sees a stored template filled in, whether or not they may read it.")]
pub(crate) struct TemplateServer {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9443")]
    pub listen: std::net::SocketAddr,

    /// The Service by which the API server reaches this one
    #[arg(long, value_name = "NAME", default_value = "cairn-template-server")]
    pub service: String,

    /// The Service names this host, where the API server runs on the same machine or sees it by
    /// that name
    #[arg(long, value_name = "HOST")]
    pub external_name: Option<String>,

    /// Apply the kind Template, the Service and the APIService at the start
    #[arg(long)]
    pub register: bool,

    /// Print the kind Template, account, rights, Service and APIService, and end
    #[arg(long, conflicts_with = "register")]
    pub print: bool,

    /// With --print, how to write them [default: yaml]
    #[arg(short, long, value_name = "FORMAT", requires = "print")]
    pub output: Option<Objects>,

    /// The certificate to show, for SERVICE.NAMESPACE.svc [default: one of an authority of its own,
    /// made at the start]
    #[arg(long, value_name = "FILE", requires = "tls_key_file")]
    pub tls_cert_file: Option<PathBuf>,

    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_key_file: Option<PathBuf>,

    /// The authority of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub tls_ca_file: Option<PathBuf>,

    #[command(flatten)]
    pub log: Log,

    #[command(flatten)]
    pub connection: Connection,
}
