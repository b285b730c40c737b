//! Rows of custom kinds: the columns that the definition asks for, each found by its path.

use serde_json::{Value, json};

use super::{
    COLUMNS,
    format::{age, text},
    jsonpath,
};
use crate::registry::Custom;

/// The columns of a custom kind.
pub(super) fn columns(custom: &Custom) -> Value {
    if custom.columns.is_empty() {
        return default_columns();
    }
    let mut columns = vec![name_column()];
    for column in &custom.columns {
        let description = match text(column, "/description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text(column, "/jsonPath")
            ),
            own => own.to_owned(),
        };
        columns.push(json!({
            "name": column["name"], "type": column["type"], "format": text(column, "/format"),
            "description": description, "priority": column["priority"].as_i64().unwrap_or_default(),
        }));
    }
    columns.into()
}

/// The name and the age, where nothing is said.
pub(super) fn default_columns() -> Value {
    json!([
        name_column(),
        {"name": "Age", "type": "date", "format": "", "priority": 0, "description": described("Age")},
    ])
}

fn name_column() -> Value {
    json!({"name": "Name", "type": "string", "format": "name", "priority": 0, "description": described("Name")})
}

/// What the real server says of a column that most kinds have.
fn described(column: &str) -> Value {
    let columns = COLUMNS
        .get("api/v1/serviceaccounts")
        .and_then(Value::as_array);
    let found = columns
        .into_iter()
        .flatten()
        .find(|found| found["name"] == column);
    found.map_or(Value::Null, |found| found["description"].clone())
}

/// The cells of an object of a custom kind.
pub(super) fn cells(custom: &Custom, object: &Value) -> Vec<Value> {
    let mut cells = vec![Value::from(text(object, "/metadata/name"))];
    if custom.columns.is_empty() {
        cells.push(age(text(object, "/metadata/creationTimestamp")));
    }
    cells.extend(custom.columns.iter().map(|column| cell(column, object)));
    cells
}

fn cell(column: &Value, object: &Value) -> Value {
    let found = jsonpath::find(object, text(column, "/jsonPath"));
    let Some(&first) = found.first() else {
        return Value::Null;
    };
    match (text(column, "/type"), first) {
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(number)) => json!(number.trunc()),
            _ => Value::Null,
        },
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => first.clone(),
        ("date", Value::String(time)) => match age(time) {
            Value::String(unknown) if unknown == "<unknown>" => "<invalid>".into(),
            age => age,
        },
        ("string", _) => {
            let shown = |value: &&Value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            };
            found.iter().map(shown).collect::<Vec<_>>().join(" ").into()
        }
        _ => Value::Null,
    }
}
