//! How marks travel through functions that pack, pick, merge and write values.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;

use gotpl::{Input, Known, Path, Run, Set, Step, Trace, Watch};
use serde_json::{Value, json};

fn run(template: &str, data: &Value, watch: Watch<'_>) -> String {
    let mut set = Set::new();
    set.parse("main", template).unwrap();
    let output = Run {
        watch,
        ..Run::new(&set)
    }
    .execute("main", &Input::new(data))
    .unwrap();
    painted(
        &String::from_utf8(output.text).unwrap(),
        &output.trace.unwrap(),
    )
}

/// The output with each span as `[text|paths]`, and `?conditions` if there are any; static text
/// stays bare.
fn painted(output: &str, trace: &Trace) -> String {
    let mut painted = String::new();
    for span in &trace.spans {
        let paths = |reads: &[usize]| {
            let mut paths: Vec<_> = trace
                .reads_of(reads)
                .map(|read| read.path.to_string())
                .collect();
            paths.sort();
            paths.dedup();
            paths.join(",")
        };
        let text = &output[span.start..span.end];
        match (paths(&span.reads), paths(&span.under)) {
            (reads, under) if reads.is_empty() && under.is_empty() => painted.push_str(text),
            (reads, under) if under.is_empty() => write!(painted, "[{text}|{reads}]").unwrap(),
            (reads, under) => write!(painted, "[{text}|{reads}?{under}]").unwrap(),
        }
    }
    painted
}

#[test]
fn what_functions_pass_on_keeps_where_it_came_from() {
    let data = json!({
        "a": {"x": "1", "y": "2"}, "b": {"y": "3", "z": "4"}, "l": ["p", "q"], "s": "t", "e": "", "n": 7,
        "tmpl": "v: {{ .s }}{{ .gone }}",
    });
    for (template, expected) in [
        ("{{ (merge (dict) .a .b).z }}", "[4|b.z]"),
        ("{{ (merge .a .b).y }}", "[2|a.y]"),
        ("{{ (mergeOverwrite .a .b).y }}", "[3|b.y]"),
        ("{{ $_ := merge .a .b }}{{ .a.z }}", "[4|b.z]"),
        ("{{ (deepCopy .a).x }}", "[1|a.x]"),
        ("{{ (pick .a \"x\").x }}", "[1|a.x]"),
        ("{{ (omit .a \"x\").y }}", "[2|a.y]"),
        ("{{ get .a \"x\" }}", "[1|a.x]"),
        ("{{ get .a \"gone\" }}", ""),
        ("{{ dig \"a\" \"x\" \"d\" . }}", "[1|a.x]"),
        ("{{ dig \"a\" \"gone\" \"d\" . }}", "d"),
        ("{{ dig \"a\" \"gone\" .s . }}", "[t|s]"),
        ("{{ coalesce .e .gone .s }}", "[t|s]"),
        ("{{ default \"d\" .e }}", "d"),
        ("{{ first .l }}", "[p|l[0]]"),
        ("{{ last (append .l .s) }}", "[t|s]"),
        ("{{ index (concat .l (list .s)) 1 }}", "[q|l[1]]"),
        ("{{ first (reverse .l) }}", "[q|l[1]]"),
        ("{{ index (chunk 1 .l) 1 0 }}", "[q|l[1]]"),
        ("{{ (set .a \"x\" \"own\").x }}", "own"),
        ("{{ (set .a \"x\" .s).x }}", "[t|s]"),
        ("{{ $_ := unset .a \"x\" }}{{ hasKey .a \"x\" }}", "false"),
        ("{{ required \"no\" .s }}", "[t|s]"),
        ("{{ add .n 1 }}", "[8|n]"),
        ("{{ toJson .a }}", "[{\"x\":\"1\",\"y\":\"2\"}|a]"),
        (
            "{{ dict \"k\" .s \"j\" .n | toJson }}",
            "[{\"j\":7,\"k\":\"t\"}|n,s]",
        ),
        ("{{ toYaml .l }}", "[- p\n- q|l]"),
        ("{{ tpl \"v: {{ .s }}\" . }}", "v: [t|s]"),
        ("{{ tpl .tmpl . }}", "[v: |tmpl][t|s,tmpl][|gone,tmpl]"),
        (
            "{{ tpl \"a{{ .gone }}b{{ .s }}\" . | nindent 1 }}",
            "\n a[|gone]b[t|s]",
        ),
    ] {
        assert_eq!(run(template, &data, Watch::Closely), expected, "{template}");
    }
}

#[test]
fn what_is_unknown_stays_unknown_through_functions() {
    let data = json!({"metadata": {"name": "web"}, "spec": {"x": 1}});
    let known = |path: &Path| match path.0.first() {
        None => Known::Partly,
        Some(Step::Key(key)) if &**key == "metadata" => Known::Wholly,
        Some(_) => Known::Not,
    };
    for (template, expected) in [
        (
            "{{ toJson (dict \"a\" .spec.x \"b\" 1) }}",
            "[{\"a\":\"unknown\",\"b\":1}|spec.x]",
        ),
        // What is made of something unknown is not what stands at its path.
        ("{{ (merge (dict \"k\" \"v\") .spec).k }}", "[unknown|spec]"),
        (
            "{{ (merge .spec.m (dict \"k\" \"v\")).k }}",
            "[unknown|spec.m]",
        ),
        (
            "{{ $_ := merge .spec.m (dict \"k\" \"v\") }}{{ .spec.m.k }}",
            "[unknown|spec.m]",
        ),
        (
            "{{ range concat .spec.l (list (dict \"k\" 1)) }}{{ .k }}{{ end }}",
            "[unknown|spec.l?spec.l]",
        ),
        (
            "{{ (index (dict \"a\" (dict \"k\" 1)) .spec.x).k }}",
            "[unknown|spec.x]",
        ),
        (
            "{{ index (dict \"a\" (dict \"k\" 1)) .spec.x \"k\" }}",
            "[unknown|spec.x]",
        ),
        (
            "{{ (get (dict \"a\" (dict \"k\" 1)) .spec.x).k }}",
            "[unknown|spec.x]",
        ),
        (
            "{{ (index (list (dict \"k\" 1)) .spec.x).k }}",
            "[unknown|spec.x]",
        ),
        (
            "{{ slice (list 1 2) .spec.x | toJson }}",
            "[\"unknown\"|spec.x]",
        ),
        (
            "{{ range $k, $v := dict .spec.x 1 }}{{ $k }}={{ $v.y }}{{ end }}",
            "[unknown|spec.x?spec.x][=|?spec.x][unknown|spec.x?spec.x]",
        ),
        (
            "{{ (dig .spec.x \"d\" .metadata).k }}",
            "[unknown|metadata,spec.x]",
        ),
        (
            "{{ (set .spec \"k\" 1).k }}{{ .spec.k }}",
            "[unknown|spec][unknown|spec]",
        ),
        (
            "{{ $d := dict }}{{ range $k, $v := .spec.m }}{{ $_ := set $d $k $v }}{{ end }}{{ range $k, $v := $d }}{{ $k }}={{ $v }}{{ end }}",
            "[unknown|spec.m[*]]=[unknown|spec.m[*]]",
        ),
        (
            "{{ range append .spec.l (dict \"k\" 1) }}{{ .k }}{{ end }}",
            "[unknown|spec.l?spec.l]",
        ),
        ("{{ (pick (dict \"a\" 1) .spec.x).a }}", "[unknown|spec.x]"),
        (
            "{{ range pluck .spec.x (dict \"a\" 1) }}{{ .k }}{{ end }}",
            "[unknown|spec.x?spec.x]",
        ),
        // Whatever a number is printed as, nobody knows it.
        (
            "{{ printf \"%dMi %03.1f %q %v\" .spec.x .spec.y .spec.s 7 }}",
            "[unknownMi unknown \"unknown\" 7|spec.s,spec.x,spec.y]",
        ),
        (
            "{{ if hasKey .spec \"x\" }}a{{ else }}b{{ end }}",
            "[a|?spec.x][b|?spec.x]",
        ),
        ("{{ dig \"spec\" \"x\" \"d\" . }}", "[unknown|spec.x]"),
        ("{{ get .spec \"x\" }}", "[unknown|spec.x]"),
        ("{{ first .spec.list }}", "[unknown|spec.list[0]]"),
        ("{{ rest .spec.list | toJson }}", "[\"unknown\"|spec.list]"),
        ("{{ tpl .spec.t . }}", "[unknown|spec.t]"),
        ("{{ required \"no\" .spec.x }}", "[unknown|spec.x]"),
        ("{{ default .spec.x .metadata.gone }}", "[unknown|spec.x]"),
        ("{{ coalesce .spec.x \"d\" }}", "[unknown|spec.x]"),
        ("{{ add .spec.x 1 }}", "[unknown|spec.x]"),
        ("{{ (set .spec \"x\" 1).y }}", "[unknown|spec.y]"),
        ("{{ (set .metadata \"x\" .spec.y).x }}", "[unknown|spec.y]"),
        ("{{ empty .spec.x }}", "[unknown|spec.x]"),
        ("{{ has \"a\" .spec.x }}", "[unknown|spec.x]"),
        ("{{ ternary 1 2 (eq .spec.x 1) }}", "[unknown|spec.x]"),
        (
            "{{ toYaml . }}",
            "[metadata:\n  name: web\nspec: unknown|.]",
        ),
        (
            "{{ toJson . }}",
            "[{\"metadata\":{\"name\":\"web\"},\"spec\":\"unknown\"}|.]",
        ),
    ] {
        assert_eq!(
            run(template, &data, Watch::Guessing(&known)),
            expected,
            "{template}"
        );
    }
}

#[test]
fn a_run_that_assumes_takes_one_side_of_what_is_unknown() {
    let data = json!({"metadata": {"name": "web"}});
    let known = |path: &Path| {
        if path.to_string().starts_with("spec") {
            Known::Not
        } else {
            Known::Partly
        }
    };
    for (template, taken, other) in [
        (
            "{{ if .spec.x }}a{{ else }}b{{ end }}",
            "[a|?spec.x]",
            "[b|?spec.x]",
        ),
        (
            "{{ range .spec.x }}a{{ else }}b{{ end }}",
            "[a|?spec.x]",
            "[b|?spec.x]",
        ),
        (
            "{{ if .metadata.name }}a{{ else }}b{{ end }}",
            "[a|?metadata.name]",
            "[a|?metadata.name]",
        ),
    ] {
        assert_eq!(
            run(template, &data, Watch::Assuming(&known, true)),
            taken,
            "{template}"
        );
        assert_eq!(
            run(template, &data, Watch::Assuming(&known, false)),
            other,
            "{template}"
        );
    }
}
