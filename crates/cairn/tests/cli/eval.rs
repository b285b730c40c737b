//! `cairn eval`: results, errors with their place and a way out, and the form with a case a line.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use crate::{Outcome, cairn, fed, outcome};

#[test]
fn a_template_over_data_prints_the_result_and_nothing_else() {
    for (args, input, stdout) in [
        (
            &["-e", "Hello {{ .name | upper }}", "-d", "-"][..],
            r#"{"name": "web"}"#,
            "Hello WEB",
        ),
        (
            &["-e", "{{ .a }} {{ .b.c }}", "-d", "-"],
            "a: 0777\nb: {c: yes}\n",
            "511 true",
        ),
        (
            &["-e", "{{ .big }} {{ kindOf .big }}", "-d", "-"],
            r#"{"big": 9007199254740993}"#,
            "9007199254740993 int64",
        ),
        (&["-e", "{{ . }}"], "", "<no value>"),
        (&["-e", "{{ .a }}", "-d", "-"], "", "<no value>"),
        (&["-t", "-"], "{{ 1 | add 2 }}", "3"),
        (&["-e", "", "-d", "-"], "[1]", ""),
        (
            &["-e", "<% .a %> {{ .a }}", "--delims", "<%", "%>", "-d", "-"],
            "a: 1",
            "1 {{ .a }}",
        ),
        (
            &[
                "-e",
                "{{ .a }}|{{ .b }}",
                "--missing-key",
                "zero",
                "-d",
                "-",
            ],
            "a: 1",
            "1|<no value>",
        ),
    ] {
        let args = [&["eval"], args].concat();
        let found = Outcome::from(fed(&args, input.as_bytes()));
        assert_eq!(found, outcome(0, stdout, ""), "{args:?}");
    }
}

#[test]
fn a_failure_says_what_where_and_what_to_do_and_ends_with_1() {
    let missing = "error: cannot read no-such.tpl: No such file or directory (os error 2)\n";
    for (args, input, stderr) in [
        (
            &["-e", "a\n{{ .a.b.c | fail }}", "-d", "-"][..],
            "a: {b: {c: no way}}",
            "error: template: expression:2:12: executing \"expression\" at <fail>: error calling fail: no way\n  \
             2 | {{ .a.b.c | fail }}\n    |             ^\n",
        ),
        (
            &["-e", "{{ if }}"],
            "",
            "error: template: expression:1: missing value for if\n  1 | {{ if }}\n    |       ^\n",
        ),
        (
            &["-e", "{{ uper 1 }}"],
            "",
            "error: template: expression:1: function \"uper\" not defined\n  1 | {{ uper 1 }}\n    |    ^\nhint: did you \
             mean `upper`?\n",
        ),
        (
            &["-e", "{{ if .a }}\nb: {{ .b\nc: {{ .c }}{{ end }}"],
            "",
            "error: template: expression:3: function \"c\" not defined\n  2 | b: {{ .b\n    |    ^\nhint: the `{{` that \
             begins here has no `}}`\n",
        ),
        (
            &["-e", "{{ env \"HOME\" }}"],
            "",
            "error: template: expression:1: function \"env\" not defined\n  1 | {{ env \"HOME\" }}\n    |    ^\nhint: `env` \
             is left out on purpose: a template must not read this machine\n",
        ),
        (
            &["-e", "{{ .a.b.c }}", "--missing-key", "error", "-d", "-"],
            "a: {}",
            "error: template: expression:1:5: executing \"expression\" at <.a.b.c>: map has no entry for key \"b\"\n  \
             1 | {{ .a.b.c }}\n    |      ^\n",
        ),
        (
            &["-e", "{{ substr 0 .count \"abc\" }}", "-d", "-"],
            "count: 2",
            "error: template: expression:1:12: executing \"expression\" at <.count>: wrong type for value; expected int; \
             got int64\n  1 | {{ substr 0 .count \"abc\" }}\n    |             ^\nhint: numbers of the data are int64: \
             write `(int .x)`\n",
        ),
        (&["-t", "no-such.tpl"], "", missing),
        (
            &["-e", "x", "-d", "-"],
            "ok: 1\na: b: c",
            "error: -: yaml: line 2: mapping values are not allowed in this context\n  2 | a: b: c\n",
        ),
    ] {
        let args = [&["eval"], args].concat();
        assert_eq!(
            Outcome::from(fed(&args, input.as_bytes())),
            outcome(1, "", stderr),
            "{args:?}"
        );
    }
    let found = Outcome::from(fed(&["eval", "-e", "x", "-d", "-"], b"a: \xff"));
    assert_eq!(
        found,
        outcome(1, "", "error: - is not UTF-8: bad byte at offset 3\n")
    );
}

#[test]
fn what_would_never_end_is_ended() {
    for template in [
        "{{ range 9000000000000 }}{{ end }}",
        "{{ define \"a\" }}{{ template \"a\" }}{{ end }}{{ template \"a\" }}",
        "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}",
        "{{ repeat 9000000000 \"0123456789\" }}",
    ] {
        let found = Outcome::from(fed(&["eval", "-e", template], b""));
        assert_eq!(
            (found.code, found.stdout.as_str()),
            (Some(1), ""),
            "{template}"
        );
        assert!(
            found.stderr.starts_with("error: "),
            "{template}: {}",
            found.stderr
        );
    }
}

#[test]
fn reads_lists_each_look_into_the_data_once_with_its_end() {
    let args = [
        "eval",
        "-e",
        "{{ if .on }}{{ .name | quote }}{{ end }}{{ .size | default 1 }}",
        "-d",
        "-",
        "--reads",
    ];
    let expected = "\
PATH   THERE   READ AT              WENT TO
.      yes     expression:1:0
on     yes     expression:1:6       condition
name   yes     expression:1:15      text
size   no      expression:1:43      guard (default)
";
    let found = Outcome::from(fed(&args, br#"{"on": true, "name": "a"}"#));
    let words = |text: &str| -> Vec<Vec<String>> {
        text.lines()
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect()
    };
    assert_eq!(
        (found.code, words(&found.stdout)),
        (Some(0), words(expected)),
        "{}",
        found.stdout
    );
}

#[test]
fn every_line_of_jsonl_gets_its_answer_in_order_whatever_it_is() {
    let cases = [
        (
            r#"{"id":1,"template":"{{ .a }}","data":{"a":7}}"#,
            r#"{"id":1,"output":"7"}"#,
        ),
        (
            r#"{"id":"x","template":"{{ .a"}"#,
            r#"{"error":"template: template:1: unclosed action","id":"x"}"#,
        ),
        (
            r#"{"template":"{{ . }}"}"#,
            r#"{"id":null,"output":"<no value>"}"#,
        ),
        (
            "nonsense",
            r#"{"error":"not a case: expected ident at line 1 column 2","id":null}"#,
        ),
        (
            r#"{"id":[2],"template":"{{ b64dec \"/w==\" }}"}"#,
            r#"{"id":[2],"output_b64":"/w=="}"#,
        ),
        (
            r#"{"id":3,"template":"","options":{"funcs":"all"}}"#,
            r#"{"error":"options.funcs: \"all\" is none of builtin, sprig, helm","id":3}"#,
        ),
        (
            r#"{"id":4,"template":"","options":{"missingkey":"no"}}"#,
            r#"{"error":"options.missingkey: \"no\" is none of default, zero, error","id":4}"#,
        ),
        (
            r#"{"id":5,"template":"{{ upper 1 }}","options":{"funcs":"builtin"}}"#,
            r#"{"error":"template: template:1: function \"upper\" not defined","id":5}"#,
        ),
        (
            r#"{"id":6,"template":"[ .gone ]","data":{},"options":{"missingkey":"error","delims":["[","]"],"name":"n"}}"#,
            r#"{"error":"template: n:1:2: executing \"n\" at <.gone>: map has no entry for key \"gone\"","id":6}"#,
        ),
        (
            r#"{"id":7,"template":"{{ include \"b\" 1 }}","options":{"templates":{"b":"b{{ . }}"}}}"#,
            r#"{"id":7,"output":"b1"}"#,
        ),
        (
            r#"{"id":8,"template":"{{ .n | add 1 }}","data":{"n":41}}"#,
            r#"{"id":8,"output":"42"}"#,
        ),
    ];
    let lines = |at: usize| {
        cases
            .map(|case| if at == 0 { case.0 } else { case.1 })
            .join("\n")
            + "\n"
    };
    let input = format!("\n{}  \n", lines(0));
    assert_eq!(
        Outcome::from(fed(&["eval", "--jsonl"], input.as_bytes())),
        outcome(0, &lines(1), "")
    );
    let unended = lines(0);
    assert_eq!(
        Outcome::from(fed(&["eval", "--jsonl"], unended.trim_end().as_bytes())),
        outcome(0, &lines(1), "")
    );
    let unknown = Outcome::from(fed(&["eval", "--jsonl"], br#"{"id":9,"tmpl":""}"#));
    assert!(
        unknown.stdout.contains("unknown field `tmpl`") && unknown.stdout.contains("\"id\":9"),
        "{unknown:?}"
    );
}

#[test]
fn an_answer_comes_before_the_next_question() {
    let mut child = cairn(&["eval", "--jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cairn starts");
    let mut questions = child.stdin.take().expect("there is a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("there is a pipe"));
    for id in 0..3 {
        writeln!(questions, r#"{{"id":{id},"template":"a"}}"#).expect("cairn listens");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("cairn answers");
        assert_eq!(answer, format!("{{\"id\":{id},\"output\":\"a\"}}\n"));
    }
    drop(questions);
    assert!(child.wait().expect("cairn ends").success());
}

#[test]
fn a_template_reads_nothing_of_the_machine() {
    for template in [
        "{{ env \"HOME\" }}",
        "{{ expandenv \"$HOME\" }}",
        "{{ getHostByName \"localhost\" }}",
        "{{ .Files.Get \"/etc/passwd\" }}",
        "{{ readFile \"/etc/passwd\" }}",
        "{{ include \"/etc/passwd\" . }}",
        "{{ template \"/etc/passwd\" }}",
        "{{ lookup \"v1\" \"Secret\" \"kube-system\" \"\" }}",
        "{{ osBase \"/etc/passwd\" | osDir | env }}",
        "{{ tpl \"{{ env \\\"HOME\\\" }}\" . }}",
    ] {
        for funcs in ["builtin", "sprig", "helm"] {
            let output = fed(&["eval", "-e", template, "--funcs", funcs], b"");
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            let read = told.contains("root:")
                || std::env::var("HOME").is_ok_and(|home| told.contains(&home));
            assert!(!read, "{funcs}: {template}: {told}");
            // What does not exist is an error, or nothing.
            assert!(
                !output.status.success() || ["", "map[]", "<no value>"].contains(&told.trim()),
                "{template}: {told}"
            );
        }
    }
}
