//! `cairn validate`: everything that is wrong with a package, at once.

use engine::Severity;

use crate::cli::Validate;
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::finding::Finding;
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Validate, printer: &Printer) -> Result<Code, Failure> {
    let mut failed = false;
    let mut all = Vec::new();
    for dir in &args.dirs {
        let mut project = Project::read(&Project::around(dir))?;
        project.try_specimens();
        let errors = project
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        failed |= errors > 0;
        if args.output.is_none() {
            for finding in &project.findings {
                let (finding, snippet) = finding.shown(project.text(&finding.file));
                printer.finding(&project.placed(&finding), snippet.as_deref());
            }
            printer.result(format!("{}\n", summary(&project, errors)).as_bytes())?;
        }
        let shown =
            |finding: &Finding| project.placed(&finding.shown(project.text(&finding.file)).0);
        all.extend(project.findings.iter().map(shown));
    }
    if let Some(format) = args.output {
        printer.report(&all, format)?;
    }
    Ok(if failed { Code::Failed } else { Code::Ok })
}

fn summary(project: &Project, errors: usize) -> String {
    let count =
        |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let warnings = project.findings.len() - errors;
    let found = match (errors, warnings) {
        (0, 0) => "ok".to_string(),
        (0, warnings) => format!("ok, {}", count(warnings, "warning")),
        (errors, 0) => count(errors, "error"),
        (errors, warnings) => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    };
    let templates: usize = project
        .package
        .templates
        .values()
        .map(std::collections::BTreeMap::len)
        .sum();
    format!(
        "{}: {found} ({}, {})",
        project.dir.display(),
        count(project.package.crds.len(), "CRD"),
        count(templates, "template")
    )
}
