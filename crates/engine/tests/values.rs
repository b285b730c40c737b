//! What values of an instance may do to the YAML of a template: fill scalars, whatever is in them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::collections::BTreeSet;

use engine::{Observed, Plan};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{compiled, instance, lines, planned};

const HEAD: &str =
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .metadata.name }}\nspec:\n";
const ECHO: (&str, &str) = ("lib/echo", "{{ .spec.image }}");

fn made(body: &str, spec: &Value) -> Plan {
    let template = format!("{HEAD}{body}");
    planned(
        &compiled(&[("web", &template), ECHO]),
        &instance(spec),
        &Observed::new(),
    )
}

fn told(plan: &Plan) -> String {
    lines(
        &plan
            .problems
            .iter()
            .map(|problem| problem.problem.clone())
            .collect::<Vec<_>>(),
    )
}

fn spec_of(plan: &Plan) -> Value {
    assert_eq!(told(plan), "");
    plan.applies[0].object["spec"].clone()
}

#[test]
fn a_value_that_would_add_to_the_document_is_refused_with_its_place_and_what_to_do() {
    let attack = "nginx\n  hostPID: true\n  containers: []";
    let plan = made("  image: {{ .spec.image }}\n", &json!({ "image": attack }));
    assert_eq!(
        told(&plan),
        "web.yaml:6:13: the value of `.spec.image` would change the structure of the YAML: its text would also set \
         `spec.hostPID`, `spec.containers` (print it with `| quote` or `| toJson`, text of several lines in a block scalar \
         (`|`) with `| nindent N`, and a list or mapping with `| toYaml | nindent N`)"
    );
    assert!(plan.applies.is_empty());
}

#[test]
fn values_that_stay_in_their_scalar_are_printed_whatever_is_in_them() {
    let odd = "a: b # c\n- d \"e\" 'f' \\ {g} [h], *i &j !k";
    for (body, image, expected) in [
        ("  a: {{ .spec.image | quote }}\n", odd, json!({ "a": odd })),
        (
            "  a: {{ .spec.image | toJson }}\n",
            odd,
            json!({ "a": odd }),
        ),
        (
            "  a: {{ toYaml .spec.image | nindent 4 }}\n",
            odd,
            json!({ "a": odd }),
        ),
        (
            "  a: {b: {{ .spec.image | quote }}, c: 1}\n",
            odd,
            json!({ "a": { "b": odd, "c": 1 } }),
        ),
        (
            "  a: [x, {{ .spec.image | toJson }}]\n",
            odd,
            json!({ "a": ["x", odd] }),
        ),
        (
            "  {{ .spec.image | quote }}: {{ .spec.image | quote }}\n",
            "a: b",
            json!({ "a: b": "a: b" }),
        ),
        (
            "  a: |\n    {{- .spec.image | nindent 4 }}\n",
            odd,
            json!({ "a": format!("{odd}\n") }),
        ),
        (
            "  a: |-\n{{ .spec.image | indent 4 }}\n",
            "x: y\n# z\n\n- w",
            json!({ "a": "x: y\n# z\n\n- w" }),
        ),
        (
            "  a: |\n    x\n    {{ .spec.image }}\n",
            "y: z",
            json!({ "a": "x\ny: z\n" }),
        ),
        (
            "  # {{ .spec.image }}\n  a: 1\n",
            "a: b # c",
            json!({ "a": 1 }),
        ),
        (
            "  a: {{ .spec.image }}\n",
            "nginx:1.25",
            json!({ "a": "nginx:1.25" }),
        ),
        (
            "  a: {{ .spec.image }}\n",
            "a b, c [d]",
            json!({ "a": "a b, c [d]" }),
        ),
        ("  a: {{ .spec.image }}\n", "x\n", json!({ "a": "x" })),
        ("  a: {{ .spec.image }}\n", "true", json!({ "a": true })),
        ("  a: {{ .spec.image }}\n", "null", json!({ "a": null })),
        (
            "  a: \"{{ .spec.image }}\"\n",
            "it's: [so] # fine",
            json!({ "a": "it's: [so] # fine" }),
        ),
        (
            "  a: '{{ .spec.image }}'\n",
            "a \"b\" \\n: # c",
            json!({ "a": "a \"b\" \\n: # c" }),
        ),
        (
            "  a: x{{ .spec.image }}y\n",
            "[b], 'c'",
            json!({ "a": "x[b], 'c'y" }),
        ),
        (
            "  {{ printf \"%s: %s\" \"a\" .spec.image }}\n",
            "b, c",
            json!({ "a": "b, c" }),
        ),
        (
            "  {{- printf \"a: %s\\nb: %s\" .spec.image .spec.image | nindent 2 }}\n",
            "c, d",
            json!({ "a": "c, d", "b": "c, d" }),
        ),
        (
            "  a:\n  - {{ list .spec.image \"x\" | join \"\\n  - \" }}\n",
            "c, d",
            json!({ "a": ["c, d", "x"] }),
        ),
        (
            "  a: {{ .spec.image | replace \"#\" \"\" }}\n",
            "c, d #",
            json!({ "a": "c, d" }),
        ),
        (
            "  a: {{ ternary \"{b: c}\" \"d\" (eq .spec.image \"x y\") }}\n",
            "x y",
            json!({ "a": { "b": "c" } }),
        ),
        (
            "  a: {{ tpl \"{b: {{ .spec.image | quote }}}\" . }}\n",
            "x, y",
            json!({ "a": { "b": "x, y" } }),
        ),
        (
            "  {{- dict \"a\" .spec.image | toYaml | nindent 2 }}\n",
            odd,
            json!({ "a": odd }),
        ),
        (
            "  a: {{ dict \"b\" (list .spec.image) | toJson }}\n",
            odd,
            json!({ "a": { "b": [odd] } }),
        ),
        (
            "  a: |\n    {{- dict \"b\" .spec.image | toYaml | nindent 4 }}\n",
            "x, y",
            json!({ "a": "b: x, y\n" }),
        ),
        (
            "  {{- .spec.image | fromYaml | toYaml | nindent 2 }}\n",
            "{a: [b, c]}",
            json!({ "a": ["b", "c"] }),
        ),
    ] {
        assert_eq!(
            spec_of(&made(body, &json!({ "image": image }))),
            expected,
            "{body}"
        );
    }
}

#[test]
fn structured_values_come_in_by_functions_that_write_them() {
    let extra = json!({ "a, b": "c: d # e", "f": { "g": ["h", "- i", "{j}"] }, "k": "l\nm\n", "n": "", "o": [], "p": {} });
    for body in [
        "  x:\n    {{- toYaml .spec.extra | nindent 4 }}\n",
        "  x:\n{{ toYaml .spec.extra | indent 4 }}\n",
        "  x: {{ toJson .spec.extra }}\n",
        "  x: {{ .spec.extra | toPrettyJson | nindent 4 }}\n",
        "  x:\n    {{- range $key, $value := .spec.extra }}\n    {{ $key | quote }}: {{ $value | toJson }}\n    {{- end }}\n",
        "  x: {y: 1, z: {{ toJson .spec.extra }}}\n",
    ] {
        let made = spec_of(&made(body, &json!({ "extra": extra })));
        let found = made["x"].get("z").unwrap_or(&made["x"]);
        assert_eq!(*found, extra, "{body}");
    }
}

#[test]
fn what_does_not_stay_in_its_scalar_is_refused_however_it_got_there() {
    for (body, image) in [
        ("  a: {{ .spec.image }}\n", "{}"),
        ("  a: {{ .spec.image }}\n", "[b]"),
        ("  a: {{ .spec.image }}\n", "b # c"),
        ("  a: {{ .spec.image }}\n", "# c"),
        ("  a: {{ .spec.image }}\n", "!!str b"),
        ("  a: {{ .spec.image }}\n", "&b c"),
        ("  x: &b 1\n  a: {{ .spec.image }}\n", "*b"),
        ("  a: {{ .spec.image }}\n", "|\n    b"),
        ("  a: {{ .spec.image }}\n", "b\n---\napiVersion: v1"),
        ("  a: {{ .spec.image }}\n", "b\n    c"),
        ("  a: \"{{ .spec.image }}\"\n", "b\"\n  c: \"d"),
        ("  a: \"{{ .spec.image }}\"\n", "\\x41"),
        ("  a: '{{ .spec.image }}'\n", "b'\n  c: 'd"),
        ("  a: {{ .spec.image | squote }}\n", "b' # '"),
        ("  a: [{{ .spec.image }}]\n", "b, c"),
        ("  a: [{{ toYaml .spec.image }}]\n", "b, c"),
        ("  a: {b: {{ .spec.image }}}\n", "c, d: e"),
        ("  a: x {{ .spec.image | quote }}\n", "b # c"),
        ("  {{ .spec.image }}: b\n", "c: d\n  e"),
        ("  {{ .spec.image }}:\n    b: c\n", "<<"),
        ("  x:\n    {{ .spec.image }}: b\n", "\n  a"),
        ("  a: |\n    {{ .spec.image }}\n", "b\n  c: d"),
        ("  a: |\n    {{- .spec.image | nindent 4 }}\n", "    b\nc"),
        ("  # {{ .spec.image }}\n  a: 1\n", "b\n  c: d"),
        ("  {{- .spec.image | nindent 2 }}\n", "a: b"),
        ("  a: {{ tpl .spec.image . }}\n", "{{ \"b\\n  c: d\" }}"),
        (
            "  a: {{ tpl .spec.image . }}\n",
            "b\n  c: {{ .metadata.name }}",
        ),
        ("  a: {{ .spec.image | b64dec }}\n", "YgogIGM6IGQ="),
        ("  a: {{ printf \"%s\" .spec.image }}\n", "b\n  c: d"),
        (
            "  a: {{ printf \"%s-%s\" .metadata.name .spec.image }}\n",
            "b\n  c: d",
        ),
        ("  a: {{ include \"lib\" \"echo\" . }}\n", "b\n  c: d"),
        (
            "  a: {{ include \"lib\" \"echo\" . | trunc 60 }}\n",
            "b\n  c: d",
        ),
        (
            "  a: {{ index (splitList \",\" .spec.image) 1 }}\n",
            ",b\n  c: d",
        ),
        (
            "  a: {{ .spec.image | splitList \",\" | last }}\n",
            ",b\n  c: d",
        ),
        (
            "  a: {{ range splitList \",\" .spec.image }}{{ . }}{{ end }}\n",
            ",b\n  c: d",
        ),
        ("  a: {{ (fromYaml .spec.image).x }}\n", "x: \"b\\n  c: d\""),
        (
            "  a: {{ index (fromJson .spec.image).x 0 }}\n",
            "{\"x\": [\"b\\n  c: d\"]}",
        ),
        (
            "  {{- range $key, $value := fromYaml .spec.image }}\n  {{ $key }}: 1\n  {{- end }}\n",
            "\"b: c\\n  d\": 1",
        ),
        (
            "  {{- range $key, $value := dict .spec.image 1 }}\n  {{ $key }}: 1\n  {{- end }}\n",
            "b: c\n  d",
        ),
        (
            "  a: {{ first (keys (dict .spec.image 1)) }}\n",
            "b\n  c: d",
        ),
        (
            "  a: {{ $d := dict }}{{ $_ := set $d .spec.image 1 }}{{ keys $d | first }}\n",
            "b\n  c: d",
        ),
        (
            "  a: {{ $d := dict \"x\" dict }}{{ $_ := merge $d (dict \"x\" (dict .spec.image 1)) }}{{ keys $d.x | first }}\n",
            "b\n  c: d",
        ),
        (
            "  a: {{ regexReplaceAll \"_\" .spec.image \"\\n  \" }}\n",
            "b_c: d",
        ),
        (
            "  a: {{ .spec.image | replace \"_\" \"\\n  \" }}\n",
            "b_c: d",
        ),
        (
            "  a: {{ regexFindAll \"[^_]+\" .spec.image -1 | first }}\n",
            "b\n  c: d",
        ),
        ("  a: {{ with .spec.image }}{{ . }}{{ end }}\n", "b\n  c: d"),
        ("  a: {{ .spec.image | upper | lower }}\n", "b\n  c: d"),
        ("  a: b {{ printf \"%c\" (atoi .spec.image) }}c\n", "35"),
        ("  a: {{ print .spec.image }}\n", "b\n  c: d"),
        ("  a: {{ cat .spec.image }}\n", "b\n  c: d"),
        (
            "  a: {{ (urlParse .spec.image).fragment }}\n",
            "http://x/#b%0A  c: d",
        ),
        ("  a: {{ .spec.image | trimPrefix \"x\" }}\n", "xb\n  c: d"),
        ("  a: {{ .spec.image | fromYaml }}\n", "b: \"c # d\""),
        ("  a: {{ list .spec.image }}\n", "b, c"),
        ("  a: b\n{{ .spec.image | indent 2 }}\n", "c: d"),
        ("  x:\n    a:{{ .spec.image }}\n", " b"),
        ("  x:\n    a:{{ .spec.image }}\n", "\n"),
    ] {
        let plan = made(body, &json!({ "image": image }));
        let told = told(&plan);
        let refused = [
            "would change the structure of the YAML",
            "would not arrive as it is",
            "is not YAML",
            "separator",
        ];
        assert!(
            refused.iter().any(|refused| told.contains(refused)),
            "{body}{image}: {told}\n{:?}",
            plan.applies
        );
        assert!(plan.applies.is_empty(), "{body}{image}");
    }
}

#[test]
fn the_status_template_is_held_to_the_same() {
    let web = format!("{HEAD}  a: 1\n");
    let compiled = compiled(&[("web", &web), ("status", "url: {{ .spec.image }}\n")]);
    let status = |image: &str| {
        planned(
            &compiled,
            &instance(&json!({ "image": image })),
            &Observed::new(),
        )
    };
    assert_eq!(status("a b").status.unwrap()["url"], "a b");
    assert_eq!(status("a, b").status.unwrap()["url"], "a, b");
    let plan = status("a\noutput: b");
    assert!(
        told(&plan)
            .contains("status.yaml:1:9: the value of `.spec.image` would change the structure"),
        "{}",
        told(&plan)
    );
    assert!(plan.status.unwrap().get("output").is_none());
}

#[test]
fn values_of_siblings_are_values_too() {
    let first = support::config_map("first", "x");
    let second = support::config_map("second", "{{ .first.status.text }}");
    let compiled = compiled(&[("first", &first), ("second", &second)]);
    let live = |text: &str| {
        Observed::from([(
            "first".to_string(),
            support::live("first", &json!({ "text": text })),
        )])
    };
    assert_eq!(
        told(&planned(&compiled, &instance(&json!({})), &live("a"))),
        ""
    );
    let plan = planned(&compiled, &instance(&json!({})), &live("a\n  b: c"));
    assert!(
        told(&plan).contains("`.first.status.text` would change the structure"),
        "{}",
        told(&plan)
    );
}

/// Every way into a text, with whether the text itself is to arrive.
const WAYS: &[(&str, bool)] = &[
    ("{{ .spec.image }}", true),
    ("{{ .spec.image | trim }}", false),
    ("{{ printf \"%s\" .spec.image }}", true),
    ("{{ printf \"x%sy\" .spec.image }}", false),
    ("{{ list .spec.image \"b\" | join \"-\" }}", false),
    ("{{ .spec.image | replace \"a\" \"b\" }}", false),
    ("{{ .spec.image | trunc 9 }}", false),
    ("{{ include \"lib\" \"echo\" . }}", true),
    ("{{ include \"lib\" \"echo\" . | quote }}", false),
    ("{{ index (list .spec.image) 0 }}", true),
    ("{{ (dict \"k\" .spec.image).k }}", true),
    ("{{ first (keys (dict .spec.image 1)) }}", true),
    (
        "{{ range $k, $v := dict .spec.image 1 }}{{ $k }}{{ end }}",
        true,
    ),
    ("{{ .spec.image | b64enc | b64dec }}", true),
    ("{{ (fromJson (dict \"a\" .spec.image | toJson)).a }}", true),
    ("{{ with .spec.image }}{{ . }}{{ end }}", true),
    ("{{ $x := .spec.image }}{{ $x }}", true),
    ("{{ tpl \"{{ .spec.image }}\" . }}", true),
    ("{{ regexReplaceAll \"x\" .spec.image \"y\" }}", false),
    ("{{ .spec.image | quote }}", false),
    ("{{ .spec.image | squote }}", false),
    ("{{ .spec.image | toJson }}", false),
    ("{{ .spec.image | toYaml }}", false),
    ("{{ .spec.image | upper }}", false),
    ("{{ .spec.image | nospace }}", false),
    ("{{ ternary .spec.image \"\" true }}", true),
    ("{{ default \"x\" .spec.image }}", true),
    ("{{ cat .spec.image \"b\" }}", false),
    ("{{ splitList \",\" .spec.image | first }}", false),
    (
        "{{ (mergeOverwrite (dict \"a\" \"b\") (dict \"a\" .spec.image)).a }}",
        true,
    ),
    ("{{ print .spec.image }}", true),
    ("{{ .spec.image | substr 0 8 }}", false),
    ("{{ .spec.image | indent 4 }}", false),
    ("{{ .spec.image | nindent 6 }}", false),
    ("{{ .spec.image }}{{ .spec.image }}", false),
    ("{{ list .spec.image }}", false),
    ("{{ .spec.image | trimSuffix \"\\\"\" }}", false),
];

const PLACES: &[&str] = &[
    "  a: @\n",
    "  a: @\n  z: 1\n",
    "  a: \"@\"\n",
    "  a: '@'\n",
    "  a: x @ y\n",
    "  a: @ # note\n",
    "  a: {b: @, c: 1}\n",
    "  a: [b, @]\n",
    "  a:\n  - @\n  - c\n",
    "  a:\n  - name: b\n    value: @\n    c: 1\n",
    "  a: |\n    @\n  z: 1\n",
    "  a: >-\n    x\n    @\n  z: 1\n",
    "  a: |\n    @\n    x\n",
    "  a:\n    @: b\n    c: d\n",
    "  a:\n    @:\n      b: c\n",
    "  a: {@: b, c: d}\n",
    "  # @\n  a: 1\n",
    "  a: 1 # @\n  b: 2\n",
    "  a:\n    b: @\n  c: @\n",
    "  a: x@\n",
];

const PARTS: &[&str] = &[
    "a",
    "b",
    "xyz",
    "\n",
    "\n  ",
    "\n    ",
    " ",
    "  ",
    ": ",
    ":",
    "#",
    " #",
    "- ",
    "-",
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    "\"",
    "'",
    "\\",
    "\\n",
    "&a ",
    "*a",
    "!t ",
    "|",
    ">",
    "---\n",
    "...",
    "\n---\n",
    "%",
    "@",
    "`",
    "<<",
    "? ",
    "hostPID: true",
    "\t",
    "\r",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "z: 2",
    "null",
    "true",
    "0",
    "{}",
    "[]",
    "~",
    "c: d",
    "é",
];

/// Every path of a value, with keys that hold a marker as one.
fn paths(value: &Value, path: &str, found: &mut Vec<String>) {
    found.push(path.to_owned());
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, field)| paths(field, &format!("{path}.{key}"), found)),
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, item)| paths(item, &format!("{path}[{at}]"), found));
        }
        _ => {}
    }
}

fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|field| leaves(field, found)),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        leaf => found.push(leaf),
    }
}

const MARKER: &str = "mMm";

fn holds(way: &str, place: &str, image: &str, exact: bool) -> bool {
    let body = place.replace('@', way);
    let template = format!("{HEAD}{body}");
    let (compiled, _) = engine::compile(&support::stack(&[("web", &template), ECHO]));
    let Some(compiled) = compiled else {
        return false;
    };
    let plan = |image: &str| {
        planned(
            &compiled,
            &instance(&json!({ "image": image })),
            &Observed::new(),
        )
    };
    let (harmless, hostile) = (plan(MARKER), plan(image));
    let ([harmless], [hostile]) = (&harmless.applies[..], &hostile.applies[..]) else {
        return false;
    };
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    paths(&harmless.object, "", &mut expected);
    paths(&hostile.object, "", &mut found);
    if place.contains("@:") {
        // The key itself is another, and may be one that is there already.
        let keep = |path: &String| !path.starts_with(".spec.a");
        assert!(
            found.len() <= expected.len(),
            "{body:?} {image:?}\n{hostile:#?}"
        );
        expected.retain(keep);
        found.retain(keep);
    }
    let (mut expected, found): (BTreeSet<_>, BTreeSet<_>) =
        (expected.into_iter().collect(), found.into_iter().collect());
    if place.contains(", @]") {
        // Of a value that is empty, or becomes so, there is no item.
        expected.retain(|path| found.contains(path) || path != ".spec.a[1]");
    }
    assert_eq!(found, expected, "{body:?} {image:?}");
    let (mut was, mut is) = (Vec::new(), Vec::new());
    leaves(&harmless.object, &mut was);
    leaves(&hostile.object, &mut is);
    if exact && !place.contains("@:") && !place.contains('|') && !place.contains('>') {
        for (was, is) in was.iter().zip(&is) {
            // Quotes around a whole value are taken off, as its type is taken from it.
            let is_quoted = image.starts_with(['"', '\'']);
            if let (Some(was), Some(is), false) = (was.as_str(), is.as_str(), is_quoted) {
                assert_eq!(
                    is.trim(),
                    was.replace(MARKER, image).trim(),
                    "{body:?} {image:?}"
                );
            }
        }
    }
    true
}

#[test]
fn whatever_a_value_is_the_document_has_the_structure_of_its_template_or_there_is_an_error() {
    let config = ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let rng = proptest::test_runner::TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    let kept = std::cell::Cell::new(0);
    let strategy = (
        0..WAYS.len(),
        0..PLACES.len(),
        prop::collection::vec(0..PARTS.len(), 1..7),
    );
    runner
        .run(&strategy, |(way, place, parts)| {
            let image: String = parts.iter().map(|part| PARTS[*part]).collect();
            let (way, exact) = WAYS[way];
            kept.set(kept.get() + usize::from(holds(way, PLACES[place], &image, exact)));
            Ok(())
        })
        .unwrap();
    // The test is not about errors alone.
    assert!(kept.get() > 150, "only {} of 1500 were made", kept.get());
}
