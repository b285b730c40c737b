//! An object of any kind straight from the bytes of a watch or a list: a value, and no more of its metadata than a
//! watch needs to go on.

use std::borrow::Cow;

use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use objects::Gvk;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// An object.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    metadata: ObjectMeta,
    value: Value,
}

impl Raw {
    /// The object with its kind, which items of a list do not say.
    pub(crate) fn complete(self, gvk: &Gvk) -> Value {
        let mut value = self.value;
        if value["kind"].is_null() {
            value["apiVersion"] = gvk.api_version().to_string().into();
            value["kind"] = gvk.kind.clone().into();
        }
        value
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |field: &str| value["metadata"][field].as_str().map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, value })
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
