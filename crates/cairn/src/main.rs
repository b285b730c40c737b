//! The `cairn` command: a CRD and a few templates become a working Kubernetes API.

mod cli;
mod cluster;
mod commands;
mod control_plane;
mod controller_main;
mod dev;
mod diff;
mod files;
mod inspect;
mod project;
mod terminal;
mod testing;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

/// Objects are many small texts and maps, made and dropped (docs/decisions/0008-allocator.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let matches = called().get_matches();
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let printer = terminal::printer::Printer::new(terminal::env::Env::read());
    match commands::run(cli.command, &printer) {
        Ok(code) => code.into(),
        Err(failure) => {
            printer.failure(&failure);
            failure.code.into()
        }
    }
}

/// The command under the name it was called by: kubectl finds plugins as programs named so, and
/// calls them with a space.
fn called() -> clap::Command {
    let command = cli::Cli::command();
    let path = std::env::args_os()
        .next()
        .map(std::path::PathBuf::from)
        .unwrap_or_default();
    let plugin = path.file_stem().is_some_and(|name| name == "kubectl-cairn");
    if plugin {
        command.bin_name("kubectl cairn")
    } else {
        command
    }
}
