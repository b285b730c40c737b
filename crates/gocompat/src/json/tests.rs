//! Tables of what Go writes and says.

use super::*;

#[test]
fn strings_are_escaped_for_html_unless_told_otherwise() {
    for (text, html, plain) in [
        (
            &b"a<b>&\""[..],
            r#""a\u003cb\u003e\u0026\"""#,
            r#""a<b>&\"""#,
        ),
        (
            b"\x00\x08\x0c\n\r\t\x0b\x7f",
            "\"\\u0000\\b\\f\\n\\r\\t\\u000b\x7f\"",
            "\"\\u0000\\b\\f\\n\\r\\t\\u000b\x7f\"",
        ),
        ("\u{2028}é".as_bytes(), "\"\\u2028é\"", "\"\\u2028é\""),
        (
            b"\xff\xef\xbf\xbd",
            "\"\\ufffd\u{fffd}\"",
            "\"\\ufffd\u{fffd}\"",
        ),
    ] {
        for (escape, want) in [(true, html), (false, plain)] {
            let mut out = Vec::new();
            write_string(&mut out, text, escape);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }
}

#[test]
fn floats_take_an_exponent_only_when_far_from_one() {
    for (value, want) in [
        (1.0, Ok("1")),
        (-0.0, Ok("-0")),
        (1e20, Ok("100000000000000000000")),
        (1e21, Ok("1e+21")),
        (1e-6, Ok("0.000001")),
        (1e-7, Ok("1e-7")),
        (1.5e-10, Ok("1.5e-10")),
        (f64::INFINITY, Err("json: unsupported value: +Inf")),
        (f64::NAN, Err("json: unsupported value: NaN")),
    ] {
        let mut out = Vec::new();
        let got = write_float(&mut out, value)
            .map(|()| String::from_utf8(out).unwrap())
            .map_err(|error| error.to_string());
        assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned));
    }
}

#[test]
fn syntax_errors_say_what_go_says() {
    for (text, want) in [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[1,", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        (
            "'a'",
            r"invalid character '\'' looking for beginning of value",
        ),
        ("[1 2]", "invalid character '2' after array element"),
        (
            "[1,]",
            "invalid character ']' looking for beginning of value",
        ),
        (
            "{1:2}",
            "invalid character '1' looking for beginning of object key string",
        ),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        (
            "{\"a\":1 \"b\"}",
            "invalid character '\"' after object key:value pair",
        ),
        (
            "{\"a\":1,}",
            "invalid character '}' looking for beginning of object key string",
        ),
        ("{} x", "invalid character 'x' after top-level value"),
        ("01", "invalid character '1' after top-level value"),
        (
            "tru",
            "invalid character ' ' in literal true (expecting 'e')",
        ),
        (
            "nil",
            "invalid character 'i' in literal null (expecting 'u')",
        ),
        ("-", "invalid character ' ' in numeric literal"),
        (
            "1.",
            "invalid character ' ' after decimal point in numeric literal",
        ),
        (
            "1ex",
            "invalid character 'x' in exponent of numeric literal",
        ),
        ("\"a", "unexpected end of JSON input"),
        ("\"\\q\"", "invalid character 'q' in string escape code"),
        (
            "\"\\u12x\"",
            "invalid character 'x' in \\u hexadecimal character escape",
        ),
        ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        (
            "[1e400]",
            "json: cannot unmarshal number 1e400 into Go value of type float64",
        ),
    ] {
        assert_eq!(
            decode(text.as_bytes(), 100).unwrap_err().to_string(),
            want,
            "{text}"
        );
    }
    assert!(
        check("[".repeat(20_000).as_bytes())
            .is_err_and(|error| error.to_string() == "exceeded max depth")
    );
    assert!(decode(b"[[[]]]", 2).is_err());
}

#[test]
fn values_are_read_with_broken_text_replaced() {
    for (text, want) in [
        (
            &br#" {"b":[1,true,null,{}],"a":"x"} "#[..],
            serde_json::json!({"a": "x", "b": [1.0, true, null, {}]}),
        ),
        (br#"{"a":1,"a":2}"#, serde_json::json!({"a": 2.0})),
        (
            br#""\ud83d\ude00\ud83dx\u00e9\/""#,
            serde_json::json!("😀\u{fffd}xé/"),
        ),
        (b"\"\xff\xfe\"", serde_json::json!("\u{fffd}\u{fffd}")),
        (b"-0", serde_json::json!(-0.0)),
        (b"[]", serde_json::json!([])),
        (b"false", serde_json::json!(false)),
    ] {
        assert_eq!(decode(text, 100), Ok(want));
    }
}
