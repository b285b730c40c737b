//! The stack-wide view: how many instances there are, how they are, and which need attention first.

use std::collections::BTreeMap;

use api::{Attention, Counts};
use serde_json::{Map, Value, json};

use super::inventory::Id;
use super::{Outcome, TemplateStackManager, lock};
use crate::Error;
use crate::runtime::work_queue::Requeue;
use objects::Resource;

/// How many instances of a kind are named.
const NAMED: usize = 5;
/// How much of a message is told.
const LONG: usize = 300;

impl TemplateStackManager {
    /// Counts the instances into the Stack's status.
    pub(super) async fn count(&self) -> Result<Requeue, Error> {
        let Some(stack) = self.stack.get(&self.stack_key()) else {
            return Ok(Requeue::AwaitChange);
        };
        let kinds: Vec<Resource> = lock(&self.shared.owned)
            .iter()
            .map(|(own, _)| own.clone())
            .collect();
        let outcomes: Vec<(Id, Option<Outcome>)> = {
            let instances = self.shared.inventory.instances();
            let memory = lock(&self.memory);
            let of = |id: &Id| memory.get(id).map(|memory| memory.outcome.clone());
            instances
                .into_iter()
                .map(|id| (of(&id), id))
                .map(|(outcome, id)| (id, outcome))
                .collect()
        };
        let (counts, attention) = tally(&kinds, &outcomes);
        for (name, counts) in &counts {
            for (state, count) in [
                ("ready", counts.ready),
                ("waiting", counts.waiting),
                ("failing", counts.failing),
            ] {
                let labels = [("kind", name.as_str()), ("state", state)];
                self.parts.metrics.gauge(
                    "cairn_instances",
                    "Instances, by how they are.",
                    &labels,
                    count as f64,
                );
            }
        }
        self.look_at_limited();
        let patch = difference(&stack["status"], &counts, &attention);
        self.write_status(patch).await?;
        Ok(Requeue::AwaitChange)
    }
}

/// Counts, and the first few of each kind that fail or wait.
fn tally(
    kinds: &[Resource],
    outcomes: &[(Id, Option<Outcome>)],
) -> (BTreeMap<String, Counts>, Vec<Attention>) {
    let mut counts: BTreeMap<String, Counts> = kinds
        .iter()
        .map(|own| (own.to_string(), Counts::default()))
        .collect();
    let mut attention: Vec<Attention> = Vec::new();
    for (id, outcome) in outcomes {
        let Some(resource) = kinds.iter().find(|own| own.gvk == *id.gvk) else {
            continue;
        };
        let kind = resource.to_string();
        let counts = counts.entry(kind.clone()).or_default();
        counts.total += 1;
        let (state, reason, message) = match outcome {
            Some(Outcome::Ready) => {
                counts.ready += 1;
                continue;
            }
            Some(Outcome::Failing(reason, message)) => {
                counts.failing += 1;
                ("Failing", &**reason, &**message)
            }
            Some(Outcome::Waiting(reason, message)) => {
                counts.waiting += 1;
                ("Waiting", &**reason, &**message)
            }
            None => {
                counts.waiting += 1;
                ("Waiting", "NotLookedAt", "")
            }
        };
        attention.push(Attention {
            kind,
            state: state.to_owned(),
            namespace: id.key.namespace.clone(),
            name: id.key.name.clone(),
            reason: reason.to_owned(),
            message: message.chars().take(LONG).collect(),
        });
    }
    // Those that fail come before those that wait.
    attention.sort();
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    attention.retain(|one| {
        let count = named.entry(one.kind.clone()).or_default();
        *count += 1;
        *count <= NAMED
    });
    (counts, attention)
}

/// What of the status is not yet so.
fn difference(
    status: &Value,
    counts: &BTreeMap<String, Counts>,
    attention: &[Attention],
) -> Map<String, Value> {
    let mut patch = Map::new();
    let said: BTreeMap<String, Counts> =
        serde_json::from_value(status["instances"].clone()).unwrap_or_default();
    if said != *counts {
        let mut wanted = json!(counts);
        for kind in said.keys().filter(|kind| !counts.contains_key(*kind)) {
            wanted[kind] = Value::Null;
        }
        patch.insert("instances".to_owned(), wanted);
    }
    let named: Vec<Attention> =
        serde_json::from_value(status["attention"].clone()).unwrap_or_default();
    if named != attention {
        let wanted = if attention.is_empty() {
            Value::Null
        } else {
            json!(attention)
        };
        patch.insert("attention".to_owned(), wanted);
    }
    patch
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::{NAMED, difference, tally};
    use crate::template_stack_manager::Outcome;
    use crate::template_stack_manager::inventory::Id;
    use objects::{Key, Resource};

    #[test]
    fn the_first_few_that_fail_or_wait_are_named_and_nothing_is_said_twice() {
        let webs = Resource::namespaced("example.org", "v1", "Web", "webs");
        let id = |name: &str| Id {
            gvk: Arc::new(webs.gvk.clone()),
            key: Arc::new(Key::new("ns", name)),
        };
        let waiting = || {
            Some(Outcome::Waiting(
                "Waiting".into(),
                "for the database".into(),
            ))
        };
        let mut outcomes: Vec<_> = (0..20)
            .map(|number| (id(&format!("w{number:02}")), waiting()))
            .collect();
        outcomes.push((
            id("z"),
            Some(Outcome::Failing("Refused".into(), "no".into())),
        ));
        outcomes.push((id("a"), Some(Outcome::Ready)));
        outcomes.push((id("b"), None));
        let (counts, attention) = tally(&[webs], &outcomes);
        let own = counts["webs.example.org"];
        assert_eq!(
            (own.total, own.ready, own.waiting, own.failing),
            (23, 1, 21, 1)
        );
        let names: Vec<&str> = attention.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["z", "b", "w00", "w01", "w02"]);
        assert_eq!(names.len(), NAMED);
        let patch = difference(
            &json!({ "instances": { "old.example.org": { "total": 1 } } }),
            &counts,
            &attention,
        );
        assert_eq!(patch["instances"]["old.example.org"], json!(null));
        assert_eq!(patch["attention"][0]["reason"], "Refused");
        assert!(
            difference(
                &json!({ "instances": counts, "attention": attention }),
                &counts,
                &attention
            )
            .is_empty()
        );
    }
}
