//! The values that a template is filled in with: typed, from files, and asked for.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use templates::{Dialect, Given, Problem, Processed, Template, dotenv};

use super::ask;
use super::source::{Loaded, arguments_in};
use crate::cli::{DialectName, Values};
use crate::files::read;
use crate::terminal::error::Failure;
use crate::terminal::printer::Printer;

/// What a command line says: `-p` before files, the first file before later ones, and all of them
/// before what the values that named the template say.
pub(crate) fn given(args: &Values, loaded: &Loaded, printer: &Printer) -> Result<Given, Failure> {
    let mut values: Vec<(String, String)> = Vec::new();
    for text in &args.params {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{text}` is no value for a parameter"))
                .hint("write `-p NAME=VALUE`")
        })?;
        if values.iter().any(|(other, _)| other == name) {
            return Err(Failure::usage(format!(
                "the parameter {name} was given more than once"
            )));
        }
        values.push((name.to_owned(), value.to_owned()));
    }
    for path in &args.param_files {
        let shown = path.display().to_string();
        for (name, value) in from_file(path, loaded)? {
            if values.iter().any(|(other, _)| *other == name) {
                printer.warning(&format!(
                    "{shown}: {name} was given before, and that value is used"
                ));
            } else {
                values.push((name, value));
            }
        }
    }
    for (name, value) in &loaded.arguments {
        if !values.iter().any(|(other, _)| other == name) {
            values.push((name.clone(), value.clone()));
        }
    }
    let mut labels = BTreeMap::new();
    for text in &args.labels {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Failure::usage(format!("`{text}` is no label")).hint("write `--labels KEY=VALUE`")
        })?;
        labels.insert(key.to_owned(), value.to_owned());
    }
    Ok(Given {
        values,
        labels,
        dialect: args.dialect.map(|dialect| match dialect {
            DialectName::Parentheses => Dialect::Parentheses,
            DialectName::Braces => Dialect::Braces,
        }),
        ignore_unknown: args.ignore_unknown_parameters,
        strict: args.strict,
        keep_selectors: args.keep_selectors,
        ..Given::default()
    })
}

fn from_file(path: &Path, loaded: &Loaded) -> Result<Vec<(String, String)>, Failure> {
    let text = read::text(path)?;
    let shown = path.display();
    if let Some(arguments) = arguments_in(&text, &shown.to_string())? {
        if let Some(templates::Source::Name(name)) = &arguments.template
            && name.rsplit('/').next() != Some(&*loaded.name())
        {
            let what = format!(
                "{shown} is for the template `{name}`, and this is `{}`",
                loaded.name()
            );
            return Err(Failure::new(what));
        }
        return Ok(arguments.values);
    }
    dotenv(&text).map_err(|(line, what)| {
        let mut failure = Failure::new(format!("{shown}:{line}: {what}"));
        failure.snippet = crate::terminal::snippet::of(&text, line, None);
        failure
    })
}

/// Reads the template, asks for what is missing if somebody is there to answer, and processes it.
pub(crate) fn process(
    loaded: &Loaded,
    args: &Values,
    mut given: Given,
    printer: &Printer,
) -> Result<Processed, Failure> {
    let (template, _) =
        Template::read(&loaded.value).map_err(|problems| loaded.failure(&problems))?;
    if !args.no_input && printer.can_ask() {
        ask::missing(&template, &mut given, args.interactive, printer)?;
    } else if args.interactive {
        return Err(Failure::usage("there is no terminal to ask on")
            .hint("give values with `-p NAME=VALUE`"));
    }
    let processed = run(&loaded.value, &given).map_err(|problems| loaded.failure(&problems))?;
    loaded.warn(&processed.warnings, printer);
    Ok(processed)
}

fn run(value: &Value, given: &Given) -> Result<Processed, Vec<Problem>> {
    let mut random =
        || getrandom::u64().map_err(|error| format!("there are no random numbers: {error}"));
    templates::process(value.clone(), given, &mut random)
}
