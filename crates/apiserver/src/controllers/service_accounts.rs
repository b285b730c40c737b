//! What every namespace has: the account `default` and the server's certificate. And the tokens in
//! Secrets, which are filled in here, and go with their account.

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::driver::Follower;
use super::writes;
use super::writes::{key_of, uid_of};
use crate::handlers::delete;
use crate::registry::table_name;
use crate::server::Inner;
use crate::storage::{Event, Key, Query};
use crate::{clock, random};

/// The account that every namespace has.
const DEFAULT: &str = "default";
/// The config map with the server's certificate that every namespace has.
const ROOT: &str = "kube-root-ca.crt";
/// Secrets of this type hold the token of an account.
const TOKEN: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Follows namespaces, accounts, and the Secrets and config maps that belong to them.
pub(crate) struct Accounts {
    inner: Arc<Inner>,
    namespaces: BTreeSet<String>,
    secrets: BTreeSet<Key>,
    /// Accounts that went: where, and their names.
    gone: BTreeSet<(String, String)>,
}

impl Accounts {
    /// Looks at everything that there is now.
    pub(crate) fn new(inner: &Arc<Inner>) -> Self {
        let all = |table: &str| {
            let table = table_name("", table);
            let found = inner
                .store
                .list(
                    &Query {
                        resource: &table,
                        ..Query::default()
                    },
                    |_| true,
                )
                .unwrap_or_default();
            let keys: Vec<Key> = found
                .entries
                .iter()
                .map(|entry| key_of(&table, entry))
                .collect();
            keys
        };
        Self {
            inner: inner.clone(),
            namespaces: all("namespaces")
                .iter()
                .map(|key| key.name().to_owned())
                .collect(),
            secrets: all("secrets").into_iter().collect(),
            gone: BTreeSet::new(),
        }
    }

    /// Gives a namespace what every namespace has.
    async fn furnish(&self, namespace: &str) {
        let store = &self.inner.store;
        let there = store.get(&Key::new(&table_name("", "namespaces"), "", namespace));
        if there.is_none_or(|entry| entry.value()["status"]["phase"] == "Terminating") {
            return;
        }
        let account = Key::new(&table_name("", "serviceaccounts"), namespace, DEFAULT);
        if store.get(&account).is_none() {
            _ = writes::make(store, &account, default_account(namespace)).await;
        }
        let root = Key::new(&table_name("", "configmaps"), namespace, ROOT);
        let wanted = root_certificate(namespace, self.inner.authority.pem());
        match store.get(&root) {
            None => _ = writes::make(store, &root, wanted).await,
            Some(entry) => {
                let restore = |object: &mut Value| {
                    let right = object["data"] == wanted["data"];
                    object["data"] = wanted["data"].clone();
                    !right
                };
                _ = writes::change(store, &root, uid_of(&entry.value()), restore).await;
            }
        }
    }

    /// Fills in the token of a Secret, or deletes the Secret if there is no such account.
    async fn fill_in(&self, key: &Key) {
        let store = &self.inner.store;
        let Some(entry) = store
            .get(key)
            .filter(|entry| entry.value()["type"] == TOKEN)
        else {
            return;
        };
        let annotations = &entry.value()["metadata"]["annotations"];
        let Some(name) = annotations[ACCOUNT_NAME].as_str() else {
            return;
        };
        let account = store.get(&Key::new(
            &table_name("", "serviceaccounts"),
            key.namespace(),
            name,
        ));
        let uid = account
            .as_ref()
            .map(|account| uid_of(&account.value()).to_owned());
        let claimed = annotations[ACCOUNT_UID]
            .as_str()
            .filter(|claimed| !claimed.is_empty());
        let Some(uid) = uid.filter(|uid| claimed.is_none_or(|claimed| claimed == uid)) else {
            delete::mark(store, &key.resource, &entry.value()).await;
            return;
        };
        let filled = |field: &str| {
            entry.value()["data"][field]
                .as_str()
                .is_some_and(|value| !value.is_empty())
        };
        let authority = STANDARD.encode(self.inner.authority.pem());
        let complete =
            filled("token") && filled("namespace") && entry.value()["data"]["ca.crt"] == *authority;
        if complete && claimed.is_some() {
            return;
        }
        let Ok(token) = self
            .inner
            .auth
            .sign_for_secret(key.namespace(), name, &uid, key.name())
        else {
            return;
        };
        let write = |object: &mut Value| {
            if !object["data"].is_object() {
                object["data"] = json!({});
            }
            if object["data"]["token"].as_str().is_none_or(str::is_empty) {
                object["data"]["token"] = STANDARD.encode(&token).into();
            }
            object["data"]["ca.crt"] = authority.clone().into();
            object["data"]["namespace"] = STANDARD.encode(key.namespace()).into();
            object["metadata"]["annotations"][ACCOUNT_UID] = uid.clone().into();
            true
        };
        _ = writes::change(store, key, uid_of(&entry.value()), write).await;
    }

    /// Deletes the tokens of an account that is gone.
    fn tokens_of(&self, namespace: &str, name: &str) -> Vec<Key> {
        let table = table_name("", "secrets");
        let query = Query {
            resource: &table,
            namespace,
            ..Query::default()
        };
        let found = self.inner.store.list(&query, |entry| {
            entry.value()["type"] == TOKEN
                && entry.value()["metadata"]["annotations"][ACCOUNT_NAME] == name
        });
        found
            .unwrap_or_default()
            .entries
            .iter()
            .map(|entry| key_of(&table, entry))
            .collect()
    }
}

impl Follower for Accounts {
    fn note(&mut self, event: &Event) {
        let namespace = event.key.namespace();
        match (&*event.key.resource, event.deleted) {
            ("namespaces", false) if event.before.is_none() => {
                self.namespaces.insert(event.key.name().to_owned());
            }
            ("serviceaccounts", true) => {
                self.gone
                    .insert((namespace.to_owned(), event.key.name().to_owned()));
                if event.key.name() == DEFAULT {
                    self.namespaces.insert(namespace.to_owned());
                }
            }
            ("configmaps", _) if event.key.name() == ROOT => {
                self.namespaces.insert(namespace.to_owned());
            }
            ("secrets", false) if event.entry.value()["type"] == TOKEN => {
                self.secrets.insert(event.key.clone());
            }
            _ => {}
        }
    }

    async fn work(&mut self) {
        for namespace in std::mem::take(&mut self.namespaces) {
            self.furnish(&namespace).await;
        }
        for (namespace, name) in std::mem::take(&mut self.gone) {
            self.secrets.extend(self.tokens_of(&namespace, &name));
        }
        for key in std::mem::take(&mut self.secrets) {
            self.fill_in(&key).await;
        }
    }
}

/// The account that every namespace has.
pub(crate) fn default_account(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {
            "name": DEFAULT, "namespace": namespace, "uid": random::uuid(), "creationTimestamp": clock::now(),
        },
    })
}

/// The config map with the server's certificate.
pub(crate) fn root_certificate(namespace: &str, pem: &str) -> Value {
    let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints \
                       such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
                       distributions of Kubernetes clusters.";
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": ROOT, "namespace": namespace, "uid": random::uuid(), "creationTimestamp": clock::now(),
            "annotations": {"kubernetes.io/description": description},
        },
        "data": {"ca.crt": pem},
    })
}
