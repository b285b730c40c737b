//! An object of any kind straight from the bytes of a watch or a list: its text, and no more of its
//! metadata than a watch needs to go on. Most of what a watch shows is known already, and is never
//! read any further.

use std::borrow::Cow;

use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use objects::Gvk;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use objects::Key;

/// An object.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    metadata: ObjectMeta,
    text: Box<RawValue>,
}

/// Which object, and which state of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Where it is.
    pub(crate) key: Key,
    /// Which it is.
    pub(crate) uid: String,
    /// Its version, where that is a number; zero if not.
    pub(crate) version: u64,
}

impl Raw {
    /// Which object it is, without reading it.
    pub(crate) fn stamp(&self) -> Stamp {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let ObjectMeta {
            name,
            namespace,
            uid,
            resource_version,
            ..
        } = &self.metadata;
        let version = resource_version
            .as_deref()
            .and_then(|version| version.parse().ok())
            .unwrap_or_default();
        Stamp {
            key: Key {
                namespace: text(namespace),
                name: text(name),
            },
            uid: text(uid),
            version,
        }
    }

    /// The object with its kind, which items of a list do not say.
    pub(crate) fn read(&self, gvk: &Gvk) -> Result<Value, serde_json::Error> {
        let mut value: Value = serde_json::from_str(self.text.get())?;
        if value["kind"].is_null() {
            value["apiVersion"] = gvk.api_version().to_string().into();
            value["kind"] = gvk.kind.clone().into();
        }
        Ok(value)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Whole {
            metadata: Head,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            name: Option<String>,
            namespace: Option<String>,
            uid: Option<String>,
            resource_version: Option<String>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Whole { metadata } =
            serde_json::from_str(text.get()).map_err(serde::de::Error::custom)?;
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, text })
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use objects::Gvk;
    use serde_json::json;

    use super::{Raw, Stamp};
    use objects::Key;

    #[test]
    fn an_object_is_known_by_its_metadata_and_read_when_it_is_asked_for() {
        let gvk = Gvk::new("a.b", "v1", "K");
        for (kind, expected) in [
            (json!({}), "K"),
            (json!({ "apiVersion": "c/v2", "kind": "Other" }), "Other"),
        ] {
            let mut object = kind;
            object["metadata"] = json!({ "name": "n", "namespace": "s", "uid": "u", "resourceVersion": "7", "labels": {} });
            object["spec"] = json!({ "a": [1, { "b": null }] });
            let raw: Raw = serde_json::from_str(&object.to_string()).unwrap();
            assert_eq!(
                raw.stamp(),
                Stamp {
                    key: Key::new("s", "n"),
                    uid: "u".to_owned(),
                    version: 7
                }
            );
            let read = raw.read(&gvk).unwrap();
            assert_eq!(
                (&read["kind"], &read["spec"]),
                (&json!(expected), &object["spec"])
            );
        }
        let odd: Raw =
            serde_json::from_str("{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"x\"}}")
                .unwrap();
        assert_eq!(
            odd.stamp(),
            Stamp {
                key: Key::new("", "n"),
                uid: String::new(),
                version: 0
            }
        );
        assert!(serde_json::from_str::<Raw>("{}").is_err());
    }
}
