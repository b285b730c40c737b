//! `cairn completions`: a script for the user's shell, made from the arguments themselves.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::failure::{Code, Failure};
use crate::printer::Printer;

pub(crate) fn run(args: &Completions, printer: &Printer) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cairn", &mut script);
    printer.result(&script)?;
    Ok(Code::Ok)
}
