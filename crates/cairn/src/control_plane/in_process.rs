//! Runs the template stack managers of stacks in this very process, each as its stack's own account
//! and through a door of the embedded API server. For a run that ends soon: nothing renews their
//! tokens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use apiserver::Server;
use controller::stack_manager::{Availability, Future, Live, Runner};
use controller::template_stack_manager::{Parts, TemplateStackManager};
use controller::{Cluster, Error};
use install::reconcile::stack::Run;
use kube::Client;
use objects::{Key, Resource};
use serde_json::{Value, json};

/// A runner of tasks.
pub(crate) struct InProcess {
    server: Server,
    tenant: Cluster,
    running: Mutex<BTreeMap<Key, Arc<TemplateStackManager>>>,
}

impl InProcess {
    /// On this server, which `tenant` is the stack manager's way into.
    pub fn new(server: Server, tenant: Cluster) -> InProcess {
        InProcess {
            server,
            tenant,
            running: Mutex::default(),
        }
    }

    async fn start(&self, run: &Run, stack: &Key) -> Result<(), Error> {
        let accounts = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
        let account = Key::new(&stack.namespace, &run.identity.account);
        let request =
            json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let answer = self
            .tenant
            .create_part(&accounts, &account, "token", &request)
            .await?;
        let token = answer["status"]["token"].as_str().unwrap_or_default();
        let client = Client::new(
            self.server
                .in_process_service(None)
                .with_bearer_token(token),
            &stack.namespace,
        );
        let manager =
            TemplateStackManager::start(Parts::new(client, &stack.namespace, &stack.name)).await;
        let worker = manager.clone();
        tokio::spawn(async move { worker.run().await });
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(stack.clone(), manager);
        Ok(())
    }
}

impl Runner for InProcess {
    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        _live: Live<'f>,
    ) -> Future<'f, Result<Availability, Error>> {
        Box::pin(async move {
            let stack = Key::new(&run.identity.namespace, &run.identity.name);
            let known = self
                .running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains_key(&stack);
            if !known {
                self.start(run, &stack).await?;
            }
            Ok(Availability::yes("its controller runs"))
        })
    }

    fn is_started(&self, stack: &Key) -> bool {
        self.running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(stack)
    }

    fn objects<'r>(&self, _run: &'r Run) -> Vec<&'r Value> {
        Vec::new()
    }

    fn stop<'f>(&'f self, stack: &'f Key) -> Future<'f, Result<(), Error>> {
        Box::pin(async move {
            if let Some(manager) = self
                .running
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(stack)
            {
                manager.stop();
            }
            Ok(())
        })
    }
}
