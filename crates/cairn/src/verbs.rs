//! One file a verb.

mod completions;
mod demo;
mod eval;
mod jsonl;

use crate::args::Command;
use crate::failure::{Code, Failure};
use crate::printer::Printer;

pub(crate) fn run(command: Command, printer: &Printer) -> Result<Code, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Eval(args) if args.jsonl => jsonl::run(printer),
        Command::Eval(args) => eval::run(&args, printer),
        Command::Completions(args) => completions::run(&args, printer),
    }
}
