//! `cairn eval`: one template over one piece of data.

pub(crate) mod jsonl;

use std::path::Path;

use engine::budget::{self, Meter};
use gotpl::{Error, Input, Library, Options, Presence, Run, Set, Trace, UseKind, Watch};
use serde_json::{Value, json};

use crate::cli::{Eval, Funcs, MissingKey};
use crate::files::read;
use crate::terminal::error::{Code, Failure};
use crate::terminal::host::{Machine, stopwatch};
use crate::terminal::printer::Printer;
use crate::terminal::snippet;

/// The name of a template given on the command line.
const EXPRESSION: &str = "expression";

pub(crate) fn run(args: &Eval, printer: &Printer) -> Result<Code, Failure> {
    let stdin = |path: &Path| path == Path::new("-");
    if args
        .templates
        .iter()
        .chain(&args.data)
        .filter(|path| stdin(path))
        .count()
        > 1
    {
        return Err(Failure::usage(
            "only one of the files can be standard input",
        ));
    }
    let mut sources: Vec<(String, String)> = Vec::new();
    if let Some(text) = &args.expression {
        sources.push((EXPRESSION.to_string(), text.clone()));
    }
    for path in &args.templates {
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        sources.push((name, read::text(path)?));
    }
    let data = match &args.data {
        Some(path) => read::data(path)?,
        None => Value::Null,
    };
    let mut set = Set::with_options(options(args));
    for (name, source) in &sources {
        set.parse(name, source)
            .map_err(|error| explain(&error, &sources, &set))?;
    }
    let Some((main, _)) = sources.first() else {
        return Err(Failure::usage("there is no template to evaluate"));
    };
    let watch = if args.reads {
        Watch::Closely
    } else {
        Watch::Lightly
    };
    let clock = stopwatch();
    let meter = Meter::new(budget::RENDER).timed(&clock);
    let run = Run {
        host: &Machine,
        watch,
        meter: Some(&meter),
        ..Run::new(&set)
    };
    let output = run
        .execute(main, &Input::new(&data))
        .map_err(|error| explain(&error, &sources, &set))?;
    match output.trace {
        Some(trace) => match args.output {
            Some(format) => printer.report(&records(&reads(&trace)), format)?,
            None => printer.table(&reads(&trace))?,
        },
        None => printer.result(&output.text)?,
    }
    Ok(Code::Ok)
}

fn options(args: &Eval) -> Options {
    let delim = |index: usize| {
        args.delims
            .as_ref()
            .and_then(|delims| delims.get(index))
            .cloned()
            .unwrap_or_default()
    };
    Options {
        missing_key: match args.missing_key {
            MissingKey::Default => gotpl::MissingKey::Default,
            MissingKey::Zero => gotpl::MissingKey::Zero,
            MissingKey::Error => gotpl::MissingKey::Error,
        },
        left: delim(0),
        right: delim(1),
        funcs: match args.funcs {
            Funcs::Builtin => Library::Builtin,
            Funcs::Sprig => Library::Sprig,
            Funcs::Helm => Library::Helm,
        },
        extra: &[],
    }
}

/// Go's error with the line it is about and, where there is one, a way out.
fn explain(error: &Error, sources: &[(String, String)], set: &Set) -> Failure {
    let mut failure = Failure::new(error.to_string());
    // The innermost place whose source is at hand: the cause, not the includes around it.
    failure.snippet = error.places().iter().rev().find_map(|place| {
        let (_, source) = sources.iter().find(|(name, _)| *name == place.source)?;
        snippet::of(source, place.line, place.column)
    });
    if let Some(hint) = hint(error, set) {
        failure = failure.hint(hint);
    }
    failure
}

fn hint(error: &Error, set: &Set) -> Option<String> {
    if let Some(unclosed) = error.unclosed() {
        return Some(unclosed.to_string());
    }
    if error.over().is_some() {
        return Some(budget::HINT.to_string());
    }
    let message = error.message();
    if let Some(name) = message
        .strip_prefix("function \"")
        .and_then(|rest| rest.strip_suffix("\" not defined"))
    {
        return Some(match name {
            "env" | "expandenv" | "getHostByName" => {
                format!("`{name}` is left out on purpose: a template must not read this machine")
            }
            _ => match objects::nearest(name, set.functions()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "run with `--funcs helm` for the largest set of functions".to_string(),
            },
        });
    }
    if message.starts_with("nil pointer evaluating") || message.starts_with("can't evaluate field")
    {
        return Some("`--reads` lists what the template read and whether it was there".to_string());
    }
    if let Some(rest) = message.strip_prefix("wrong type for value; expected int; got int64") {
        return rest
            .is_empty()
            .then(|| "numbers of the data are int64: write `(int .x)`".to_string());
    }
    None
}

/// The rows below a heading, for programs.
fn records(rows: &[Vec<String>]) -> Vec<Value> {
    let record = |row: &Vec<String>| json!({"path": row[0], "there": row[1], "readAt": row[2], "wentTo": row[3]});
    rows.iter().skip(1).map(record).collect()
}

fn reads(trace: &Trace) -> Vec<Vec<String>> {
    let mut rows = vec![
        ["PATH", "THERE", "READ AT", "WENT TO"]
            .map(String::from)
            .to_vec(),
    ];
    for (index, read) in trace.reads.iter().enumerate() {
        let there = match read.presence {
            Presence::Present => "yes",
            Presence::Missing => "no",
            Presence::Unknown => "unknown",
            Presence::Drawn => "generated",
        };
        let mut ends: Vec<String> = Vec::new();
        for end in trace.uses.iter().filter(|end| end.reads.contains(&index)) {
            let word = match (end.kind, end.function) {
                (UseKind::Text, _) => "text".to_string(),
                (UseKind::Branch, Some(function)) => format!("condition ({function})"),
                (UseKind::Branch, None) => "condition".to_string(),
                (UseKind::Guard, function) => format!("guard ({})", function.unwrap_or_default()),
                (UseKind::Failure, function) => {
                    format!("failure ({})", function.unwrap_or_default())
                }
            };
            if !ends.contains(&word) {
                ends.push(word);
            }
        }
        rows.push(vec![
            read.path.to_string(),
            there.to_string(),
            read.site.to_string(),
            ends.join(", "),
        ]);
    }
    rows
}
