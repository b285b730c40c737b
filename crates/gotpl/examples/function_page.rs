//! Prints the page of all template functions; `cargo xtask docs` writes it.

#[path = "functions/page.rs"]
mod page;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let written = match page::page() {
        Ok(page) => out.write_all(page.as_bytes()).map(|()| ExitCode::SUCCESS),
        Err(lack) => err
            .write_all(format!("error: {lack}\n").as_bytes())
            .map(|()| ExitCode::FAILURE),
    };
    written.unwrap_or(ExitCode::FAILURE)
}
