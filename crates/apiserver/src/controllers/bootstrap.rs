//! What is there from the start: namespaces, and the roles and bindings of the real server.

use std::sync::Arc;

use serde_json::Value;

use super::{kubernetes_service, namespaces, role_aggregation, service_accounts};
use crate::registry::table_name;
use crate::storage::{Change, Expect, Key, Store};
use crate::{clock, random, recorded};

/// The namespaces that are always there.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
const RBAC: &str = "rbac.authorization.k8s.io";

/// Everything that has to be there from the start and is not, with the rules of roles that gather
/// them from others, so that it is written at once. What is there already stays as it is.
pub(crate) fn missing(store: &Store, certificate: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut want = |table: &Arc<str>, namespace: &str, name: &str, make: &dyn Fn() -> Value| {
        let key = Key::new(table, namespace, name);
        if store.get(&key).is_none() {
            changes.push(Change {
                key,
                expect: Expect::Absent,
                to: Some(make()),
            });
        }
    };
    let (spaces, accounts, maps) = (
        table_name("", "namespaces"),
        table_name("", "serviceaccounts"),
        table_name("", "configmaps"),
    );
    for name in NAMESPACES {
        want(&spaces, "", name, &|| namespaces::fresh(name));
        want(&accounts, name, "default", &|| {
            service_accounts::default_account(name)
        });
        want(&maps, name, "kube-root-ca.crt", &|| {
            service_accounts::root_certificate(name, certificate)
        });
    }
    want(
        &table_name("", "services"),
        "default",
        "kubernetes",
        &|| kubernetes_service::service(None),
    );
    let rights = recorded::value("rbac").unwrap_or_default();
    for (resource, kind) in [
        ("clusterroles", "ClusterRole"),
        ("clusterrolebindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("rolebindings", "RoleBinding"),
    ] {
        let table = table_name(RBAC, resource);
        let mut objects = rights[resource].as_array().cloned().unwrap_or_default();
        if kind == "ClusterRole" {
            role_aggregation::gather_all(&mut objects);
        }
        for object in &objects {
            let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
            want(&table, text("namespace"), text("name"), &|| {
                complete(kind, object)
            });
        }
    }
    changes
}

fn complete(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = format!("{RBAC}/v1").into();
    object["kind"] = kind.into();
    object["metadata"]["uid"] = random::uuid().into();
    object["metadata"]["creationTimestamp"] = clock::now().into();
    if kind == "ClusterRole" && object["rules"].is_null() {
        object["rules"] = Value::Null;
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::Window;

    #[tokio::test]
    async fn what_is_missing_is_made_once() {
        let store = Store::in_memory(Window::default());
        let changes = missing(&store, "pem");
        let find = |resource: &str, name: &str| {
            let found = changes
                .iter()
                .find(|change| &*change.key.resource == resource && change.key.name() == name);
            found.and_then(|change| change.to.clone()).unwrap()
        };
        let role = find("clusterroles.rbac.authorization.k8s.io", "cluster-admin");
        assert_eq!(
            role["rules"][0],
            json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
        );
        let view = find("clusterroles.rbac.authorization.k8s.io", "view");
        assert!(view["aggregationRule"].is_object() && view["rules"].is_array());
        for name in [
            "system:basic-user",
            "system:discovery",
            "system:public-info-viewer",
        ] {
            assert_eq!(
                find("clusterrolebindings.rbac.authorization.k8s.io", name)["roleRef"]["name"],
                name
            );
        }
        assert_eq!(
            find("namespaces", "kube-system")["status"]["phase"],
            "Active"
        );
        assert_eq!(
            find("configmaps", "kube-root-ca.crt")["data"]["ca.crt"],
            "pem"
        );
        store.commit(changes).await.unwrap();
        assert!(missing(&store, "pem").is_empty());
    }
}
