//! Field sets as `FieldsV1`, the form that `metadata.managedFields` keeps.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use crate::go;

/// A `fieldsV1` that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A value that is no object.
    #[error("a field set is an object, not {0}")]
    NotAnObject(String),
    /// A key that says nothing.
    #[error("cannot read the path element {0:?}")]
    Element(String),
}

impl FieldSet {
    /// Reads a `fieldsV1`. Elements of a kind that is not known are passed over, as the API server
    /// does.
    pub fn from_value(value: &Value) -> Result<Self, FieldsError> {
        Ok(read(value)?.0)
    }

    /// The set as a `fieldsV1`.
    pub fn to_value(&self) -> Value {
        Value::Object(write(self, false))
    }

    /// The set as the API server writes it, in the order of its elements.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        print(self, false, &mut text);
        text
    }
}

fn read(value: &Value) -> Result<(FieldSet, bool), FieldsError> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Ok((FieldSet::new(), true)),
        other => return Err(FieldsError::NotAnObject(other.to_string())),
    };
    let mut set = FieldSet::new();
    let mut member = false;
    for (key, value) in fields {
        if key == "." {
            member = true;
        } else if let Some(element) = parse(key)? {
            let (below, ends) = read(value)?;
            set.put(element, ends, below);
        }
    }
    // What goes nowhere ends here.
    let ends = member || set.is_empty();
    Ok((set, ends))
}

fn parse(key: &str) -> Result<Option<Element>, FieldsError> {
    let unreadable = || FieldsError::Element(key.to_owned());
    let (kind, text) = key
        .split_once(':')
        .filter(|(kind, _)| kind.len() == 1)
        .ok_or_else(unreadable)?;
    let element = match kind {
        "f" => Element::field(text),
        "v" => Element::Value(Arc::new(
            serde_json::from_str(text).map_err(|_| unreadable())?,
        )),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(text).map_err(|_| unreadable())?;
            Element::Key(
                keys.into_iter()
                    .map(|(name, value)| (Arc::from(name), value))
                    .collect(),
            )
        }
        "i" => Element::Index(text.parse().map_err(|_| unreadable())?),
        _ => return Ok(None),
    };
    Ok(Some(element))
}

fn label(element: &Element) -> String {
    match element {
        // By far the most, so without the machinery of formats.
        Element::Field(name) => ["f:", name].concat(),
        Element::Value(value) => format!("v:{}", go::json(value)),
        Element::Index(index) => format!("i:{index}"),
        Element::Key(keys) => {
            let mut text = "k:{".to_owned();
            for (index, (name, value)) in keys.iter().enumerate() {
                let comma = if index > 0 { "," } else { "" };
                let _ = write!(text, "{comma}{}:{}", go::json_string(name), go::json(value));
            }
            text.push('}');
            text
        }
    }
}

fn write(set: &FieldSet, member: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    if member && !set.is_empty() {
        fields.insert(".".to_owned(), Value::Object(Map::new()));
    }
    for entry in set.entries() {
        fields.insert(
            label(&entry.element),
            Value::Object(write(&entry.below, entry.member)),
        );
    }
    fields
}

fn print(set: &FieldSet, member: bool, text: &mut String) {
    text.push('{');
    let mut comma = "";
    if member && !set.is_empty() {
        text.push_str("\".\":{}");
        comma = ",";
    }
    for entry in set.entries() {
        let _ = write!(text, "{comma}{}:", go::json_string(&label(&entry.element)));
        print(&entry.below, entry.member, text);
        comma = ",";
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{Element, FieldPath, FieldSet};

    fn set(value: &Value) -> FieldSet {
        FieldSet::from_value(value).unwrap()
    }

    #[test]
    fn a_set_is_read_and_written_in_the_order_of_the_server() {
        for text in [
            "{}",
            r#"{"f:a":{}}"#,
            r#"{"f:a":{".":{},"f:b":{}}}"#,
            r#"{"f:a":{},"k:{\"name\":\"x\"}":{".":{},"f:name":{}},"v:1":{},"v:\"b\"":{},"i:0":{}}"#,
            r#"{"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}}"#,
            r#"{"v:1":{},"v:\"\\u003c\"":{},"v:true":{}}"#,
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(set(&value).to_json(), text);
            assert_eq!(set(&value).to_value(), value);
        }
    }

    #[test]
    fn what_is_no_set_is_refused_and_what_is_not_known_passed_over() {
        for value in [
            json!(1),
            json!({"f:a": 1}),
            json!({"x": {}}),
            json!({"i:a": {}}),
            json!({"k:[]": {}}),
        ] {
            assert!(FieldSet::from_value(&value).is_err(), "{value}");
        }
        assert!(set(&json!({"x:a": {}})).is_empty());
        assert_eq!(set(&json!({"f:a": null})), set(&json!({"f:a": {".": {}}})));
    }

    #[test]
    fn sets_are_added_and_taken_away() {
        let one = set(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}}));
        let other = set(&json!({"f:a": {"f:b": {}}, "f:e": {}}));
        assert_eq!(one.clone().united(other.clone()), one.union(&other));
        for (one, other) in [
            (&one, &other),
            (&other, &one),
            (&one, &one),
            (&one, &set(&json!({"f:a": {}}))),
        ] {
            let (mut left, mut above) = (one.clone(), one.clone());
            left.subtract(other);
            above.subtract_below(other);
            assert_eq!(
                (left, above),
                (one.difference(other), one.recursive_difference(other))
            );
        }
        assert_eq!(
            one.union(&other),
            set(&json!({"f:a": {".": {}, "f:b": {}, "f:c": {}}, "f:d": {}, "f:e": {}}))
        );
        assert_eq!(one.intersection(&other), set(&json!({"f:a": {"f:b": {}}})));
        assert_eq!(
            one.difference(&other),
            set(&json!({"f:a": {".": {}, "f:c": {}}, "f:d": {}}))
        );
        assert_eq!(
            one.recursive_difference(&set(&json!({"f:a": {}}))),
            set(&json!({"f:d": {}}))
        );
        assert_eq!(
            one.leaves(),
            set(&json!({"f:a": {"f:b": {}, "f:c": {}}, "f:d": {}}))
        );
        assert!(set(&json!({"f:a": {"f:b": {}}})).is_subset(&one) && !other.is_subset(&one));
        assert_eq!(one.len(), 4);
        assert!(
            one.has(&FieldPath::fields(&["a", "b"]).0)
                && !one.has(&[Element::field("x")])
                && !one.has(&[])
        );
        let shown: Vec<String> = one.paths().iter().map(ToString::to_string).collect();
        assert_eq!(shown, [".a", ".d", ".a.b", ".a.c"]);
    }
}
