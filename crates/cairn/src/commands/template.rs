//! `cairn template`: templates with parameters, in files and in a cluster.

mod apply;
mod ask;
mod delete;
mod export;
mod kinds;
mod list;
mod params;
mod process;
mod secret_line;
mod source;
mod store;
mod validate;
mod values;

pub(crate) use kinds::of as kind_of;

use crate::cli::{Format, Template, TemplateCommand};
use crate::cluster::connect::unanswered;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

/// The field manager of what templates make, and of stored ones.
const MANAGER: &str = "cairn-template";

pub(crate) fn run(args: &Template, printer: &Printer) -> Result<Code, Failure> {
    match &args.command {
        TemplateCommand::Process(args) => process::run(args, printer),
        TemplateCommand::Params(args) => params::run(args, printer),
        TemplateCommand::Validate(args) => validate::run(args, printer),
        TemplateCommand::Store(args) => store::run(args, printer),
        TemplateCommand::List(args) => list::run(args, printer),
        TemplateCommand::Apply(args) => apply::run(args, printer),
        TemplateCommand::Delete(args) => delete::run(args, printer),
        TemplateCommand::Export(args) => export::run(args, printer),
    }
}

/// Writes a value as it was asked for.
fn written(value: &serde_json::Value, format: Format, printer: &Printer) -> Result<(), Failure> {
    match format {
        Format::Json => printer.json(value),
        Format::Yaml => {
            let text = yaml::emit(value).map_err(|error| Failure::new(error.to_string()))?;
            printer.result(text.as_bytes())
        }
    }
}

/// An error of the API server, with what to do about the usual ones.
fn told(error: &kube::Error) -> Failure {
    let kube::Error::Api(status) = error else {
        return unanswered(error);
    };
    let failure = Failure::new(status.message.clone());
    match status.code {
        403 => failure.hint("permission denied: ask your cluster administrator"),
        409 => failure.hint(
            "take the fields over with `--force-conflicts`, or leave them to whoever manages them",
        ),
        _ => failure,
    }
}
