//! `cairn template process`: a template and values in, objects out.

use super::values::{given, process};
use super::{source, written};
use crate::cli::{Process, ResultForm};
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Process, printer: &Printer) -> Result<Code, Failure> {
    let loaded = source::load(&args.template, args.local, &args.connection)?;
    let given = given(&args.values, &loaded, printer)?;
    let processed = process(&loaded, &args.values, given, printer)?;
    let result = match args.result {
        ResultForm::List => processed.into_list(),
        ResultForm::Template => processed.into_template(),
    };
    written(&result, args.output, printer)?;
    Ok(Code::Ok)
}
