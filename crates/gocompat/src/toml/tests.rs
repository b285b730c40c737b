//! Tables of what the library writes and reads.

use super::*;

fn show(value: &Value) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Text(value) => format!("{:?}", text(value)),
        Value::Time(time) => time.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
        }
        Value::Table(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|(key, value)| format!("{}:{}", text(key), show(value)))
                .collect();
            format!("{{{}}}", fields.join(" "))
        }
    }
}

#[test]
fn tables_come_after_plain_keys_and_are_indented() {
    for (value, want) in [
        (
            serde_json::json!({"b": 1, "a": {"y": "q\"\n", "x": [1, 2.0]}}),
            "b = 1\n\n[a]\n  x = [1, 2.0]\n  y = \"q\\\"\\n\"\n",
        ),
        (
            serde_json::json!({"a": {"b": {"c": true}}}),
            "[a]\n  [a.b]\n    c = true\n",
        ),
        (
            serde_json::json!({"t": [{"n": 1}, {"n": {"m": 2}}]}),
            "[[t]]\n  n = 1\n\n[[t]]\n  [t.n]\n    m = 2\n",
        ),
        (
            serde_json::json!({"c d": {"": 1}, "é": 1e6}),
            "\"é\" = 1e+06\n\n[\"c d\"]\n  \"\" = 1\n",
        ),
        (
            serde_json::json!({"a": [[{"x": 1}], 1], "n": null}),
            "a = [[{x = 1}], 1]\n",
        ),
        (
            serde_json::json!({"a": [1, {"x": 1, "y": null}]}),
            "a = [1, {x = 1, }]\n",
        ),
        (serde_json::json!("s"), "\"s\""),
        (serde_json::json!({}), ""),
    ] {
        let got = encode(&Value::from(&value)).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(got.as_deref(), Ok(want), "{value}");
    }
    for (value, want) in [
        (
            serde_json::json!({"a": [null]}),
            "toml: cannot encode array with nil element",
        ),
        (
            serde_json::json!([{}]),
            "toml: top-level values must be Go maps or structs",
        ),
        (
            serde_json::json!(null),
            "reflect: call of reflect.Value.Type on zero Value",
        ),
    ] {
        assert_eq!(encode(&Value::from(&value)).unwrap_err().to_string(), want);
    }
}

#[test]
fn documents_are_read() {
    for (text, want) in [
        (
            "a = 1\nb.c = 'x'\n[t.u]\nv = [1, 2,\n 3]\n",
            r#"{a:1 b:{c:"x"} t:{u:{v:[1 2 3]}}}"#,
        ),
        ("[[p]]\nx=1\n[[p]]\n[p.q]\ny=2", "{p:[{x:1} {q:{y:2}}]}"),
        ("a = {x = 1, y.z = [{}],}", "{a:{x:1 y:{z:[{}]}}}"),
        (
            "a = 0x1F\nb = 1_000\nc = -0.5\nd = inf",
            "{a:31 b:1000 c:-0.5 d:inf}",
        ),
        ("a = \"\"\"\nx\\\n   y\"\"\"\"\"", r#"{a:"xy\"\""}"#),
        ("a = \"\\u00e9\\x41\\e\"", "{a:\"éA\\u{1b}\"}"),
        (
            "a = 1979-05-27 07:32:00-08:00",
            "{a:1979-05-27 07:32:00 -0800 -0800}",
        ),
        ("a = 1979-05-27", "{a:1979-05-27 00:00:00 +0000 date-local}"),
        ("a = 07:32", "{a:0000-01-01 07:32:00 +0000 time-local}"),
        ("\u{feff}# only a comment", "{}"),
    ] {
        assert_eq!(
            decode(text.as_bytes())
                .map(|table| show(&Value::Table(table)))
                .as_deref(),
            Ok(want),
            "{text}"
        );
    }
}

#[test]
fn errors_name_the_line_and_the_last_key() {
    for (text, want) in [
        (
            "a = 1\na = 2",
            "toml: line 2 (last key \"a\"): Key 'a' has already been defined.",
        ),
        (
            "[a]\nb = \n",
            "toml: line 2 (last key \"a.b\"): expected value but found '\\n' instead",
        ),
        (
            "a = tru",
            "toml: line 1 (last key \"a\"): expected value but found \"tru\" instead",
        ),
        (
            "a = [1 2]",
            "toml: line 1 (last key \"a\"): expected a comma (',') or array terminator (']'), but got '2'",
        ),
        (
            "a = \"x\ny\"",
            "toml: line 1 (last key \"a\"): strings cannot contain newlines",
        ),
        (
            "a = \"\\q\"",
            "toml: line 1 (last key \"a\"): invalid escape in string '\\q'",
        ),
        (
            "a = 01",
            "toml: line 1 (last key \"a\"): Invalid integer \"01\": cannot have leading zeroes",
        ),
        (
            "a = 99999999999999999999",
            "toml: line 1 (last key \"a\"): 99999999999999999999 is out of range for int64",
        ),
        (
            "a",
            "toml: line 1: unexpected EOF; expected key separator '='",
        ),
        (
            "[a",
            "toml: line 1: expected '.' or ']' to end table name, but got '\\x00' instead",
        ),
        (
            "a = 1 b = 2",
            "toml: line 1: expected a top-level item to end with a newline, comment, or EOF, but got 'b' instead",
        ),
        (
            "= 1",
            "toml: line 1: unexpected '=': key name appears blank",
        ),
        (
            "a = 2020-13-01",
            "toml: line 1 (last key \"a\"): invalid datetime: \"2020-13-01\"",
        ),
        (
            "a=1\n[a]",
            "toml: line 2: Key 'a' has already been defined.",
        ),
        (
            "a = \x01",
            "toml: line 1 (last key \"a\"): TOML files cannot contain control characters: '0x01'",
        ),
    ] {
        assert_eq!(
            decode(text.as_bytes()).unwrap_err().to_string(),
            want,
            "{text}"
        );
    }
}

#[test]
fn depth_is_bounded() {
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a".to_owned() + &".a".repeat(100_000) + " = 1",
    ] {
        assert!(decode(text.as_bytes()).is_err());
    }
    let mut deep = Value::Int(1);
    for _ in 0..1000 {
        deep = Value::Array(vec![deep]);
    }
    assert_eq!(encode(&deep), Err(EncodeError::Depth));
}
