//! Objects in the bodies of requests: JSON or YAML, of the kind that the path is about.

use http::{header::CONTENT_TYPE, request::Parts};
use serde_json::{Number, Value};

use crate::{kinds::Served, serve::Cx, status::ApiError};

/// The object in the body of a creation or an update.
pub(crate) fn read(cx: &Cx<'_>) -> Result<Value, ApiError> {
    let mut object = parse(cx.parts, &cx.body)?;
    if !object.is_object() {
        return Err(ApiError::bad_request("the body of the request is not an object"));
    }
    check_kind(&cx.served, &cx.attributes().subresource, &mut object)?;
    Ok(object)
}

/// The body as a value, by its content type.
pub(crate) fn parse(parts: &Parts, body: &[u8]) -> Result<Value, ApiError> {
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "" | "application/json" | "*/*" => json(body),
        "application/yaml" => yaml(body),
        _ => Err(ApiError::unsupported_media_type(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ])),
    }
}

/// JSON as a value. Whole numbers that are written as fractions become whole, as in Go.
pub(crate) fn json(body: &[u8]) -> Result<Value, ApiError> {
    let mut value = serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("couldn't get version/kind; json parse error: {error}")))?;
    whole_numbers(&mut value);
    Ok(value)
}

/// YAML as a value.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("error decoding YAML: not UTF-8"))?;
    let mut value =
        yaml::parse(text).map_err(|error| ApiError::bad_request(format!("error decoding YAML: {error}")))?;
    whole_numbers(&mut value);
    Ok(value)
}

fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 {
                #[allow(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Checks that the object is of the kind that the path is about; what is not said is filled in.
pub(crate) fn check_kind(served: &Served, subresource: &str, object: &mut Value) -> Result<(), ApiError> {
    let sub = served.subresource(subresource);
    let kind = sub.map_or(&served.kind, |sub| &sub.kind);
    let version = match sub.and_then(|sub| sub.group_version.as_ref()) {
        Some((group, version)) => crate::kinds::api_version(group, version),
        None => served.api_version(),
    };
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (has_version, has_kind) = (text("apiVersion"), text("kind"));
    if has_version.is_empty() && has_kind.is_empty() || has_version == version && has_kind.is_empty() {
        if served.custom.is_some() {
            return Err(ApiError::bad_request(format!("Object 'Kind' is missing in '{object}'")));
        }
    } else if has_version != version {
        let message =
            format!("the API version in the data ({has_version}) does not match the expected API version ({version})");
        return Err(ApiError::bad_request(message));
    } else if &has_kind != kind {
        let message = format!("{has_kind} in version {:?} cannot be handled as a {kind}", served.version);
        return Err(ApiError::bad_request(message));
    }
    object["apiVersion"] = version.into();
    object["kind"] = kind.as_str().into();
    Ok(())
}
