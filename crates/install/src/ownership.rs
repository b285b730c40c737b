//! Which objects the stack manager owns: those that it signed when it created them. Labels find
//! candidates; they decide nothing, since whoever may write an object may label it.

use std::fmt;

use api::{ClusterStackInstall, Stack, StackSpec, annotations, labels};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

/// What an object was created for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A Stack.
    Stack {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The personas of a namespace.
    Namespace(String),
    /// The namespace of a ClusterStackInstall's Stack.
    ClusterInstall(String),
}

impl fmt::Display for Purpose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack { namespace, name } => {
                write!(formatter, "{}/{namespace}/{name}", Stack::KIND)
            }
            Self::Namespace(name) => write!(formatter, "Namespace/{name}"),
            Self::ClusterInstall(name) => write!(formatter, "{}/{name}", ClusterStackInstall::KIND),
        }
    }
}

impl Purpose {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (kind, first, second) = (parts.next()?, parts.next()?.to_owned(), parts.next());
        match (kind, second, parts.next()) {
            (Stack::KIND, Some(name), None) => Some(Self::Stack {
                namespace: first,
                name: name.to_owned(),
            }),
            ("Namespace", None, None) => Some(Self::Namespace(first)),
            (ClusterStackInstall::KIND, None, None) => Some(Self::ClusterInstall(first)),
            _ => None,
        }
    }

    /// What to reconcile when an object changes: what it says that it was created for. About
    /// another namespace than its own only a signature is believed, or a user who may label objects
    /// in one namespace could keep the stack manager busy on behalf of all others. Without a key
    /// everything is: it is read with the first reconcile.
    pub fn concerned(object: &Value, key: Option<&SigningKey>) -> Option<Self> {
        let claimed = Self::claimed(object)?;
        let place = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let is_own = match &claimed {
            Self::Stack { namespace, .. } => namespace == place,
            Self::Namespace(name) => name == place,
            Self::ClusterInstall(_) => false,
        };
        // Tenants do not write what is in no namespace.
        match key.filter(|_| !is_own && !place.is_empty()) {
            Some(key) => key.owns(object),
            None => Some(claimed),
        }
    }

    /// What an object says that it was created for. Whether it is true, only [`SigningKey::owns`]
    /// knows.
    fn claimed(object: &Value) -> Option<Self> {
        let metadata = &object["metadata"];
        if let Some(text) = metadata["annotations"][annotations::CREATED_FOR].as_str() {
            return Self::parse(text);
        }
        let text = |key: &str| metadata["labels"][key].as_str().unwrap_or_default();
        let name = text(labels::PARENT_NAME);
        match text(labels::PARENT_KIND) {
            Stack::KIND => Some(Self::Stack {
                namespace: text(labels::PARENT_NAMESPACE).to_owned(),
                name: name.to_owned(),
            }),
            "Namespace" => Some(Self::Namespace(name.to_owned())),
            _ => None,
        }
    }
}

/// The key that the stack manager signs with. Only it can read it.
#[derive(Clone)]
pub struct SigningKey([u8; Self::LENGTH]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey")
    }
}

impl SigningKey {
    /// How many bytes a key has.
    pub const LENGTH: usize = 32;

    /// A key of these bytes; none if they are too few or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Puts onto an object what it is created for, and the signature that proves it.
    pub fn sign(&self, object: &mut Value, purpose: &Purpose) {
        let signature = self.signature(&parts(object, purpose));
        let marks = [
            (annotations::CREATED_FOR, purpose.to_string()),
            (annotations::SIGNATURE, signature),
        ];
        for (key, value) in marks {
            object["metadata"]["annotations"][key] = json!(value);
        }
    }

    /// What the stack manager created an object for; none if it did not create it. A signature is
    /// good for one kind, namespace and name, so that one that was copied from another object
    /// proves nothing.
    pub fn owns(&self, object: &Value) -> Option<Purpose> {
        let marks = &object["metadata"]["annotations"];
        let purpose = Purpose::parse(marks[annotations::CREATED_FOR].as_str()?)?;
        let signature = marks[annotations::SIGNATURE].as_str()?;
        self.is_signature(&parts(object, &purpose), signature)
            .then_some(purpose)
    }

    /// The signature of a Stack that an install with this uid asked for.
    pub fn sign_record(&self, stack: &Stack, install: &str) -> String {
        self.signature(&record(stack, install))
    }

    /// Whether a Stack still says what the install with this uid asked for.
    pub fn is_recorded(&self, stack: &Stack, install: &str) -> bool {
        let signature = stack.metadata.annotations.get(annotations::SIGNATURE);
        signature.is_some_and(|signature| self.is_signature(&record(stack, install), signature))
    }

    fn mac(&self, parts: &[String]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Some(mac)
    }

    fn signature(&self, parts: &[String]) -> String {
        let bytes = self
            .mac(parts)
            .map(|mac| mac.finalize().into_bytes().to_vec())
            .unwrap_or_default();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn is_signature(&self, parts: &[String], text: &str) -> bool {
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(byte).collect();
        match (self.mac(parts), bytes) {
            (Some(mac), Some(bytes)) => mac.verify_slice(&bytes).is_ok(),
            _ => false,
        }
    }
}

fn parts(object: &Value, purpose: &Purpose) -> [String; 5] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    [
        "object".to_owned(),
        purpose.to_string(),
        text(&object["kind"]),
        text(&metadata["namespace"]),
        text(&metadata["name"]),
    ]
}

fn record(stack: &Stack, install: &str) -> [String; 5] {
    let metadata = &stack.metadata;
    [
        "record".to_owned(),
        install.to_owned(),
        metadata.namespace.clone(),
        metadata.name.clone(),
        canonical(&stack.spec),
    ]
}

/// A spec as text that does not depend on the order of keys, which the API server may change.
fn canonical(spec: &StackSpec) -> String {
    fn write(value: &Value, text: &mut String) {
        match value {
            Value::Object(fields) => {
                let mut keys: Vec<&String> = fields.keys().collect();
                keys.sort_unstable();
                text.push('{');
                for key in keys {
                    text.push_str(&json!(key).to_string());
                    text.push(':');
                    write(&fields[key], text);
                    text.push(',');
                }
                text.push('}');
            }
            Value::Array(items) => {
                text.push('[');
                for item in items {
                    write(item, text);
                    text.push(',');
                }
                text.push(']');
            }
            value => text.push_str(&value.to_string()),
        }
    }
    let mut text = String::new();
    write(&serde_json::to_value(spec).unwrap_or_default(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use api::Stack;
    use serde_json::{Value, json};

    use super::{Purpose, SigningKey};

    fn key(byte: u8) -> SigningKey {
        SigningKey::new(&[byte; 32]).unwrap()
    }

    fn purpose() -> Purpose {
        Purpose::Stack {
            namespace: "team".into(),
            name: "x".repeat(200),
        }
    }

    #[test]
    fn an_object_concerns_another_namespace_only_with_a_signature() {
        let account = |namespace: &str, annotations: Value, labels: Value| {
            let metadata = json!({
                "namespace": namespace, "name": "stack-a", "annotations": annotations, "labels": labels,
            });
            json!({ "kind": "ServiceAccount", "metadata": metadata })
        };
        let says = |text: &str| json!({ "stacks.crossplane.io/created-for": text });
        let of = |kind: &str, namespace: &str| {
            json!({
                "core.crossplane.io/parent-kind": kind, "core.crossplane.io/parent-name": "a",
                "core.crossplane.io/parent-namespace": namespace,
            })
        };
        let mut signed = account("other", json!({}), json!({}));
        let victim = Purpose::Stack {
            namespace: "team".into(),
            name: "a".into(),
        };
        key(1).sign(&mut signed, &victim);
        let mut moved = signed.clone();
        moved["metadata"]["name"] = json!("copy");
        let it = Some(victim);
        for (what, object, expected) in [
            (
                "its own namespace",
                account("team", says("Stack/team/a"), json!({})),
                it.clone(),
            ),
            (
                "its own namespace, by labels",
                account("team", json!({}), of("Stack", "team")),
                it.clone(),
            ),
            (
                "outside of namespaces",
                account("", says("Stack/team/a"), json!({})),
                it.clone(),
            ),
            ("signed", signed, it),
            ("a copied signature", moved, None),
            (
                "another namespace",
                account("other", says("Stack/team/a"), json!({})),
                None,
            ),
            (
                "another namespace, by labels",
                account("other", json!({}), of("Stack", "team")),
                None,
            ),
            (
                "another namespace's personas",
                account("other", says("Namespace/team"), json!({})),
                None,
            ),
            (
                "a cluster install",
                account("other", says("ClusterStackInstall/a"), json!({})),
                None,
            ),
            (
                "its own personas",
                account("other", says("Namespace/other"), json!({})),
                Some(Purpose::Namespace("other".into())),
            ),
            ("nothing", account("other", json!({}), json!({})), None),
        ] {
            assert_eq!(
                Purpose::concerned(&object, Some(&key(1))),
                expected,
                "{what}"
            );
            assert_eq!(
                Purpose::concerned(&object, None),
                Purpose::claimed(&object),
                "{what}, before there is a key"
            );
        }
    }

    #[test]
    fn an_object_is_owned_by_its_signature_alone() {
        let mut made = json!({ "kind": "ServiceAccount", "metadata": { "namespace": "team", "name": "stack-a" } });
        assert_eq!(key(1).owns(&made), None);
        key(1).sign(&mut made, &purpose());
        assert_eq!(key(1).owns(&made), Some(purpose()));
        assert_eq!(Purpose::claimed(&made), Some(purpose()));
        assert_eq!(key(2).owns(&made), None, "another manager's");
        type Change = fn(&mut Value);
        let changes: [(&str, Change); 7] = [
            ("another name", |object| {
                object["metadata"]["name"] = json!("stack-b");
            }),
            ("another namespace", |object| {
                object["metadata"]["namespace"] = json!("other");
            }),
            ("another kind", |object| object["kind"] = json!("Secret")),
            ("another Stack", |object| {
                object["metadata"]["annotations"]["stacks.crossplane.io/created-for"] =
                    json!("Stack/team/other");
            }),
            ("no signature", |object| {
                object["metadata"]["annotations"]["stacks.crossplane.io/signature"] = Value::Null;
            }),
            ("half a signature", |object| {
                object["metadata"]["annotations"]["stacks.crossplane.io/signature"] = json!("abc");
            }),
            ("nonsense", |object| {
                object["metadata"]["annotations"]["stacks.crossplane.io/signature"] = json!("é€");
            }),
        ];
        for (what, change) in changes {
            let mut object = made.clone();
            change(&mut object);
            assert_eq!(key(1).owns(&object), None, "{what}");
        }
    }

    #[test]
    fn labels_only_say_what_to_reconcile() {
        let labelled = json!({ "metadata": { "labels": {
            "core.crossplane.io/parent-kind": "Stack", "core.crossplane.io/parent-name": "a",
            "core.crossplane.io/parent-namespace": "team",
        } } });
        let claimed = Purpose::Stack {
            namespace: "team".into(),
            name: "a".into(),
        };
        assert_eq!(
            (Purpose::claimed(&labelled), key(1).owns(&labelled)),
            (Some(claimed), None)
        );
        for text in [
            "",
            "Stack",
            "Stack/a",
            "Stack/a/b/c",
            "Namespace/a/b",
            "Other/a/b",
        ] {
            let object = json!({ "metadata": { "annotations": { "stacks.crossplane.io/created-for": text } } });
            assert_eq!(Purpose::claimed(&object), None, "{text}");
        }
    }

    #[test]
    fn a_record_is_signed_for_its_install_and_its_spec_whatever_the_order_of_keys() {
        let stack = |spec: &str| -> Stack {
            let text = format!(
                r#"{{"apiVersion":"stacks.crossplane.io/v1alpha1","kind":"Stack","metadata":{{"name":"a","namespace":"b"}},"spec":{spec}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let signed = |spec: &str| {
            let mut stack = stack(spec);
            let signature = key(1).sign_record(&stack, "u");
            stack
                .metadata
                .annotations
                .insert("stacks.crossplane.io/signature".into(), signature);
            stack
        };
        let one = signed(r#"{"title":"A","controller":{"deployment":{"spec":{"a":1,"b":[2]}}}}"#);
        let two = signed(r#"{"controller":{"deployment":{"spec":{"b":[2],"a":1}}},"title":"A"}"#);
        assert_eq!(one.metadata.annotations, two.metadata.annotations);
        assert!(
            key(1).is_recorded(&one, "u")
                && !key(1).is_recorded(&one, "v")
                && !key(2).is_recorded(&one, "u")
        );
        let mut edited = one;
        edited.spec.app.title = "B".into();
        assert!(!key(1).is_recorded(&edited, "u"));
    }
}
