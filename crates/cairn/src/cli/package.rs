//! What can be typed after the commands that make images of packages and move them.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Objects, Outcome, Target};

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
  cairn build . -o json

The same files always give the same digest. Others read the file too:
  skopeo inspect oci-archive:web.tar")]
pub(crate) struct Build {
    /// The directory of the package
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,

    /// The file to write [default: NAME-VERSION.tar, after the directory and app.yaml]; or json,
    /// yaml or name: how to tell what was made
    #[arg(short, long, value_name = "FILE|FORMAT")]
    pub output: Vec<Target>,

    /// The name it will have in a registry; its tag must be the version in app.yaml, if there is
    /// one
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
    pub outcome: Outcome,

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

    /// The directory to make [default: the last part of the path]; or json, yaml or name: how to
    /// tell what was made
    #[arg(short, long, value_name = "DIR|FORMAT")]
    pub output: Vec<Target>,

    #[command(flatten)]
    pub registries: Registries,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn index example.org/team/web:1.0.0 example.org/redis:2.1.0 > index.yaml
  cairn stack-manager --index index.yaml

An install with `crd: redis.example.org/v1` then gets the highest version of the package that brings it. Only manifests \
are fetched: `cairn build` writes into them what a package brings.")]
pub(crate) struct Index {
    /// Images: [registry/]path[:tag][@sha256:...]
    #[arg(value_name = "REF", required = true)]
    pub references: Vec<String>,

    /// How to write the index; the stack manager reads both json and yaml [default: yaml]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Objects>,

    #[command(flatten)]
    pub registries: Registries,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn unpack examples/web-application
  cairn unpack example.org/team/web:1.0.0 | kubectl apply --dry-run=server -f -

First the CRDs by name, each with what the package says of it, then the Stack. Nothing else of a package reaches a \
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
