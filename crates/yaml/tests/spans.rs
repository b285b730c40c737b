//! The table of places agrees with the text it was read from.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use serde_json::Value;
use yaml::{Step, parse_spanned};

#[path = "mutate/mod.rs"]
#[allow(dead_code)]
mod mutate;

fn path(text: &str) -> Vec<Step> {
    text.split('.')
        .filter(|step| !step.is_empty())
        .map(|step| step.parse().map_or_else(|_| Step::from(step), Step::Index))
        .collect()
}

#[test]
fn a_path_leads_to_the_text_of_key_and_value() {
    let text = "\
a: 1
b:
  - x
  - \"y z\"
  - {k: [1, 'two']}
c: &anchor
  d: !!str 5
  é: |
    text
    more
e: *anchor
f:
  <<: *anchor
  d: 6
g: {}
on: yes
";
    let spanned = parse_spanned(text).unwrap();
    for (at, key, value, line, column) in [
        ("a", Some("a"), "1", 1, 4),
        ("b.0", None, "x", 3, 5),
        ("b.1", None, "\"y z\"", 4, 5),
        ("b.2", None, "{k: [1, 'two']}", 5, 5),
        ("b.2.k.1", None, "'two'", 5, 13),
        ("b.2.k", Some("k"), "[1, 'two']", 5, 9),
        ("c.d", Some("d"), "5", 7, 12),
        ("c.é", Some("é"), "|\n    text\n    more", 8, 7),
        ("e", Some("e"), "*anchor", 11, 4),
        ("e.d", Some("d"), "5", 7, 12),
        ("f.d", Some("d"), "6", 14, 6),
        ("f.é", Some("é"), "|\n    text\n    more", 8, 7),
        ("g", Some("g"), "{}", 15, 4),
        ("true", Some("on"), "yes", 16, 5),
    ] {
        let found = spanned
            .spans
            .find(&path(at))
            .unwrap_or_else(|| panic!("{at} is not found"));
        assert_eq!(&text[found.value.start..found.value.end], value, "{at}");
        assert_eq!(
            (found.value.line, found.value.column),
            (line, column),
            "{at}"
        );
        assert_eq!(
            found.key.map(|span| &text[span.start..span.end]),
            key,
            "{at}"
        );
    }
    for at in ["z", "a.0", "b.3", "b.x", "c.d.e"] {
        assert!(spanned.spans.find(&path(at)).is_none(), "{at} is found");
    }
}

#[test]
fn every_byte_of_a_scalar_leads_back_to_its_field() {
    let text = "metadata:\n  name: web\nspec:\n- port: 80\n  host: 'a b'\n- [x]\n";
    let spanned = parse_spanned(text).unwrap();
    let shown = |offset: usize| {
        spanned.spans.at(offset).map(|scalar| {
            let steps = scalar.path.iter().map(|step| match step {
                Step::Key(key) => key.to_string(),
                Step::Index(index) => index.to_string(),
            });
            (steps.collect::<Vec<_>>().join("."), scalar.is_key)
        })
    };
    for (needle, path, is_key) in [
        ("metadata", "metadata", true),
        ("web", "metadata.name", false),
        ("port", "spec.0.port", true),
        ("80", "spec.0.port", false),
        ("'a b'", "spec.0.host", false),
        ("x]", "spec.1.0", false),
    ] {
        let offset = text.find(needle).unwrap();
        assert_eq!(shown(offset), Some((path.to_owned(), is_key)), "{needle}");
    }
    assert_eq!(shown(text.find(": web").unwrap()), None);
    assert_eq!(shown(text.len() + 5), None);
}

#[test]
fn scalars_are_listed_in_the_order_of_the_text_and_their_paths_lead_back() {
    let mut random = mutate::Random::new(7);
    let seeds = mutate::seeds();
    let mut checked = 0;
    for _ in 0..4000 {
        let text = mutate::text(&mut random, &seeds);
        let Ok(spanned) = parse_spanned(&text) else {
            continue;
        };
        assert_eq!(Ok(&spanned.value), yaml::parse(&text).as_ref());
        // A key given twice hides what the first had.
        let unique = yaml::parse_strict(&text).is_ok();
        let mut last = 0;
        for scalar in spanned.spans.scalars() {
            assert!(
                scalar.span.start >= last && scalar.span.start <= scalar.span.end,
                "{text:?}: {scalar:?}"
            );
            assert!(
                text.is_char_boundary(scalar.span.start) && text.is_char_boundary(scalar.span.end),
                "{text:?}"
            );
            last = scalar.span.start;
            let hidden = !unique || scalar.path.contains(&Step::from("<<"));
            assert!(
                hidden || spanned.spans.find(&scalar.path).is_some(),
                "{text:?}: {scalar:?}"
            );
            assert!(
                hidden || resolve(&spanned.value, &scalar.path).is_some(),
                "{text:?}: {scalar:?}"
            );
            checked += 1;
        }
    }
    assert!(checked > 2000, "only {checked} scalars were checked");
}

fn resolve<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key.as_ref()),
        Step::Index(index) => value.get(index),
    })
}

#[test]
fn a_key_may_override_a_merge_but_not_stand_twice() {
    for (text, expected) in [
        ("<<: {a: b}\na: c\n", Some("c")),
        ("x: &x {a: b}\ny: {<<: *x, a: c}\na: d\n", Some("d")),
        ("<<: {a: b}\na: c\na: d\n", None),
        ("a: c\na: d\n", None),
    ] {
        let read = yaml::parse_written(text);
        assert_eq!(
            read.as_ref().ok().and_then(|value| value["a"].as_str()),
            expected,
            "{text}: {read:?}"
        );
        assert!(
            yaml::parse_strict(text).is_err(),
            "Go's strict way refuses them all: {text}"
        );
    }
}

#[test]
fn quotes_that_are_not_closed_are_told_where_they_open() {
    let error = yaml::parse("a: 1\nb: \"c\nd: e\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 4), "{error}");
}

#[test]
fn a_column_is_the_bytes_of_the_line_before_whatever_they_are() {
    let text = "a: {ä: 1, 名: [🚀, x], e\u{301}: '\t', z: 2}\r\nü: !!str 🇩🇪 x\r\nb: ö\n";
    let spanned = parse_spanned(text).unwrap();
    let scalars = spanned.spans.scalars();
    assert!(scalars.len() > 8);
    for scalar in scalars {
        let start = text[..scalar.span.start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[..scalar.span.start].matches('\n').count() + 1;
        let expected = (line, scalar.span.start - start + 1);
        assert_eq!(
            (scalar.span.line, scalar.span.column),
            expected,
            "{:?}",
            scalar.path
        );
    }
}
