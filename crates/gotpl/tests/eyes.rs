//! What a watched run sees: reads, where they end, which bytes they became, and what is unknown.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;

use gotpl::{Input, Known, Path, Presence, Run, Set, Step, Trace, UseKind, Watch};
use serde_json::{Value, json};

/// Parses sources (`main` first) and runs `main` closely watched.
fn watch(sources: &[(&str, &str)], data: &Value) -> (Result<String, String>, Trace) {
    run(sources, data, Watch::Closely)
}

fn run(
    sources: &[(&str, &str)],
    data: &Value,
    watch: Watch<'_>,
) -> (Result<String, String>, Trace) {
    let mut set = Set::new();
    for (name, source) in sources {
        set.parse(name, source).unwrap();
    }
    let run = Run {
        watch,
        ..Run::new(&set)
    };
    match run.trace("main", &Input::new(data)) {
        Ok(output) => (
            Ok(String::from_utf8(output.text).unwrap()),
            output.trace.unwrap(),
        ),
        Err((error, trace)) => (Err(error.to_string()), trace.unwrap()),
    }
}

/// The reads as lines: path, presence, place, and how they ended.
///
/// Go places a chain such as `.spec.name` at its second field, and so do we.
fn story(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, read) in trace.reads.iter().enumerate() {
        let mut line = format!(
            "{} {:?} at {}:{}",
            read.path, read.presence, read.site.line, read.site.column
        )
        .to_lowercase();
        for end in trace.uses.iter().filter(|end| end.reads.contains(&index)) {
            write!(line, " -> {:?}", end.kind).unwrap();
            if let Some(function) = end.function {
                write!(line, "({function})").unwrap();
            }
        }
        lines.push(line);
    }
    lines
}

#[test]
fn each_read_is_told_with_its_end() {
    let data = json!({"spec": {"name": "web", "on": true, "ports": [80, 443]}, "status": {}});
    for (template, expected) in [
        (
            "{{ .spec.name }}",
            vec!["spec present at 1:8", "spec.name present at 1:8 -> Text"],
        ),
        (
            "{{ .spec.gone }}",
            vec!["spec present at 1:8", "spec.gone missing at 1:8 -> Text"],
        ),
        (
            "{{ if .status.ready }}x{{ end }}",
            vec![
                "status present at 1:13",
                "status.ready missing at 1:13 -> Branch",
            ],
        ),
        (
            "{{ .status.a.b }}",
            vec![
                "status present at 1:10",
                "status.a missing at 1:10",
                "status.a.b missing at 1:10 -> Text",
            ],
        ),
        (
            "{{ with .spec.gone }}{{ .x }}{{ end }}",
            vec![
                "spec present at 1:13",
                "spec.gone missing at 1:13 -> Branch",
            ],
        ),
        (
            "{{ range .spec.ports }}{{ . }}{{ end }}",
            vec![
                "spec present at 1:14",
                "spec.ports present at 1:14 -> Branch",
                "spec.ports[0] present at 1:14 -> Text",
                "spec.ports[1] present at 1:14 -> Text",
            ],
        ),
        (
            "{{ .spec.gone | default 3 }}",
            vec![
                "spec present at 1:8",
                "spec.gone missing at 1:8 -> Guard(default)",
            ],
        ),
        (
            "{{ .spec.name | default 3 }}",
            vec![
                "spec present at 1:8",
                "spec.name present at 1:8 -> Guard(default) -> Text",
            ],
        ),
        (
            "{{ eq .status.phase \"x\" }}",
            vec![
                "status present at 1:13",
                "status.phase missing at 1:13 -> Text",
            ],
        ),
        (
            "{{ if eq .status.phase \"x\" }}y{{ end }}",
            vec![
                "status present at 1:16",
                "status.phase missing at 1:16 -> Branch",
            ],
        ),
        (
            "{{ or .status.phase \"none\" }}",
            vec![
                "status present at 1:13",
                "status.phase missing at 1:13 -> Branch(or)",
            ],
        ),
        (
            "{{ index .spec \"gone\" }}",
            vec!["spec present at 1:9", "spec.gone missing at 1:3 -> Text"],
        ),
        (
            "{{ printf \"%s\" .spec.gone }}",
            vec!["spec present at 1:20", "spec.gone missing at 1:20 -> Text"],
        ),
        (
            "{{ hasKey .spec \"gone\" }}",
            vec![
                "spec present at 1:10 -> Guard(hasKey)",
                "spec.gone missing at 1:3 -> Guard(hasKey)",
            ],
        ),
        (
            "{{ if empty .spec.gone }}y{{ end }}",
            vec![
                "spec present at 1:17",
                "spec.gone missing at 1:17 -> Guard(empty)",
            ],
        ),
        (
            "{{ $x := .spec.gone }}{{ $y := $x }}{{ $y }}",
            vec!["spec present at 1:14", "spec.gone missing at 1:14 -> Text"],
        ),
        (
            "{{ $d := dict \"k\" .spec.gone \"n\" .spec.name }}{{ $d.n }}",
            vec![
                "spec present at 1:23",
                "spec.gone missing at 1:23",
                "spec present at 1:38",
                "spec.name present at 1:38 -> Text",
            ],
        ),
    ] {
        let (_, trace) = watch(&[("main", template)], &data);
        let lines: Vec<_> = story(&trace)
            .into_iter()
            .filter(|line| !line.starts_with(". "))
            .collect();
        assert_eq!(lines, expected, "{template}");
    }
}

#[test]
fn a_function_that_fails_over_a_missing_value_says_which() {
    let (result, trace) = watch(
        &[("main", "{{ index .spec.list 3 }}")],
        &json!({"spec": {}}),
    );
    assert!(result.unwrap_err().contains("index of untyped nil"));
    let failure = trace
        .uses
        .iter()
        .find(|end| end.kind == UseKind::Failure)
        .unwrap();
    assert_eq!(failure.function, Some("index"));
    let read = trace.reads_of(&failure.reads).next().unwrap();
    assert_eq!(
        (read.path.to_string().as_str(), read.presence),
        ("spec.list", Presence::Missing)
    );
}

#[test]
fn the_word_for_nothing_is_followed_into_the_text() {
    let data = json!({"spec": {"name": "web", "null": null, "list": [1, null]}});
    for (template, expected) in [
        // Printed by whom, for what, in which bytes of the output.
        (
            "{{ printf \"%s\" .spec.gone }}",
            "printf of spec.gone in %!s(<nil>)",
        ),
        (
            "{{ printf \"%v-%v\" .spec.name .spec.null }}",
            "printf of spec.null in web-<nil>",
        ),
        (
            "{{ printf \"%s\" .spec.gone | b64enc }}",
            "printf of spec.gone in JSFzKDxuaWw+KQ==",
        ),
        (
            "{{ $x := print .spec.gone }}a{{ $x | upper | quote }}",
            "print of spec.gone in \"<NIL>\"",
        ),
        (
            "{{ toString .spec.gone.deep }}",
            "toString of spec.gone.deep in <nil>",
        ),
        (
            "{{ html .spec.gone }}",
            "html of spec.gone in &lt;no value&gt;",
        ),
        (
            "{{ printf \"a\" .spec.gone }}",
            "printf of spec.gone in a%!(EXTRA <nil>)",
        ),
        ("{{ .spec.list }}", "spec.list[1] in [1 <nil>]"),
        (
            "{{ define \"d\" }}x{{ print .spec.gone }}{{ end }}{{ include \"d\" . | indent 1 }}",
            "print of spec.gone in <nil>",
        ),
        // Nothing of it gets that far.
        (
            "{{ .spec.gone }}{{ quote .spec.gone }}{{ toJson .spec.gone }}",
            "",
        ),
        ("{{ printf \"%s\" (.spec.gone | default \"x\") }}", ""),
        ("{{ if eq (print .spec.gone) \"<nil>\" }}y{{ end }}", ""),
        ("{{ print .spec.gone | replace \"<nil>\" \"\" }}", ""),
        ("{{ $x := print .spec.gone }}{{ .spec.name }}", ""),
        ("<nil>{{ print nil }}", ""),
    ] {
        let (output, trace) = watch(&[("main", template)], &data);
        let output = output.unwrap();
        let mut told: Vec<String> = Vec::new();
        for span in &trace.spans {
            for nil in span.nils.iter().map(|index| &trace.nils[*index]) {
                let by = nil
                    .function
                    .map(|name| format!("{name} of "))
                    .unwrap_or_default();
                told.push(format!(
                    "{by}{} in {}",
                    trace.reads[nil.read].path,
                    &output[span.start..span.end]
                ));
            }
        }
        assert_eq!(told.join("; "), expected, "{template}");
        let mut set = Set::new();
        set.parse("main", template).unwrap();
        let plain = Run::new(&set).execute("main", &Input::new(&data)).unwrap();
        assert!(
            plain.nil_text || expected.is_empty(),
            "a plain run notices it too: {template}"
        );
    }
}

#[test]
fn an_answer_in_place_of_what_is_missing_is_remembered_only_by_a_failure_over_it() {
    let data = json!({"db": {}, "text": "x"});
    for (template, expected) in [
        ("{{ get .db \"status\" }}", ""),
        ("{{ if get .db \"status\" }}a{{ else }}b{{ end }}", ""),
        ("{{ upper (get .db \"status\") }}", ""),
        ("{{ get (get .db \"status\") \"x\" }}", "db.status"),
        ("{{ hasKey (get .db \"status\") \"x\" }}", "db.status"),
        ("{{ index (get .db \"status\") \"x\" }}", "db.status"),
        ("{{ (get .db \"status\").x }}", "db.status"),
        ("{{ range get .db \"status\" }}{{ end }}", "db.status"),
        ("{{ get (get .gone \"status\") \"x\" }}", "gone"),
        ("{{ index .db \"status\" \"x\" }}", "db.status"),
        ("{{ index .db \"status\" \"x\" \"y\" }}", "db.status"),
        ("{{ dig \"x\" \"\" (get .db \"status\") }}", "db.status"),
        ("{{ index (dig \"a\" \"b\" \"\" .db) \"x\" }}", "db.a"),
        ("{{ dig \"a\" \"b\" \"none\" .db }}", ""),
        ("{{ get .text \"x\" }}", ""),
    ] {
        let (_, trace) = watch(&[("main", template)], &data);
        let told: Vec<String> = trace
            .uses
            .iter()
            .filter(|end| end.kind != UseKind::Guard)
            .flat_map(|end| trace.reads_of(&end.reads))
            .filter(|read| read.presence == Presence::Missing)
            .map(|read| read.path.to_string())
            .collect();
        assert_eq!(told.join(" "), expected, "{template}");
    }
}

/// The output with each span as `[text|paths|conditions]`; static text stays bare.
fn painted(output: &str, trace: &Trace) -> String {
    let mut painted = String::new();
    let mut end = 0;
    for span in &trace.spans {
        assert_eq!(span.start, end, "spans leave no gap");
        end = span.end;
        let text = &output[span.start..span.end];
        let paths = |reads: &[usize]| {
            trace
                .reads_of(reads)
                .map(|read| read.path.to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        if span.reads.is_empty() && span.under.is_empty() {
            painted.push_str(text);
        } else {
            write!(
                painted,
                "[{text}|{}|{}]",
                paths(&span.reads),
                paths(&span.under)
            )
            .unwrap();
        }
    }
    assert_eq!(end, output.len(), "spans cover the output");
    painted
}

#[test]
fn every_byte_of_the_output_knows_the_reads_it_came_from() {
    let data = json!({"spec": {"name": "web", "on": true, "tag": "1.2"}});
    let helpers = r#"{{ define "labels" }}app: {{ .spec.name }}
tier: front{{ end }}"#;
    for (template, expected) in [
        ("a{{ .spec.name }}b", "a[web|spec.name|]b"),
        (
            "{{ printf \"%s:%s\" .spec.name .spec.tag }}",
            "[web|spec.name|]:[1.2|spec.tag|]",
        ),
        (
            "{{ if .spec.on }}x{{ .spec.tag }}{{ end }}",
            "[x||spec.on][1.2|spec.tag|spec.on]",
        ),
        (
            "l:{{ include \"labels\" . | nindent 2 }}\n",
            "l:\n  app: [web|spec.name|]\n  tier: front\n",
        ),
    ] {
        let (output, trace) = watch(&[("helpers", helpers), ("main", template)], &data);
        assert_eq!(painted(&output.unwrap(), &trace), expected, "{template}");
    }
}

#[test]
fn what_is_unknown_marks_the_bytes_that_depend_on_it() {
    let data = json!({"metadata": {"name": "web"}, "spec": {}});
    let known = |path: &Path| match path.0.first() {
        None => Known::Partly,
        Some(Step::Key(key)) if &**key == "metadata" => Known::Wholly,
        Some(_) => Known::Not,
    };
    for (template, expected) in [
        (
            "name: {{ .metadata.name }}-db",
            "name: [web|metadata.name|]-db",
        ),
        ("name: {{ .spec.name }}", "name: [unknown|spec.name|]"),
        (
            "name: {{ printf \"%s-%s\" .metadata.name .spec.x }}",
            "name: [web-unknown|metadata.name,spec.x|]",
        ),
        (
            "{{ if .spec.on }}a{{ else }}b{{ end }}c",
            "[a||spec.on][b||spec.on]c",
        ),
        (
            "{{ range .spec.list }}- {{ .name }}\n{{ end }}",
            "[- ||spec.list][unknown|spec.list[*].name|spec.list][\n||spec.list]",
        ),
        (
            "{{ $x := 1 }}{{ if .spec.on }}{{ $x = 2 }}{{ end }}{{ $x }}",
            "[unknown|spec.on|]",
        ),
        (
            "{{ if eq .metadata.name \"web\" }}a{{ else }}b{{ end }}",
            "[a||metadata.name]",
        ),
        ("{{ upper .spec.name }}", "[UNKNOWN|spec.name|]"),
        ("{{ len .spec.name }}", "[unknown|spec.name|]"),
        ("{{ default \"x\" .spec.name }}", "[unknown|spec.name|]"),
        ("x:{{ .spec.y | nindent 2 }}", "x:[\n  unknown|spec.y|]"),
        ("{{ .sibling.status.ip }}", "[unknown|sibling.status.ip|]"),
    ] {
        let (output, trace) = run(&[("main", template)], &data, Watch::Guessing(&known));
        assert_eq!(painted(&output.unwrap(), &trace), expected, "{template}");
    }
}

#[test]
fn an_analysis_lists_paths_calls_and_templates_without_data() {
    let mut set = Set::new();
    set.parse("main", "{{ if .a.b }}{{ template \"t\" .c }}{{ else }}{{ range $k, $v := .list }}{{ upper $v.name }}{{ lower 1 2 }}{{ end }}{{ end }}{{ fail .msg }}{{ include \"x\" . }}")
        .unwrap();
    set.parse("t", "{{ .inner | quote }}").unwrap();
    let analysis = set.analyze("main").unwrap();
    let mut paths: Vec<_> = analysis
        .trace
        .reads
        .iter()
        .map(|read| read.path.to_string())
        .collect();
    paths.sort();
    paths.dedup();
    assert_eq!(
        paths,
        [
            ".",
            "a",
            "a.b",
            "c",
            "c.inner",
            "list",
            "list[*]",
            "list[*].name",
            "msg"
        ]
    );
    let calls: Vec<_> = analysis
        .calls
        .iter()
        .map(|call| {
            (
                call.function.name,
                call.arguments,
                call.arity_fits,
                call.site.to_string(),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("upper", 1, true, "main:1:74".to_string()),
            ("lower", 2, false, "main:1:93".to_string()),
            ("fail", 1, true, "main:1:126".to_string()),
            ("include", 2, true, "main:1:141".to_string()),
        ]
    );
    let templates: Vec<_> = analysis
        .templates
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(templates, ["t", "x"]);
    let failures: Vec<_> = analysis
        .trace
        .failures
        .iter()
        .map(|failure| (failure.error.message(), failure.certain))
        .collect();
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(!failures[0].1, "the bad call to lower stands in a branch");
    assert!(failures[1].1, "the missing template is always asked for");
}

#[test]
fn an_outline_says_which_templates_are_named_to_be_printed() {
    let mut set = Set::new();
    let text = "{{ $a := include `a` . }}{{ if include \"b\" . }}{{ end }}{{ include \"c\" \"d\" | indent 2 }}{{ include $a }}";
    set.parse("main", text).unwrap();
    let outline = set.outline("main");
    let named = outline
        .templates
        .iter()
        .map(|named| (named.name.as_str(), named.then.as_deref(), named.prints));
    assert_eq!(
        Vec::from_iter(named),
        [
            ("a", None, false),
            ("b", None, false),
            ("c", Some("d"), true)
        ]
    );
    assert_eq!(
        outline
            .calls
            .iter()
            .filter(|call| call.function.name == "include")
            .count(),
        4
    );
}

#[test]
fn recursion_below_an_unknown_condition_ends() {
    let mut set = Set::new();
    set.parse("main", "{{ define \"r\" }}{{ if .next }}{{ template \"r\" .next }}{{ template \"r\" .other }}{{ end }}{{ end }}{{ template \"r\" . }}")
        .unwrap();
    let analysis = set.analyze("main").unwrap();
    assert!(
        analysis
            .trace
            .reads
            .iter()
            .any(|read| read.path.to_string() == "next.next")
    );
}

#[test]
fn a_plain_run_only_says_whether_anything_was_missing() {
    let mut set = Set::new();
    set.parse("main", "{{ .a }}{{ if .flag }}{{ .b }}{{ end }}")
        .unwrap();
    for (data, missing) in [
        (json!({"a": 1, "flag": false}), false),
        (json!({"a": 1, "flag": true}), true),
    ] {
        let output = Run::new(&set).execute("main", &Input::new(&data)).unwrap();
        assert_eq!(output.missing, missing, "{data}");
        assert!(output.trace.is_none());
    }
}

#[test]
fn data_laid_over_the_root_reads_like_its_own_fields() {
    let mut set = Set::new();
    set.parse("main", "{{ .spec.a }}{{ .db.ip }}{{ .errors.x }}")
        .unwrap();
    let (data, db, errors) = (
        json!({"spec": {"a": 1}}),
        json!({"ip": "10.0.0.1"}),
        json!({"x": "no"}),
    );
    let over = [("db", &db), ("errors", &errors)];
    let output = Run::new(&set)
        .execute("main", &Input::with(&data, &over))
        .unwrap();
    assert_eq!(output.text, b"110.0.0.1no");
}

#[test]
fn a_run_changes_no_data_that_others_see() {
    let mut set = Set::new();
    set.parse("main", "{{ $_ := set .spec \"a\" 2 }}{{ .spec.a }}")
        .unwrap();
    let data = json!({"spec": {"a": 1}});
    assert_eq!(set.execute("main", &data).unwrap(), b"2");
    assert_eq!(set.execute("main", &data).unwrap(), b"2");
    assert_eq!(data, json!({"spec": {"a": 1}}));
}

#[test]
fn what_a_value_holds_again_and_again_or_in_itself_is_looked_at_once() {
    let data = json!({"spec": {"x": "web"}});
    for template in [
        // Twice as many ways to `x` in every turn.
        r#"{{ $d := dict "x" .spec.x }}{{ range until 200 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ if $d }}y{{ end }}"#,
        r#"{{ $d := list .spec.x }}{{ range until 60 }}{{ $d = list $d $d }}{{ end }}{{ if $d }}y{{ end }}"#,
        r#"{{ $d := dict "x" .spec.x }}{{ $_ := set $d "a" $d }}{{ $_ = set $d "b" $d }}{{ if $d }}y{{ end }}"#,
        r#"{{ $_ := set . "a" . }}{{ $_ = set . "b" . }}{{ if . }}{{ .spec.x | replace "web" "y" }}{{ end }}"#,
    ] {
        let (output, trace) = watch(&[("main", template)], &data);
        assert_eq!(output.as_deref(), Ok("y"), "{template}");
        assert!(
            trace
                .reads
                .iter()
                .any(|read| read.path.to_string() == "spec.x"),
            "{template}"
        );
    }
}
