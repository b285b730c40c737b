//! Runs the controllers of template stacks as child processes of this one, each as the service
//! account of its stack, with credentials that it gets on its standard input. It is not a security
//! boundary: all processes belong to the same user. What a package brings in `install.yaml` it does
//! not run.

mod child;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use engine::budget::Budgets;
use engine::limits::InstanceLimits;
use install::reconcile::stack::{Role, Run};
use serde_json::Value;

use super::{Availability, Live, Runner, Tell};
use crate::stack_manager::Future;
use crate::{Cluster, Endpoint, Error};
use child::{Child, State};
use objects::{Key, Resource};

/// How processes are started.
#[derive(Clone)]
pub struct ProcessOptions {
    /// The program: `cairn`, or what understands its `template-stack-manager`.
    pub program: PathBuf,
    /// All that the processes get of the environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the processes find the API server.
    pub endpoint: Endpoint,
    /// The API that hands out tokens of the stacks' accounts.
    pub tenant: Cluster,
    /// How long a token should be good; it is renewed well before.
    pub token_lifetime: Duration,
    /// How many instances stacks serve.
    pub instance_limits: InstanceLimits,
    /// How much compiling stacks and rendering instances may cost.
    pub budgets: Budgets,
}

/// Runs the controllers of template stacks as processes, which end with this one.
pub struct ProcessRunner {
    shared: Arc<Shared>,
    children: Mutex<BTreeMap<Key, Child>>,
}

/// What all children need.
struct Shared {
    options: ProcessOptions,
    tell: OnceLock<Tell>,
}

impl Shared {
    fn tell(&self, stack: &Key) {
        if let Some(tell) = self.tell.get() {
            tell(stack);
        }
    }
}

/// Why a stack with `install.yaml` does not run here.
const NOT_RUNNABLE: &str = "only the controllers of templates run as processes: what the package brings in \
                            `install.yaml` needs a cluster that runs pods (`--runner kubernetes`)";

impl ProcessRunner {
    /// Starts nothing yet.
    pub fn new(options: ProcessOptions) -> Self {
        let shared = Arc::new(Shared {
            options,
            tell: OnceLock::new(),
        });
        Self {
            shared,
            children: Mutex::default(),
        }
    }

    fn children(&self) -> MutexGuard<'_, BTreeMap<Key, Child>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all processes, and waits until they are gone.
    pub async fn end_all(&self) {
        let children = std::mem::take(&mut *self.children());
        futures::future::join_all(children.into_values().map(Child::end)).await;
    }

    async fn end(&self, stack: &Key) {
        let child = self.children().remove(stack);
        if let Some(child) = child {
            child.end().await;
        }
    }

    /// How the process of a stack's templates is, which is started unless it is there.
    async fn templates(&self, stack: &Key, account: &str, live: Live<'_>) -> Availability {
        let accounts = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
        let account = Key::new(&stack.namespace, account);
        let Some(found) = live(&accounts, &account) else {
            return Availability::not_yet("its account is being made");
        };
        let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
        // A token of an account that was replaced is worth nothing.
        let outdated = self
            .children()
            .get(stack)
            .is_some_and(|child| child.account_uid() != uid);
        if outdated {
            self.end(stack).await;
        }
        let mut children = self.children();
        let child = children
            .entry(stack.clone())
            .or_insert_with(|| Child::start(self.shared.clone(), stack.clone(), account, uid));
        match child.state() {
            State::Starting => Availability::not_yet("its process is starting"),
            State::Ready(id) => {
                Availability::yes(format!("its controller runs as the process {id}"))
            }
            State::Failing(why) => Availability {
                available: false,
                reason: "ProcessFailed",
                message: why,
            },
        }
    }
}

impl Runner for ProcessRunner {
    fn begin(&self, tell: Tell) {
        // Only the first manager is told: there is one of it for each runner.
        let _ = self.shared.tell.set(tell);
    }

    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        live: Live<'f>,
    ) -> Future<'f, Result<Availability, Error>> {
        Box::pin(async move {
            let stack = Key::new(&run.identity.namespace, &run.identity.name);
            let has = |role| {
                run.controllers
                    .iter()
                    .any(|controller| controller.role == role)
            };
            let templates = if has(Role::Templates) {
                Some(self.templates(&stack, &run.identity.account, live).await)
            } else {
                self.end(&stack).await;
                None
            };
            Ok(match templates {
                Some(state) if !state.available => state,
                _ if has(Role::Brought) => Availability {
                    available: false,
                    reason: "NotRunnable",
                    message: NOT_RUNNABLE.to_owned(),
                },
                Some(state) => state,
                None => Availability::none(),
            })
        })
    }

    fn is_started(&self, stack: &Key) -> bool {
        self.children().contains_key(stack)
    }

    fn objects<'r>(&self, _run: &'r Run) -> Vec<&'r Value> {
        Vec::new()
    }

    fn stop<'f>(&'f self, stack: &'f Key) -> Future<'f, Result<(), Error>> {
        Box::pin(async move {
            self.end(stack).await;
            Ok(())
        })
    }
}
