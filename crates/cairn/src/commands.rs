//! One file a verb.

mod build;
mod completions;
mod demo;
mod diff;
mod eval;
mod explain;
mod index;
mod init;
mod install;
mod pull;
mod push;
pub(crate) mod render;
pub(crate) mod stack_manager;
mod template;
mod template_server;
mod template_stack_manager;
mod test;
mod trace;
mod unpack;
mod up;
mod validate;

use crate::cli::Command;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(command: Command, printer: &Printer) -> Result<Code, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Init(args) => init::run(&args, printer),
        Command::Up(args) => up::run(&args, printer),
        Command::Diff(args) => diff::run(&args, printer),
        Command::Eval(args) if args.jsonl => eval::jsonl::run(printer),
        Command::Eval(args) => eval::run(&args, printer),
        Command::Validate(args) => validate::run(&args, printer),
        Command::Render(args) => render::run(&args, printer),
        Command::Test(args) => test::run(&args, printer),
        Command::Explain(args) => explain::run(&args, printer),
        Command::Build(args) => build::run(&args, printer),
        Command::Push(args) => push::run(&args, printer),
        Command::Pull(args) => pull::run(&args, printer),
        Command::Unpack(args) => unpack::run(&args, printer),
        Command::Index(args) => index::run(&args, printer),
        Command::Install(args) => install::install(&args, printer),
        Command::Uninstall(args) => install::uninstall(&args, printer),
        Command::List(args) => install::list(&args, printer),
        Command::TemplateServer(args) => template_server::run(&args, printer),
        Command::Template(args) => template::run(&args, printer),
        Command::Trace(args) => trace::run(&args, printer),
        Command::StackManager(args) => stack_manager::run(&args, printer),
        Command::TemplateStackManager(args) => template_stack_manager::run(&args, printer),
        Command::Completions(args) => completions::run(&args, printer),
    }
}
