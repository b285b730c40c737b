//! What can be typed after the commands that look at a package in a directory.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Format, Objects};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn validate examples/web-application
  cairn validate . -o json

A package is a directory with these files in .registry, and tests/NAME.yaml beside it for `cairn test`:
  app.yaml                                  dependsOn: the kinds that it makes
  resources/NAME.crd.yaml                   CRDs, several in a file if you like
  templates/KIND.GROUP/VERSION/NAME.yaml    one object of each instance
  templates/KIND.GROUP/VERSION/status.yaml  the status of the instance
  templates/ANY/DIR/NAME.tpl                for {{ include \"ANY/DIR\" \"NAME\" . }}")]
pub(crate) struct Validate {
    /// Directories of packages, those that hold .registry
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dirs: Vec<PathBuf>,

    /// How to write the findings [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn render examples/web-application
  cairn render examples/web-application -f examples/web-application/shop.yaml
  cairn render . -f app.yaml --observed live.yaml
  cairn render . -f app.yaml --simulate
  cairn render . -f app.yaml --simulate controllers.yaml

A file for --simulate says what outside controllers do once a child is there:
  - child: database
    status: {endpoint: db.example.org}")]
pub(crate) struct Render {
    /// The directory of the package
    #[arg(default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,

    /// The instance [default: the first that lies beside the package]
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

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
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
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
  cairn explain .registry/templates/web.acme.io/v1/pod.yaml:spec -f web.yaml
  cairn explain web:spec.replicas -f app.yaml")]
pub(crate) struct Explain {
    /// A template, by its file, its name or PACKAGE/NAME, and a field of the object it makes
    #[arg(value_name = "FILE:PATH")]
    pub target: String,

    /// The instance [default: the first that lies beside the package]
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Children that are there already: objects, or a mapping from template to object
    #[arg(long, value_name = "FILE")]
    pub observed: Option<PathBuf>,

    /// How to write the explanation [default: for people]
    #[arg(short, long, value_name = "FORMAT")]
    pub output: Option<Format>,
}
