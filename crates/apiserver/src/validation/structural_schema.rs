//! Whether the schema of a definition is one that the API server takes, in its words.

use objects::{Flaw, Path, Schema, Step};
use serde_json::{Map, Value};

use crate::handlers::status::Cause;

/// Keywords that no schema of a definition may have, and what is said of them.
const REFUSED: [(&str, &str); 6] = [
    ("$ref", "$ref is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("id", "id is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("$schema", "$schema is not supported"),
];

/// The deepest that schemas may be nested.
const DEPTH: usize = 100;

/// Everything that is wrong with a schema whose place is `path`.
pub(crate) fn faults(schema: &Value, path: &str) -> Vec<Cause> {
    let mut faults = Vec::new();
    match schema["type"].as_str().unwrap_or_default() {
        "object" => {}
        "" => faults.push(Cause::required(
            &format!("{path}.type"),
            "must not be empty at the root",
        )),
        other => faults.push(Cause::invalid(
            &format!("{path}.type"),
            &other.into(),
            "must be object at the root",
        )),
    }
    // Read once: to read what is below each default again would cost the square of the depth.
    let (read, flaws) = Schema::read(schema);
    Walk {
        faults: &mut faults,
        depth: 0,
    }
    .inside(schema, &read, path);
    faults.extend(
        flaws
            .iter()
            .filter_map(|flaw| pattern_fault(schema, flaw, path)),
    );
    rule_faults(&read, path, &mut faults);
    faults
}

struct Walk<'a> {
    faults: &'a mut Vec<Cause>,
    depth: usize,
}

impl Walk<'_> {
    /// Everything that is wrong below and beside the type.
    fn inside(&mut self, schema: &Value, read: &Schema, path: &str) {
        let Some(fields) = schema.as_object() else {
            return;
        };
        self.depth += 1;
        if self.depth > DEPTH {
            self.faults
                .push(Cause::forbidden(path, "schemas are nested too deeply"));
            self.depth -= 1;
            return;
        }
        for (keyword, why) in REFUSED {
            if fields.contains_key(keyword) {
                self.faults
                    .push(Cause::forbidden(&format!("{path}.{keyword}"), why));
            }
        }
        if fields.get("uniqueItems") == Some(&Value::Bool(true)) {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.faults
                .push(Cause::forbidden(&format!("{path}.uniqueItems"), why));
        }
        self.sense(fields, path);
        for (name, inner) in fields
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let place = format!("{path}.properties[{name}]");
            self.typed(
                inner,
                read.properties.get(name),
                &place,
                "must not be empty for specified object fields",
            );
        }
        if let Some(inner) = fields
            .get("additionalProperties")
            .filter(|inner| inner.is_object())
        {
            let place = format!("{path}.additionalProperties");
            self.typed(
                inner,
                read.additional.values(),
                &place,
                "must not be empty for specified object fields",
            );
        }
        match fields.get("items") {
            Some(inner) => {
                let place = format!("{path}.items");
                self.typed(
                    inner,
                    read.items.as_deref(),
                    &place,
                    "must not be empty for specified array items",
                );
            }
            None if schema["type"] == "array" => {
                self.faults.push(Cause::required(
                    &format!("{path}.items"),
                    "must be specified",
                ));
            }
            None => {}
        }
        self.keys(fields, path);
        self.default(schema, read, path);
        self.depth -= 1;
    }

    /// Keywords that cannot be what they are, alone or together.
    fn sense(&mut self, schema: &Map<String, Value>, path: &str) {
        const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
        let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            self.faults.push(Cause::unsupported(
                &format!("{path}.type"),
                &kind.into(),
                &TYPES,
            ));
        }
        let has = |name: &str| {
            schema
                .get(name)
                .and_then(Value::as_object)
                .is_some_and(|inner| !inner.is_empty())
        };
        if has("properties") && has("additionalProperties") {
            let why = "additionalProperties and properties are mutual exclusive";
            self.faults.push(Cause::forbidden(
                &format!("{path}.additionalProperties"),
                why,
            ));
        }
    }

    fn typed(&mut self, schema: &Value, read: Option<&Schema>, path: &str, why: &str) {
        let open = schema["x-kubernetes-int-or-string"] == true
            || schema["x-kubernetes-preserve-unknown-fields"] == true;
        if schema["type"].as_str().unwrap_or_default().is_empty() && !open {
            self.faults
                .push(Cause::required(&format!("{path}.type"), why));
        }
        if let Some(read) = read {
            self.inside(schema, read, path);
        }
    }

    /// The keys of a list by keys are there in every item.
    fn keys(&mut self, schema: &Map<String, Value>, path: &str) {
        if schema.get("x-kubernetes-list-type").and_then(Value::as_str) != Some("map") {
            return;
        }
        let keys = schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.faults.push(Cause::required(
                &format!("{path}.x-kubernetes-list-map-keys"),
                why,
            ));
        }
        let items = schema.get("items").unwrap_or(&Value::Null);
        for (index, key) in keys.iter().enumerate() {
            let name = key.as_str().unwrap_or_default();
            let Some(inner) = items["properties"].get(name) else {
                let place = format!("{path}.x-kubernetes-list-map-keys[{index}]");
                self.faults.push(Cause::invalid(
                    &place,
                    key,
                    "entries must all be names of item properties",
                ));
                continue;
            };
            let required = items["required"]
                .as_array()
                .is_some_and(|names| names.contains(key));
            if !required && inner.get("default").is_none() {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.faults.push(Cause::required(
                    &format!("{path}.items.properties[{name}].default"),
                    why,
                ));
            }
        }
    }

    /// A default has to be a value that the schema lets pass.
    fn default(&mut self, schema: &Value, read: &Schema, path: &str) {
        let Some(default) = schema.get("default") else {
            return;
        };
        for fault in read.validate(default) {
            let inner = if fault.path.is_root() {
                String::new()
            } else {
                format!(".{}", fault.path)
            };
            let type_fault = fault.what.contains(" must be of type ");
            let reason = if type_fault {
                "FieldValueTypeInvalid"
            } else {
                "FieldValueInvalid"
            };
            self.faults.push(Cause::new(
                reason,
                &format!("{path}.default{inner}"),
                fault.what,
            ));
        }
    }
}

/// A pattern that is not one, or that would take more memory than all of a schema may. That limit
/// is ours alone: it is what keeps a small definition from taking all memory.
fn pattern_fault(schema: &Value, flaw: &Flaw, path: &str) -> Option<Cause> {
    let (place, is_keyword) = place(&flaw.path);
    let last = flaw.path.steps().last()?;
    if !is_keyword || *last != Step::from("pattern") {
        return None;
    }
    let written = flaw
        .path
        .steps()
        .iter()
        .try_fold(schema, |value, step| match step {
            Step::Field(name) => value.get(&**name),
            Step::Index(index) => value.get(*index),
            Step::Each => None,
        });
    let why = if flaw.what.ends_with("is not a regular expression") {
        "must be a valid regular expression".to_owned()
    } else {
        format!("must be a valid regular expression, but {}", flaw.what)
    };
    Some(Cause::invalid(&format!("{path}{place}"), written?, &why))
}

/// Rules that do not compile, or that cost too much, each at its place.
fn rule_faults(schema: &Schema, path: &str, faults: &mut Vec<Cause>) {
    for fault in schema.rule_faults() {
        let (at, _) = place(&fault.path);
        if fault.costly {
            let field = if fault.field.is_empty() {
                String::new()
            } else {
                format!(".{}", fault.field)
            };
            faults.push(Cause::forbidden(
                &format!("{path}{at}{field}"),
                &fault.compiler,
            ));
            continue;
        }
        let text = |field: &str| Value::from(fault.rule[field].as_str().unwrap_or_default());
        let shown = format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":null,\"FieldPath\":{},\"OptionalOldSelf\":null}}",
            text("rule"),
            text("message"),
            text("messageExpression"),
            text("fieldPath"),
        );
        // As Go writes JSON.
        let shown = shown
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026");
        let which = if fault.field == "rule" {
            ""
        } else {
            "messageExpression "
        };
        let message = format!(
            "Invalid value: {shown}: {which}compilation failed: {}",
            fault.compiler
        );
        let place = format!("{path}{at}.{}", fault.field);
        faults.push(Cause::new("FieldValueInvalid", &place, message));
    }
}

/// A path into a schema as the API server writes it, `.properties[spec].items`, and whether its end
/// is a keyword of the schema rather than the name of a field.
fn place(path: &Path) -> (String, bool) {
    let mut text = String::new();
    let mut is_name = false;
    let mut is_keyword = false;
    for step in path.steps() {
        match step {
            Step::Field(name) if is_name => text.push_str(&format!("[{name}]")),
            Step::Field(name) => text.push_str(&format!(".{name}")),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Each => {}
        }
        is_keyword = !is_name;
        is_name = !is_name && *step == Step::from("properties");
    }
    (text, is_keyword)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_wrong_with_a_schema_is_told_with_its_place() {
        for (schema, expected) in [
            (json!({"type": "object"}), vec![]),
            (
                json!({"type": "string"}),
                vec!["r.type: Invalid value: \"string\": must be object at the root"],
            ),
            (
                json!({"type": "object", "properties": {"a": {}, "b": {"type": "array"}}}),
                vec![
                    "r.properties[a].type: Required value: must not be empty for specified object fields",
                    "r.properties[b].items: Required value: must be specified",
                ],
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}),
                vec![
                    "r.properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
                ],
            ),
            (
                json!({"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true}}}),
                vec![],
            ),
        ] {
            let found: Vec<String> = faults(&schema, "r")
                .iter()
                .map(|it| format!("{}: {}", it.field, it.message))
                .collect();
            assert_eq!(found, expected);
        }
    }
}
