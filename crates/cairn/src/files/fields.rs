//! Reading small files of our own field by field, so that each fault is told in our words and has
//! its place.

use serde_json::Value;

use super::located_yaml::Part;
use crate::terminal::finding::Finding;

/// The fields of a mapping that knows only these; those it does not know are faults.
pub(crate) fn mapping(part: &Part, known: &[&str], faults: &mut Vec<Finding>) -> Option<()> {
    if !part.value().is_object() {
        faults.push(
            part.error(format!(
                "{} stands where a mapping is wanted",
                called(part.value())
            ))
            .hint(listed(known)),
        );
        return None;
    }
    for (name, field) in part
        .entries()
        .iter()
        .filter(|(name, _)| !known.contains(&name.as_str()))
    {
        let fault = field.key_error(format!("there is no field `{name}` here"));
        faults.push(match objects::nearest(name, known.iter().copied()) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault.hint(listed(known)),
        });
    }
    Some(())
}

/// A text.
pub(crate) fn text(part: &Part, faults: &mut Vec<Finding>) -> Option<String> {
    let found = part.value().as_str();
    if found.is_none() {
        let fault = part.error(format!(
            "{} stands where a text is wanted",
            called(part.value())
        ));
        let quotable = part.value().is_number() || part.value().is_boolean();
        faults.push(if quotable {
            fault.hint("write it in quotes")
        } else {
            fault
        });
    }
    found.map(str::to_string)
}

/// The items of a list.
pub(crate) fn list(part: &Part, faults: &mut Vec<Finding>) -> Vec<Part> {
    if !part.value().is_array() {
        let fault = part.error(format!(
            "{} stands where a list is wanted",
            called(part.value())
        ));
        faults.push(fault.hint("write each item after a dash"));
    }
    part.items()
}

fn listed(known: &[&str]) -> String {
    let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("its fields are {}", names.join(", "))
}

fn called(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(_) => "a text".to_string(),
        Value::Array(_) => "a list".to_string(),
        Value::Object(_) => "a mapping".to_string(),
    }
}
