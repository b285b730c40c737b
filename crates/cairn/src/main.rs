//! The `cairn` command: a CRD and a few templates become a working Kubernetes API.

mod args;
mod cases;
mod connection;
mod differences;
mod env;
mod expect;
mod failure;
mod fields;
mod finding;
mod golden;
mod host;
mod input;
mod instance;
mod kubernetes;
mod live;
mod observed;
mod plane;
mod printer;
mod processing;
mod project;
mod registries;
mod rules;
mod shown;
mod snippet;
mod up;
mod verbs;
mod words;
mod written;

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
