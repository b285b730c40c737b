//! The objects that make an API server pass the group on to this one, and that let it work: values,
//! applied elsewhere.

use api::template::{GROUP, PROCESSING_GROUP};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// How the API server reaches the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By a host name, such as `localhost` where both run on one machine.
    Host(String),
    /// As the pods of the namespace with the label `app: NAME`.
    Pods,
}

/// What is needed to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The namespace of the Service, and of the pods.
    pub namespace: String,
    /// The name of the Service.
    pub name: String,
    /// How it is reached.
    pub place: Place,
    /// The port.
    pub port: u16,
    /// Whom to trust, as PEM.
    pub ca: String,
}

impl Registration {
    /// The names that the certificate has to be for.
    pub fn hosts(&self) -> Vec<String> {
        let Registration {
            name, namespace, ..
        } = self;
        let mut hosts = vec![
            format!("{name}.{namespace}.svc"),
            format!("{name}.{namespace}"),
            name.clone(),
        ];
        hosts.extend(["localhost", "127.0.0.1"].map(str::to_owned));
        if let Place::Host(host) = &self.place
            && !hosts.contains(host)
        {
            hosts.push(host.clone());
        }
        hosts
    }

    /// The Service and the APIService.
    pub fn objects(&self) -> Vec<Value> {
        let Registration {
            name,
            namespace,
            port,
            ..
        } = self;
        let spec = match &self.place {
            Place::Host(host) => json!({ "type": "ExternalName", "externalName": host }),
            Place::Pods => {
                json!({ "selector": { "app": name }, "ports": [{ "port": port, "targetPort": port }] })
            }
        };
        let labels = json!({ "app": name, "app.kubernetes.io/managed-by": "cairn" });
        vec![
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": name, "namespace": namespace, "labels": labels },
                "spec": spec,
            }),
            json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": { "name": format!("{}.{PROCESSING_GROUP}", api::VERSION), "labels": labels },
                "spec": {
                    "group": PROCESSING_GROUP,
                    "version": api::VERSION,
                    "groupPriorityMinimum": 100,
                    "versionPriority": 10,
                    "service": { "name": name, "namespace": namespace, "port": port },
                    "caBundle": STANDARD.encode(&self.ca),
                },
            }),
        ]
    }

    /// The account of the server and its rights: to ask who somebody is and what they may, and to
    /// read templates.
    pub fn rights(&self) -> Vec<Value> {
        let Registration {
            name, namespace, ..
        } = self;
        let subject = json!([{ "kind": "ServiceAccount", "name": name, "namespace": namespace }]);
        let role = |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
        let rbac = "rbac.authorization.k8s.io/v1";
        vec![
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": namespace } }),
            json!({
                "apiVersion": rbac, "kind": "ClusterRole", "metadata": { "name": name },
                "rules": [{ "apiGroups": [GROUP], "resources": ["templates"], "verbs": ["get"] }],
            }),
            json!({
                "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": { "name": name },
                "roleRef": role("ClusterRole", name), "subjects": subject,
            }),
            json!({
                "apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": { "name": format!("{name}-delegator") },
                "roleRef": role("ClusterRole", "system:auth-delegator"), "subjects": subject,
            }),
            json!({
                "apiVersion": rbac, "kind": "RoleBinding",
                "metadata": { "name": format!("{name}-authentication-reader"), "namespace": "kube-system" },
                "roleRef": role("Role", "extension-apiserver-authentication-reader"), "subjects": subject,
            }),
        ]
    }
}
