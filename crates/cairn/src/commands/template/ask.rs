//! Asks on a terminal for the values of parameters: with their descriptions, defaults, and types
//! checked at once.

use templates::{Given, Parameter, Template};

use super::secret_line;
use crate::terminal::error::Failure;
use crate::terminal::printer::Printer;

/// Asks for what is required and has no value, or for everything that was not given.
pub(crate) fn missing(
    template: &Template,
    given: &mut Given,
    everything: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    let wanted = |parameter: &&Parameter| {
        let said = given.values.iter().any(|(name, _)| *name == parameter.name);
        !said && (everything || parameter.required && parameter.is_blank())
    };
    let asked: Vec<&Parameter> = template.parameters.iter().filter(wanted).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let name = if template.name.is_empty() {
        "the template"
    } else {
        &template.name
    };
    printer.say(&format!(
        "{name} asks for {} (Ctrl-C ends it, and nothing has happened)",
        count(asked.len())
    ));
    for parameter in asked {
        if let Some(value) = one(parameter, printer)? {
            given.values.push((parameter.name.clone(), value));
        }
    }
    Ok(())
}

fn count(number: usize) -> String {
    if number == 1 {
        "one value".to_owned()
    } else {
        format!("{number} values")
    }
}

/// Asks until the answer fits. No answer leaves the parameter as it is.
fn one(parameter: &Parameter, printer: &Printer) -> Result<Option<String>, Failure> {
    let title = if parameter.display_name.is_empty() {
        &parameter.name
    } else {
        &parameter.display_name
    };
    printer.say("");
    printer.heading(title);
    for line in parameter.description.lines() {
        printer.say(&format!("  {line}"));
    }
    let secret = parameter.is_secret();
    let kind = if parameter.kind == templates::Kind::String {
        ""
    } else {
        parameter.kind.as_str()
    };
    let own = parameter.value.as_deref().unwrap_or_default();
    let without = match () {
        () if parameter.is_generated() => "empty: generated".to_owned(),
        () if !own.is_empty() && secret => "empty: as in the template".to_owned(),
        () if !own.is_empty() => format!("empty: {own}"),
        () if parameter.required => String::new(),
        () => "may be empty".to_owned(),
    };
    let notes: Vec<&str> = [kind, &without, if secret { "not shown" } else { "" }]
        .into_iter()
        .filter(|note| !note.is_empty())
        .collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    loop {
        let question = format!("  {}{notes}: ", parameter.name);
        let answer = if secret {
            secret_line::read(&question, printer)?
        } else {
            line(&question, printer)?
        };
        if answer.is_empty() {
            if parameter.required && parameter.is_blank() {
                printer.say("  a value is required");
                continue;
            }
            return Ok(None);
        }
        match parameter.kind.refuses(&answer) {
            Some(why) if secret => printer.say(&format!("  that {why}")),
            Some(why) => printer.say(&format!("  `{answer}` {why}")),
            None => return Ok(Some(answer)),
        }
    }
}

fn line(question: &str, printer: &Printer) -> Result<String, Failure> {
    printer.ask(question);
    let mut text = String::new();
    let read = std::io::stdin().read_line(&mut text);
    match read {
        Ok(0) => Err(ended()),
        Ok(_) => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
        Err(error) => Err(Failure::new(format!("cannot read the answer: {error}"))),
    }
}

/// Whoever was asked has left.
pub(super) fn ended() -> Failure {
    Failure::new("the answers ended before all was answered")
        .hint("nothing has happened; values also go by `-p NAME=VALUE`")
}
