//! `cairn eval --jsonl`: a case a line in, an answer a line out, for tools that compare or embed.

use std::collections::BTreeMap;
use std::io::BufRead;

use base64::Engine;
use engine::budget::{self, Meter};
use gotpl::{Input, Library, MissingKey, Options, Run, Set};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::terminal::error::{Code, Failure};
use crate::terminal::host::{Machine, stopwatch};
use crate::terminal::printer::Printer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    id: Value,
    template: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    options: Option<CaseOptions>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseOptions {
    #[serde(default)]
    missingkey: Option<String>,
    #[serde(default)]
    delims: Option<(String, String)>,
    #[serde(default)]
    funcs: Option<String>,
    /// More sources of the set, by name.
    #[serde(default)]
    templates: BTreeMap<String, String>,
    /// The name of the template itself.
    #[serde(default)]
    name: Option<String>,
}

pub(crate) fn run(printer: &Printer) -> Result<Code, Failure> {
    for line in std::io::stdin().lock().split(b'\n') {
        let line =
            line.map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // Whoever drives this may wait for each answer before the next case.
        printer.result(format!("{}\n", answer(&line)).as_bytes())?;
    }
    Ok(Code::Ok)
}

fn answer(line: &[u8]) -> Value {
    let case: Case = match serde_json::from_slice(line) {
        Ok(case) => case,
        Err(error) => {
            let id = serde_json::from_slice::<Value>(line)
                .ok()
                .and_then(|case| case.get("id").cloned());
            return json!({"id": id, "error": format!("not a case: {error}")});
        }
    };
    let id = case.id.clone();
    match evaluate(&case) {
        Ok(output) => match String::from_utf8(output) {
            Ok(text) => json!({"id": id, "output": text}),
            // JSON has no way to hold bytes that are not text.
            Err(error) => {
                json!({"id": id, "output_b64": base64::engine::general_purpose::STANDARD.encode(error.as_bytes())})
            }
        },
        Err(error) => json!({"id": id, "error": error}),
    }
}

fn evaluate(case: &Case) -> Result<Vec<u8>, String> {
    let none = CaseOptions::default();
    let options = case.options.as_ref().unwrap_or(&none);
    let (left, right) = options.delims.clone().unwrap_or_default();
    let set_options = Options {
        missing_key: match options.missingkey.as_deref() {
            None | Some("default" | "invalid") => MissingKey::Default,
            Some("zero") => MissingKey::Zero,
            Some("error") => MissingKey::Error,
            Some(other) => {
                return Err(format!(
                    "options.missingkey: {other:?} is none of default, zero, error"
                ));
            }
        },
        left,
        right,
        funcs: match options.funcs.as_deref() {
            Some("builtin") => Library::Builtin,
            Some("sprig") => Library::Sprig,
            None | Some("helm") => Library::Helm,
            Some(other) => {
                return Err(format!(
                    "options.funcs: {other:?} is none of builtin, sprig, helm"
                ));
            }
        },
        extra: &[],
    };
    let mut set = Set::with_options(set_options);
    let name = options.name.as_deref().unwrap_or("template");
    for (name, source) in &options.templates {
        set.parse(name, source).map_err(|error| error.to_string())?;
    }
    set.parse(name, &case.template)
        .map_err(|error| error.to_string())?;
    let clock = stopwatch();
    let meter = Meter::new(budget::RENDER).timed(&clock);
    let run = Run {
        host: &Machine,
        meter: Some(&meter),
        ..Run::new(&set)
    };
    run.execute(name, &Input::new(&case.data))
        .map(|output| output.text)
        .map_err(|error| error.to_string())
}
