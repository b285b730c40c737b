//! What a write has to do with namespaces: that the one it is in is there and is not going, and
//! what namespaces themselves have to look like.

use serde_json::{Value, json};

use crate::handlers::status::{ApiError, Cause};
use crate::registry::table_name;
use crate::request::info::{Attributes, Verb};
use crate::storage::{Key, Store};

/// Namespaces that stay for good.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];
/// The label that every namespace has.
const NAME: &str = "kubernetes.io/metadata.name";

/// Checks a write against the namespace it is in, or completes the namespace that is written.
pub(crate) fn admit(
    store: &Store,
    attributes: &Attributes,
    old: Option<&Value>,
    new: Option<&mut Value>,
) -> Result<(), ApiError> {
    if attributes.group.is_empty() && attributes.resource == "namespaces" {
        return match new {
            Some(new) => complete(attributes, old, new),
            None => spare(attributes, old),
        };
    }
    match new {
        Some(new) if old.is_none() && !attributes.namespace.is_empty() => {
            let name = new["metadata"]["name"].as_str().unwrap_or_default();
            is_open(store, attributes, name)
        }
        _ => Ok(()),
    }
}

/// Whether something new may be made in the namespace of a request.
pub(crate) fn is_open(store: &Store, attributes: &Attributes, name: &str) -> Result<(), ApiError> {
    let namespace = &attributes.namespace;
    let Some(entry) = store.get(&Key::new(&table_name("", "namespaces"), "", namespace)) else {
        return Err(ApiError::not_found("", "namespaces", namespace));
    };
    if entry.value()["status"]["phase"] != "Terminating" {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = Cause::new(
        "NamespaceTerminating",
        "metadata.namespace",
        format!("namespace {namespace} is being terminated"),
    );
    Err(ApiError::forbidden(&attributes.group, &attributes.resource, name, &why).with_cause(cause))
}

fn spare(attributes: &Attributes, old: Option<&Value>) -> Result<(), ApiError> {
    let name = old.map_or(&*attributes.name, |old| {
        old["metadata"]["name"].as_str().unwrap_or_default()
    });
    if attributes.verb == Verb::Delete && IMMORTAL.contains(&name) {
        return Err(ApiError::forbidden(
            "",
            "namespaces",
            name,
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// Writes into a namespace what it has to have, and keeps what only its own subresources change.
fn complete(attributes: &Attributes, old: Option<&Value>, new: &mut Value) -> Result<(), ApiError> {
    let name = new["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    match (&*attributes.subresource, old) {
        ("finalize", Some(old)) => {
            let finalizers = new["spec"]["finalizers"].clone();
            let mut kept = old.clone();
            for field in ["managedFields", "resourceVersion"] {
                kept["metadata"][field] = new["metadata"][field].clone();
            }
            set_finalizers(&mut kept, finalizers);
            *new = kept;
        }
        (_, Some(old)) => {
            // Only the server and `finalize` say who keeps a namespace.
            set_finalizers(new, old["spec"]["finalizers"].clone());
        }
        (_, None) => {
            let given = new["spec"]["finalizers"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let mut finalizers = given;
            if !finalizers.iter().any(|finalizer| finalizer == "kubernetes") {
                finalizers.push("kubernetes".into());
            }
            set_finalizers(new, finalizers.into());
            new["status"] = json!({"phase": "Active"});
        }
    }
    if !new["metadata"]["labels"].is_object() {
        new["metadata"]["labels"] = json!({});
    }
    new["metadata"]["labels"][NAME] = name.clone().into();
    let causes: Vec<Cause> = new["spec"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|finalizer| *finalizer != "kubernetes" && !finalizer.contains('/'))
        .map(|finalizer| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            Cause::invalid("spec.finalizers", &json!(finalizer), why)
        })
        .collect();
    if causes.is_empty() {
        Ok(())
    } else {
        Err(ApiError::invalid("", "Namespace", &name, causes))
    }
}

fn set_finalizers(namespace: &mut Value, finalizers: Value) {
    if !namespace["spec"].is_object() {
        namespace["spec"] = json!({});
    }
    let Some(spec) = namespace["spec"].as_object_mut() else {
        return;
    };
    match finalizers {
        Value::Array(list) if !list.is_empty() => {
            drop(spec.insert("finalizers".to_owned(), list.into()));
        }
        _ => drop(spec.remove("finalizers")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Change, Expect, Window};

    fn attributes(verb: Verb, resource: &str, subresource: &str, namespace: &str) -> Attributes {
        Attributes {
            verb,
            is_resource: true,
            group: String::new(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: String::new(),
            path: String::new(),
        }
    }

    #[tokio::test]
    async fn nothing_is_made_in_a_namespace_that_is_going_or_not_there() {
        let store = Store::in_memory(Window::default());
        for (name, phase) in [("live", "Active"), ("going", "Terminating")] {
            let key = Key::new(&table_name("", "namespaces"), "", name);
            let value = json!({"metadata": {"name": name}, "status": {"phase": phase}});
            store
                .commit(vec![Change {
                    key,
                    expect: Expect::Absent,
                    to: Some(value),
                }])
                .await
                .unwrap();
        }
        let create = |namespace: &str, old: Option<&Value>| {
            let mut object = json!({"metadata": {"name": "late"}});
            let attributes = attributes(Verb::Create, "configmaps", "", namespace);
            admit(&store, &attributes, old, Some(&mut object)).map_err(|error| error.to_value())
        };
        assert_eq!(create("live", None), Ok(()));
        assert_eq!(
            create("going", Some(&json!({}))),
            Ok(()),
            "what is there may change"
        );
        assert_eq!(
            create("nowhere", None).unwrap_err()["message"],
            "namespaces \"nowhere\" not found"
        );
        let refused = create("going", None).unwrap_err();
        let message = "configmaps \"late\" is forbidden: unable to create new content in namespace going because it is being terminated";
        assert_eq!(refused["message"], message);
        let cause = json!([{"reason": "NamespaceTerminating", "message": "namespace going is being terminated", "field": "metadata.namespace"}]);
        assert_eq!(refused["details"]["causes"], cause);
    }

    #[test]
    fn a_namespace_has_its_label_its_finalizer_and_its_phase() {
        let store = Store::in_memory(Window::default());
        let mut new = json!({"metadata": {"name": "n", "labels": {NAME: "zz"}}});
        admit(
            &store,
            &attributes(Verb::Create, "namespaces", "", ""),
            None,
            Some(&mut new),
        )
        .unwrap();
        let expect = json!({"metadata": {"name": "n", "labels": {NAME: "n"}}, "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"}});
        assert_eq!(new, expect);
        let mut changed = json!({"metadata": {"name": "n"}, "spec": {"finalizers": []}, "status": {"phase": "Active"}});
        admit(
            &store,
            &attributes(Verb::Update, "namespaces", "", "n"),
            Some(&expect),
            Some(&mut changed),
        )
        .unwrap();
        assert_eq!(changed, expect, "nobody takes its finalizer away");
        let mut done = json!({"metadata": {"name": "n", "labels": {"x": "y"}}, "spec": {}});
        admit(
            &store,
            &attributes(Verb::Update, "namespaces", "finalize", "n"),
            Some(&expect),
            Some(&mut done),
        )
        .unwrap();
        assert_eq!(
            (&done["spec"], &done["metadata"]["labels"]),
            (&json!({}), &json!({NAME: "n"}))
        );
        let mut bad =
            json!({"metadata": {"name": "n"}, "spec": {"finalizers": ["acme.io/x", "bad"]}});
        let error = admit(
            &store,
            &attributes(Verb::Create, "namespaces", "", ""),
            None,
            Some(&mut bad),
        )
        .unwrap_err();
        let message = "Namespace \"n\" is invalid: spec.finalizers: Invalid value: \"bad\": name is neither a standard finalizer name nor is it fully qualified";
        assert_eq!(error.message, message);
    }

    #[test]
    fn some_namespaces_stay_for_good() {
        let store = Store::in_memory(Window::default());
        let delete = |name: &str| {
            let old = json!({"metadata": {"name": name}});
            admit(
                &store,
                &attributes(Verb::Delete, "namespaces", "", name),
                Some(&old),
                None,
            )
            .map_err(|error| error.message)
        };
        assert_eq!(delete("mine"), Ok(()));
        let message = "namespaces \"kube-system\" is forbidden: this namespace may not be deleted";
        assert_eq!(delete("kube-system"), Err(message.to_owned()));
    }
}
