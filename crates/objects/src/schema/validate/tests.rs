//! Values that the API server refuses, with its words, and values that it takes.

use serde_json::{Value, json};

use super::Schema;

fn check(spec: &Value, value: &Value, expected: &[&str]) {
    let schema = Schema::read(&json!({ "type": "object", "properties": { "spec": spec } })).0;
    let found: Vec<String> = schema
        .validate(&json!({ "spec": value }))
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found, expected, "{spec} {value}");
}

#[test]
fn a_value_is_refused_in_the_words_of_the_api_server() {
    for (schema, value, expected) in [
        (json!({ "type": "integer" }), json!(3), ""),
        (json!({ "type": "integer" }), json!(3.0), ""),
        (json!({ "type": "number" }), json!(3), ""),
        (
            json!({ "type": "integer" }),
            json!("3"),
            r#"spec: Invalid value: "string": spec in body must be of type integer: "string""#,
        ),
        (
            json!({ "type": "string" }),
            json!(null),
            r#"spec: Invalid value: "null": spec in body must be of type string: "null""#,
        ),
        (
            json!({ "type": "string", "nullable": true }),
            json!(null),
            "",
        ),
        (
            json!({ "type": "string", "nullable": true, "enum": ["a"] }),
            json!(null),
            r#"spec: Unsupported value: null: supported values: "a""#,
        ),
        (
            json!({ "x-kubernetes-int-or-string": true }),
            json!([]),
            r#"spec: Invalid value: "array": spec in body must be of type integer,string: "array""#,
        ),
        (
            json!({ "x-kubernetes-int-or-string": true }),
            json!("80%"),
            "",
        ),
        (
            json!({ "type": "string", "enum": ["a", "b"] }),
            json!("c"),
            r#"spec: Unsupported value: "c": supported values: "a", "b""#,
        ),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!(3),
            r#"spec: Unsupported value: 3: supported values: "1", "2""#,
        ),
        (
            json!({ "type": "integer", "maximum": 10 }),
            json!(11),
            "spec: Invalid value: 11: spec in body should be less than or equal to 10",
        ),
        (
            json!({ "type": "integer", "maximum": 10, "exclusiveMaximum": true }),
            json!(10),
            "spec: Invalid value: 10: spec in body should be less than 10",
        ),
        (
            json!({ "type": "number", "minimum": 0.5 }),
            json!(0.25),
            "spec: Invalid value: 0.25: spec in body should be greater than or equal to 0.5",
        ),
        (
            json!({ "type": "integer", "multipleOf": 2 }),
            json!(3),
            "spec: Invalid value: 3: spec in body should be a multiple of 2",
        ),
        (
            json!({ "type": "string", "maxLength": 1 }),
            json!("äö"),
            "spec: Too long: may not be more than 1 byte",
        ),
        (
            json!({ "type": "string", "minLength": 1 }),
            json!(""),
            r#"spec: Invalid value: "": spec in body should be at least 1 chars long"#,
        ),
        (
            json!({ "type": "string", "pattern": "^a+$" }),
            json!("b"),
            r#"spec: Invalid value: "b": spec in body should match '^a+$'"#,
        ),
        (
            json!({ "type": "string", "format": "ipv4" }),
            json!("b"),
            r#"spec: Invalid value: "b": spec in body must be of type ipv4: "b""#,
        ),
        (
            json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1 }),
            json!(["a", "b"]),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
            json!([]),
            "spec: Invalid value: 0: spec in body should have at least 1 items",
        ),
        (
            json!({ "type": "array", "items": { "type": "string" } }),
            json!(["a", 1]),
            r#"spec[1]: Invalid value: "integer": spec[1] in body must be of type string: "integer""#,
        ),
        (
            json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" }),
            json!(["a", "b", "a", "a"]),
            r#"spec[2]: Duplicate value: "a""#,
        ),
        (
            json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"] }),
            json!([{ "n": 1, "m": 1 }, { "n": 2 }, { "n": 1 }]),
            r#"spec[2]: Duplicate value: {"n":1}"#,
        ),
        (
            json!({ "type": "object", "required": ["a", "b"] }),
            json!({ "a": 1 }),
            "spec.b: Required value",
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "x.y/z": 1 }),
            r#"spec.x.y/z: Invalid value: "integer": spec.x.y/z in body must be of type string: "integer""#,
        ),
        (
            json!({ "type": "object", "maxProperties": 1 }),
            json!({ "a": 1, "b": 2 }),
            "spec: Too many: 2: must have at most 1 item",
        ),
        (json!({ "type": "object" }), json!({ "unknown": 1 }), ""),
        (
            json!({ "type": "integer", "not": { "enum": [7] } }),
            json!(7),
            r#"<nil>: Invalid value: "": "spec" must not validate the schema (not)"#,
        ),
    ] {
        let expected: Vec<&str> = Some(expected)
            .filter(|expected| !expected.is_empty())
            .into_iter()
            .collect();
        check(&schema, &value, &expected);
    }
}

#[test]
fn numbers_are_held_against_type_format_and_bounds() {
    check(
        &json!({ "type": "integer" }),
        &json!(1.5),
        &[
            r#"spec: Invalid value: "number": spec in body must be of type integer: "number""#,
            r#"<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec"#,
        ],
    );
    check(
        &json!({ "type": "integer", "format": "int32" }),
        &json!(2_147_483_648_u32),
        &[
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec"#,
        ],
    );
    check(
        &json!({ "type": "integer", "maximum": 1.5 }),
        &json!(2.0),
        &[
            r#"<nil>: Invalid value: "": Maximum boundary value must be of type integer (default format) in spec"#,
            "spec: Invalid value: 2: spec in body should be less than or equal to 1.5",
        ],
    );
    check(
        &json!({ "type": "number", "maximum": 1.5 }),
        &json!(7),
        &["spec: Invalid value: 7: spec in body should be less than or equal to 1"],
    );
    check(
        &json!({ "type": "string", "format": "date" }),
        &json!(7),
        &[r#"spec: Invalid value: "int64": spec in body must be of type date: "int64""#],
    );
}

#[test]
fn combinations_say_which_of_them_failed() {
    let either = json!([{ "required": ["a"] }, { "required": ["b"] }]);
    check(
        &json!({ "type": "object", "anyOf": either }),
        &json!({ "b": 1 }),
        &[],
    );
    check(
        &json!({ "type": "object", "anyOf": either }),
        &json!({}),
        &[
            r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
            "spec.a: Required value",
        ],
    );
    check(
        &json!({ "type": "object", "oneOf": either }),
        &json!({ "a": 1, "b": 1 }),
        &[
            r#"<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ],
    );
    check(
        &json!({ "type": "object", "allOf": either }),
        &json!({ "a": 1 }),
        &[
            "spec.b: Required value",
            r#"<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)"#,
        ],
    );
}

#[test]
fn all_faults_are_said_at_once() {
    check(
        &json!({ "type": "object", "required": ["c"], "properties": { "a": { "type": "string" }, "b": { "type": "integer", "minimum": 1 } } }),
        &json!({ "a": 1, "b": 0 }),
        &[
            r#"spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer""#,
            "spec.b: Invalid value: 0: spec.b in body should be greater than or equal to 1",
            "spec.c: Required value",
        ],
    );
}
