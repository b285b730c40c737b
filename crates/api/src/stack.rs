//! `Stack`: the record of what is installed, which is also all that a template stack runs by.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::App;
use crate::condition::Condition;
use crate::install::ServiceAccountSpec;
use crate::metadata::{KindRef, ObjectRef, resource};

resource! {
    /// The record of what is installed.
    Stack, "stacks", StackSpec, StackStatus
}

/// What a stack is made of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StackSpec {
    /// What `app.yaml` says.
    #[serde(flatten)]
    pub app: App,
    /// The kinds that the stack owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub customresourcedefinitions: Vec<KindRef>,
    /// The controller that the package brings.
    #[serde(skip_serializing_if = "Controller::is_empty")]
    pub controller: Controller,
    /// What the stack may do, derived from what it owns and depends on.
    #[serde(skip_serializing_if = "Permissions::is_empty")]
    pub permissions: Permissions,
    /// By key of a kind and then by name: the text of a template. Keys that name no kind hold
    /// partials.
    #[serde(alias = "template", skip_serializing_if = "BTreeMap::is_empty")]
    pub templates: BTreeMap<String, BTreeMap<String, String>>,
    /// By key of a kind: the template of its status.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub template_status: BTreeMap<String, String>,
}

/// The controller that a package brings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Controller {
    /// `name` and `spec` of the Deployment in `install.yaml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment: Option<Value>,
    /// A Service in front of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<Value>,
    /// What its ServiceAccount carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccountSpec>,
}

impl Controller {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.deployment.is_none() && self.service.is_none() && self.service_account.is_none()
    }
}

/// What a stack may do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permissions {
    /// Rules as in a ClusterRole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
}

impl Permissions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// How a stack is getting on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StackStatus {
    /// `Ready` and what it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The Deployment that runs the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_ref: Option<ObjectRef>,
    /// The ServiceAccount that the controller acts as.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account: String,
    /// The namespaces that it may act in, if a ClusterStackInstall limits them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// The rules that it was granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Value>,
    /// Every kind that its templates have ever rendered: where to look for what has to go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rendered_kinds: Vec<KindRef>,
    /// How many instances it may serve, while its namespace has more than the stack manager's
    /// `--limits` allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_limit: Option<u64>,
    /// By kind and group: how many instances there are, and how they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub instances: BTreeMap<String, Counts>,
    /// The first few instances of each kind that wait or fail, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<Attention>,
    /// The digest of the package that is installed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The version of the package that is installed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// What is wrong with its templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// A hash of the CRDs of the kinds that it owns and depends on: its controller follows when it
    /// changes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub crds_hash: String,
}

/// How many instances of a kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counts {
    /// All of them.
    pub total: u64,
    /// Those that are as their templates say.
    pub ready: u64,
    /// Those that wait for one of their children.
    pub waiting: u64,
    /// Those with an error.
    pub failing: u64,
}

/// An instance that waits or fails.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct Attention {
    /// Its kind, as `instances` names it.
    pub kind: String,
    /// `Failing` or `Waiting`.
    pub state: String,
    /// Its namespace; empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// One word for programs.
    pub reason: String,
    /// What is wrong, or what it waits for.
    pub message: String,
}

/// What is wrong with a template.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Diagnostic {
    /// The key that the template is under.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The name of the template; empty for the template of a status.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// The line, counted from one; zero when it is about all of it.
    pub line: usize,
    /// The column, counted from one.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Stack;
    use crate::app::PermissionScope;

    #[test]
    fn the_seeds_spellings_are_read_and_ours_are_written() {
        let seed = json!({
            "apiVersion": "stacks.crossplane.io/v1alpha1",
            "kind": "Stack",
            "metadata": { "name": "foo", "finalizers": ["x"] },
            "spec": {
                "title": "Foo",
                "icons": [{ "base64data": "aWNvbg==", "mediatype": "image/png" }],
                "customresourcedefinitions": [{ "kind": "Foo", "apiVersion": "foo.example.org/v1" }],
                "dependsOn": [{ "crd": "*.yourstack.example.org/v1alpha1" }],
                "permissionScope": "Cluster",
                "controller": { "deployment": { "name": "foo", "spec": {} } },
                "template": { "foo.example.org/v1": { "templateA": "kind: A" } },
                "templateStatus": { "foo.example.org/v1": "a: b" },
            },
        });
        let stack: Stack = serde_json::from_value(seed).unwrap();
        assert_eq!(
            stack.spec.templates["foo.example.org/v1"]["templateA"],
            "kind: A"
        );
        assert_eq!(stack.spec.app.permission_scope, PermissionScope::Cluster);
        let written = serde_json::to_value(&stack).unwrap();
        assert_eq!(
            written["spec"]["templates"]["foo.example.org/v1"]["templateA"],
            "kind: A"
        );
        assert_eq!(written["spec"]["icons"][0]["base64Data"], "aWNvbg==");
        assert_eq!(written["spec"]["template"], json!(null));
        assert_eq!(
            written["metadata"],
            json!({ "name": "foo", "finalizers": ["x"] })
        );
        assert_eq!(serde_json::from_value::<Stack>(written).unwrap(), stack);
    }

    #[test]
    fn both_spellings_at_once_are_refused() {
        let both = json!({ "apiVersion": "a/v1", "kind": "Stack", "spec": { "template": {}, "templates": {} } });
        assert!(serde_json::from_value::<Stack>(both).is_err());
    }
}
