//! What a fuzzer does with bytes: takes them for the templates of a stack, compiles it, and plans
//! an instance with nothing, something and everything observed. Nothing may panic, what waits is
//! never deleted, and nothing takes longer than its budget allows.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::budget::{self, Limits, Meter};
use engine::{Context, Kind, Observed, Seed, Source, Stack, compile_within, explain, plan};
use objects::{Gvk, Schema};
use serde_json::{Value, json};

#[path = "spent.rs"]
mod spent;
use spent::Spent;

/// About a thousand times what the budget stands for, since a fuzzer's build may be slow.
const TIME_LIMIT: Duration = Duration::from_secs(20);
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Templates `a`, `b`, `c` and the status, one after the other, each up to a NUL.
pub fn stack(bytes: &[u8]) {
    let mut parts = bytes
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned());
    let source = |name: &str, text: String| Source {
        file: format!("{name}.yaml"),
        text,
    };
    let templates: BTreeMap<String, Source> = NAMES
        .iter()
        .filter_map(|name| Some(((*name).to_string(), source(name, parts.next()?))))
        .collect();
    let status = parts.next().map(|text| source("status", text));
    let kind = Kind {
        gvk: Gvk::new("example.org", "v1", "App"),
        plural: "apps".to_owned(),
        namespaced: true,
        schema: Some(schema()),
        status_subresource: true,
        templates,
        status,
    };
    let stack = Stack {
        name: "fuzz".to_string(),
        namespace: "default".to_string(),
        kinds: vec![kind],
        depends_on: Vec::new(),
        partials: BTreeMap::new(),
        all_dependencies: true,
        scope: api::PermissionScope::Namespaced,
        recorded: false,
    };
    let limits = Limits {
        work: 20_000_000,
        bytes: 4 << 20,
        depth: 50,
        nesting: 100,
        ..budget::COMPILE
    };
    let meter = Meter::new(limits);
    let spent = Spent::start();
    let (compiled, problems) = compile_within(&stack, &|_| None, &meter);
    assert!(
        spent.time() < TIME_LIMIT,
        "{:?} for {} units of work",
        spent.time(),
        meter.work()
    );
    if meter.over().is_some() {
        let told = problems
            .iter()
            .all(|problem| problem.place.is_some() && problem.what.contains("over budget: "));
        assert!(problems.len() == 1 && told, "{problems:?}");
    }
    let Some(compiled) = compiled else { return };
    let instance = json!({
        "apiVersion": "example.org/v1", "kind": "App",
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"image": "nginx", "size": 3, "on": true, "hosts": [{"name": "x"}]},
    });
    let seed = Seed::new(*b"fuzz");
    let limits = Limits {
        work: 2_000_000,
        depth: 50,
        bytes: 1 << 20,
        nesting: 100,
        ..budget::RENDER
    };
    let context = Context {
        limits,
        ..Context::new("fuzz", &seed)
    };
    let child = |name: &str, status: Value| {
        let metadata = json!({"name": format!("web-{name}"), "namespace": "default", "uid": name});
        (
            (*name).to_string(),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "status": status}),
        )
    };
    let some: Observed = [child("a", json!({}))].into();
    let all: Observed = NAMES
        .map(|name| child(name, json!({"ip": "10.0.0.1"})))
        .into();
    for observed in [Observed::new(), some, all] {
        let spent = Spent::start();
        let plan = plan(&compiled.kinds[0], &instance, &observed, &context);
        assert!(spent.time() < TIME_LIMIT, "{:?} for a plan", spent.time());
        for hold in &plan.holds {
            assert!(
                plan.deletes
                    .iter()
                    .all(|delete| delete.template != hold.template),
                "what waits is deleted"
            );
        }
        for child in &compiled.kinds[0].children {
            let path = [yaml::Step::from("metadata"), yaml::Step::from("name")];
            let _ = explain(
                &compiled.kinds[0],
                &instance,
                &observed,
                &context,
                &child.name,
                &path,
            );
        }
    }
}

fn schema() -> Schema {
    let text = json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {
        "image": text, "size": {"type": "integer"}, "on": {"type": "boolean"},
        "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": text}}},
    }});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    Schema::read(&json!({"type": "object", "properties": {"spec": spec, "status": status}})).0
}
