//! `cairn demo`: one instance of an example stack, from its first template to its status, with nothing installed.
//!
//! The templates and the engine are real; the outside controllers that would set the children's statuses are played.

use gotpl::{Input, Presence, Run, Set, UseKind, Watch};
use serde_json::{Map, Value, json};

use crate::args::Demo;
use crate::failure::{Code, Failure};
use crate::host::Machine;
use crate::printer::Printer;

macro_rules! example {
    ($file:literal) => {
        include_str!(concat!("../../../../examples/caching-web-service/", $file))
    };
}

const INSTANCE: &str = example!("cacheme.yaml");
const STATUS: &str = example!(".registry/templates/cachingwebservice.example.org/v1/status.yaml");
const TEMPLATES: [(&str, &str); 2] = [
    ("web", example!(".registry/templates/cachingwebservice.example.org/v1/web.yaml")),
    ("cache", example!(".registry/templates/cachingwebservice.example.org/v1/cache.yaml")),
];

/// What the controllers of the children would report, once each child is there.
fn played_status(template: &str) -> Value {
    match template {
        "cache" => json!({"endpoint": "cacheme-cache.default.svc:6379"}),
        _ => json!({"readyReplicas": 2}),
    }
}

pub(crate) fn run(args: &Demo, printer: &Printer) -> Result<Code, Failure> {
    let instance = parse(INSTANCE)?;
    let mut set = Set::new();
    for (name, source) in TEMPLATES.iter().chain([&("status", STATUS)]) {
        set.parse(name, source).map_err(|error| Failure::new(error.to_string()))?;
    }
    say(printer, &format!("# You ask for this:\n{INSTANCE}"))?;
    let mut children: Map<String, Value> = Map::new();
    for pass in 1..=TEMPLATES.len() + 1 {
        say(printer, &format!("\n# Pass {pass}"))?;
        let mut made = Vec::new();
        for (name, _) in TEMPLATES.iter().filter(|(name, _)| !children.contains_key(*name)) {
            match render(&set, name, &instance, &children)? {
                Rendered::Waits(reasons) => {
                    for reason in reasons {
                        say(printer, &format!("  {name:<8} waits for {reason}"))?;
                    }
                }
                Rendered::Made(object, text) => {
                    let kind = object["kind"].as_str().unwrap_or_default();
                    say(
                        printer,
                        &format!(
                            "  {name:<8} makes {kind}/{}",
                            object["metadata"]["name"].as_str().unwrap_or_default()
                        ),
                    )?;
                    say(printer, &text.lines().map(|line| format!("           {line}\n")).collect::<String>())?;
                    made.push((*name, object));
                }
            }
        }
        for (name, mut object) in made {
            object["status"] = played_status(name);
            children.insert(name.to_string(), object);
        }
        if children.len() == TEMPLATES.len() {
            break;
        }
    }
    let over: Vec<(&str, &Value)> = children.iter().map(|(name, child)| (name.as_str(), child)).collect();
    let status = Run { host: &Machine, ..Run::new(&set) }
        .execute("status", &Input::with(&instance, &over))
        .map_err(|error| Failure::new(error.to_string()))?;
    say(printer, "\n# All children report, and the status of your object becomes:")?;
    say(printer, String::from_utf8_lossy(&status.text).trim_end())?;
    if !args.exit {
        say(
            printer,
            "\n# Next:\n#   cairn eval --help          evaluate templates of your own\n#   cairn eval -t examples/caching-web-service/.registry/templates/cachingwebservice.example.org/v1/web.yaml -d examples/caching-web-service/cacheme.yaml --reads\n#                              see what a template reads, and where each value goes",
        )?;
    }
    Ok(Code::Ok)
}

enum Rendered {
    Made(Value, String),
    Waits(Vec<String>),
}

/// Renders one child, unless text of it would come from a sibling's field that is not there yet.
fn render(set: &Set, name: &str, instance: &Value, children: &Map<String, Value>) -> Result<Rendered, Failure> {
    let over: Vec<(&str, &Value)> = children.iter().map(|(name, child)| (name.as_str(), child)).collect();
    let run = Run { host: &Machine, watch: Watch::Closely, ..Run::new(set) };
    let output = run.execute(name, &Input::with(instance, &over)).map_err(|error| Failure::new(error.to_string()))?;
    let trace = output.trace.unwrap_or_default();
    let printed = trace.uses.iter().filter(|end| end.kind == UseKind::Text);
    let mut waits: Vec<String> = printed
        .flat_map(|end| trace.reads_of(&end.reads))
        .filter(|read| read.presence == Presence::Missing)
        .map(|read| format!("{} ({}.yaml:{}:{})", read.path, read.site.source, read.site.line, read.site.column))
        .collect();
    waits.dedup();
    if !waits.is_empty() {
        return Ok(Rendered::Waits(waits));
    }
    let text = String::from_utf8_lossy(&output.text).into_owned();
    Ok(Rendered::Made(parse(&text)?, text))
}

fn parse(text: &str) -> Result<Value, Failure> {
    yaml::parse(text).map_err(|error| Failure::new(error.to_string()))
}

fn say(printer: &Printer, text: &str) -> Result<(), Failure> {
    printer.result(format!("{}\n", text.trim_end()).as_bytes())
}
