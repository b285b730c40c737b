//! `cairn pull`: a package from a registry, into a directory.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::{Pull, Target};
use crate::cluster::registries::parse;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Pull, printer: &Printer) -> Result<Code, Failure> {
    let reference = parse(&args.reference)?;
    let last = reference.repository.rsplit('/').next().unwrap_or_default();
    let (place, told) = Target::split(&args.output)?;
    let dir = place.map_or_else(|| PathBuf::from(last), Path::to_path_buf);
    let taken =
        std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file();
    if taken {
        let what = format!("{} is there already", dir.display());
        return Err(Failure::new(what).hint("name another directory with `-o`"));
    }
    let pulled = args.registries.pull(&reference, printer)?;
    if pulled.files.is_empty() {
        let what = format!("{reference} holds no package: there is no `.registry` directory in it");
        return Err(Failure::new(what));
    }
    for (path, bytes) in &pulled.files {
        // The paths are below `.registry` and lead nowhere else; layers that say otherwise were
        // refused.
        let path = dir.join(path);
        let write = || {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, bytes)
        };
        write()
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    let count = pulled.files.len();
    let (dir, reference) = (dir.display().to_string(), pulled.resolved.reference);
    match told {
        Some(format) => {
            let files: Vec<_> = pulled.files.keys().collect();
            let made = json!({
                "directory": dir, "reference": reference.to_string(), "digest": reference.digest, "files": files,
            });
            printer.outcome(&made, &dir, format)?;
        }
        None => printer.result(format!("{dir} ({count} files)\n{reference}\n").as_bytes())?,
    }
    Ok(Code::Ok)
}
