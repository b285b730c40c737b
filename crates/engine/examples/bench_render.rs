//! What it costs to compile a stack of three templates and to plan an instance of it: a JSON line.
//! `tools/oracle bench` on the same folder says what Go's text/template alone takes for the same
//! texts.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool of the developers"
)]

#[path = "../../yaml/examples/support/stopwatch.rs"]
mod stopwatch;

use std::collections::BTreeMap;
use std::path::Path;

use engine::{Context, Kind, Observed, Seed, Source, Stack, compile, plan};
use objects::{Gvk, Schema};
use serde_json::{Value, json};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/app");
    let stack = stack(&folder);
    let (compiled, problems) = compile(&stack);
    let compiled = compiled.unwrap_or_else(|| panic!("{problems:?}"));
    let mut instance: Value =
        serde_json::from_slice(&std::fs::read(folder.join("data.json")).unwrap()).unwrap();
    let service = instance.as_object_mut().unwrap().remove("service").unwrap();
    let observed: Observed = BTreeMap::from([("service".to_string(), service)]);
    let seed = Seed::new(*b"bench");
    let context = Context::new("bench", &seed);
    let planned = plan(&compiled.kinds[0], &instance, &observed, &context);
    assert!(
        planned.is_complete() && planned.applies.len() == 3,
        "{planned:?}"
    );
    let pending = Observed::new();
    println!(
        "{}",
        json!({
            "case": "app",
            "compile_ns": stopwatch::best(|| drop(std::hint::black_box(compile(&stack)))),
            "plan_ns": stopwatch::best(|| drop(std::hint::black_box(plan(&compiled.kinds[0], &instance, &observed, &context)))),
            "plan_pending_ns": stopwatch::best(|| drop(std::hint::black_box(plan(&compiled.kinds[0], &instance, &pending, &context)))),
        })
    );
}

fn stack(folder: &Path) -> Stack {
    let text = json!({"type": "string"});
    let (schema, flaws) = Schema::read(
        &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "image": text, "size": {"type": "integer"}, "on": {"type": "boolean"},
            "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": text}}},
        }}, "status": {"type": "object", "properties": {
            "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        }}}}),
    );
    assert!(flaws.is_empty());
    let source = |name: &str| {
        let file = format!("{name}.yaml");
        let text = std::fs::read_to_string(folder.join("templates").join(&file)).unwrap();
        (name.to_string(), Source { file, text })
    };
    let kind = Kind {
        gvk: Gvk::new("example.org", "v1", "App"),
        plural: "apps".to_owned(),
        namespaced: true,
        schema: Some(schema),
        status_subresource: true,
        templates: ["config", "deployment", "service"].map(source).into(),
        status: None,
    };
    Stack {
        name: "bench".to_string(),
        namespace: "default".to_string(),
        kinds: vec![kind],
        depends_on: Vec::new(),
        partials: BTreeMap::new(),
        all_dependencies: true,
        scope: api::PermissionScope::Namespaced,
        recorded: true,
    }
}
