//! Patterns that would take more memory than there is: measured in a process of its own, so that no
//! other test is in the numbers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::{Duration, Instant};

use objects::Schema;
use serde_json::{Map, Value, json};

/// Bytes in memory of this process.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

fn schema(patterns: impl Iterator<Item = String>) -> Value {
    let field = |(index, pattern): (usize, String)| {
        (
            format!("f{index}"),
            json!({"type": "string", "pattern": pattern}),
        )
    };
    let fields: Map<String, Value> = patterns.enumerate().map(field).collect();
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}})
}

#[test]
fn a_schema_of_thousands_of_large_patterns_takes_little_memory_and_names_the_field() {
    for (patterns, refused) in [
        (schema((0..4_000).map(|_| r"\pL{200}".to_owned())), None),
        (
            schema((0..4_000).map(|index| format!(r"\pL{{{}}}", 100 + index % 100))),
            Some("together take too much memory"),
        ),
        (
            schema((0..4_000).map(|index| format!(r"x{index}\pL{{200}}"))),
            Some("together take too much memory"),
        ),
        (
            schema((0..4_000).map(|index| format!("x{index}[a-z]*"))),
            Some("together take too much memory"),
        ),
        (
            schema((0..10).map(|index| r"\pL".repeat(30_000 + index))),
            Some("together take too much memory"),
        ),
        (
            schema((0..1).map(|_| r"[\pL\pN]{900}".to_owned())),
            Some("takes too much memory"),
        ),
        (
            schema((0..1).map(|_| "((a{100}){100}){100}".to_owned())),
            Some("is not a regular expression"),
        ),
        (
            schema((0..1).map(|_| "a{1001}".to_owned())),
            Some("is not a regular expression"),
        ),
    ] {
        let (before, start) = (resident(), Instant::now());
        let (read, flaws) = Schema::read(&patterns);
        let fields = read.properties["spec"].properties.keys();
        let values: Map<String, Value> = fields
            .map(|name| (name.clone(), "ä".repeat(20).into()))
            .collect();
        drop(read.validate(&json!({ "spec": values })));
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        let grown = resident().saturating_sub(before);
        assert!(grown < 300 << 20, "{} MiB", grown >> 20);
        match refused {
            None => assert!(flaws.is_empty(), "{:?}", flaws.first()),
            Some(why) => {
                let flaw = flaws.first().unwrap();
                assert!(flaw.what.contains(why), "{flaw}");
                let place = flaw.path.to_string();
                assert!(
                    place.starts_with("properties.spec.properties.f")
                        && place.ends_with(".pattern"),
                    "{place}"
                );
            }
        }
    }
}

#[test]
fn matching_long_texts_is_bounded() {
    let (read, flaws) = Schema::read(&schema([r"(x|y)*x(x|y){900}".to_owned()].into_iter()));
    assert_eq!(flaws, []);
    let start = Instant::now();
    let said = read.validate(&json!({"spec": {"f0": "xy".repeat(500_000)}}));
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    assert!(said[0].what.ends_with("exceeds the cost limit"), "{said:?}");
}

#[test]
fn patterns_that_people_write_are_taken_and_held_to() {
    for (pattern, fits, other) in [
        (
            "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
            "a.b",
            "A",
        ),
        (
            "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
            "1h",
            "x",
        ),
        (r"^[\p{L}\p{N}_.-]{1,63}$", "äb", " "),
        (r"^\d{1,4}(\.\w{1,20}){2}$", "1.a.b", "x"),
        ("^.{1,1000}$", "abc", ""),
        ("^([A-Za-z0-9+/]{4}){0,250}$", "abcd", "abc"),
    ] {
        let (read, flaws) = Schema::read(&schema([pattern.to_owned()].into_iter()));
        assert_eq!(flaws, []);
        assert_eq!(
            read.validate(&json!({"spec": {"f0": fits}})),
            [],
            "{pattern}"
        );
        assert_eq!(
            read.validate(&json!({"spec": {"f0": other}})).len(),
            1,
            "{pattern}"
        );
    }
}
