//! Where an error of parsing is: line, column and what was left open, beside Go's own text, which
//! names a line only.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write;

use gotpl::{Error, Input, Options, Run, Set, Watch};
use serde_json::json;

/// The place of an error, and what is not closed.
fn shown(error: &Error) -> String {
    let place = error.places().last().unwrap();
    let mut shown = format!("{}:{}", place.line, place.column.unwrap());
    if let Some(unclosed) = error.unclosed() {
        assert_eq!(
            unclosed.place, *place,
            "what is not closed is where the error is"
        );
        write!(shown, " `{}` lacks `{}`", unclosed.opener, unclosed.closer).unwrap();
    }
    shown
}

#[test]
fn a_parse_error_has_a_line_and_a_column_and_names_what_is_not_closed() {
    for (source, place, text) in [
        // A word that is no function, a token that does not belong there.
        (
            "a\n b: {{ uper .x }}",
            "2:7",
            "2: function \"uper\" not defined",
        ),
        (
            "{{ if (eq .a (uper .b)) }}{{ end }}",
            "1:14",
            "1: function \"uper\" not defined",
        ),
        (
            "{{ .a\n\n | uper }}",
            "3:3",
            "3: function \"uper\" not defined",
        ),
        ("x: {{ .a } }}", "1:9", "1: unexpected \"}\" in operand"),
        ("é {{ $x }}", "1:6", "1: undefined variable \"$x\""),
        ("{{ if }}{{ end }}", "1:6", "1: missing value for if"),
        (
            "{{ .a | 3 }}",
            "1:8",
            "1: non executable command in pipeline stage 2",
        ),
        ("{{ 12x }}", "1:3", "1: bad number syntax: \"12x\""),
        ("{{ \"a }}\nb", "1:3", "1: unterminated quoted string"),
        ("{{ 1.b }}", "1:3", "1: bad number syntax: \"1.b\""),
        ("{{ true.b }}", "1:7", "1: unexpected . after term \"true\""),
        (
            "{{ $a, $b := .c }}",
            "1:5",
            "1: too many declarations in command",
        ),
        ("{{ break }}", "1:3", "1: {{break}} outside {{range}}"),
        ("{{ .a ) }}", "1:6", "1: unexpected right paren"),
        (
            "{{ template x }}",
            "1:12",
            "1: unexpected \"x\" in template clause",
        ),
        // An `end` or `else` too many.
        ("a\n{{ end }}", "2:0", "2: unexpected {{end}}"),
        (
            "{{ if .a }}{{ else }}{{ else }}{{ end }}",
            "1:21",
            "1: expected end; found {{else}}",
        ),
        (
            "{{ define \"a\" }}\n {{ else }}{{ end }}",
            "2:1",
            "2: unexpected {{else}} in define clause",
        ),
        (
            "{{ define \"a\" }}x{{ end }}\n{{ define \"a\" }}y{{ end }}",
            "2:0",
            "2: template: multiple definition of template \"a\"",
        ),
        // An `end` too few: the opening is to blame, not the end of the file.
        (
            "\n {{ if .a }}\nx\n",
            "2:1 `if` lacks `{{ end }}`",
            "4: unexpected EOF",
        ),
        (
            "{{ if .a }}{{ range .b }}{{ end }}\n",
            "1:0 `if` lacks `{{ end }}`",
            "2: unexpected EOF",
        ),
        (
            "{{ if .a }}{{ end }}{{ range .b }}",
            "1:20 `range` lacks `{{ end }}`",
            "1: unexpected EOF",
        ),
        (
            "{{ if .a }}\n{{ else if .b }}\n",
            "1:0 `if` lacks `{{ end }}`",
            "3: unexpected EOF",
        ),
        (
            "{{ with .a }}{{ else }}",
            "1:0 `with` lacks `{{ end }}`",
            "1: unexpected EOF",
        ),
        (
            "x{{- define \"a\" }}",
            "1:1 `define` lacks `{{ end }}`",
            "1: unexpected EOF",
        ),
        (
            "{{ block \"a\" . }}\n",
            "1:0 `block` lacks `{{ end }}`",
            "2: unexpected EOF",
        ),
        // An action without its end: not what it runs into.
        (
            "a: {{ .spec.x\nkind: {{ .y }}\n",
            "1:3 `{{` lacks `}}`",
            "2: function \"kind\" not defined",
        ),
        (
            "a: {{ .spec.x\nb: y\n",
            "1:3 `{{` lacks `}}`",
            "2: function \"b\" not defined",
        ),
        ("a: {{ .spec.x", "1:3 `{{` lacks `}}`", "1: unclosed action"),
        (
            "a: {{ .spec.x\n",
            "1:3 `{{` lacks `}}`",
            "2: unclosed action started at t:1",
        ),
        (
            "a: {{ .spec.x }\nb: {{ .y }}",
            "1:3 `{{` lacks `}}`",
            "1: unexpected \"}\" in operand",
        ),
        (
            "{{ if .a }}\n{{ .x\n- {{ .y }}{{ end }}",
            "2:0 `{{` lacks `}}`",
            "3: illegal number syntax: \"-\"",
        ),
        (
            "{{ tpl \"{{ .x }}\" uper }}",
            "1:18",
            "1: function \"uper\" not defined",
        ),
        (
            "{{ tpl `{{ .x` uper }}",
            "1:15",
            "1: function \"uper\" not defined",
        ),
        (
            "{{ \"\\\"{{\" | uper }}",
            "1:12",
            "1: function \"uper\" not defined",
        ),
        // Parentheses and comments.
        (
            "{{ add 1 (mul 2 (sub 3 4) }}",
            "1:9 `(` lacks `)`",
            "1: unclosed left paren",
        ),
        (
            "a\n{{- /* b {{ .c }}\n",
            "2:4 `/*` lacks `*/`",
            "2: unclosed comment",
        ),
    ] {
        let error = Set::new().parse("t", source).unwrap_err();
        assert_eq!(
            (shown(&error).as_str(), error.to_string()),
            (place, format!("template: t:{text}")),
            "{source}"
        );
    }
}

#[test]
fn other_delimiters_are_named_as_they_are() {
    let options = Options {
        left: "<%".to_string(),
        right: "%>".to_string(),
        ..Options::default()
    };
    for (source, place) in [
        ("<% if .a %>", "1:0 `if` lacks `<% end %>`"),
        ("<% .a\nb: <% .c %>", "1:0 `<%` lacks `%>`"),
        ("<% .a\n{{ b %>", "2:0"),
    ] {
        let error = Set::with_options(options.clone())
            .parse("t", source)
            .unwrap_err();
        assert_eq!(shown(&error), place, "{source}");
    }
}

#[test]
fn what_happens_in_a_text_given_to_tpl_is_placed_at_the_call() {
    for (source, place, text) in [
        (
            "a\n{{ tpl \"{{ uper }}\" . }}",
            "2:3",
            "function \"uper\" not defined",
        ),
        (
            "a\n{{ tpl \"\\n\\n{{ fail \\\"no\\\" }}\" . }}",
            "2:3",
            "error calling fail: no",
        ),
        (
            "{{ define \"p\" }}{{ fail \"no\" }}{{ end }}{{ tpl \"{{ include `p` . }}\" . }}",
            "1:19",
            "error calling fail: no",
        ),
    ] {
        let mut set = Set::new();
        set.parse("t", source).unwrap();
        let error = set.execute("t", &json!({})).unwrap_err();
        assert_eq!(
            (shown(&error).as_str(), error.message()),
            (place, text),
            "{source}"
        );
    }
    for (source, places) in [
        ("a\n{{ tpl \"{{ .x }}\" . }}", "t:2:3"),
        ("{{ tpl \"{{ tpl `{{ .x }}` . }}\" . }}", "t:1:3"),
        (
            "{{ tpl \"{{ define `d` }}{{ .x }}{{ end }}{{ template `d` . }}\" . }}",
            "t:1:3",
        ),
        (
            "{{ define \"p\" }} {{ .x }}{{ end }}{{ tpl \"{{ include `p` . }}\" . }}",
            "t:1:20",
        ),
    ] {
        let mut set = Set::new();
        set.parse("t", source).unwrap();
        let run = Run {
            watch: Watch::Closely,
            ..Run::new(&set)
        };
        let trace = run
            .execute("t", &Input::new(&json!({})))
            .unwrap()
            .trace
            .unwrap();
        let read = trace
            .reads
            .iter()
            .find(|read| read.path.to_string() == "x")
            .unwrap();
        assert_eq!(read.site.to_string(), places, "{source}");
        assert!(
            trace.spans.iter().all(|span| &*span.site.source == "t"),
            "{source}: {:?}",
            trace.spans
        );
    }
}
