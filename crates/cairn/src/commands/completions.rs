//! `cairn completions`: a script for the user's shell, made from the arguments themselves.

use clap::{Command, CommandFactory, ValueHint};
use clap_complete::Shell;

use crate::cli::{Cli, Completions};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Completions, printer: &Printer) -> Result<Code, Failure> {
    let (mut script, mut command) = (Vec::new(), Cli::command());
    clap_complete::generate(args.shell, &mut command, "cairn", &mut script);
    let script = match args.shell {
        Shell::Bash => with_directories(&String::from_utf8_lossy(&script), &command),
        _ => String::from_utf8_lossy(&script).into_owned(),
    };
    printer.result(script.as_bytes())?;
    Ok(Code::Ok)
}

/// The script for bash offers options wherever a word can stand; where that is a directory, it is
/// to offer those.
fn with_directories(script: &str, command: &Command) -> String {
    let takes_directory = |verb: &&Command| {
        verb.get_positionals()
            .any(|argument| argument.get_value_hint() == ValueHint::DirPath)
    };
    let verbs = command.get_subcommands().filter(takes_directory);
    let begins: Vec<String> = verbs
        .map(|verb| format!("        cairn__subcmd__{})", verb.get_name()))
        .collect();
    let mut lines = Vec::new();
    let mut inside = false;
    for line in script.lines() {
        lines.push(line);
        if inside {
            lines.push(DIRECTORIES);
        }
        inside = begins.iter().any(|begin| begin == line);
    }
    lines.push("");
    lines.join("\n")
}

/// What comes behind the list of a command's options.
const DIRECTORIES: &str = r#"            if [[ ${cur} != -* && ${prev} != -* ]] ; then
                COMPREPLY=( $(compgen -d -- "${cur}") )
                compopt -o filenames 2>/dev/null
                return 0
            fi"#;
