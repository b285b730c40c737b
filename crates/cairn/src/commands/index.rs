//! `cairn index`: which packages bring which kinds, by what their images say of themselves.

use install::{Entry, Index};

use crate::cli::{Index as Args, Objects};
use crate::cluster::registries::{block_on, failure, parse};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    let client = args.registries.client()?;
    let mut index = Index::default();
    for text in &args.references {
        let reference = parse(text)?;
        let resolved = block_on(client.resolve(&reference))?.map_err(|error| failure(&error))?;
        let entry = Entry::of_image(&resolved.reference, &resolved.manifest.annotations)
            .ok_or_else(|| {
                Failure::new(format!("{reference} does not say which kinds it brings"))
                    .hint("images that `cairn build` or `cairn push` made do")
            })?;
        index.packages.push(entry);
    }
    let value = serde_json::to_value(&index).map_err(|error| Failure::new(error.to_string()))?;
    let names: Vec<&str> = index
        .packages
        .iter()
        .map(|entry| entry.image.as_str())
        .collect();
    printer.outcome(
        &value,
        &names.join("\n"),
        args.output.unwrap_or(Objects::Yaml),
    )?;
    Ok(Code::Ok)
}
