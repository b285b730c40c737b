//! What is told of an instance: its status, Events where something is wrong, and numbers.

use std::time::Duration;

use engine::Plan;
use engine::children::desired::{Failure, status_patch};
use engine::limits::LIMIT_REACHED;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::instance::{Look, Written};
use super::inventory::{Id, Known, hash_of};
use super::{INSTANCE_LOG, Outcome, TemplateStackManager, lock, now};
use crate::Error;
use objects::Resource;

/// Within this time a status is written twice at most: what flickers is told a little later.
const PACE: Duration = Duration::from_secs(1);

impl TemplateStackManager {
    /// Writes the status if it differs.
    pub(super) async fn write_instance_status(
        &self,
        id: &Id,
        resource: &Resource,
        look: &mut Look<'_>,
        plan: &Plan,
    ) -> Result<Written, Error> {
        // Where there is nothing to say, what was said before goes.
        let wanted = plan.status.clone().unwrap_or_else(|| json!({}));
        let fields = look.known.fields();
        let Some(patch) = status_patch(&look.object["status"], &wanted, &fields, &now()) else {
            return Ok(Written::No);
        };
        let earlier = lock(&self.memory)
            .get(id)
            .and_then(|memory| memory.written[0]);
        if let Some(wait) = earlier.and_then(|earlier| PACE.checked_sub(earlier.elapsed())) {
            return Ok(Written::Later(wait));
        }
        let part = if look.kind.status_subresource {
            "status"
        } else {
            ""
        };
        let patch = json!({ "metadata": { "uid": look.known.uid() }, "status": patch });
        let live = self
            .parts
            .cluster
            .merge(resource, &id.key, part, &patch)
            .await?;
        let known = Known::of(live, &self.parts.manager);
        look.status = known.status;
        if known.hash != look.known.hash {
            // The answer shows what somebody else changed meanwhile; the watch will have nothing
            // new to say of it.
            self.shared.happened(id.clone());
        }
        self.shared.inventory.put_instance(id, Some(known.into()));
        self.note(id, |memory| {
            memory.written = [memory.written[1], Some(Instant::now())];
        });
        Ok(Written::Yes)
    }

    /// Remembers how it went, and tells people what is new of what is wrong.
    pub(super) async fn conclude(&self, id: &Id, look: &Look<'_>, plan: &Plan, inputs: u64) {
        let condition = |kind: &str| {
            let conditions = plan
                .status
                .as_ref()
                .and_then(|status| status["conditions"].as_array());
            conditions.and_then(|all| all.iter().find(|one| one["type"] == kind))
        };
        let ready = condition("Ready").map(|one| one["status"] == "True");
        let outcome = match (
            look.failures.first(),
            plan.problems.first(),
            plan.holds.first(),
        ) {
            (Some(failure), _, _) => {
                Outcome::Failing(failure.reason.into(), failure.message.as_str().into())
            }
            (None, Some(problem), _) => {
                let message = format!("{}: {}", problem.template, problem.problem.short());
                Outcome::Failing("RenderFailed".into(), message.into())
            }
            (None, None, Some(hold)) => {
                let waits: Vec<String> = hold.waits.iter().map(ToString::to_string).collect();
                Outcome::Waiting(
                    "Waiting".into(),
                    format!("{} waits for {}", hold.template, waits.join(", ")).into(),
                )
            }
            (None, None, None) if ready == Some(false) => {
                let text = |field: &str| {
                    condition("Ready")
                        .and_then(|one| one[field].as_str())
                        .unwrap_or_default()
                };
                Outcome::Waiting(text("reason").into(), text("message").into())
            }
            // Its status may have no place for conditions; an author's own come first.
            (None, None, None) => match plan.unready.as_ref().filter(|_| ready.is_none()) {
                Some(unready) => {
                    Outcome::Waiting(unready.reason.into(), unready.message.as_str().into())
                }
                None => Outcome::Ready,
            },
        };
        // A limit is told in conditions, if there are any: whoever makes too many instances must
        // not fill the Events.
        let is_told =
            |failure: &&Failure| failure.reason == LIMIT_REACHED && condition("Synced").is_some();
        let failures = look.failures.iter().filter(|failure| !is_told(failure));
        let failures = failures.map(|failure| (failure.reason, failure.message.clone()));
        let events = plan
            .events
            .iter()
            .map(|event| (event.reason, event.message.clone()));
        let news: Vec<(&str, String)> = events.chain(failures).collect();
        let before = lock(&self.memory)
            .get(id)
            .map(|memory| memory.told.clone())
            .unwrap_or_default();
        let resync = Instant::now() + self.jittered(id);
        self.note(id, |memory| {
            memory.inputs = if look.failures.is_empty() { inputs } else { 0 };
            memory.status = look.status;
            memory.resync = resync;
            memory.outcome = outcome;
            memory.told = news.iter().map(|(_, message)| hash_of(message)).collect();
        });
        for (reason, message) in news
            .iter()
            .filter(|(_, message)| !before.contains(&hash_of(message)))
        {
            self.emit_event(&look.object, reason, message).await;
        }
    }

    /// Counts a look that is over.
    pub(super) fn measured(&self, id: &Id, look: &Look<'_>, plan: &Plan) {
        let metrics = &self.parts.metrics;
        for _ in &plan.holds {
            metrics.count(
                "cairn_holds_total",
                "Templates that had to wait for an input.",
                &[],
            );
        }
        for problem in &plan.problems {
            let labels = [
                ("reason", "RenderFailed"),
                ("template", problem.template.as_str()),
            ];
            metrics.count("cairn_errors_total", ERRORS, &labels);
        }
        for failure in &look.failures {
            let labels = [
                ("reason", failure.reason),
                ("template", failure.template.as_str()),
            ];
            metrics.count("cairn_errors_total", ERRORS, &labels);
        }
        if let Some(begin) = self.shared.looked(id).filter(|_| look.wrote) {
            let help = "From seeing that something changed to having applied what follows from it.";
            metrics.observe("cairn_event_to_applied_seconds", help, begin.elapsed());
        }
        metrics.gauge(
            "cairn_queue_depth",
            "Keys that wait to be looked at.",
            &[],
            self.shared.queue.depth() as f64,
        );
    }

    /// The resync of an instance: its own, so that not all come at once.
    fn jittered(&self, id: &Id) -> Duration {
        let share = u32::try_from(hash_of(&id.key.to_string()) % 512).unwrap_or_default();
        self.parts.resync + self.parts.resync / 1024 * share
    }

    async fn emit_event(&self, about: &Value, reason: &str, message: &str) {
        let metadata = &about["metadata"];
        let (name, kind) = (
            metadata["name"].as_str().unwrap_or_default(),
            about["kind"].as_str().unwrap_or_default(),
        );
        tracing::warn!(target: INSTANCE_LOG, kind, name, reason, "{message}");
        let own = metadata["namespace"]
            .as_str()
            .filter(|own| !own.is_empty())
            .unwrap_or("default");
        let time = now();
        let nonce = hash_of(&(message, &time));
        let message: String = message.chars().take(1000).collect();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": format!("{name}.{nonce:x}"), "namespace": own },
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"], "name": name,
                "namespace": metadata["namespace"].as_str().unwrap_or_default(), "uid": metadata["uid"],
            },
            "type": "Warning", "reason": reason, "message": message,
            "source": { "component": "template-stack-manager" },
            "firstTimestamp": time, "lastTimestamp": time, "count": 1,
        });
        let events = Resource::namespaced("", "v1", "Event", "events");
        if let Err(error) = self.parts.cluster.create(&events, &event).await {
            tracing::debug!(%error, "no Event was written");
        }
    }
}

pub(super) const ERRORS: &str = "Templates that could not be rendered or carried out.";
