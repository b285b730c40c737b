//! `cairn template validate`: everything that is wrong with templates, each with its place.

use templates::{Severity, check};

use super::source;
use crate::cli::ValidateTemplates;
use crate::terminal::error::{Code, Failure};
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &ValidateTemplates, printer: &Printer) -> Result<Code, Failure> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut failed = false;
    for name in &args.templates {
        let loaded = source::load(name, args.local, &args.connection)?;
        let problems = check(&loaded.value);
        failed |= problems
            .iter()
            .any(|problem| problem.severity == Severity::Error);
        match args.output {
            Some(_) => findings.extend(problems.iter().map(|problem| loaded.finding(problem))),
            None => loaded.warn(&problems, printer),
        }
        if args.output.is_none() && problems.is_empty() {
            printer.line(&format!("{name}: ok"))?;
        }
    }
    if let Some(format) = args.output {
        let list =
            serde_json::to_value(&findings).map_err(|error| Failure::new(error.to_string()))?;
        super::written(&list, format, printer)?;
    }
    Ok(if failed { Code::Failed } else { Code::Ok })
}
