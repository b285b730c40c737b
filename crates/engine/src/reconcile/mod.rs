//! Planning an instance: from the object, what is observed of its children and a seed to what has
//! to be done.

mod conditions;
mod immutable;
mod objects;
mod prune;
pub(crate) mod redaction;
mod rejection;
pub(crate) mod render;
mod reuse;
mod status;
pub(crate) mod value_structure;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::at::at;
use crate::budget::{self, Limits, Meter};
use crate::children::desired::{Failure, blamed};
use crate::compile::{Child, CompiledKind, Shape};
use crate::problem::{Place, Problem};
use crate::random::Seed;

pub use conditions::not_applied;
pub use prune::kept_by;
pub use rejection::{Refusal, hidden, refused, withheld};
pub(crate) use render::Verdict;

/// The children that are there, by template: an object, or for a collection a list of objects.
pub type Observed = BTreeMap<String, Value>;

/// What a plan takes besides the instance.
#[derive(Clone, Debug)]
pub struct Context<'c> {
    /// The name of the stack.
    pub stack: &'c str,
    /// Where drawn values come from.
    pub seed: &'c Seed,
    /// How much one plan may cost, if there is no meter.
    pub limits: Limits,
    /// What counts the cost of several plans together.
    pub meter: Option<&'c Meter<'c>>,
}

impl<'c> Context<'c> {
    /// With the usual budget for each plan, whatever time that takes.
    pub fn new(stack: &'c str, seed: &'c Seed) -> Self {
        Context {
            stack,
            seed,
            limits: budget::RENDER,
            meter: None,
        }
    }
}

/// What has to be done for an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Objects to apply, in this order.
    pub applies: Vec<Apply>,
    /// Templates that wait, and for what.
    pub holds: Vec<Hold>,
    /// Objects to delete, in this order.
    pub deletes: Vec<Delete>,
    /// What the status of the instance should be; none if there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Value>,
    /// Why the instance is not ready by its children, whether or not its status has a place for
    /// that.
    #[serde(skip)]
    pub unready: Option<Unready>,
    /// Objects whose labels name the instance though it does not own them: they are left alone, and
    /// named.
    #[serde(skip)]
    pub leftovers: Vec<String>,
    /// What is wrong, by template.
    pub problems: Vec<TemplateProblem>,
    /// What people should be told of. Nothing on the happy way: who carries plans out tells each
    /// once.
    pub events: Vec<Event>,
}

/// Why an instance is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unready {
    /// One word for programs.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
}

/// Something to tell people about an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// `Warning` or `Normal`.
    #[serde(rename = "type")]
    pub severity: &'static str,
    /// One word for programs.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
}

/// An object to apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apply {
    /// The template that made it.
    pub template: String,
    /// The object.
    pub object: Value,
    /// Whether it was in the plan before, too, and nothing has changed that it is made of.
    #[serde(skip)]
    pub is_same: bool,
}

/// A template that waits. Nothing is written for it, and nothing deleted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hold {
    /// The template.
    pub template: String,
    /// What it waits for.
    #[serde(rename = "for")]
    pub waits: Vec<Wait>,
}

/// A value that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Wait {
    /// Its path, such as `db.status.endpoint`.
    pub path: String,
    /// Where the template reads it.
    pub place: Place,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.path, self.place.short())
    }
}

/// An object to delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delete {
    /// The template that made it once.
    pub template: String,
    /// Its apiVersion.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: another object of the same name is left alone.
    pub uid: String,
}

/// A problem with one template of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateProblem {
    /// The template; `status` for that of the status.
    pub template: String,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

impl Plan {
    /// Whether every template could be rendered.
    pub fn is_complete(&self) -> bool {
        self.holds.is_empty() && self.problems.is_empty()
    }
}

/// Plans an instance.
pub fn plan(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
) -> Plan {
    let plan = decide(kind, instance, observed, context, None);
    tell(kind, instance, observed, context, plan, &[])
}

/// Plans the children of an instance, and says nothing of its status. What was decided `before` for
/// the same instance, with the children that were there then, is not decided again where nothing of
/// it can have changed.
pub fn decide(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    before: Option<(Plan, &Observed)>,
) -> Plan {
    let mut plan = Plan::default();
    let own = Meter::new(context.limits.clone());
    let renderer = render::Renderer::new(kind, instance, observed, context, &own);
    let mut before = before.map(|(plan, then)| reuse::Before::new(kind, plan, then, observed));
    let mut verdicts: BTreeMap<String, Verdict> = BTreeMap::new();
    for child in &kind.children {
        let same = before.as_mut().and_then(|before| before.verdict(child));
        let verdict = same.unwrap_or_else(|| match renderer.over() {
            // It is not to blame, and would fail at once.
            true => Verdict::Fail(Vec::new()),
            false => renderer.verdict(child, &verdicts),
        });
        verdicts.insert(child.name.clone(), verdict);
    }
    for child in &kind.children {
        match verdicts.remove(&child.name) {
            Some(Verdict::Make(objects)) => {
                shrunk(child, &objects, observed, &mut plan.deletes);
                let is_same = before.as_ref().is_some_and(|before| before.is_same(child));
                let apply = |object| Apply {
                    template: child.name.clone(),
                    object,
                    is_same,
                };
                plan.applies.extend(objects.into_iter().map(apply));
            }
            Some(Verdict::Nothing) => {
                gone(&child.name, observed.get(&child.name), &mut plan.deletes);
            }
            Some(Verdict::Wait(waits)) => plan.holds.push(Hold {
                template: child.name.clone(),
                waits,
            }),
            Some(Verdict::Fail(problems)) => {
                let named = problems.into_iter().map(|problem| TemplateProblem {
                    template: child.name.clone(),
                    problem,
                });
                plan.problems.extend(named);
            }
            None => {}
        }
    }
    // A template that is no longer in the stack: its objects go once all the others have their
    // inputs.
    if plan.is_complete() {
        for (name, value) in observed
            .iter()
            .filter(|(name, _)| kind.child(name).is_none())
        {
            gone(name, Some(value), &mut plan.deletes);
        }
    }
    // What was made last goes first.
    plan.deletes.reverse();
    plan
}

/// Adds to a plan of children what the status should say, given what of it could not be carried
/// out: in `.errors` for its template, and in its conditions.
pub fn tell(
    kind: &CompiledKind,
    instance: &Value,
    observed: &Observed,
    context: &Context<'_>,
    mut plan: Plan,
    failures: &[Failure],
) -> Plan {
    let own = Meter::new(context.limits.clone());
    let renderer = render::Renderer::new(kind, instance, observed, context, &own);
    status::add(&renderer, &mut plan, failures);
    plan.status = blamed(plan.status, &conditions::summed(failures));
    let told = |problem: &TemplateProblem| Event {
        severity: "Warning",
        reason: "RenderFailed",
        message: format!("{}: {}", problem.template, problem.problem.short()),
    };
    plan.events = plan.problems.iter().map(told).collect();
    plan
}

/// What is to be said of an instance that is not served: nothing of it is planned, and all that it
/// says stays but for its conditions.
pub fn halted(
    kind: &CompiledKind,
    instance: &Value,
    context: &Context<'_>,
    failure: &Failure,
) -> Plan {
    let observed = Observed::new();
    let own = Meter::new(context.limits.clone());
    let renderer = render::Renderer::new(kind, instance, &observed, context, &own);
    Plan {
        status: Some(status::halted(&renderer, failure)),
        ..Plan::default()
    }
}

/// Deletes everything observed of a template.
fn gone(template: &str, observed: Option<&Value>, deletes: &mut Vec<Delete>) {
    match observed {
        Some(Value::Array(objects)) => {
            deletes.extend(objects.iter().map(|object| delete(template, object)));
        }
        Some(object) => deletes.push(delete(template, object)),
        None => {}
    }
}

/// Deletes the observed objects of a collection that it no longer makes.
fn shrunk(child: &Child, made: &[Value], observed: &Observed, deletes: &mut Vec<Delete>) {
    if child.shape != Shape::Collection {
        return;
    }
    let identity = |object: &Value| {
        (
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        )
    };
    if let Some(Value::Array(objects)) = observed.get(&child.name) {
        let left = objects
            .iter()
            .filter(|object| !made.iter().any(|made| identity(made) == identity(object)));
        deletes.extend(left.map(|object| delete(&child.name, object)));
    }
}

fn delete(template: &str, object: &Value) -> Delete {
    Delete {
        template: template.to_string(),
        api_version: text(object, "/apiVersion"),
        kind: text(object, "/kind"),
        namespace: text(object, "/metadata/namespace"),
        name: text(object, "/metadata/name"),
        uid: text(object, "/metadata/uid"),
    }
}

pub(crate) fn text(object: &Value, path: &str) -> String {
    at(object, path)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_string()
}
