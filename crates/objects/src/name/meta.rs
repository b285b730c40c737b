//! The metadata of objects: what the API server refuses in it when they are created and changed.

use std::fmt;

use serde_json::{Map, Value};

use super::ANNOTATIONS_LIMIT;
use super::rule::{NameRule, label_key_errors, label_value_errors};
use crate::go;
use crate::gvk::{ApiVersion, Gvk};

/// Why a field is refused, as the causes of a status name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// `FieldValueRequired`.
    Required,
    /// `FieldValueInvalid`.
    Invalid,
    /// `FieldValueForbidden`.
    Forbidden,
    /// `FieldValueTooLong`.
    TooLong,
    /// `FieldValueNotSupported`.
    NotSupported,
    /// `FieldValueDuplicate`.
    Duplicate,
}

impl Reason {
    /// The word of the cause.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
        }
    }
}

/// One cause of a status: `Display` writes `field: message`, as the status' own message has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Why.
    pub reason: Reason,
    /// In words.
    pub message: String,
    /// Where: `metadata.name`.
    pub field: String,
}

impl Cause {
    /// A value that may not be there: `Invalid value: "x": why`.
    pub fn invalid(field: &str, value: &Value, why: &str) -> Self {
        let shown = match value {
            Value::String(text) => go::quoted(text),
            other => go::json(other),
        };
        Self {
            reason: Reason::Invalid,
            message: format!("Invalid value: {shown}: {why}"),
            field: field.to_owned(),
        }
    }

    /// A value that has to be there: `Required value: why`.
    pub fn required(field: &str, why: &str) -> Self {
        let colon = if why.is_empty() { "" } else { ": " };
        Self {
            reason: Reason::Required,
            message: format!("Required value{colon}{why}"),
            field: field.to_owned(),
        }
    }

    /// A field that may not be set: `Forbidden: why`.
    pub fn forbidden(field: &str, why: &str) -> Self {
        Self {
            reason: Reason::Forbidden,
            message: format!("Forbidden: {why}"),
            field: field.to_owned(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

/// All that is wrong with the metadata of a new object, whose name has been generated if it was to
/// be.
pub fn object_meta_causes(object: &Value, namespaced: bool, rule: NameRule) -> Vec<Cause> {
    let mut causes = Vec::new();
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    match text(metadata, "name") {
        "" => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        name => {
            let errors = rule.errors(name);
            causes.extend(
                errors
                    .iter()
                    .map(|error| Cause::invalid("metadata.name", &name.into(), error)),
            );
        }
    }
    match (namespaced, text(metadata, "namespace")) {
        (true, "") => causes.push(Cause::required("metadata.namespace", "")),
        (true, namespace) => {
            let errors = NameRule::Label.errors(namespace);
            causes.extend(
                errors
                    .iter()
                    .map(|error| Cause::invalid("metadata.namespace", &namespace.into(), error)),
            );
        }
        (false, "") => {}
        (false, _) => causes.push(Cause::forbidden(
            "metadata.namespace",
            "not allowed on this type",
        )),
    }
    if let Some(generation) = metadata
        .get("generation")
        .filter(|value| value.as_i64().is_some_and(|it| it < 0))
    {
        causes.push(Cause::invalid(
            "metadata.generation",
            generation,
            "must be greater than or equal to 0",
        ));
    }
    common(metadata, &mut causes);
    finalizers(metadata, &mut causes);
    causes
}

/// All that is wrong with the metadata of an object that is changed from `old` to `new`.
pub fn object_meta_update_causes(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (new, old) = (
        new.get("metadata").unwrap_or(&Value::Null),
        old.get("metadata").unwrap_or(&Value::Null),
    );
    if old
        .get("deletionTimestamp")
        .is_some_and(|time| !time.is_null())
    {
        let before: Vec<&str> = texts(old.get("finalizers"));
        let mut added: Vec<String> = texts(new.get("finalizers"))
            .into_iter()
            .filter(|finalizer| !before.contains(finalizer))
            .map(go::quoted)
            .collect();
        if !added.is_empty() {
            added.sort();
            added.dedup();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        causes.push(Cause::invalid(
            "metadata.resourceVersion",
            &"".into(),
            "must be specified for an update",
        ));
    }
    let generation = |metadata: &Value| {
        metadata
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or(0)
    };
    if generation(new) < generation(old) {
        causes.push(Cause::invalid(
            "metadata.generation",
            &generation(new).into(),
            "must not be decremented",
        ));
    }
    for name in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        let value = |metadata: &Value| {
            metadata
                .get(name)
                .filter(|value| !value.is_null() && **value != "")
                .cloned()
        };
        if value(new) != value(old) {
            let empty = if matches!(name, "name" | "namespace" | "uid") {
                "".into()
            } else {
                Value::Null
            };
            let shown = value(new).unwrap_or(empty);
            causes.push(Cause::invalid(
                &format!("metadata.{name}"),
                &shown,
                "field is immutable",
            ));
        }
    }
    common(new, &mut causes);
    causes
}

/// What is checked when an object is created and when it is changed.
fn common(metadata: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in fields(metadata, "labels") {
        let errors = label_key_errors(key);
        causes.extend(
            errors
                .iter()
                .map(|error| Cause::invalid("metadata.labels", &key.as_str().into(), error)),
        );
        let value = value.as_str().unwrap_or_default();
        let errors = label_value_errors(value);
        causes.extend(
            errors
                .iter()
                .map(|error| Cause::invalid("metadata.labels", &value.into(), error)),
        );
    }
    let mut size = 0;
    for (key, value) in fields(metadata, "annotations") {
        let errors = label_key_errors(&key.to_lowercase());
        causes.extend(
            errors
                .iter()
                .map(|error| Cause::invalid("metadata.annotations", &key.as_str().into(), error)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause {
            reason: Reason::TooLong,
            message: format!("Too long: may not be more than {ANNOTATIONS_LIMIT} bytes"),
            field: "metadata.annotations".to_owned(),
        });
    }
    owners(metadata, causes);
}

fn owners(metadata: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.ownerReferences";
    let Some(Value::Array(owners)) = metadata.get("ownerReferences") else {
        return;
    };
    let mut controller: Option<String> = None;
    for owner in owners {
        let (version, kind) = (text(owner, "apiVersion"), text(owner, "kind"));
        let parsed = ApiVersion::parse(version);
        if parsed.is_none() {
            let field = format!("{FIELD}.apiVersion");
            causes.push(Cause::invalid(
                &field,
                &version.into(),
                "version must not be empty",
            ));
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                causes.push(Cause::invalid(
                    &format!("{FIELD}.{name}"),
                    &"".into(),
                    "must not be empty",
                ));
            }
        }
        let gvk = parsed.unwrap_or_default().kind(kind);
        if gvk == Gvk::new("", "v1", "Event") {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(shown_owners(&owner_text(owner), why));
        }
        if owner.get("controller") == Some(&Value::Bool(true)) {
            let this = format!("{kind}/{}", text(owner, "name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {this}"
                    );
                    let all: Vec<String> = owners.iter().map(owner_text).collect();
                    causes.push(shown_owners(&format!("[{}]", all.join(",")), &why));
                }
            }
        }
    }
}

fn shown_owners(shown: &str, why: &str) -> Cause {
    Cause {
        reason: Reason::Invalid,
        message: format!("Invalid value: {shown}: {why}"),
        field: "metadata.ownerReferences".to_owned(),
    }
}

/// An owner with its fields in the order of the API server's struct.
fn owner_text(owner: &Value) -> String {
    let mut parts: Vec<String> = ["apiVersion", "kind", "name", "uid"]
        .iter()
        .map(|name| format!("\"{name}\":{}", go::json_string(text(owner, name))))
        .collect();
    for name in ["controller", "blockOwnerDeletion"] {
        if let Some(Value::Bool(truth)) = owner.get(name) {
            parts.push(format!("\"{name}\":{truth}"));
        }
    }
    format!("{{{}}}", parts.join(","))
}

fn finalizers(metadata: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.finalizers";
    let Some(value) = metadata.get("finalizers") else {
        return;
    };
    let names = texts(Some(value));
    for name in &names {
        let errors = label_key_errors(name);
        causes.extend(
            errors
                .iter()
                .map(|error| Cause::invalid(FIELD, &(*name).into(), error)),
        );
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(FIELD, value, why));
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn fields<'v>(metadata: &'v Value, name: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    metadata
        .get(name)
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::iter)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::NameRule;
    use super::{Reason, object_meta_causes, object_meta_update_causes};

    fn shown(metadata: &Value) -> Vec<String> {
        let object = json!({ "metadata": metadata });
        object_meta_causes(&object, true, NameRule::Subdomain)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn metadata_is_refused_in_the_words_of_the_server() {
        for (metadata, expected) in [
            (
                json!({"name": "n", "namespace": "d", "labels": {"a": "b"}, "finalizers": ["a/b"]}),
                vec![],
            ),
            (
                json!({"namespace": "d"}),
                vec!["metadata.name: Required value: name or generateName is required"],
            ),
            (
                json!({"name": "n"}),
                vec!["metadata.namespace: Required value"],
            ),
            (
                json!({"name": "n", "namespace": "d", "generation": -1}),
                vec!["metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
            ),
            (
                json!({"name": "n", "namespace": "d", "labels": {"/a": "c"}}),
                vec!["metadata.labels: Invalid value: \"/a\": prefix part must be non-empty"],
            ),
            (
                json!({"name": "n", "namespace": "d", "ownerReferences": [{}]}),
                vec![
                    "metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty",
                    "metadata.ownerReferences.kind: Invalid value: \"\": must not be empty",
                    "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                    "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
                ],
            ),
            (
                json!({"name": "n", "namespace": "d", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]}),
                vec![
                    "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"e\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed from being an owner",
                ],
            ),
            (
                json!({"name": "n", "namespace": "d", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "e", "uid": "u", "controller": true}, {"apiVersion": "v1", "kind": "Pod", "name": "f", "uid": "v", "controller": true}]}),
                vec![
                    "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"e\",\"uid\":\"u\",\"controller\":true},{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"f\",\"uid\":\"v\",\"controller\":true}]: Only one reference can have Controller set to true. Found \"true\" in references for Pod/e and Pod/f",
                ],
            ),
            (
                json!({"name": "n", "namespace": "d", "finalizers": ["foregroundDeletion", "orphan"]}),
                vec![
                    "metadata.finalizers: Invalid value: [\"foregroundDeletion\",\"orphan\"]: finalizer orphan and foregroundDeletion cannot be both set",
                ],
            ),
            (
                json!({"name": "n", "namespace": "d", "annotations": {"a": "x".repeat(256 * 1024)}}),
                vec!["metadata.annotations: Too long: may not be more than 262144 bytes"],
            ),
        ] {
            assert_eq!(shown(&metadata), expected);
        }
        let causes = object_meta_causes(
            &json!({"metadata": {"name": "n", "namespace": "d"}}),
            false,
            NameRule::Label,
        );
        assert_eq!(
            causes[0].to_string(),
            "metadata.namespace: Forbidden: not allowed on this type"
        );
        assert_eq!(causes[0].reason.as_str(), "FieldValueForbidden");
        assert_eq!(Reason::TooLong.as_str(), "FieldValueTooLong");
    }

    #[test]
    fn what_an_object_is_does_not_change() {
        let old = json!({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1", "deletionTimestamp": "t", "finalizers": ["a/a"], "generation": 2}});
        assert!(object_meta_update_causes(&old, &old).is_empty());
        let new = json!({"metadata": {"name": "n", "uid": "v", "finalizers": ["b/b"], "generation": 1, "deletionGracePeriodSeconds": 3}});
        let shown: Vec<String> = object_meta_update_causes(&new, &old)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            shown,
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"b/b\"}",
                "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
                "metadata.generation: Invalid value: 1: must not be decremented",
                "metadata.uid: Invalid value: \"v\": field is immutable",
                "metadata.deletionTimestamp: Invalid value: null: field is immutable",
                "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable",
            ]
        );
    }
}
