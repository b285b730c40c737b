//! What happens by itself inside the server: garbage collection, namespaces, service accounts, aggregated roles.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    kinds::table_name,
    request::Attributes,
    server::{Inner, StartError},
    status::ApiError,
    store::{Change, Expect, Key},
};

/// Writes what has to be there from the start, and starts what runs inside.
pub(crate) async fn start(inner: &Arc<Inner>) -> Result<(), StartError> {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let key = Key::new(&table_name("", "namespaces"), "", name);
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": name, "uid": crate::random::uuid(), "creationTimestamp": crate::clock::now(),
                "labels": {"kubernetes.io/metadata.name": name},
            },
            "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
        });
        // Those that are there already stay as they are.
        _ = inner.store.commit(vec![Change { key, expect: Expect::Absent, to: Some(namespace) }]).await;
    }
    Ok(())
}

/// Checks and additions to a write that do not depend on who writes, such as that its namespace is there. `old` is
/// none for a creation, `new` is none for a deletion.
pub(crate) fn admit(
    _inner: &Inner,
    _attributes: &Attributes,
    _old: Option<&Value>,
    _new: Option<&mut Value>,
) -> Result<(), ApiError> {
    Ok(())
}
