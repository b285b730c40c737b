//! What runs the controllers of stacks: Deployments of a cluster that schedules pods, or anything else that can.

use std::sync::Arc;

use engine::manage::covers;
use engine::manage::stack::Run;
use serde_json::Value;

use super::Future;
use crate::resource::{Key, Resource};
use crate::{Cluster, Error};

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
        Self { available: true, reason: "Available", message: message.into() }
    }

    /// They do not run yet.
    pub fn not_yet(message: impl Into<String>) -> Self {
        Self { available: false, reason: "Starting", message: message.into() }
    }
}

/// Runs the controllers of stacks.
pub trait Runner: Send + Sync {
    /// Makes the controllers of a stack run as they should, and says whether they do. `live` looks up a Deployment.
    fn ensure<'f>(
        &'f self,
        run: &'f Run,
        live: &'f (dyn Fn(&Key) -> Option<Arc<Value>> + Sync),
    ) -> Future<'f, Result<Availability, Error>>;

    /// Stops the controllers of a stack; what is a Deployment goes with everything else that was made for it.
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
        live: &'f (dyn Fn(&Key) -> Option<Arc<Value>> + Sync),
    ) -> Future<'f, Result<Availability, Error>> {
        Box::pin(async move {
            let resource = Resource::namespaced("apps", "v1", "Deployment", "deployments");
            let mut waiting = Vec::new();
            for wanted in &run.controllers {
                let key = Key::of(wanted);
                let there = live(&key);
                if !there.as_ref().is_some_and(|there| covers(there, wanted)) {
                    self.host.apply(&resource, wanted, true).await?;
                }
                if let Some(why) = unavailable(there.as_deref()) {
                    waiting.push(format!("the Deployment {key} {why}"));
                }
            }
            Ok(match (waiting.is_empty(), run.controllers.len()) {
                (false, _) => Availability::not_yet(waiting.join("; ")),
                (true, 0) => Availability { reason: "NoController", ..Availability::yes("it has no controller") },
                (true, _) => Availability::yes("its controller runs"),
            })
        })
    }

    fn stop<'f>(&'f self, _stack: &'f Key) -> Future<'f, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
}

/// Why a Deployment does not run, as far as it says so.
fn unavailable(deployment: Option<&Value>) -> Option<String> {
    let Some(deployment) = deployment else { return Some("is being made".to_owned()) };
    let status = &deployment["status"];
    if status["observedGeneration"].as_i64() < deployment["metadata"]["generation"].as_i64() {
        return Some("was not looked at yet".to_owned());
    }
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |kind: &str| conditions.iter().find(|condition| condition["type"] == kind);
    if of("Available").is_some_and(|condition| condition["status"] == "True") {
        return None;
    }
    let failed = of("ReplicaFailure").or_else(|| of("Progressing").filter(|found| found["status"] == "False"));
    Some(match failed.and_then(|condition| condition["message"].as_str()) {
        Some(message) => format!("does not run: {message}"),
        None => "is not available yet".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::unavailable;

    #[test]
    fn a_deployment_runs_when_it_says_so_of_what_is_wanted_now() {
        let deployment = |generation: i64, conditions: Value| {
            json!({
                "metadata": { "generation": 2 },
                "status": { "observedGeneration": generation, "conditions": conditions },
            })
        };
        let available = json!([{ "type": "Available", "status": "True" }]);
        let quota = json!([
            { "type": "Available", "status": "False" },
            { "type": "ReplicaFailure", "status": "True", "message": "exceeded quota" },
        ]);
        assert_eq!(unavailable(None).as_deref(), Some("is being made"));
        for (object, expected) in [
            (deployment(2, available.clone()), None),
            (deployment(1, available), Some("was not looked at yet")),
            (deployment(2, json!([])), Some("is not available yet")),
            (deployment(2, quota), Some("does not run: exceeded quota")),
        ] {
            assert_eq!(unavailable(Some(&object)).as_deref(), expected, "{object}");
        }
    }
}
