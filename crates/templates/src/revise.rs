//! What OpenShift does to the objects of its templates beside substitution: fixed namespaces go,
//! and its own kinds get the group that they were written without.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::reference::{Form, references};

/// Takes away a namespace in which nothing is referred to.
pub(crate) fn strip_namespace(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let fixed = match metadata.get("namespace") {
        Some(Value::String(namespace)) => {
            references(Dialect::Braces, namespace).all(|found| found.form == Form::Typed)
        }
        Some(_) => true,
        None => false,
    };
    if fixed {
        metadata.remove("namespace");
    }
}

/// Gives a kind of OpenShift its group.
pub(crate) fn add_group(object: &mut Value) {
    let Some(version) = object["apiVersion"]
        .as_str()
        .filter(|version| !version.contains('/'))
    else {
        return;
    };
    let Some(group) = object["kind"].as_str().and_then(group) else {
        return;
    };
    object["apiVersion"] = Value::String(format!("{group}.openshift.io/{version}"));
}

fn group(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "DeploymentConfig" => "apps",
        "Build" | "BuildConfig" => "build",
        "Image" | "ImageStream" | "ImageStreamTag" | "ImageStreamImage" | "ImageStreamImport"
        | "ImageStreamMapping" => "image",
        "Route" => "route",
        "Template" | "TemplateInstance" | "BrokerTemplateInstance" => "template",
        "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => "authorization",
        "User" | "Group" | "Identity" | "UserIdentityMapping" => "user",
        "Project" | "ProjectRequest" => "project",
        "SecurityContextConstraints" => "security",
        "OAuthClient" | "OAuthClientAuthorization" | "OAuthAccessToken" | "OAuthAuthorizeToken" => {
            "oauth"
        }
        "HostSubnet" | "NetNamespace" | "ClusterNetwork" | "EgressNetworkPolicy" => "network",
        "ClusterResourceQuota" => "quota",
        _ => return None,
    })
}
