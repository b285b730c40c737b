//! Stepping an instance to convergence without a cluster: each pass applies the plan, and played
//! statuses follow.

pub(crate) mod workloads;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::compile::{CompiledKind, Shape};
use crate::reconcile::{Context, Observed, Plan, plan, text};

/// What an outside controller would do: once a child is there, its status becomes this.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The template of the child.
    pub child: String,
    /// Its status.
    pub status: Value,
}

/// One pass.
#[derive(Clone, Debug, Serialize)]
pub struct Pass {
    /// What the pass decided.
    #[serde(flatten)]
    pub plan: Plan,
    /// The templates whose objects are new, changed or deleted in this pass, in the order in which
    /// it happens.
    pub changed: Vec<String>,
    /// What outside controllers say after it.
    pub reports: Vec<Report>,
}

/// A status that an outside controller set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The template of the child.
    pub child: String,
    /// Its status.
    pub status: Value,
}

/// How an instance converged.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The passes; the last changed nothing, unless it gave up.
    pub passes: Vec<Pass>,
    /// The children at the end.
    pub observed: Observed,
    /// Whether it came to rest.
    pub settled: bool,
}

/// How many passes are enough for any stack that settles at all.
const MAX_PASSES: usize = 50;

/// Plans, applies and plays until nothing changes.
pub fn simulate(
    kind: &CompiledKind,
    instance: &Value,
    mut observed: Observed,
    rules: &[Rule],
    context: &Context<'_>,
) -> Simulation {
    let mut instance = instance.clone();
    let mut passes = Vec::new();
    let mut told = false;
    for _ in 0..MAX_PASSES {
        let plan = plan(kind, &instance, &observed, context);
        let before = (observed.clone(), instance.get("status").cloned());
        let changed = carry_out(kind, &plan, &mut observed);
        match &plan.status {
            Some(status) => {
                instance["status"] = status.clone();
                told = true;
            }
            // What was said before goes; what others have said stays.
            None if told => drop(
                instance
                    .as_object_mut()
                    .and_then(|fields| fields.remove("status")),
            ),
            None => {}
        }
        let mut reports = Vec::new();
        for rule in rules {
            if let Some(child) = observed.get_mut(&rule.child)
                && play(child, &rule.status)
            {
                reports.push(Report {
                    child: rule.child.clone(),
                    status: rule.status.clone(),
                });
            }
        }
        passes.push(Pass {
            plan,
            changed,
            reports,
        });
        if before == (observed.clone(), instance.get("status").cloned()) {
            return Simulation {
                passes,
                observed,
                settled: true,
            };
        }
    }
    Simulation {
        passes,
        observed,
        settled: false,
    }
}

/// Gives a child its status; whether that is news.
fn play(child: &mut Value, status: &Value) -> bool {
    match child {
        Value::Array(children) => {
            let news: Vec<bool> = children
                .iter_mut()
                .map(|child| play(child, status))
                .collect();
            news.contains(&true)
        }
        Value::Object(fields) => {
            fields.insert("status".to_string(), status.clone()).as_ref() != Some(status)
        }
        _ => false,
    }
}

/// Does to the observed children what the API server would.
fn carry_out(kind: &CompiledKind, plan: &Plan, observed: &mut Observed) -> Vec<String> {
    let mut changed = Vec::new();
    for apply in &plan.applies {
        let mut object = apply.object.clone();
        let name = text(&object, "/metadata/name");
        let collection = kind
            .child(&apply.template)
            .is_some_and(|child| child.shape == Shape::Collection);
        let slot = observed.entry(apply.template.clone()).or_insert_with(|| {
            if collection {
                Value::Array(Vec::new())
            } else {
                Value::Null
            }
        });
        let live = match slot {
            Value::Array(children) => children
                .iter_mut()
                .find(|child| text(child, "/metadata/name") == name),
            slot => Some(slot).filter(|slot| !slot.is_null()),
        };
        match live {
            Some(live) => {
                if let Some(status) = live.get("status") {
                    object["status"] = status.clone();
                }
                if *live != object {
                    *live = object;
                    changed.push(apply.template.clone());
                }
            }
            None => {
                changed.push(apply.template.clone());
                match observed.get_mut(&apply.template) {
                    Some(Value::Array(children)) => children.push(object),
                    Some(slot) => *slot = object,
                    None => {}
                }
            }
        }
    }
    for delete in &plan.deletes {
        changed.push(delete.template.clone());
        match observed.get_mut(&delete.template) {
            Some(Value::Array(children)) => {
                children.retain(|child| text(child, "/metadata/name") != delete.name);
            }
            _ => {
                observed.remove(&delete.template);
            }
        }
    }
    let mut seen = BTreeSet::new();
    changed.retain(|name| seen.insert(name.clone()));
    changed
}
