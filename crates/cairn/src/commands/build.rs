//! `cairn build`: a package as an image, in a file.

use std::path::{Path, PathBuf};

use package::image::{Archive, Image};
use serde_json::json;

use crate::cli::{Build, Target};
use crate::cluster::registries::parse;
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Build, printer: &Printer) -> Result<Code, Failure> {
    let (place, told) = Target::split(&args.output)?;
    let tag = match &args.tag {
        Some(text) => parse(text)?.tag,
        None => None,
    };
    let (project, image) = image(&args.dir, tag.as_deref())?;
    let tag = tag.unwrap_or_else(|| project.package.app.version.clone());
    let usual = || {
        let dir = project.dir.canonicalize().unwrap_or_default();
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        PathBuf::from(if tag.is_empty() {
            format!("{name}.tar")
        } else {
            format!("{name}-{tag}.tar")
        })
    };
    let path = place.map_or_else(usual, Path::to_path_buf);
    let bytes = Archive::write(&image, Some(tag.as_str()).filter(|tag| !tag.is_empty()));
    std::fs::write(&path, &bytes)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    let (file, digest) = (
        path.display().to_string(),
        image.manifest.digest.to_string(),
    );
    match told {
        Some(format) => {
            let made = json!({ "file": file, "bytes": bytes.len(), "digest": digest, "tag": tag });
            printer.outcome(&made, &file, format)?;
        }
        None => printer.result(format!("{file} ({} bytes)\n{digest}\n", bytes.len()).as_bytes())?,
    }
    Ok(Code::Ok)
}

/// The image of the package in a directory, if nothing is wrong with it.
pub(crate) fn image(dir: &Path, tag: Option<&str>) -> Result<(Project, Image), Failure> {
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
