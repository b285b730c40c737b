//! `cairn unpack`: the objects that installing a package adds to a cluster.

use crate::cli::{Objects, Unpack};
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Unpack, printer: &Printer) -> Result<Code, Failure> {
    let (files, tag, place) = args.registries.open(&args.what, printer)?;
    let mut project = Project::of(&place, "stack", files);
    project.compiled()?;
    if let Some(tag) = tag.filter(|tag| tag != "latest") {
        project
            .package
            .set_tag(&tag)
            .map_err(|problem| Failure::new(problem.what))?;
    }
    let manifests = project.package.manifests();
    printer.objects(&manifests, args.output.unwrap_or(Objects::Yaml))?;
    Ok(Code::Ok)
}
