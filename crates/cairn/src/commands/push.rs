//! `cairn push`: a package to a registry.

use registry::Progress;
use serde_json::json;

use super::build;
use crate::cli::Push;
use crate::cluster::registries::{archive, block_on, failure, parse};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Push, printer: &Printer) -> Result<Code, Failure> {
    let reference = parse(&args.reference)?;
    if reference.digest.is_some() {
        let what = format!(
            "`{}` names a digest: what is pushed gets its own",
            args.reference
        );
        return Err(Failure::usage(what).hint("write a tag"));
    }
    let image = if args.what.is_file() {
        archive(&args.what)?
            .into_image()
            .map_err(|why| Failure::new(format!("{}: {why}", args.what.display())))?
    } else {
        build::image(
            &args.what,
            reference
                .tag
                .as_deref()
                .filter(|_| args.reference.contains(':')),
        )?
        .1
    };
    let client = args.registries.client()?;
    let shown = reference.to_string();
    let progress = |step: Progress| printer.progress("pushing", &shown, step.done, step.total);
    let pushed = block_on(client.push(&image, &reference, &progress))?;
    printer.clear();
    let pushed = pushed.map_err(|error| failure(&error))?;
    if let Some(format) = args.outcome.output {
        let name = pushed.reference.to_string();
        let made = json!({
            "reference": name, "digest": pushed.reference.digest, "parts": pushed.blobs, "sent": pushed.sent,
        });
        printer.outcome(&made, &name, format)?;
        return Ok(Code::Ok);
    }
    let there = pushed.blobs - pushed.sent;
    let note = if there > 0 {
        format!(" ({there} of {} parts were there already)", pushed.blobs)
    } else {
        String::new()
    };
    printer.result(format!("{}{note}\n", pushed.reference).as_bytes())?;
    Ok(Code::Ok)
}
