//! Failures in the API's own form: `Status` objects with a reason, details and causes.

use serde_json::{Value, json};
use templates::Problem;

use crate::Answer;

/// A failure.
pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Answer {
    (code, status(code, reason, message, &json!({})))
}

fn status(code: u16, reason: &str, message: &str, details: &Value) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "details": details, "code": code,
    })
}

/// A template or values that are not valid, with everything that is wrong and where.
pub(crate) fn invalid(kind: &str, name: &str, problems: &[Problem]) -> Answer {
    let causes: Vec<Value> = problems
        .iter()
        .map(|problem| {
            let reason = if problem.missing {
                "FieldValueRequired"
            } else {
                "FieldValueInvalid"
            };
            let message = match &problem.hint {
                Some(hint) => format!("{} ({hint})", problem.what),
                None => problem.what.clone(),
            };
            json!({ "reason": reason, "message": message, "field": problem.path.to_string() })
        })
        .collect();
    let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let why = match all.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", all.join(", ")),
    };
    let group = api::template::GROUP;
    let message = format!("{kind}.{group} {name:?} is invalid: {why}");
    let details = json!({ "name": name, "group": group, "kind": kind, "causes": causes });
    (422, status(422, "Invalid", &message, &details))
}

/// What the API server answered when it was asked for something.
pub(crate) fn passed_on(error: &kube::Error) -> Answer {
    match error {
        kube::Error::Api(status) => {
            let value = serde_json::to_value(status).unwrap_or_default();
            let code = status.code;
            let mut object = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {} });
            if let (Value::Object(object), Value::Object(fields)) = (&mut object, value) {
                object.extend(fields.into_iter().filter(|(_, field)| !field.is_null()));
            }
            (
                if (400..600).contains(&code) {
                    code
                } else {
                    500
                },
                object,
            )
        }
        other => failure(
            503,
            "ServiceUnavailable",
            &format!("the API server cannot be asked: {other}"),
        ),
    }
}
