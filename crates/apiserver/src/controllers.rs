//! What happens by itself inside the server: garbage collection, namespaces, service accounts,
//! aggregated roles. It is driven by what is written to the store, and never polls.

pub(crate) mod bootstrap;
pub(crate) mod crds;
pub(crate) mod driver;
pub(crate) mod garbage_collector;
pub(crate) mod kubernetes_service;
pub(crate) mod namespaces;
pub(crate) mod role_aggregation;
pub(crate) mod service_accounts;
pub(crate) mod writes;

use std::sync::Arc;

use serde_json::Value;

use driver::{Follower, follow};
use garbage_collector::Collector;
use kubernetes_service::OwnService;
use namespaces::Namespaces;
use role_aggregation::Roles;
use service_accounts::Accounts;

pub(crate) use crate::admission::namespace_lifecycle::is_open;
pub(crate) use kubernetes_service::settle as settle_own_service;

use crate::handlers::status::{ApiError, Cause};
use crate::request::info::Attributes;
use crate::server::{Inner, StartError};
use crate::storage::{Event, Store};

/// Writes what has to be there from the start, and starts what runs inside.
pub(crate) async fn start(inner: &Arc<Inner>) -> Result<(), StartError> {
    let changes = bootstrap::missing(&inner.store, inner.authority.pem());
    if !changes.is_empty() {
        inner
            .store
            .commit(changes)
            .await
            .map_err(|error| StartError::Bootstrap(error.to_string()))?;
    }
    // Whoever is given an aggregated role can use it from the first request on.
    Roles::new(&inner.store).work().await;
    let makers = inner.clone();
    inner.spawn(follow(inner.store.clone(), move || {
        CleanupControllers::new(&makers)
    }));
    let makers = inner.clone();
    inner.spawn(follow(inner.store.clone(), move || SetupControllers {
        accounts: Accounts::new(&makers),
        roles: Roles::new(&makers.store),
        service: OwnService::new(&makers),
    }));
    Ok(())
}

/// Checks and additions to a write that do not depend on who writes, such as that its namespace is
/// there. `old` is none for a creation, `new` is none for a deletion.
pub(crate) fn admit(
    inner: &Inner,
    attributes: &Attributes,
    old: Option<&Value>,
    mut new: Option<&mut Value>,
) -> Result<(), ApiError> {
    crate::admission::namespace_lifecycle::admit(
        &inner.store,
        attributes,
        old,
        new.as_deref_mut(),
    )?;
    if !attributes.group.is_empty() || !attributes.subresource.is_empty() {
        return Ok(());
    }
    match (&*attributes.resource, new) {
        ("secrets", Some(secret)) => token_secret(secret),
        ("pods", Some(pod)) if old.is_none() => {
            crate::admission::service_account::admit(&inner.store, &attributes.namespace, pod)
        }
        _ => Ok(()),
    }
}

/// A Secret that is to hold a token has to say whose.
fn token_secret(secret: &Value) -> Result<(), ApiError> {
    let account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
        .as_str()
        .unwrap_or_default();
    if secret["type"] != "kubernetes.io/service-account-token" || !account.is_empty() {
        return Ok(());
    }
    let cause = Cause::required(
        "metadata.annotations[kubernetes.io/service-account.name]",
        "",
    );
    Err(ApiError::invalid(
        "",
        "Secret",
        secret["metadata"]["name"].as_str().unwrap_or_default(),
        vec![cause],
    ))
}

/// What takes things away: the garbage collector, and namespaces that go.
struct CleanupControllers {
    collector: Collector,
    namespaces: Namespaces,
}

impl CleanupControllers {
    fn new(inner: &Arc<Inner>) -> Self {
        let store: &Arc<Store> = &inner.store;
        Self {
            collector: Collector::new(store, &inner.registry),
            namespaces: Namespaces::new(store),
        }
    }
}

impl Follower for CleanupControllers {
    fn note(&mut self, event: &Event) {
        self.collector.note(event);
        self.namespaces.note(event);
    }

    async fn work(&mut self) {
        self.collector.work().await;
        while self.namespaces.is_busy() {
            self.namespaces.work().await;
        }
    }
}

/// What puts things there: accounts and certificates for namespaces, rules for aggregated roles,
/// the server's own Service.
struct SetupControllers {
    accounts: Accounts,
    roles: Roles,
    service: OwnService,
}

impl Follower for SetupControllers {
    fn note(&mut self, event: &Event) {
        self.accounts.note(event);
        self.roles.note(event);
        self.service.note(event);
    }

    async fn work(&mut self) {
        self.accounts.work().await;
        self.roles.work().await;
        self.service.work().await;
    }
}
