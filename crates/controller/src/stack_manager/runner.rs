//! What runs the controllers of stacks: Deployments of a cluster that schedules pods, or anything
//! else that can.

pub(crate) mod process;

use std::sync::Arc;

use engine::{Readiness, readiness};
use install::reconcile::stack::Run;
use serde_json::Value;

use super::Future;
use super::ownership::{Settled, in_the_way, settle};
use crate::{Cluster, Error};
use objects::{Key, Resource};

/// Whether the controllers of a stack run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Availability {
    /// Whether all of them do.
    pub available: bool,
    /// One CamelCase word for programs.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

impl Availability {
    /// They run.
    pub fn yes(message: impl Into<String>) -> Self {
        Self {
            available: true,
            reason: "Available",
            message: message.into(),
        }
    }

    /// There are none, so that nothing is missing.
    pub fn none() -> Self {
        Self {
            reason: "NoController",
            ..Self::yes("it has no controller")
        }
    }

    /// They do not run yet.
    pub fn not_yet(message: impl Into<String>) -> Self {
        Self {
            available: false,
            reason: "Starting",
            message: message.into(),
        }
    }
}

/// Looks up an object of a kind that is made for stacks, as the watches show it.
pub type Live<'f> = &'f (dyn Fn(&Resource, &Key) -> Option<Arc<Value>> + Sync);

/// Says that something changed about the controllers of a stack.
pub type Tell = Arc<dyn Fn(&Key) + Send + Sync>;

/// Runs the controllers of stacks.
pub trait Runner: Send + Sync {
    /// Told once how to say that something changed. What a watch shows need not be said.
    fn begin(&self, _tell: Tell) {}

    /// Makes the controllers of a stack run as they should, and says whether they do. What it
    /// creates is signed already.
    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        live: Live<'f>,
    ) -> Future<'f, Result<Availability, Error>>;

    /// The objects by which it runs a stack; others of their kinds that were made for the stack go.
    fn objects<'r>(&self, run: &'r Run) -> Vec<&'r Value>;

    /// Whether the controllers of a stack were started and not stopped since. What its status says
    /// of them may be about processes that ended with the one that wrote it.
    fn is_started(&self, _stack: &Key) -> bool {
        true
    }

    /// Stops the controllers of a stack; what is a Deployment goes with everything else that was
    /// made for it.
    fn stop<'f>(&'f self, stack: &'f Key) -> Future<'f, Result<(), Error>>;
}

/// Runs controllers as Deployments.
pub struct KubernetesRunner {
    host: Cluster,
}

impl KubernetesRunner {
    /// On this cluster.
    pub fn new(host: Cluster) -> Self {
        Self { host }
    }
}

impl Runner for KubernetesRunner {
    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        live: Live<'f>,
    ) -> Future<'f, Result<Availability, Error>> {
        Box::pin(async move {
            let resource = Resource::namespaced("apps", "v1", "Deployment", "deployments");
            let mut waiting = Vec::new();
            for wanted in self.objects(run) {
                let key = Key::of(wanted);
                let there = live(&resource, &key);
                if let Settled::Theirs =
                    settle(&self.host, &resource, wanted, there.clone(), &|_| false).await?
                {
                    return Err(in_the_way(wanted));
                }
                if let Some(why) = unavailable(there.as_deref()) {
                    waiting.push(format!("the Deployment {key} {why}"));
                }
            }
            Ok(match (waiting.is_empty(), run.controllers.len()) {
                (false, _) => Availability::not_yet(waiting.join("; ")),
                (true, 0) => Availability::none(),
                (true, _) => Availability::yes("its controller runs"),
            })
        })
    }

    fn objects<'r>(&self, run: &'r Run) -> Vec<&'r Value> {
        run.controllers
            .iter()
            .map(|controller| &controller.deployment)
            .collect()
    }

    fn stop<'f>(&'f self, _stack: &'f Key) -> Future<'f, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}

/// Why a Deployment does not run, as far as it says so.
fn unavailable(deployment: Option<&Value>) -> Option<String> {
    let Some(deployment) = deployment else {
        return Some("is being created".to_owned());
    };
    // Objects of a list do not say what they are.
    let mut judged = deployment.clone();
    judged["apiVersion"] = "apps/v1".into();
    judged["kind"] = "Deployment".into();
    let Readiness::NotReady { why, .. } = readiness(&judged) else {
        return None;
    };
    let conditions = deployment["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let failure = conditions
        .iter()
        .find(|one| one["type"] == "ReplicaFailure" && one["status"] == "True");
    Some(
        match failure.and_then(|condition| condition["message"].as_str()) {
            Some(message) => format!("is not ready: {why}: {message}"),
            None => format!("is not ready: {why}"),
        },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::unavailable;

    #[test]
    fn a_deployment_runs_when_all_that_is_wanted_now_is_ready() {
        let deployment = |seen: i64, updated: i64, conditions: Value| {
            json!({
                "metadata": { "generation": 2 },
                "spec": { "replicas": 1 },
                "status": {
                    "observedGeneration": seen, "replicas": 1, "readyReplicas": 1, "updatedReplicas": updated,
                    "conditions": conditions,
                },
            })
        };
        let available = json!([{ "type": "Available", "status": "True" }]);
        let quota = json!([
            { "type": "Available", "status": "False" },
            { "type": "ReplicaFailure", "status": "True", "message": "exceeded quota" },
        ]);
        let waits = "is not ready: its replica is not ready and up to date";
        assert_eq!(unavailable(None).as_deref(), Some("is being created"));
        for (object, expected) in [
            (deployment(2, 1, available.clone()), None),
            (deployment(1, 1, available.clone()), Some(waits.to_owned())),
            // The replica of before still serves, which is not what is wanted.
            (deployment(2, 0, available), Some(waits.to_owned())),
            (
                deployment(2, 0, quota),
                Some(format!("{waits}: exceeded quota")),
            ),
        ] {
            assert_eq!(unavailable(Some(&object)), expected, "{object}");
        }
    }
}
