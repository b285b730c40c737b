//! Objects in the bodies of requests: JSON or YAML, of the kind that the path is about.

use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::decode;
use crate::codec::{json, protobuf};
use crate::handlers::Cx;
use crate::handlers::status::{ApiError, Cause};
use crate::registry::{Served, api_version};

/// The text of a body as it was sent, or as JSON if it was YAML, with what it says.
pub(crate) struct Text {
    /// What it says.
    pub(crate) value: Value,
    /// As JSON; none if that is the body itself.
    json: Option<String>,
    /// Whether a field is there twice.
    pub(crate) twice: bool,
}

impl Text {
    /// The JSON.
    pub(crate) fn json<'a>(&'a self, cx: &'a Cx<'_>) -> std::borrow::Cow<'a, str> {
        match &self.json {
            Some(json) => json.into(),
            None => String::from_utf8_lossy(&cx.body),
        }
    }
}

/// The object in the body of a creation or an update.
pub(crate) fn read(cx: &Cx<'_>) -> Result<Value, ApiError> {
    let mut text = parse(cx)?;
    let mut object = std::mem::take(&mut text.value);
    if !object.is_object() {
        let what = match object {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
        let target = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
        return Err(unrecognized(
            cx,
            &format!("json: cannot unmarshal {what} into Go value of type {target}"),
        ));
    }
    check_kind(cx, &mut object)?;
    decode::object(cx, &text, &mut object)?;
    Ok(object)
}

/// The body, by its content type.
pub(crate) fn parse(cx: &Cx<'_>) -> Result<Text, ApiError> {
    let kind = cx
        .parts
        .headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "" | "application/json" | "*/*" => {
            let (value, twice) = json::parse(&cx.body).map_err(|error| unrecognized(cx, &error))?;
            Ok(Text {
                value,
                json: None,
                twice,
            })
        }
        "application/yaml" => {
            let value = yaml(&cx.body)?;
            Ok(Text {
                json: Some(value.to_string()),
                value,
                twice: false,
            })
        }
        "application/vnd.kubernetes.protobuf" if cx.served.custom.is_none() => {
            let value = protobuf::read(&cx.body).map_err(|error| unrecognized(cx, &error))?;
            Ok(Text {
                json: Some(value.to_string()),
                value,
                twice: false,
            })
        }
        _ => Err(ApiError::unsupported_media_type(&[
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
        ])),
    }
}

/// The JSON of a patch.
pub(crate) fn patch(cx: &Cx<'_>) -> Result<Value, String> {
    json::parse(&cx.body).map(|(value, _)| value)
}

/// Checks that a patch leaves an object what it is.
pub(crate) fn check_patched(cx: &Cx<'_>, object: &Value) -> Result<(), ApiError> {
    let (version, kind) = expected(&cx.served, &cx.attributes().subresource);
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (has_version, has_kind) = (text("apiVersion"), text("kind"));
    if has_version == version && has_kind == kind {
        return Ok(());
    }
    if cx.served.custom.is_none() {
        let message = format!(
            "Invalid value: \"<object>\": no kind {has_kind:?} is registered for version {has_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        );
        return Err(ApiError::invalid(
            "",
            "",
            "",
            vec![Cause::new("FieldValueInvalid", "patch", message)],
        ));
    }
    let (group, _) = has_version.rsplit_once('/').unwrap_or_default();
    let mut causes = Vec::new();
    if has_kind != kind {
        causes.push(Cause::invalid(
            "kind",
            &has_kind.into(),
            &format!("must be {kind}"),
        ));
    }
    if has_version != version {
        causes.push(Cause::invalid(
            "apiVersion",
            &has_version.into(),
            &format!("must be {version}"),
        ));
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    Err(ApiError::invalid(group, has_kind, name, causes))
}

/// YAML as a value. Whole numbers that are written as fractions become whole, as in Go.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, ApiError> {
    read_yaml(body, "decoding", yaml::parse)
}

/// YAML as a value, in which nothing stands twice.
pub(crate) fn strict_yaml(body: &[u8]) -> Result<Value, ApiError> {
    read_yaml(body, "strict decoding", yaml::parse_strict)
}

fn read_yaml(
    body: &[u8],
    what: &str,
    parse: fn(&str) -> Result<Value, yaml::Error>,
) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(body)
        .map_err(|_| ApiError::bad_request("error decoding YAML: not UTF-8"))?;
    parse(text).map_err(|error| {
        ApiError::bad_request(format!(
            "error {what} YAML: error converting YAML to JSON: {error}"
        ))
    })
}

/// A body that says nothing, and how it begins.
fn unrecognized(cx: &Cx<'_>, error: &str) -> ApiError {
    let kind = &cx.served.kind;
    let begin = snippet(&cx.body);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {error} ({begin})"
    ))
}

/// The beginning of a body as messages show it: text if it may be an object, else its bytes.
fn snippet(body: &[u8]) -> String {
    const MOST: usize = 30;
    let begin = body.get(..MOST).unwrap_or(body);
    let more = if body.len() > MOST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(begin)),
        Some(_) => format!(
            "{}{more}",
            begin
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        ),
    }
}

/// The kind and version that a request's body has.
pub(crate) fn expected(served: &Served, subresource: &str) -> (String, String) {
    let sub = served.subresource(subresource);
    let kind = sub.map_or(&served.kind, |sub| &sub.kind);
    let version = match sub.and_then(|sub| sub.group_version.as_ref()) {
        Some((group, version)) => api_version(group, version),
        None => served.api_version(),
    };
    (version, kind.clone())
}

/// Checks that the object is of the kind that the path is about; what is not said is filled in.
fn check_kind(cx: &Cx<'_>, object: &mut Value) -> Result<(), ApiError> {
    let served = &cx.served;
    let (version, kind) = expected(served, &cx.attributes().subresource);
    let text = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (has_version, has_kind) = (text("apiVersion"), text("kind"));
    if served.custom.is_some() && has_kind.is_empty() {
        let body = String::from_utf8_lossy(&cx.body);
        let body = body.trim_end();
        let begin = snippet(&cx.body);
        let message = format!(
            "the object provided is unrecognized (must be of type {kind}): Object 'Kind' is missing in '{body}' ({begin})"
        );
        return Err(ApiError::bad_request(message));
    }
    let same_version = has_version == version || has_version.is_empty() && served.custom.is_none();
    let same_kind = has_kind == kind || has_kind.is_empty();
    if same_version && same_kind {
        object["apiVersion"] = version.into();
        object["kind"] = kind.into();
        return Ok(());
    }
    let known = objects::ApiVersion::parse(&has_version);
    let kinds = cx.inner.registry.now();
    let exists = known.is_some_and(|known| {
        kinds
            .of_kind(&known.group, &known.version, &has_kind)
            .is_some()
    });
    if served.custom.is_some() && same_version {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let cause = Cause::invalid(
            "kind",
            &has_kind.as_str().into(),
            &format!("must be {kind}"),
        );
        return Err(ApiError::invalid(
            &served.group,
            &has_kind,
            name,
            vec![cause],
        ));
    }
    let message = if served.custom.is_some() || exists && !same_version {
        format!(
            "the API version in the data ({has_version}) does not match the expected API version ({version})"
        )
    } else if exists {
        let internal = if served.group.is_empty() {
            "core"
        } else {
            served.group.split('.').next().unwrap_or_default()
        };
        format!(
            "{has_kind} in version {:?} cannot be handled as a {kind}: converting ({}.{has_kind}) to ({internal}.{kind}): unknown conversion",
            served.version, served.version
        )
    } else {
        format!(
            "{has_kind} in version {:?} cannot be handled as a {kind}: no kind {has_kind:?} is registered for version {has_version:?} in scheme \"pkg/runtime/scheme.go:111\"",
            served.version
        )
    };
    Err(ApiError::bad_request(message))
}
