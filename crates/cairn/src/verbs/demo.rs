//! `cairn demo`: one instance of an example stack, from its first template to its status, with nothing installed.
//!
//! The package, the engine and its plans are real; the outside controllers that would set the children's statuses are
//! played.

use std::path::Path;

use engine::{Context, Rule, Seed};
use package::Files;
use serde_json::Value;

use crate::args::Demo;
use crate::failure::{Code, Failure};
use crate::instance::{self, Admitted};
use crate::printer::Printer;
use crate::project::Project;
use crate::verbs::render::{PREVIEW_SEED, emitted};
use crate::written::Part;

macro_rules! example {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../../../examples/caching-web-service/", $file)))),*]
    };
}

const PACKAGE: &[(&str, &str)] = example![
    ".registry/app.yaml",
    ".registry/resources/example.org/cachingwebservice/v1/cachingwebservice.v1.crd.yaml",
    ".registry/resources/example.org/redis/v1/redis.v1.crd.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/cache.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/status.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/web.yaml",
    ".registry/templates/redis.example.org/v1/deployment.yaml",
    ".registry/templates/redis.example.org/v1/service.yaml",
    ".registry/templates/redis.example.org/v1/status.yaml",
];
const OTHERS: &[(&str, &str)] = example!["cacheme.yaml", "controllers.yaml"];

pub(crate) fn run(args: &Demo, printer: &Printer) -> Result<Code, Failure> {
    let [(file, instance), (_, controllers)] = OTHERS else {
        return Err(Failure::new("the demo lacks its example"));
    };
    let files: Files = PACKAGE.iter().map(|(file, text)| ((*file).to_string(), text.as_bytes().to_vec())).collect();
    let project = Project::of(Path::new("examples/caching-web-service"), "caching-web-service", files);
    say(
        printer,
        &format!("A platform team wrote a CRD and these templates; there is no controller to write:\n{}", listed()),
    )?;
    say(printer, &format!("\nA user asks for this:\n{}", indented(instance)))?;

    let mut written = Part::read(file, instance)?;
    let (Some(written), compiled) = (written.pop(), project.compiled()?) else {
        return Err(Failure::new("the demo lacks its instance"));
    };
    let Admitted { kind, object, .. } = instance::admit(compiled, &written)
        .map_err(|refused| Failure::new(refused.iter().map(|one| one.finding.to_string()).collect::<String>()))?;
    let rules: Vec<Rule> =
        serde_json::from_value(parse(controllers)?).map_err(|error| Failure::new(error.to_string()))?;
    let seed = Seed::new(PREVIEW_SEED);
    let context = Context { stack: &compiled.name, seed: &seed, limits: gotpl::Limits::default() };
    let simulation = engine::simulate(kind, &object, engine::Observed::new(), &rules, &context);
    for (index, pass) in simulation.passes.iter().enumerate().filter(|(_, pass)| !pass.changed.is_empty()) {
        say(printer, &format!("\nPass {}", index + 1))?;
        for apply in pass.plan.applies.iter().filter(|apply| pass.changed.contains(&apply.template)) {
            let (kind, name) = (&apply.object["kind"], &apply.object["metadata"]["name"]);
            let name = format!("{}/{}", kind.as_str().unwrap_or_default(), name.as_str().unwrap_or_default());
            say(printer, &format!("  {:<6} makes {name}", apply.template))?;
        }
        for hold in &pass.plan.holds {
            let waits: Vec<_> = hold.waits.iter().map(|wait| format!("`{}`", wait.path)).collect();
            say(printer, &format!("  {:<6} waits for {}", hold.template, waits.join(", ")))?;
        }
        for rule in rules.iter().filter(|rule| pass.changed.contains(&rule.child)) {
            say(printer, &format!("         ... and the controller of {} reports {}", rule.child, rule.status))?;
        }
    }
    let last = simulation.passes.last().and_then(|pass| pass.plan.status.as_ref());
    let ready = simulation.settled && simulation.passes.last().is_some_and(|pass| pass.plan.is_complete());
    say(
        printer,
        &format!("\nReady. The user's object now says:\n{}", indented(&emitted(last.unwrap_or(&Value::Null))?)),
    )?;
    if !ready {
        return Err(Failure::new("the example did not become ready"));
    }
    if !args.exit {
        say(
            printer,
            "\nNext (`cairn` is target/release/cairn, or `cargo run --release --`):\n  \
             cairn test examples/caching-web-service          its tests, in milliseconds\n  \
             cairn render examples/web-application -f examples/web-application/shop.yaml\n  \
             cairn eval --help                                templates of your own",
        )?;
    }
    Ok(Code::Ok)
}

fn listed() -> String {
    let named = PACKAGE.iter().filter(|(file, _)| file.contains("crd") || file.contains("templates/"));
    named.map(|(file, text)| format!("  {file} ({} lines)\n", text.lines().count())).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn parse(text: &str) -> Result<Value, Failure> {
    yaml::parse(text).map_err(|error| Failure::new(error.to_string()))
}

fn say(printer: &Printer, text: &str) -> Result<(), Failure> {
    printer.result(format!("{}\n", text.trim_end()).as_bytes())
}
