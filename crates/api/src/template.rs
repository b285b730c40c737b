//! What templates with parameters consist of: groups, kinds, labels and annotations, and the types
//! that their CRD is made from. How they are processed is not known here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The API group of stored templates.
pub const GROUP: &str = "templates.stacks.crossplane.io";
/// What stored templates write as `apiVersion`.
pub const API_VERSION: &str = "templates.stacks.crossplane.io/v1alpha1";
/// The kind.
pub const KIND: &str = "Template";
/// The resource.
pub const PLURAL: &str = "templates";
/// What OpenShift's templates write as `apiVersion`.
pub const OPENSHIFT: &str = "template.openshift.io/v1";
/// Everything that a template may write as `apiVersion`.
pub const API_VERSIONS: [&str; 3] = [API_VERSION, OPENSHIFT, "v1"];

/// The API group that processes templates: an aggregated API takes a whole group, so it is not that
/// of stored ones.
pub const PROCESSING_GROUP: &str = "processing.stacks.crossplane.io";
/// The version of that group, as objects write it.
pub const PROCESSING_API_VERSION: &str = "processing.stacks.crossplane.io/v1alpha1";
/// The resource that takes a template and answers with it processed.
pub const PROCESSED: &str = "processedtemplates";

/// The kind of values for a template.
pub const PARAMETERS_KIND: &str = "TemplateParameters";
/// Everything that values may write as `apiVersion`.
pub const PARAMETERS_VERSIONS: [&str; 2] = [API_VERSION, PROCESSING_API_VERSION];

/// The annotation that says how references are written: `parentheses` or `braces`.
pub const DIALECT: &str = "templates.stacks.crossplane.io/dialect";
/// The annotation that keeps template labels out of selectors and pods: `keep`.
pub const SELECTORS: &str = "templates.stacks.crossplane.io/selectors";
/// The field with labels for all objects.
pub const LABELS: &str = "labels";
/// What the proposal for templates calls that field.
pub const OBJECT_LABELS: &str = "objectLabels";
/// The label of every object that one use of a template made.
pub const INSTANCE: &str = "templates.stacks.crossplane.io/instance";
/// The label that names the namespace of that use: names of uses are those of a namespace.
pub const INSTANCE_NAMESPACE: &str = "templates.stacks.crossplane.io/instance-namespace";
/// The label that names the template which an object was made from.
pub const TEMPLATE: &str = "templates.stacks.crossplane.io/template";

/// A stored template, beside its metadata.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateFields {
    /// What to tell after its objects were made. References to parameters are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The objects it makes, with references to parameters: $(NAME) for text, $((NAME)) for a
    /// number or a truth value; or in OpenShift's dialect ${NAME} and ${{NAME}}.
    pub objects: Vec<Value>,
    /// What can be set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParameterFields>,
    /// Labels for every object and, unless the references are OpenShift's, for their selectors and
    /// pods.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The same as labels, by the name that the proposal for templates gives them. A template has
    /// one of both.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub object_labels: BTreeMap<String, String>,
}

/// A parameter of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ParameterFields {
    /// What references call it: letters, digits and underscores.
    pub name: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its value unless another is given; always a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it may not be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// What values it takes: string, int, bool or base64. It never changes how a reference is
    /// replaced.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What makes its value, in OpenShift's dialect: expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<String>,
    /// What it is generated from, such as [a-zA-Z0-9]{16}.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}
