//! How many there shall be of something, as a `Scale` of its own.

use serde_json::{Value, json};

use super::status::{ApiError, Cause};
use crate::registry::{Scale, Served};

/// Where the parts of a built-in kind's scale are.
fn builtin() -> Scale {
    Scale {
        spec: ".spec.replicas".to_owned(),
        status: ".status.replicas".to_owned(),
        selector: None,
    }
}

fn paths(served: &Served) -> Option<Scale> {
    match &served.custom {
        Some(custom) => custom.scale.clone(),
        None => Some(builtin()),
    }
}

fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

/// The scale of an object.
pub(crate) fn of(served: &Served, object: &Value) -> Result<Value, ApiError> {
    let Some(paths) = paths(served) else {
        return Err(ApiError::method_not_allowed());
    };
    let number = |path: &str| object.pointer(&pointer(path)).and_then(Value::as_i64);
    let Some(replicas) = number(&paths.spec).or_else(|| served.custom.is_none().then_some(0))
    else {
        let why = format!("the spec replicas field {:?} does not exist", paths.spec);
        return Err(ApiError::internal(why));
    };
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {},
        "status": {"replicas": number(&paths.status).unwrap_or(0)},
    });
    if replicas != 0 {
        scale["spec"]["replicas"] = replicas.into();
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object["metadata"].get(field) {
            scale["metadata"][field] = value.clone();
        }
    }
    let selector = match &paths.selector {
        Some(path) => object
            .pointer(&pointer(path))
            .and_then(Value::as_str)
            .map(str::to_owned),
        None if served.custom.is_none() => selector(&object["spec"]["selector"]),
        None => None,
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        scale["status"]["selector"] = selector.into();
    }
    Ok(scale)
}

/// A selector as text: `app=web,tier in (a,b)`.
fn selector(selector: &Value) -> Option<String> {
    let labels = selector
        .get("matchLabels")
        .unwrap_or(selector)
        .as_object()?;
    let equal = labels
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?)));
    let mut parts: Vec<String> = equal.collect();
    for expression in selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    Some(parts.join(","))
}

/// An object with the replicas that a scale asks for.
pub(crate) fn into(served: &Served, object: &Value, scale: &Value) -> Result<Value, ApiError> {
    let Some(paths) = paths(served) else {
        return Err(ApiError::method_not_allowed());
    };
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let cause = Cause::invalid(
            "spec.replicas",
            &replicas.into(),
            "must be greater than or equal to 0",
        );
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        return Err(ApiError::invalid("autoscaling", "Scale", name, vec![cause]));
    }
    let mut object = object.clone();
    let mut place = &mut object;
    for part in paths.spec.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = replicas.into();
    if let Some(version) = scale["metadata"]["resourceVersion"]
        .as_str()
        .filter(|version| !version.is_empty())
    {
        object["metadata"]["resourceVersion"] = version.into();
    } else if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    Ok(object)
}
