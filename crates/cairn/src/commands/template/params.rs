//! `cairn template params`: what a template can be told.

use templates::{Parameter, Template};

use super::{source, written};
use crate::cli::Params;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Params, printer: &Printer) -> Result<Code, Failure> {
    let loaded = source::load(&args.template, args.local, &args.connection)?;
    let (template, warnings) =
        Template::read(&loaded.value).map_err(|problems| loaded.failure(&problems))?;
    loaded.warn(&warnings, printer);
    match args.output {
        Some(format) => {
            let list = serde_json::to_value(&template.parameters)
                .map_err(|error| Failure::new(error.to_string()))?;
            written(&list, format, printer)?;
        }
        None if template.parameters.is_empty() => printer.line("the template has no parameters")?,
        None => {
            let head = ["NAME", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION"];
            let mut rows = vec![head.map(str::to_owned).to_vec()];
            rows.extend(template.parameters.iter().map(row));
            printer.table(&rows)?;
        }
    }
    Ok(Code::Ok)
}

fn row(parameter: &Parameter) -> Vec<String> {
    let own = parameter.value.as_deref().unwrap_or_default();
    let default = match () {
        () if parameter.is_generated() => format!(
            "generated from {}",
            parameter.from.as_deref().unwrap_or_default()
        ),
        () if own.is_empty() => "-".to_owned(),
        () => own.escape_debug().to_string(),
    };
    let description = match (
        parameter.description.lines().next(),
        parameter.display_name.as_str(),
    ) {
        (Some(line), _) if !line.is_empty() => line,
        (_, "") => "-",
        (_, name) => name,
    };
    let required = if parameter.required { "yes" } else { "no" };
    let name = parameter.name.clone();
    vec![
        name,
        parameter.kind.as_str().to_owned(),
        required.to_owned(),
        default,
        description.to_owned(),
    ]
}
