//! Nothing makes the reader panic, overflow or take long, and what is written reads back as the
//! same value.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::time::Instant;

use serde_json::{Value, json};
use yaml::{Limits, parse, parse_strict, parse_with};

#[path = "mutate/mod.rs"]
#[allow(dead_code)]
mod mutate;
use mutate::Random;

#[test]
fn no_text_makes_reading_panic() {
    let mut random = Random::new(11);
    let seeds = mutate::seeds();
    for _ in 0..15_000 {
        let text = mutate::text(&mut random, &seeds);
        let _ = parse(&text);
        let _ = parse_strict(&text);
        let _ = yaml::documents(&text);
    }
}

#[test]
fn no_characters_make_reading_panic() {
    let mut random = Random::new(12);
    for _ in 0..10_000 {
        let text: String = (0..random.below(40))
            .filter_map(|_| {
                let top = *random.pick(&[&0x80, &0x80, &0x800, &0x3000, &0x11_0000]);
                char::from_u32(random.below(top) as u32)
            })
            .collect();
        let _ = parse(&text);
    }
}

#[test]
fn every_prefix_of_every_golden_text_is_read_or_refused() {
    for text in mutate::seeds() {
        for end in (0..text.len().min(120)).filter(|end| text.is_char_boundary(*end)) {
            let _ = parse(&text[..end]);
        }
    }
}

#[test]
fn what_is_written_reads_back_as_the_same_value() {
    let mut random = Random::new(13);
    let seeds = mutate::seeds();
    let mut refused = 0;
    for _ in 0..10_000 {
        // Go itself loses some characters on the way through JSON, so the first writing settles the
        // value.
        let value = mutate::value(&mut random, &seeds, 0);
        let Ok(text) = yaml::emit(&value) else {
            refused += 1;
            continue;
        };
        // Go writes the key `<<` plain and would take it for a merge when reading.
        if text.contains("<<:") {
            continue;
        }
        let value =
            parse(&text).unwrap_or_else(|error| panic!("{error}: {value} was written as {text:?}"));
        assert_eq!(
            parse(&yaml::emit(&value).unwrap()).unwrap(),
            value,
            "{text:?}"
        );
        // The third generation of go-yaml writes tabs into literal blocks, which the second cannot
        // read back.
        if !text.contains("\\t") {
            assert_eq!(
                parse(&yaml::emit_pretty(&value)).unwrap(),
                value,
                "{text:?}"
            );
        }
    }
    assert!(refused < 3000, "{refused} values were refused");
}

#[test]
fn json_is_read_as_it_is() {
    let value = json!({
        "a": [1, -2, 3.5, 1e300, true, null, "yes", "", {"b": {"c": []}}, {}],
        "\u{e9}\n\t\"\\": "0777",
        "big": u64::MAX,
        "small": i64::MIN,
    });
    assert_eq!(parse(&value.to_string()).unwrap(), value);
    assert_eq!(
        parse(&serde_json::to_string_pretty(&value).unwrap()).unwrap(),
        value
    );
    assert_eq!(parse(&yaml::emit(&value).unwrap()).unwrap(), value);
}

#[test]
fn values_that_yaml_could_mistake_are_quoted_and_stay_text() {
    for text in [
        "yes",
        "0x1F",
        "1:30",
        "2001-01-01",
        "~",
        "null",
        "1_000",
        ".inf",
        "- a",
        "a: b",
        "#",
        "",
        "0b+1",
    ] {
        let value = json!({ "k": text, text: 1, "l": [text] });
        assert_eq!(
            parse(&yaml::emit(&value).unwrap()).unwrap(),
            value,
            "{text:?}"
        );
        assert_eq!(
            parse(&yaml::emit_pretty(&value)).unwrap(),
            value,
            "{text:?}"
        );
    }
}

#[test]
fn hostile_texts_fail_early() {
    let bomb = (1..40).fold(
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(),
        |text, n| {
            let items = vec![format!("*a{}", n - 1); 9].join(", ");
            format!("{text}a{n}: &a{n} [{items}]\n")
        },
    );
    let long = format!(
        "a: &a {}\nb: [{}]",
        "x".repeat(1 << 20),
        vec!["*a"; 2000].join(", ")
    );
    let nested: String = (0..2_000)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for (name, text, problem) in [
        ("brackets", "[".repeat(100_000), "exceeded max depth of 512"),
        (
            "braces",
            "{a: ".repeat(100_000),
            "exceeded max depth of 512",
        ),
        ("dashes", "- ".repeat(100_000), "exceeded max depth of 512"),
        (
            "questions",
            "? ".repeat(100_000),
            "exceeded max depth of 512",
        ),
        ("bomb", bomb, "document contains excessive aliasing"),
        ("long alias", long, "document contains excessive aliasing"),
        ("nested keys", nested, "exceeded max depth of 512"),
        (
            "itself",
            "&a [*a]".to_owned(),
            "anchor 'a' value contains itself",
        ),
        (
            "merge of itself",
            "&a {<<: *a}".to_owned(),
            "anchor 'a' value contains itself",
        ),
    ] {
        let start = Instant::now();
        let error = parse(&text).expect_err(name).to_string();
        assert!(error.contains(problem), "{name}: {error}");
        assert!(
            start.elapsed().as_secs() < 5,
            "{name} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn long_texts_take_time_in_proportion() {
    for (name, text) in [
        (
            "quotes",
            format!("a: [{}]", "\"\\x41\", 'b''c', ".repeat(60_000)),
        ),
        ("comments", "# comment\n".repeat(100_000)),
        ("empty collections", "- []\n- {}\n".repeat(60_000)),
        (
            "flow keys",
            format!(
                "{{{}}}",
                (0..50_000)
                    .map(|n| format!("k{n}: v, "))
                    .collect::<String>()
            ),
        ),
        (
            "anchors",
            (0..50_000).map(|n| format!("- &a{n} x\n")).collect(),
        ),
        ("folded", format!("a: >\n{}", "  word\n".repeat(100_000))),
        (
            "plain lines",
            format!("a:\n{}", "  word\n\n".repeat(100_000)),
        ),
        ("same key", "a: 1\n".repeat(100_000)),
        ("not ASCII", format!("é: ü{}", "\n  日本".repeat(100_000))),
    ] {
        let start = Instant::now();
        let _ = parse(&text);
        assert!(
            start.elapsed().as_secs() < 20,
            "{name} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn limits_are_kept_exactly() {
    let depth = |depth| Limits {
        depth,
        ..Limits::default()
    };
    assert!(parse_with("[[[a]]]", &depth(3)).is_ok());
    assert_eq!(
        parse_with("[[[a]]]", &depth(2)).unwrap_err().to_string(),
        "yaml: exceeded max depth of 2"
    );
    assert!(
        parse_with("a: &x [[1]]\nb: [*x]", &depth(3)).is_err(),
        "aliases count"
    );
    let nodes = |nodes| Limits {
        nodes,
        ..Limits::default()
    };
    assert!(parse_with("[a, b]", &nodes(3)).is_ok());
    assert!(parse_with("[a, b]", &nodes(2)).is_err());
    let bytes = |bytes| Limits {
        bytes,
        ..Limits::default()
    };
    assert!(parse_with("abc", &bytes(3)).is_ok());
    assert!(parse_with("abc", &bytes(2)).is_err());
}

#[test]
fn the_deepest_value_allowed_fits_the_stack_of_a_thread() {
    let depth = Limits::default().depth;
    for text in [
        "[".repeat(depth) + &"]".repeat(depth),
        "- ".repeat(depth - 1) + "- a",
        "{a: ".repeat(depth) + "1" + &"}".repeat(depth),
    ] {
        let small = std::thread::Builder::new().stack_size(2 << 20);
        let thread = small.spawn(move || {
            let value = parse(&text).unwrap();
            let spanned = yaml::parse_spanned(&text).unwrap();
            assert!(
                spanned.value == value && !spanned.spans.scalars().is_empty() || value.is_array()
            );
            yaml::emit(&value).unwrap().len() + yaml::emit_pretty(&value).len()
        });
        assert!(thread.unwrap().join().unwrap() > depth);
    }
}

#[test]
fn errors_know_the_line_an_editor_shows() {
    for (text, line, column, shown) in [
        (
            "a: b: c",
            1,
            5,
            "yaml: mapping values are not allowed in this context",
        ),
        (
            "a: 1\nb: c: d",
            2,
            5,
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        (
            "x: 1\ny: [1, 2\nz: 3",
            3,
            2,
            "yaml: line 2: did not find expected ',' or ']'",
        ),
        ("a: *b", 1, 4, "yaml: unknown anchor 'b' referenced"),
        (
            "a: 1\nb: !!int x",
            2,
            4,
            "yaml: cannot decode !!str `x` as a !!int",
        ),
        (
            "a: 1\nb: 2\na:\n  3",
            3,
            1,
            "yaml: unmarshal errors:\n  line 4: key \"a\" already set in map",
        ),
        // Columns count bytes, as spans do, after letters of any length and in lines that end in
        // any way.
        (
            "ä: b: c",
            1,
            6,
            "yaml: mapping values are not allowed in this context",
        ),
        (
            "x: 名前\nä: 名前: c",
            2,
            11,
            "yaml: line 2: mapping values are not allowed in this context",
        ),
        (
            "x: 🚀\r\n🚀: *b",
            2,
            7,
            "yaml: unknown anchor 'b' referenced",
        ),
        ("\u{feff}ä: *b", 1, 8, "yaml: unknown anchor 'b' referenced"),
    ] {
        let error = parse_strict(text).unwrap_err();
        assert_eq!(error.to_string(), shown);
        assert_eq!((error.line(), error.column()), (line, column), "{text:?}");
    }
}

#[test]
fn failing_to_write_leaves_the_output_as_it_was() {
    let mut out = "before".to_owned();
    let error = yaml::emit_to(&mut out, &json!({ "a": "\u{7f}" })).unwrap_err();
    assert_eq!(
        (out.as_str(), error.to_string().as_str()),
        ("before", "yaml: control characters are not allowed")
    );
    yaml::emit_to(&mut out, &Value::Null).unwrap();
    assert_eq!(out, "beforenull\n");
}

#[test]
fn documents_know_where_they_begin() {
    let stream = "# c\na: 1\n---\nb: 2\n--- # d\n\nc: 3";
    let found: Vec<_> = yaml::documents(stream)
        .unwrap()
        .into_iter()
        .map(|d| (d.line, d.start, d.text.into_owned()))
        .collect();
    let expect = [
        (1, 0, "# c\na: 1\n"),
        (4, 13, "b: 2\n"),
        (6, 26, "\nc: 3\n"),
    ];
    assert_eq!(
        found,
        expect.map(|(line, start, text)| (line, start, text.to_owned()))
    );
}
