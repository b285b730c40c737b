//! What the golden vectors cannot show of functions: limits, what comes from the host, and which
//! piece of a text came from where after a function changed it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;

use gotpl::{Draw, ErrorKind, Host, Input, NoHost, Run, Set, Watch};
use serde_json::{Value, json};

fn set(sources: &[(&str, &str)]) -> Set {
    let mut set = Set::new();
    for (name, source) in sources {
        set.parse(name, source).unwrap();
    }
    set
}

/// Remembers who drew what.
#[derive(Default)]
struct Notebook(RefCell<Vec<String>>);

impl Host for Notebook {
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        let Draw {
            template,
            function,
            arguments,
            occurrence,
            ..
        } = draw;
        self.0.borrow_mut().push(format!(
            "{template} {function}({}) #{occurrence}",
            arguments.join(", ")
        ));
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = (index * 7 + occurrence * 13 + 5) as u8;
        }
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        Ok(1_700_000_000_123_456_789)
    }
}

fn with_host(template: &str, host: &dyn Host) -> Result<String, String> {
    let set = set(&[("main", template)]);
    let run = Run {
        host,
        ..Run::new(&set)
    };
    let output = run.execute("main", &Input::new(&json!({"n": 3})));
    output
        .map(|output| String::from_utf8(output.text).unwrap())
        .map_err(|error| error.to_string())
}

#[test]
fn what_would_be_too_large_is_a_limit_before_it_is_made() {
    for template in [
        r#"{{ repeat 1000000000000 "a" }}"#,
        r#"{{ indent 1000000000000 "a" }}"#,
        r#"{{ nindent 1000000000 "a\nb" }}"#,
        r#"{{ randAlphaNum 1000000000000 }}"#,
        r#"{{ randBytes 1000000000000 }}"#,
        r#"{{ rjust 1000000000000 "a" }}"#,
        r#"{{ replace "" (repeat 1000 "x") (repeat 2000 "y") }}"#,
        r#"{{ wrapWith 1 (repeat 1000 "x") (repeat 2000 "a ") }}"#,
        r#"{{ splitList "" (repeat 100000 "a") }}"#,
        r#"{{ regexReplaceAll "." (repeat 2000 "x") (repeat 1000 "y") }}"#,
        r#"{{ regexReplaceAll "(.*)" (repeat 10000 "x") (repeat 200 "$1") }}"#,
        r#"{{ regexFindAll "" (repeat 100000 "x") -1 }}"#,
        r#"{{ join (repeat 2000 "x") (splitList "" (repeat 1000 "y")) }}"#,
        r#"{{ derivePassword 1 "long" "p" "u" "s" | len }}"#,
        r#"{{ range until 3 }}{{ htpasswd "u" "p" | len }}{{ end }}"#,
    ] {
        let set = set(&[("main", template)]);
        let mut run = Run {
            host: &Notebook::default(),
            ..Run::new(&set)
        };
        run.limits.bytes = 1 << 20;
        run.limits.work = 150_000_000;
        let error = run.execute("main", &Input::new(&Value::Null)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{template}: {error}");
    }
}

#[test]
fn random_values_have_their_shapes_and_come_from_the_host() {
    for (template, shape) in [
        ("{{ randAlphaNum 40 }}", "^[0-9A-Za-z]{40}$"),
        ("{{ randAlpha 40 }}", "^[A-Za-z]{40}$"),
        ("{{ randNumeric 40 }}", "^[0-9]{40}$"),
        ("{{ randAscii 40 }}", "^[ -~]{40}$"),
        ("{{ randBytes 10 }}", "^[0-9A-Za-z+/]{14}==$"),
        (
            "{{ uuidv4 }}",
            "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
        ),
        ("{{ randInt 10 12 }}", "^1[01]$"),
        (r#"{{ shuffle "ab" }}"#, "^(ab|ba)$"),
        (r#"{{ random "xy" }}"#, "^[xy]$"),
        (
            r#"{{ htpasswd "u" "x" }}"#,
            r"^u:\$2a\$10\$[./0-9A-Za-z]{53}$",
        ),
        (r#"{{ encryptAES "k" "x" | decryptAES "k" }}"#, "^x$"),
        (
            r#"{{ genPrivateKey "ecdsa" }}"#,
            "^-----BEGIN EC PRIVATE KEY-----\n",
        ),
        (
            r#"{{ (genCA "ca" 1).Cert }}"#,
            "^-----BEGIN CERTIFICATE-----\n",
        ),
    ] {
        let notebook = Notebook::default();
        let text = with_host(template, &notebook).unwrap();
        let check = json!({"shape": shape, "text": text});
        let matches = set(&[("main", "{{ regexMatch .shape .text }}")])
            .execute("main", &check)
            .unwrap();
        assert_eq!(matches, b"true", "{template} gave {text}");
        assert_eq!(
            with_host(template, &Notebook::default()).unwrap(),
            text,
            "{template} can be repeated"
        );
        assert!(!notebook.0.borrow().is_empty(), "{template} draws");
        let refused = with_host(template, &NoHost).unwrap_err();
        assert!(
            refused.contains("none are offered") || refused.contains("not offered"),
            "{template}: {refused}"
        );
    }
}

#[test]
fn a_draw_names_its_call() {
    let notebook = Notebook::default();
    let template = r#"{{ randAlpha 3 }}{{ randAlpha 3 }}{{ randAlpha .n | len }}{{ define "x" }}{{ randInt 1 9 }}{{ end }}{{ template "x" }}"#;
    with_host(&template.replace(".n", "(int .n)"), &notebook).unwrap();
    assert_eq!(
        *notebook.0.borrow(),
        [
            "main randAlpha(3) #0",
            "main randAlpha(3) #1",
            "main randAlpha(3) #2",
            "x randInt(1, 9) #0"
        ]
    );
}

#[test]
fn times_are_those_of_the_host() {
    for (template, expected) in [
        ("{{ now }}", "2023-11-14 22:13:20.123456789 +0000 UTC"),
        (r#"{{ date "15:04" "not a time" }}"#, "22:13"),
        (r#"{{ dateInZone "15:04" nil "Asia/Tokyo" }}"#, "07:13"),
        ("{{ htmlDate 0 }}", "1970-01-01"),
        ("{{ ago 1699990000 }}", "2h46m40s"),
        ("{{ durationRound (now | dateModify \"-49h\") }}", "2d"),
    ] {
        assert_eq!(
            with_host(template, &Notebook::default()).as_deref(),
            Ok(expected),
            "{template}"
        );
    }
}

/// The spans of a watched run: their text, and the paths it depends on.
fn spans(template: &str) -> Vec<(String, String)> {
    let part = "a: {{ .a }}\nb: {{ .b }}\n";
    let set = set(&[("main", template), ("part", part)]);
    let run = Run {
        watch: Watch::Closely,
        ..Run::new(&set)
    };
    let data = json!({"a": "one", "b": "two\nlines", "n": 2});
    let output = run.execute("main", &Input::new(&data)).unwrap();
    let trace = output.trace.unwrap();
    let shown = |span: &gotpl::Span| {
        let text = String::from_utf8_lossy(&output.text[span.start..span.end]).into_owned();
        let paths: Vec<_> = trace
            .reads_of(&span.reads)
            .map(|read| read.path.to_string())
            .collect();
        (text, paths.join(" "))
    };
    trace
        .spans
        .iter()
        .filter(|span| span.end > span.start)
        .map(shown)
        .collect()
}

#[test]
fn pieces_keep_their_origin_through_functions_that_cut_and_indent() {
    let cases: [(&str, &[(&str, &str)]); 7] = [
        (
            r#"{{ include "part" . | indent 2 }}"#,
            &[
                ("  ", ""),
                ("a: ", ""),
                ("one", "a"),
                ("\n  b: ", ""),
                ("two\n  lines", "b"),
                ("\n  ", ""),
            ],
        ),
        (
            r#"{{ include "part" . | trim | nindent 1 }}"#,
            &[
                ("\n ", ""),
                ("a: ", ""),
                ("one", "a"),
                ("\n b: ", ""),
                ("two\n lines", "b"),
            ],
        ),
        (
            r#"{{ include "part" . | trimPrefix "a: " | trimSuffix "s\n" }}"#,
            &[("one", "a"), ("\nb: ", ""), ("two\nline", "b")],
        ),
        (
            r#"{{ include "part" . | trunc 5 | upper }}"#,
            &[("A: ", ""), ("ON", "a")],
        ),
        (
            r#"{{ include "part" . | trunc 5 | quote }}"#,
            &[("\"", ""), ("a: ", ""), ("on", "a"), ("\"", "")],
        ),
        (
            r#"{{ include "part" . | trunc 5 | squote }}"#,
            &[("'", ""), ("a: ", ""), ("on", "a"), ("'", "")],
        ),
        (
            r#"{{ include "part" . | trunc 5 | indent (int .n) }}"#,
            &[("  ", "n"), ("a: ", "n"), ("on", "a n")],
        ),
    ];
    for (template, expected) in cases {
        let found = spans(template);
        let found: Vec<_> = found
            .iter()
            .map(|(text, paths)| (text.as_str(), paths.as_str()))
            .collect();
        assert_eq!(found, expected, "{template}");
    }
}

#[test]
fn elements_of_made_lists_and_dicts_depend_on_what_they_were_made_of() {
    for template in [
        r#"{{ index (splitList "n" .a) 0 }}"#,
        r#"{{ (split "n" .a)._0 }}"#,
        r#"{{ index (regexFindAll "." .a -1) 0 }}"#,
        r#"{{ index (regexSplit "n" .a -1) 0 }}"#,
        r#"{{ (urlParse .a).path }}"#,
        r#"{{ range sortAlpha (list .a) }}{{ . }}{{ end }}"#,
        r#"{{ index (toStrings (list .a)) 0 }}"#,
    ] {
        let found = spans(template);
        assert_eq!(found.len(), 1, "{template}");
        assert_eq!(found[0].1, "a", "{template}");
    }
}

#[test]
fn objects_answer_with_a_dot_as_in_go() {
    for (expression, expected) in [
        (r#"(semver "v1.2.3-a+b").Original"#, "v1.2.3-a+b"),
        (r#"(semver "1.2.3").IncMinor.Patch"#, "0"),
        (
            r#"(semver "1.2.3").IncMinor.Original"#,
            "can't evaluate field Original in type semver.Version",
        ),
        (
            r#"(semver "1.2.3").major"#,
            "major is an unexported field of struct type *semver.Version",
        ),
        (
            r#"(semver "1").Compare nil"#,
            "at <(semver \"1\").Compare>: error calling Compare: runtime error: invalid memory",
        ),
        (r#"(semver "1").Equal nil"#, "false"),
        (r#"eq (semver "1") (semver "1")"#, "false"),
        (r#"eq (toDate "2006" "2020").Month 1"#, "true"),
        (
            r#"(toDate "2006" "2020").Add 5"#,
            "2020-01-01 00:00:00.000000005 +0000 UTC",
        ),
        (
            r#"(toDate "2006" "2020").Add .n"#,
            "wrong type for value; expected time.Duration; got int64",
        ),
        (
            r#"(toDate "2006" "2020").Clock"#,
            "function Clock has 3 return values; should be 1 or 2",
        ),
        (
            r#"((toDate "2006" "2021").Sub (toDate "2006" "2020")).Hours"#,
            "8784",
        ),
    ] {
        let answer = with_host(&format!("{{{{ {expression} }}}}"), &Notebook::default());
        let fits = match &answer {
            Ok(text) => text == expected,
            Err(text) => text.contains(expected),
        };
        assert!(fits, "{expression} gave {answer:?}");
    }
}

#[test]
fn a_certificate_shows_its_texts() {
    let template = r#"{{ $ca := genCA "ca" 1 }}{{ eq (printf "%v" $ca) (printf "{%s %s}" $ca.Cert $ca.Key) }} {{ $ca.Nope }}"#;
    let error = with_host(template, &Notebook::default()).unwrap_err();
    assert!(
        error.contains("can't evaluate field Nope in type sprig.certificate"),
        "{error}"
    );
    let template = template.replace(
        "{{ $ca.Nope }}",
        r#"{{ (genSignedCert "c" nil (list "x") 1 $ca).Cert | len | lt 300 }}"#,
    );
    assert_eq!(
        with_host(&template, &Notebook::default()).as_deref(),
        Ok("true true")
    );
}
