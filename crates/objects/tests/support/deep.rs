//! Schemas of any depth and width, and what work on them costs: shared by the tests of every crate
//! that reads schemas.
#![allow(
    dead_code,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests, not every test uses all"
)]

use std::time::Duration;

use serde_json::{Map, Value, json};

/// The next level around a schema.
pub type Way = fn(Value) -> Value;

/// Ways in which a schema gets deeper.
pub const WAYS: [(&str, Way); 8] = [
    (
        "properties",
        |inner| json!({"type": "object", "properties": {"a": inner}}),
    ),
    (
        "items",
        |inner| json!({"type": "object", "properties": {"a": {"type": "array", "items": inner}}}),
    ),
    (
        "additionalProperties",
        |inner| json!({"type": "object", "additionalProperties": inner}),
    ),
    (
        "defaults",
        |inner| json!({"type": "object", "default": {}, "properties": {"a": inner}}),
    ),
    ("keys", |inner| {
        let mut item = json!({"type": "object", "required": ["name"], "properties": {"a": inner}});
        item["properties"]["name"] = json!({"type": "string"});
        let list = json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item,
        });
        json!({"type": "object", "properties": {"l": list}})
    }),
    (
        "rules",
        |inner| json!({"type": "object", "properties": {"a": inner}, "x-kubernetes-validations": [{"rule": "has(self.a)"}]}),
    ),
    (
        "open",
        |inner| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": inner}}),
    ),
    (
        "alternatives",
        |inner| json!({"type": "object", "properties": {"a": inner}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
    ),
];

/// A schema of some levels, each of which looks like the one before it.
pub fn deep(way: Way, levels: usize) -> Value {
    let leaf = json!({"type": "object", "properties": {"leaf": {"type": "string"}}});
    (0..levels).fold(leaf, |inner, _| way(inner))
}

/// A schema like that of a pod: the same fields in lists and maps of lists, `count` of them beside
/// each other.
pub fn pods(count: usize) -> Value {
    let text = |words: &str| json!({"type": "string", "description": words});
    let source = json!({"type": "object", "required": ["key"], "properties": {
        "key": text("the key"), "name": {"type": "string", "default": ""}, "optional": {"type": "boolean"},
    }, "x-kubernetes-map-type": "atomic"});
    let env = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
        "type": "object", "required": ["name"], "properties": {
            "name": text("the name"), "value": text("the value"),
            "valueFrom": {"type": "object", "properties": {"configMapKeyRef": source, "secretKeyRef": source}},
        },
    }});
    let quantity = json!({
        "anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true,
        "pattern": "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
    });
    let probe = json!({"type": "object", "properties": {
        "exec": {"type": "object", "properties": {"command": {"type": "array", "items": {"type": "string"}}}},
        "httpGet": {"type": "object", "required": ["port"], "properties": {
            "path": text("the path"), "port": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true},
            "httpHeaders": {"type": "array", "items": {"type": "object", "properties": {"name": text("n"), "value": text("v")}}},
        }},
        "periodSeconds": {"type": "integer", "format": "int32"},
    }});
    let container = json!({"type": "object", "required": ["name"], "properties": {
        "name": text("the name"), "image": text("the image"), "env": env,
        "livenessProbe": probe, "readinessProbe": probe, "startupProbe": probe,
        "resources": {"type": "object", "properties": {
            "limits": {"type": "object", "additionalProperties": quantity},
            "requests": {"type": "object", "additionalProperties": quantity},
        }},
    }});
    let containers = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": container,
    });
    let pod = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
        "spec": {"type": "object", "required": ["containers"], "properties": {
            "containers": containers, "initContainers": containers, "ephemeralContainers": containers,
        }},
    }});
    let all: Map<String, Value> = (0..count)
        .map(|index| (format!("template{index}"), pod.clone()))
        .collect();
    json!({"type": "object", "properties": all})
}

/// A definition with such a specification.
pub fn definition(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}s.deep.example.org")},
        "spec": {
            "group": "deep.example.org", "scope": "Namespaced",
            "names": {
                "kind": format!("K{name}"), "plural": format!("{name}s"), "singular": name, "listKind": format!("K{name}List"),
            },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    })
}

/// How often something is done before its cost is believed: the least of several is that of the
/// work itself.
const TRIES: usize = 5;
/// Work below this is not worth comparing.
const FLOOR: Duration = Duration::from_millis(5);

/// The processor time that something takes on this thread, at least [`FLOOR`].
pub fn cost(mut work: impl FnMut()) -> Duration {
    (0..TRIES)
        .map(|_| {
            let before = spent();
            work();
            spent().saturating_sub(before)
        })
        .min()
        .unwrap_or_default()
        .max(FLOOR)
}

/// The processor time of this thread so far; where the system does not say, the time that has
/// passed.
pub fn spent() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = said
        .split_whitespace()
        .next()
        .and_then(|text| text.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// How often costs are compared before they count: other work on the machine slows some runs, a
/// wrong algorithm all of them, and by orders of magnitude.
pub const COMPARISONS: usize = 5;

/// Says what is wrong unless twice as much of a schema costs about twice as much.
pub fn nonlinear(what: &str, once: Duration, twice: Duration) -> Option<String> {
    let ratio = twice.as_secs_f64() / once.as_secs_f64();
    (ratio >= 3.5).then(|| {
        format!("{what}: twice the schema costs {ratio:.1} times as much ({once:?}, {twice:?})")
    })
}

/// Fails unless twice as much of a schema costs about twice as much.
pub fn assert_linear(what: &str, mut once: impl FnMut(), mut twice: impl FnMut()) {
    let mut wrong = String::new();
    for _ in 0..COMPARISONS {
        match nonlinear(what, cost(&mut once), cost(&mut twice)) {
            None => return,
            Some(why) => wrong = why,
        }
    }
    panic!("{wrong}");
}
