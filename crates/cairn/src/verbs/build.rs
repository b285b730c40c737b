//! `cairn build`: a package as an image, in a file.

use std::path::PathBuf;

use package::image::{Archive, Image};

use crate::args::Build;
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::project::Project;
use crate::registries::parse;

pub(crate) fn run(args: &Build, printer: &Printer) -> Result<Code, Failure> {
    let tag = match &args.tag {
        Some(text) => parse(text)?.tag,
        None => None,
    };
    let (project, image) = image(&args.dir, tag.as_deref())?;
    let tag = tag.unwrap_or_else(|| project.package.app.version.clone());
    let path = args.output.clone().unwrap_or_else(|| {
        let dir = project.dir.canonicalize().unwrap_or_default();
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        PathBuf::from(if tag.is_empty() { format!("{name}.tar") } else { format!("{name}-{tag}.tar") })
    });
    let bytes = Archive::write(&image, Some(tag.as_str()).filter(|tag| !tag.is_empty()));
    std::fs::write(&path, &bytes).map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    let text = format!("{} ({} bytes)\n{}\n", path.display(), bytes.len(), image.manifest.digest);
    printer.result(text.as_bytes())?;
    Ok(Code::Ok)
}

/// The image of the package in a directory, if nothing is wrong with it.
pub(crate) fn image(dir: &std::path::Path, tag: Option<&str>) -> Result<(Project, Image), Failure> {
    let mut project = Project::read(dir)?;
    project.compiled()?;
    if let Some(tag) = tag {
        project.package.set_tag(tag).map_err(|problem| {
            let failure = Failure::new(problem.what);
            match problem.hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
    }
    let image = Image::build(&project.files, &project.package);
    Ok((project, image))
}
