//! A small stack to try things on: kind `App`, with a schema, and the templates a test gives it.
#![allow(
    dead_code,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests, not every test uses all"
)]

use std::collections::BTreeMap;

use engine::{
    Compiled, Context, Kind, Observed, Plan, Problem, Seed, Source, Stack, compile, plan,
};
use objects::{Gvk, Schema};
use serde_json::{Value, json};

pub fn schema() -> Schema {
    let text = json!({"type": "string"});
    let (schema, flaws) = Schema::read(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "image": text, "size": {"type": "integer"}, "on": {"type": "boolean"},
                "hosts": {"type": "array", "items": {"type": "object", "properties": {"name": text}}},
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            }},
            "status": {"type": "object", "properties": {
                "url": text, "count": {"type": "integer"}, "output": text, "error": text,
                "conditions": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }},
        },
    }));
    assert!(flaws.is_empty(), "{flaws:?}");
    schema
}

fn source(name: &str, text: &str) -> Source {
    Source {
        file: format!("{name}.yaml"),
        text: text.to_string(),
    }
}

/// A stack of the templates; the one called `status` is the status template, those with a slash are
/// partials.
pub fn stack(templates: &[(&str, &str)]) -> Stack {
    let mut kind = Kind {
        gvk: Gvk::new("example.org", "v1", "App"),
        plural: "apps".to_owned(),
        namespaced: true,
        schema: Some(schema()),
        status_subresource: true,
        templates: BTreeMap::new(),
        status: None,
    };
    let mut partials = BTreeMap::new();
    for (name, text) in templates {
        match name.rsplit_once('/') {
            Some((key, partial)) => {
                let file = format!("{name}.tpl");
                partials.insert(
                    (key.to_string(), partial.to_string()),
                    Source {
                        file,
                        text: (*text).to_string(),
                    },
                );
            }
            None if *name == "status" => kind.status = Some(source(name, text)),
            None => {
                kind.templates
                    .insert((*name).to_string(), source(name, text));
            }
        }
    }
    Stack {
        name: "demo".to_string(),
        namespace: "default".to_string(),
        kinds: vec![kind],
        depends_on: ["configmap/v1", "deployment.apps/v1", "job.batch/v1"]
            .map(|kind| api::key::Reference::parse(kind).unwrap())
            .into(),
        partials,
        all_dependencies: true,
        scope: api::PermissionScope::Namespaced,
        recorded: false,
    }
}

pub fn compiled(templates: &[(&str, &str)]) -> Compiled {
    let (compiled, problems) = compile(&stack(templates));
    compiled.unwrap_or_else(|| panic!("{}", lines(&problems)))
}

pub fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

pub fn instance(spec: &Value) -> Value {
    json!({
        "apiVersion": "example.org/v1", "kind": "App",
        "metadata": {"name": "web", "namespace": "default", "uid": "u1", "creationTimestamp": "2026-01-02T03:04:05Z", "generation": 3},
        "spec": spec,
    })
}

/// A ConfigMap as a template would write it, with the given text as its data.
pub fn config_map(name: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .metadata.name }}}}-{name}\ndata:\n  v: {data}\n"
    )
}

/// The child of that template as the API server would show it.
pub fn live(name: &str, status: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("web-{name}"), "namespace": "default", "uid": format!("uid-{name}")},
        "status": status,
    })
}

/// A plan. It is the same over what is kept of the children as over all of them, whatever the
/// templates read.
pub fn planned(compiled: &Compiled, instance: &Value, observed: &Observed) -> Plan {
    let seed = Seed::new(*b"a seed for tests");
    let context = Context::new("demo", &seed);
    let kind = &compiled.kinds[0];
    let whole = plan(kind, instance, observed, &context);
    let kept = |(name, value): (&String, &Value)| {
        let view = kind
            .child(name)
            .map(|child| child.view.clone())
            .unwrap_or_default();
        let value = match value {
            Value::Array(objects) => objects.iter().map(|object| view.reduce(object)).collect(),
            object => view.reduce(object),
        };
        (name.clone(), value)
    };
    let reduced: Observed = observed.iter().map(kept).collect();
    assert_eq!(
        plan(kind, instance, &reduced, &context),
        whole,
        "over {reduced:?}"
    );
    whole
}

/// A plan in a few words: `apply a`, `wait b for x`, `delete c`, `fail d: ...`.
pub fn words(plan: &Plan) -> Vec<String> {
    let mut words: Vec<String> = plan
        .applies
        .iter()
        .map(|apply| format!("apply {}", apply.template))
        .collect();
    for hold in &plan.holds {
        let waits: Vec<_> = hold.waits.iter().map(ToString::to_string).collect();
        words.push(format!("wait {} for {}", hold.template, waits.join(", ")));
    }
    words.extend(
        plan.deletes
            .iter()
            .map(|delete| format!("delete {}", delete.template)),
    );
    words.extend(
        plan.problems
            .iter()
            .map(|problem| format!("fail {}: {}", problem.template, problem.problem)),
    );
    words
}
