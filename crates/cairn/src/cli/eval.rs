//! What can be typed after `cairn eval`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  cairn eval -t page.tpl -d values.yaml
  echo '{\"name\": \"web\"}' | cairn eval -e 'Hello {{ .name | upper }}' -d -
  cairn eval -t deployment.yaml -t _helpers.tpl -d web.json --missing-key error
  cairn eval -t deployment.yaml -d web.json --reads
  echo '{\"id\": 1, \"template\": \"{{.a}}\", \"data\": {\"a\": 7}}' | cairn eval --jsonl")]
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
