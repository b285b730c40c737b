//! `cairn pull`: a package from a registry, into a directory.

use std::path::PathBuf;

use crate::args::Pull;
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::registries::parse;

pub(crate) fn run(args: &Pull, printer: &Printer) -> Result<Code, Failure> {
    let reference = parse(&args.reference)?;
    let last = reference.repository.rsplit('/').next().unwrap_or_default();
    let dir = args.output.clone().unwrap_or_else(|| PathBuf::from(last));
    let taken = std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) || dir.is_file();
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
        // The paths are below `.registry` and lead nowhere else; layers that say otherwise were refused.
        let path = dir.join(path);
        let write = || {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, bytes)
        };
        write().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    }
    let count = pulled.files.len();
    let text = format!("{} ({count} files)\n{}\n", dir.display(), pulled.resolved.reference);
    printer.result(text.as_bytes())?;
    Ok(Code::Ok)
}
