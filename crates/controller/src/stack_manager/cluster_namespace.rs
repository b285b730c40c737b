//! The namespace of a ClusterStackInstall's Stack: created for it alone, and deleted with it.

use api::{PermissionScope, annotations, labels, names};
use install::Purpose;
use install::reconcile::install::Install;
use serde_json::{Value, json};

use super::StackManager;
use super::informers::{Work, install_resource};
use super::stacks::limits;
use crate::Error;
use objects::{Key, Resource};

fn namespaces() -> Resource {
    Resource::cluster("", "v1", "Namespace", "namespaces")
}

impl StackManager {
    /// Sees that a ClusterStackInstall has a namespace of its own, and that its status says which.
    pub(super) async fn ensure_home(
        &self,
        key: &Key,
        live: &Value,
        install: &mut Install,
    ) -> Result<(), Error> {
        if install.scope != PermissionScope::Cluster || install.is_deleting() || install.spec.paused
        {
            return Ok(());
        }
        let resource = install_resource(true);
        // What may have to be cleaned up is held before anything is created.
        self.hold(&resource, key, live, names::INSTALL_FINALIZER)
            .await?;
        let base = &self.parts.settings.cluster_namespace;
        let first = names::cluster_stack(base, &key.name);
        let other = names::other_cluster_stack(base, &key.name, &install.metadata.uid);
        let mut candidates = vec![install.status.namespace.clone(), first, other];
        candidates.retain(|name| !name.is_empty());
        for name in &candidates {
            if self.put_home(key, name).await? {
                let stack = Key::new(name, &key.name);
                let limited = self
                    .informers
                    .stacks
                    .get(&stack)
                    .map(|stack| stack["status"]["namespaces"].clone());
                if limited.is_some_and(|limited| {
                    limits(Some(&json!({ "spec": { "namespaces": limited } })))
                        != limits(Some(live))
                }) {
                    self.queue.add(Work::Stack(stack));
                }
                return self.record_home(key, install, name).await;
            }
        }
        Err(Error::Refused(format!(
            "namespaces {} already exist and the stack manager did not create them for this install: delete one of them",
            candidates.join(", ")
        )))
    }

    /// Creates the namespace; answers whether it is that install's.
    async fn put_home(&self, key: &Key, name: &str) -> Result<bool, Error> {
        let purpose = Purpose::ClusterInstall(key.name.clone());
        let mut wanted = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": name, "labels": {
                labels::MANAGED_BY: labels::MANAGED_BY_STACK_MANAGER,
                labels::PARENT_GROUP: api::GROUP,
                labels::PARENT_VERSION: api::VERSION,
                labels::PARENT_KIND: api::ClusterStackInstall::KIND,
                labels::PARENT_NAME: names::label_value(&key.name),
            } },
        });
        self.signing_key().await?.sign(&mut wanted, &purpose);
        self.put(&wanted, &purpose).await
    }

    /// Says where the Stack will be, before it is there: only there it may act in all namespaces.
    async fn record_home(&self, key: &Key, install: &mut Install, name: &str) -> Result<(), Error> {
        if install.status.namespace != name {
            name.clone_into(&mut install.status.namespace);
            let patch = json!({ "status": { "namespace": name } });
            let answer = self
                .parts
                .tenant
                .merge(&install_resource(true), key, "status", &patch)
                .await?;
            self.informers.wrote(&install_resource(true), answer);
        }
        Ok(())
    }

    /// Deletes the namespace of an install of which nothing else is left; answers whether it is
    /// gone. With `keep-crds`, instances may be in it.
    pub(super) async fn leave_home(&self, key: &Key, install: &Install) -> Result<bool, Error> {
        let name = &install.status.namespace;
        let keeps = install
            .metadata
            .annotations
            .get(annotations::KEEP_CRDS)
            .is_some_and(|keeps| keeps == labels::TRUE);
        if install.scope != PermissionScope::Cluster || name.is_empty() || keeps {
            return Ok(true);
        }
        let at = Key::new("", name);
        let Some(live) = self.parts.tenant.get(&namespaces(), &at).await? else {
            return Ok(true);
        };
        let purpose = Purpose::ClusterInstall(key.name.clone());
        if self.signing_key().await?.owns(&live) != Some(purpose) {
            return Ok(true);
        }
        if live["metadata"]["deletionTimestamp"].is_null() {
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
            self.parts
                .tenant
                .delete(&namespaces(), &at, uid, "Background")
                .await?;
        }
        Ok(false)
    }
}
