//! What the design document shows, as it shows it: the example of a database, and the table of
//! quotes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use serde_json::{Value, json};
use templates::{Given, Origin, Processed, process};

const MONGODB: &str = include_str!("seed/mongodb.json");
const AS_YAML: &str = include_str!("seed/mongodb.processed.yaml");

fn mongodb(given: &Given) -> Processed {
    let template = serde_json::from_str(MONGODB).unwrap();
    process(template, given, &mut || panic!("nothing is drawn")).unwrap()
}

#[test]
fn the_example_becomes_these_objects_to_the_byte() {
    let processed = mongodb(&Given::values([("MONGODB_PASSWORD", "s3cret")]));
    let list = processed.into_list();
    assert_eq!(yaml::emit(&list).unwrap(), AS_YAML);
}

#[test]
fn as_a_template_it_differs_only_where_something_was_referred_to_labelled_or_given() {
    let given = Given::values([("MONGODB_PASSWORD", "s3cret"), ("REPLICA_COUNT", "3")]);
    let result = mongodb(&given).into_template();
    let mut expected: Value = serde_json::from_str(MONGODB).unwrap();
    expected["parameters"][2]["value"] = json!("s3cret");
    expected["parameters"][4]["value"] = json!("3");
    let objects = yaml::parse(AS_YAML).unwrap()["items"].take();
    expected["objects"] = objects;
    expected["objects"][1]["spec"]["replicas"] = json!(3);
    assert_eq!(result, expected);
}

#[test]
fn the_example_without_its_password_is_refused_with_the_name() {
    let template: Value = serde_json::from_str(MONGODB).unwrap();
    let problems = process(template, &Given::default(), &mut || Ok(0)).unwrap_err();
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let expected = "parameters[2]: the parameter MONGODB_PASSWORD is required and has no value (give one with `-p \
                    MONGODB_PASSWORD=VALUE`)";
    assert_eq!(told, [expected]);
}

#[test]
fn values_are_given_or_the_templates_own() {
    let used = mongodb(&Given::values([("MONGODB_PASSWORD", "x")])).used;
    let origins: Vec<Origin> = used.iter().map(|used| used.origin).collect();
    assert_eq!(
        origins,
        [
            Origin::Default,
            Origin::Default,
            Origin::Given,
            Origin::Default,
            Origin::Default
        ]
    );
}

/// The field of an object that says `text`, with FOO being `value`, as JSON.
fn field(text: &str, value: &str) -> String {
    let template = json!({
        "apiVersion": "v1", "kind": "Template",
        "objects": [{"apiVersion": "v1", "kind": "ConfigMap", "somefield": text}],
        "parameters": [{"name": "FOO", "value": value}],
    });
    let processed = process(template, &Given::default(), &mut || {
        panic!("nothing is drawn")
    })
    .unwrap();
    processed.objects()[0]["somefield"].to_string()
}

#[test]
fn quotes_stay_or_go_as_the_table_says() {
    for (text, value, expected) in [
        ("$(FOO)", "BAR", r#""BAR""#),
        // What is no number, truth or nothing is a text in JSON, with or without quotes in YAML.
        ("$((FOO))", "BAR", r#""BAR""#),
        ("prefix_$(FOO)_suffix", "BAR", r#""prefix_BAR_suffix""#),
        ("prefix_$((FOO))_suffix", "BAR", r#""prefix_BAR_suffix""#),
        (
            "prefix_$((FOO))_$(FOO)_suffix",
            "BAR",
            r#""prefix_BAR_BAR_suffix""#,
        ),
        ("$(FOO)", "3", r#""3""#),
        ("$((FOO))", "3", "3"),
        ("1$((FOO))", "3", "13"),
        ("$((FOO))$((FOO))", "3", "33"),
        ("$((FOO))$(FOO)", "3", r#""33""#),
        ("$((FOO))", "true", "true"),
        ("$((FOO))", "null", "null"),
        ("$((FOO))", "-1.5e3", "-1500.0"),
        ("$((FOO))", r#""3""#, r#""3""#),
        ("$((FOO))", "", r#""""#),
        ("$((FOO))", "yes", r#""yes""#),
        ("$((FOO))", "010", r#""010""#),
        ("$((FOO))", "0x1F", r#""0x1F""#),
        ("$((FOO))", "~", r#""~""#),
        ("$((FOO))", "1:30", r#""1:30""#),
        ("$((FOO))", "{\"a\":1}", r#""{\"a\":1}""#),
        ("$((FOO))", "[1]", r#""[1]""#),
        ("$((FOO))", "9223372036854775807", "9223372036854775807"),
        ("$((FOO))", "18446744073709551615", "18446744073709551615"),
        (
            "$((FOO))",
            "18446744073709551616",
            r#""18446744073709551616""#,
        ),
        ("$((FOO))", "-0", "0"),
        ("$(FOO)", "x\", \"y\": \"z", r#""x\", \"y\": \"z""#),
        ("$(BAR) $((BAR))", "x", r#""$(BAR) $((BAR))""#),
        ("$$(FOO)", "3", r#""$(FOO)""#),
        ("$$((FOO))", "3", r#""$((FOO))""#),
        ("$$(BAR)", "3", r#""$$(BAR)""#),
        ("$((FOO)) $$(FOO)", "3", r#""3 $(FOO)""#),
        ("$(FOO)", "$(FOO)", r#""$(FOO)""#),
    ] {
        assert_eq!(field(text, value), expected, "{text} with {value}");
    }
}
