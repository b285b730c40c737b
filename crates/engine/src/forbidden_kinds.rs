//! Objects that no stack may make, whatever it is granted: Secrets that the API server fills with
//! the credentials of a service account, or accepts as credentials.

use serde_json::Value;

/// The types of Secrets that are credentials.
const TYPES: [&str; 2] = [
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
];
/// The annotations by which a Secret asks for the token of a service account.
const ANNOTATIONS: [&str; 2] = [
    "kubernetes.io/service-account.name",
    "kubernetes.io/service-account.uid",
];
/// What to do instead.
pub(crate) const HINT: &str =
    "use a Secret of another type; ask an administrator for a token of a service account";

/// Why no stack may make an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// The reason.
    pub what: String,
    /// The field that says so.
    pub field: Vec<&'static str>,
}

/// Why no stack may make this object, if it may not.
pub fn forbidden(object: &Value) -> Option<Forbidden> {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    if object["kind"] != "Secret" || version.contains('/') {
        return None;
    }
    let found = |field: Vec<&'static str>, what: String| {
        let what = format!(
            "no stack may make a Secret {what}: it would hold the credentials of somebody else"
        );
        Some(Forbidden { what, field })
    };
    if let Some(kind) = TYPES.into_iter().find(|kind| object["type"] == *kind) {
        return found(vec!["type"], format!("of type `{kind}`"));
    }
    let annotations = &object["metadata"]["annotations"];
    let key = ANNOTATIONS
        .into_iter()
        .find(|key| !annotations[key].is_null())?;
    found(
        vec!["metadata", "annotations", key],
        format!("with the annotation `{key}`"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::forbidden;

    #[test]
    fn a_secret_that_is_a_credential_is_forbidden_and_any_other_is_not() {
        let secret = |kind: Value, annotations: Value| json!({ "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": { "annotations": annotations } });
        for (object, field) in [
            (
                secret(json!("kubernetes.io/service-account-token"), Value::Null),
                Some("type"),
            ),
            (
                secret(json!("bootstrap.kubernetes.io/token"), json!({})),
                Some("type"),
            ),
            (
                secret(
                    json!("Opaque"),
                    json!({ "kubernetes.io/service-account.name": "default" }),
                ),
                Some("kubernetes.io/service-account.name"),
            ),
            (
                secret(
                    Value::Null,
                    json!({ "kubernetes.io/service-account.uid": "" }),
                ),
                Some("kubernetes.io/service-account.uid"),
            ),
            (secret(json!("Opaque"), json!({ "a": "b" })), None),
            (secret(json!("kubernetes.io/tls"), Value::Null), None),
            (
                json!({ "apiVersion": "example.org/v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token" }),
                None,
            ),
            (
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "type": "bootstrap.kubernetes.io/token" }),
                None,
            ),
            (json!([]), None),
        ] {
            let found =
                forbidden(&object).map(|found| found.field.last().copied().unwrap_or_default());
            assert_eq!(found, field, "{object}");
        }
    }
}
