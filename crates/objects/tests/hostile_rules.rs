//! Rules that would take longer than anybody waits, or more memory than there is: they are found
//! when a CRD is read, and before they are evaluated.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use objects::Schema;
use serde_json::{Value, json};

const DIGITS: &str = "[0,1,2,3,4,5,6,7,8,9]";

/// Loops in loops over ten numbers.
fn nested(depth: usize) -> String {
    (0..depth).fold("true".to_owned(), |inner, index| {
        format!("{DIGITS}.all(x{index}, {inner})")
    })
}

fn with_rule(spec: &Value, rule: &Value) -> Value {
    let mut spec = spec.clone();
    spec["x-kubernetes-validations"] = json!([rule]);
    json!({"type": "object", "properties": {"spec": spec}})
}

fn open() -> Value {
    json!({"type": "object", "properties": {
        "text": {"type": "string"},
        "pattern": {"type": "string"},
        "number": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "texts": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }})
}

#[test]
fn rules_of_exponential_cost_are_refused_when_the_schema_is_read() {
    let start = Instant::now();
    for rule in [
        nested(8),
        nested(15),
        "self.list.all(a, self.list.all(b, a == b))".to_owned(),
        "self.texts.all(a, self.texts.exists(b, a == b))".to_owned(),
        "self.labels.all(a, self.labels.all(b, a == b))".to_owned(),
        "self.list.map(a, self.list.map(b, a)).size() > 0".to_owned(),
        format!(
            "'x'{}.matches('x')",
            ".replace('x', 'xxxxxxxxxx')".repeat(12)
        ),
        "lists.range(1000000000).all(x, x >= 0)".to_owned(),
    ] {
        let flaws = Schema::read(&with_rule(&open(), &json!({ "rule": rule }))).1;
        let flaw = flaws.first().unwrap_or_else(|| panic!("{rule} is taken"));
        assert_eq!(
            flaw.path.to_string(),
            "properties.spec.x-kubernetes-validations[0].rule",
            "{rule}"
        );
        assert!(
            flaw.what
                .starts_with("estimated rule cost exceeds budget by factor of "),
            "{flaw}"
        );
    }
    let message = json!({"rule": "true", "messageExpression": format!("string({})", nested(9))});
    let flaws = Schema::read(&with_rule(&open(), &message)).1;
    let flaw = flaws.first().unwrap();
    assert!(
        flaw.path.to_string().ends_with("[0].messageExpression"),
        "{flaw}"
    );
    assert!(
        flaw.what
            .starts_with("estimated messageExpression cost exceeds budget"),
        "{flaw}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn many_rules_that_are_too_much_together_are_refused() {
    let rules: Vec<Value> = (0..100).map(|_| json!({"rule": nested(6)})).collect();
    let schema = json!({"type": "object", "x-kubernetes-validations": rules});
    let flaws = Schema::read(&schema).1;
    let said: Vec<&str> = flaws.iter().map(|flaw| flaw.what.as_str()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with(
        "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds"
    ));
}

#[test]
fn rules_on_bounded_lists_are_taken() {
    let spec = json!({"type": "object", "properties": {
        "list": {"type": "array", "maxItems": 64, "items": {"type": "object", "properties": {
            "name": {"type": "string", "maxLength": 253}, "port": {"type": "integer"},
        }}},
        "text": {"type": "string", "maxLength": 253},
        "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 63}, "maxProperties": 50},
    }});
    for rule in [
        "self.list.all(a, self.list.exists_one(b, a.name == b.name && a.port == b.port))",
        "self.text.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        "self.labels.all(key, key.startsWith('a') && self.labels[key].matches('^[a-z]+$'))",
        "self.list.filter(a, a.port > 1).map(a, a.name).all(name, name != self.text)",
        "self.text.split('.').all(part, part.size() <= 63)",
    ] {
        let (read, flaws) = Schema::read(&with_rule(&spec, &json!({ "rule": rule })));
        assert_eq!(flaws, [], "{rule}");
        let list: Vec<Value> = (0..64)
            .map(|index| json!({"name": format!("n{index}"), "port": index}))
            .collect();
        let object = json!({"spec": {"list": list, "text": "a-b", "labels": {"ab": "cd"}}});
        assert_eq!(read.rules().unwrap().broken(&object, None), [], "{rule}");
    }
}

/// A CRD may have been stored by a server that estimates otherwise: what is evaluated is bounded by
/// itself.
#[test]
fn rules_that_cost_too_much_for_an_object_are_not_evaluated() {
    let many: Vec<usize> = (0..20_000).collect();
    let texts: Vec<String> = (0..10_000).map(|index| format!("t{index}")).collect();
    let labels: serde_json::Map<String, Value> = (0..10_000)
        .map(|index| (format!("k{index}"), "v".into()))
        .collect();
    let object = json!({"spec": {
        "text": "x".repeat(300_000), "pattern": "(x|y)*x(x|y){900}", "number": 1_000_000_000_000_u64, "list": many,
        "texts": texts, "labels": labels,
    }});
    for rule in [
        nested(8),
        nested(15),
        "self.list.all(a, self.list.all(b, a >= 0 || b >= 0))".to_owned(),
        "self.list.map(a, a).size() > 0".to_owned(),
        "self.list.filter(a, a > 0).size() > 0".to_owned(),
        "self.list.all(a, self.text.size() > 0)".to_owned(),
        "self.list.all(a, self.texts.size() > 0)".to_owned(),
        "self.labels.all(key, self.labels.size() > 0)".to_owned(),
        "self.texts.all(a, a in self.texts)".to_owned(),
        "self.texts.all(a, a.matches('\\\\pL{200}'))".to_owned(),
        "self.texts.all(a, a.matches(self.pattern))".to_owned(),
        "self.texts.distinct().size() > 0".to_owned(),
        "sets.contains(self.texts, self.texts)".to_owned(),
        "self.text.split('').map(x, x).size() > 0".to_owned(),
        "self.text.replace('x', self.text).size() > 0".to_owned(),
        "self.text.replace('', self.text).size() > 0".to_owned(),
        format!("'x'{}.size() > 0", ".replace('x', 'xxxxxxxxxx')".repeat(12)),
        "self.texts.map(x, self.text).size() > 0".to_owned(),
        "[self.text, self.text].map(x, self.texts.join(x)).size() > 0".to_owned(),
        "lists.range(1000000000).size() > 0".to_owned(),
        "lists.range(self.number).size() > 0".to_owned(),
        "'%.999999999f'.format([1.0]).size() > 0".to_owned(),
        "[self.text, self.text].all(x, self.list.all(y, x + x + x != 'a'))".to_owned(),
    ] {
        let start = Instant::now();
        let (read, _) = Schema::read(&with_rule(&open(), &json!({ "rule": rule })));
        let broken = read.rules().unwrap().broken(&object, None);
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{rule}: {:?}",
            start.elapsed()
        );
        let said: Vec<&str> = broken.iter().map(|rule| rule.what.as_str()).collect();
        assert_eq!(said.len(), 1, "{rule}: {said:?}");
        assert!(
            said[0].contains("exceeds the cost limit"),
            "{rule}: {said:?}"
        );
        // A limit of this evaluator alone rejects no object.
        let mut admitted = object.clone();
        assert_eq!(read.admit(&mut admitted), [], "{rule}");
    }
}

#[test]
fn what_is_just_within_the_limit_is_evaluated_soon() {
    for (rule, count) in [
        (nested(4), 1),
        (
            "self.list.all(a, self.list.all(b, a >= 0 || b >= 0))".to_owned(),
            300,
        ),
        ("self.list.map(a, a).size() > 0".to_owned(), 1_000),
        ("self.texts.all(a, self.list.size() > 0)".to_owned(), 700),
        (
            "self.texts.all(a, a.matches('^[a-z0-9]+$'))".to_owned(),
            3_000,
        ),
        ("self.texts.all(a, a in self.texts)".to_owned(), 700),
    ] {
        let texts: Vec<String> = (0..count).map(|index| format!("t{index}")).collect();
        let object = json!({"spec": {"list": (0..count).collect::<Vec<_>>(), "texts": texts}});
        let (read, _) = Schema::read(&with_rule(&open(), &json!({ "rule": rule })));
        let start = Instant::now();
        assert_eq!(read.rules().unwrap().broken(&object, None), [], "{rule}");
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{rule}: {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn long_rules_are_parsed_or_refused_and_make_nothing_panic() {
    for (part, count, refused) in [
        ("self.number == 1 || ", 2_000, None),
        (
            "self.number == 1 || ",
            4_000,
            Some("expression code point size exceeds limit"),
        ),
        (
            "self.number == ) ] } || ",
            4_000,
            Some("expression code point size exceeds limit"),
        ),
        (
            "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' == ",
            900,
            Some("does not compile"),
        ),
    ] {
        let last = if refused == Some("does not compile") {
            ")"
        } else {
            "true"
        };
        let rule = format!("{}{last}", part.repeat(count));
        let flaws = Schema::read(&with_rule(&open(), &json!({ "rule": rule }))).1;
        let said = flaws.first().map(|flaw| flaw.what.as_str());
        assert!(
            refused.is_none_or(|why| said.is_some_and(|said| said.contains(why))),
            "{part} {said:.200?}"
        );
        assert!(refused.is_some() || said.is_none(), "{part} {said:.200?}");
    }
}

#[test]
fn more_rules_than_anybody_writes_are_refused() {
    let rules: Vec<Value> = (0..300)
        .map(|index| json!({"rule": format!("'{}' != ''", "x".repeat(1_000 + index))}))
        .collect();
    let flaws = Schema::read(&json!({"type": "object", "x-kubernetes-validations": rules})).1;
    assert_eq!(flaws.len(), 1);
    assert!(
        flaws[0].what.contains("characters together"),
        "{}",
        flaws[0]
    );
}
