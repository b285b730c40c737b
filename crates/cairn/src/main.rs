//! The `cairn` command: a CRD and a few templates become a working Kubernetes API.

mod args;
mod cases;
mod env;
mod failure;
mod finding;
mod host;
mod input;
mod observed;
mod printer;
mod project;
mod snippet;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let printer = printer::Printer::new(env::Env::read());
    match verbs::run(cli.command, &printer) {
        Ok(code) => code.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.code.into()
        }
    }
}
