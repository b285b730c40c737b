//! `cairn diff`: what a package would change in a cluster, for one instance or for all.

use serde_json::json;

use crate::cli::Diff;
use crate::cluster::registries::block_on;
use crate::diff::{Asked, Difference, Reader, compare, show, summary};
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Diff, printer: &Printer) -> Result<Code, Failure> {
    let project = Project::read(&args.dir)?;
    let compiled = project.compiled()?;
    let mut instance = None;
    if let Some(file) = &args.file {
        let (admitted, written) = project.instance(Some(file), printer)?;
        for finding in &admitted.dropped {
            let (finding, snippet) = written.shown(finding);
            printer.finding(&finding, snippet.as_deref());
        }
        let mut object = admitted.object;
        if let Some(namespace) = args
            .connection
            .namespace
            .as_deref()
            .filter(|_| admitted.kind.namespaced)
        {
            let said = &written.value()["metadata"]["namespace"];
            if let Some(other) = said.as_str().filter(|other| *other != namespace) {
                let what = format!(
                    "{} is in the namespace {other}, and `-n` says {namespace}",
                    file.display()
                );
                return Err(
                    Failure::usage(what).hint("leave `-n` out, or name the same namespace in both")
                );
            }
            object["metadata"]["namespace"] = json!(namespace);
        }
        instance = Some(object);
    }
    let mut found = block_on(async {
        let connected = args.connection.connect().await?;
        let namespace = args.connection.namespace.as_deref();
        let context = connected.context.as_str();
        let namespaced = args.namespaced_crds.into();
        let asked = Asked {
            namespace,
            instance: instance.as_ref(),
            name: &compiled.name,
            context,
            namespaced,
        };
        compare(&Reader::new(connected.client), &project, &asked).await
    })??;
    found.iter_mut().for_each(Difference::stay);
    let code = if found.iter().any(Difference::is_refused) {
        Code::Failed
    } else if found.iter().any(Difference::is_any) {
        Code::Differences
    } else {
        Code::Ok
    };
    // Whoever reads only the first lines is told by the code all the same.
    printer.ends_with(code);
    match args.output {
        Some(format) => printer.report(&json!({ "stacks": found }), format)?,
        None => {
            for difference in &found {
                tell(difference, printer)?;
            }
        }
    }
    Ok(code)
}

fn tell(difference: &Difference, printer: &Printer) -> Result<(), Failure> {
    match &difference.stack {
        Some(stack) => printer.line(&format!("stack {stack}: {}", summary(difference)))?,
        None => printer.line("it is not installed: all of it is new")?,
    }
    show(difference, printer)
}
