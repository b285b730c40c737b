//! What the API server itself does to objects by their schemas, as `tools/schema-oracle` recorded
//! it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use objects::Schema;
use serde_json::Value;

#[test]
fn objects_are_admitted_as_the_api_server_admits_them() {
    let lines = include_str!("golden/admit.jsonl").lines();
    let mut count = 0;
    for line in lines {
        let record: Value = serde_json::from_str(line).unwrap();
        let (schema, flaws) = Schema::read(&record["schema"]);
        let mut object = record["value"].clone();
        let mut errors: Vec<String> = schema
            .admit(&mut object)
            .iter()
            .map(ToString::to_string)
            .collect();
        errors.sort();
        let expected: Vec<&str> = record["errors"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(errors, expected, "{line}");
        assert_eq!(plain(&object), plain(&record["admitted"]), "{line}");
        // Defaults that do not fit are refused too, but elsewhere than the oracle looks.
        let structural = flaws
            .iter()
            .any(|flaw| !flaw.what.starts_with("does not fit the schema"));
        assert_eq!(structural, record["refused"] == true, "{flaws:#?} {line}");
        count += 1;
    }
    assert!(count >= 300, "the records were found");
}

/// Go writes 3.0 as 3, which is the same number.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        other => other.clone(),
    }
}
