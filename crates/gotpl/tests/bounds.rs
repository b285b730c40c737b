//! Functions that could make much of little: each stops at a limit, and soon.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

use gotpl::{ErrorKind, Input, Limits, Run, Set};
use serde_json::json;

fn run(template: &str) -> Result<Vec<u8>, Box<gotpl::Error>> {
    let mut set = Set::new();
    set.parse("again", "{{ include \"again\" . }}").unwrap();
    set.parse("main", template).unwrap();
    let limits = Limits {
        work: 20_000_000,
        bytes: 2 << 20,
        ..Limits::default()
    };
    let data = json!({"self": "{{ tpl .self . }}", "map": {"a": {"b": 1}}});
    Run {
        limits,
        ..Run::new(&set)
    }
    .execute("main", &Input::new(&data))
    .map(|output| output.text)
}

#[test]
fn what_would_grow_without_end_is_refused() {
    for template in [
        "{{ until 1000000000 }}",
        "{{ until -9223372036854775807 }}",
        "{{ untilStep 0 9223372036854775807 1 }}",
        "{{ untilStep 9223372036854775807 -9223372036854775807 -1 }}",
        "{{ seq 1000000000 }}",
        "{{ seq -9223372036854775807 9223372036854775806 }}",
        "{{ $l := list 1 2 }}{{ range until 64 }}{{ $l = concat $l $l }}{{ end }}",
        "{{ $l := list }}{{ range until 5000 }}{{ $l = list $l }}{{ end }}",
        "{{ $l := list }}{{ range until 5000 }}{{ $l = append (list) $l }}{{ end }}",
        "{{ $l := list }}{{ range until 5000 }}{{ $l = chunk 1 (list $l) }}{{ end }}",
        "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ toJson $l }}",
        "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ toYaml $l }}",
        "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ $_ := deepCopy $l }}",
        "{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ deepEqual $l (deepCopy $l) }}",
        "{{ $d := dict \"a\" 1 }}{{ range until 60 }}{{ $d = dict \"x\" $d \"y\" $d }}{{ end }}{{ toJson $d }}",
        "{{ $d := dict \"a\" 1 }}{{ range until 60 }}{{ $d = dict \"x\" $d \"y\" $d }}{{ end }}{{ $_ := deepCopy $d }}",
        "{{ uniq (until 30000) }}",
        "{{ without (until 30000) (until 3) | len }}{{ range until 300000 }}{{ end }}",
        "{{ tpl .self . }}",
        "{{ fromJson (repeat 5000 \"[\" | cat (repeat 5000 \"]\")) }}{{ fromJson (printf \"%s%s\" (repeat 5000 \"[\") (repeat 5000 \"]\")) }}",
    ] {
        match run(template) {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{template}: {error}"),
            Ok(text) => panic!("{template}: {} bytes", text.len()),
        }
    }
}

#[test]
fn dicts_that_hold_themselves_are_refused_where_they_are_walked() {
    let knot = "{{ $d := dict \"a\" 1 }}{{ $_ := set $d \"self\" (list $d) }}{{ $_ := set .map \"map\" .map }}";
    for template in [
        "{{ toYamlPretty .map }}",
        "{{ $d }}",
        "{{ deepCopy $d }}",
        "{{ deepCopy .map }}",
        "{{ merge .map .map }}",
        "{{ mergeOverwrite (deepCopy .map) .map }}",
        "{{ $e := dict \"a\" 1 }}{{ $_ := set $e \"self\" (list $e) }}{{ deepEqual $d $e }}",
    ] {
        let error = run(&format!("{knot}{template}")).expect_err(template);
        assert_eq!(error.kind(), ErrorKind::Limit, "{template}: {error}");
    }
    // Here Go notices it, and so do we.
    for template in [
        "{{ toJson $d }}",
        "{{ toJson .map }}",
        "{{ toYaml $d }}",
        "{{ toYaml .map }}",
    ] {
        assert_eq!(
            run(&format!("{knot}{template}")).expect(template),
            b"",
            "{template}"
        );
    }
    for template in [
        "{{ toRawJson $d }}",
        "{{ mustToJson $d }}",
        "{{ mustToYaml $d }}",
    ] {
        let error = run(&format!("{knot}{template}")).expect_err(template);
        assert!(
            error.message().contains("encountered a cycle via "),
            "{template}: {error}"
        );
    }
    // What is only deep is no knot.
    let deep =
        "{{ $d := dict }}{{ range 1100 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ toJson $d }}";
    assert_eq!(run(deep).expect_err(deep).kind(), ErrorKind::Limit);
}

#[test]
fn a_template_that_includes_itself_is_refused() {
    let error = run("{{ include \"again\" . }}").unwrap_err();
    assert!(
        error.kind() == ErrorKind::Limit
            || error.message().contains("nested reference name: again"),
        "{error}"
    );
    assert!(error.places().len() > 500, "each level is named");
}
