//! Deciding what an instance becomes, within the budget. Almost every render is cheap, and is done
//! on the spot: a thread of its own would cost more than it does. One that turns out not to be is
//! broken off after a few milliseconds and done again on the pool, and from then on the instances
//! of its kind in its namespace go there at once.

use std::sync::Arc;

use engine::budget::{HINT, Limits, Meter};
use engine::children::desired::Failure;
use engine::{
    CompiledKind, Context, Observed, Place, Plan, Problem, Refusal, TemplateProblem, decide,
    halted, refused, tell, withheld,
};

use super::instance::Look;
use super::stack::Revision;
use super::{TemplateStackManager, lock};
use crate::{Error, Unfinished};

/// The work that is done on the spot: a few milliseconds.
const CHEAP: u64 = 5_000_000;

impl TemplateStackManager {
    /// What is to become of the children, given what was decided before in the same look.
    pub(super) async fn decided(
        &self,
        look: &mut Look<'_>,
        observed: &Observed,
        before: Option<(Plan, &Observed)>,
    ) -> Result<Plan, Error> {
        if let Some(plan) = self.cheaply(look, |context| {
            decide(look.kind, &look.object, observed, context, before)
        }) {
            return Ok(plan);
        }
        let (instance, observed, spent) = (look.object.clone(), observed.clone(), look.spent);
        let work = move |kind: &CompiledKind, context: &Context<'_>| {
            decide(kind, &instance, &observed, context, None)
        };
        let Some((plan, spent, over)) = self.costly(look, spent, work).await? else {
            // A verdict like any other over the budget: what was made stays, and nothing is tried
            // again until something changes.
            (look.over, look.late) = (true, true);
            return Ok(Plan {
                problems: vec![self.late()],
                ..Plan::default()
            });
        };
        (look.spent, look.over) = (spent, over);
        Ok(plan)
    }

    /// The same plan with what the status should say.
    pub(super) async fn told(
        &self,
        look: &Look<'_>,
        observed: &Observed,
        mut plan: Plan,
    ) -> Result<Plan, Error> {
        if look.late {
            return Ok(self.halted(look, plan));
        }
        let problems = plan.problems.len();
        let mut given = Some(plan);
        let mut told = None;
        let cheap = self.cheaply(look, |context| {
            let plan = given.take().unwrap_or_default();
            told = Some(tell(
                look.kind,
                &look.object,
                observed,
                context,
                plan,
                &look.failures,
            ));
        });
        plan = told.or(given).unwrap_or_default();
        if cheap.is_some() {
            return Ok(plan);
        }
        // What was said of the status so far is of no use.
        plan.problems.truncate(problems);
        (plan.status, plan.unready) = (None, None);
        plan.events.clear();
        let (instance, observed, failures) =
            (look.object.clone(), observed.clone(), look.failures.clone());
        let decided = plan.clone();
        let work = move |kind: &CompiledKind, context: &Context<'_>| {
            tell(kind, &instance, &observed, context, decided, &failures)
        };
        match self.costly(look, 0, work).await? {
            Some((plan, _, _)) => Ok(plan),
            None => {
                plan.problems.push(self.late());
                Ok(self.halted(look, plan))
            }
        }
    }

    /// What may be said of objects that could not be applied, and where they come from. Unless it
    /// is known what in the message is secret, it is withheld.
    pub(super) async fn refused(
        &self,
        look: &Look<'_>,
        observed: &Observed,
        refusals: Vec<Refusal>,
    ) -> Vec<(Option<Place>, String)> {
        let cheap = self.cheaply(look, |context| {
            refused(look.kind, &look.object, observed, context, &refusals)
        });
        if let Some(told) = cheap {
            return told;
        }
        let (instance, observed, given) = (look.object.clone(), observed.clone(), refusals.clone());
        let work = move |kind: &CompiledKind, context: &Context<'_>| {
            refused(kind, &instance, &observed, context, &given)
        };
        match self.costly(look, 0, work).await {
            Ok(Some((told, _, _))) => told,
            Ok(None) | Err(_) => {
                let told = |refusal: &Refusal| {
                    (
                        None,
                        withheld(look.kind, &refusal.template, &refusal.message),
                    )
                };
                refusals.iter().map(told).collect()
            }
        }
    }

    /// The failure of a render that did not end in time, which no single template caused.
    fn late(&self) -> TemplateProblem {
        let what = format!(
            "over budget: rendering took longer than {:?}",
            self.parts.render.time
        );
        TemplateProblem {
            template: "templates".to_owned(),
            problem: Problem::general(what).hint(HINT),
        }
    }

    /// A plan whose status cannot be rendered: what it says stays, but for the conditions.
    fn halted(&self, look: &Look<'_>, mut plan: Plan) -> Plan {
        let problem = plan
            .problems
            .first()
            .map(|own| format!("{}: {}", own.template, own.problem.short()));
        let failure = Failure {
            template: String::new(),
            reason: "RenderFailed",
            message: problem.unwrap_or_default(),
        };
        let context = Context::new(&self.parts.stack, &look.revision.seed);
        plan.status = halted(look.kind, &look.object, &context, &failure).status;
        plan
    }

    /// A context for what is done on the spot.
    fn context<'c>(&'c self, revision: &'c Revision) -> Context<'c> {
        let limits = Limits {
            work: CHEAP.min(self.parts.render.work),
            ..self.parts.render.clone()
        };
        Context {
            limits,
            ..Context::new(&self.parts.stack, &revision.seed)
        }
    }

    /// Does something on the spot, unless it is known or turns out to be costly.
    fn cheaply<T>(&self, look: &Look<'_>, work: impl FnOnce(&Context<'_>) -> T) -> Option<T> {
        // By namespace: the instances of one do not send those of others to the pool.
        let namespace = share(look);
        if lock(&look.revision.costly).contains(&(look.kind.gvk.clone(), namespace.to_owned())) {
            return None;
        }
        let context = self.context(look.revision);
        let meter = Meter::new(context.limits.clone());
        let done = work(&Context {
            meter: Some(&meter),
            ..context
        });
        if meter.over().is_none() {
            return Some(done);
        }
        tracing::debug!(kind = %look.kind.gvk, namespace, "rendering this kind is costly");
        lock(&look.revision.costly).insert((look.kind.gvk.clone(), namespace.to_owned()));
        None
    }

    /// Does something on the pool, after so much work; answers how much it is then, and whether it
    /// is too much. None if it does not end in time.
    async fn costly<T: Send + 'static>(
        &self,
        look: &Look<'_>,
        spent: u64,
        work: impl FnOnce(&CompiledKind, &Context<'_>) -> T + Send + 'static,
    ) -> Result<Option<(T, u64, bool)>, Error> {
        let (compiled, gvk) = (Arc::clone(look.compiled), look.kind.gvk.clone());
        let (stack, seed) = (self.parts.stack.clone(), look.revision.seed.clone());
        let work = move |meter: &Meter<'_>| {
            let meter = meter.resumed(spent);
            let kind = compiled.kind(&gvk)?;
            let done = work(
                kind,
                &Context {
                    meter: Some(&meter),
                    ..Context::new(&stack, &seed)
                },
            );
            Some((done, meter.work(), meter.over().is_some()))
        };
        match self
            .pool
            .run(share(look), self.parts.render.clone(), work)
            .await
        {
            Ok(Some(done)) => Ok(Some(done)),
            Ok(None) => Err(Error::NotFound(format!(
                "the stack has no templates for {}",
                look.kind.gvk
            ))),
            Err(Unfinished::Late) => Ok(None),
            Err(why @ Unfinished::Stopped) => Err(Error::Unavailable(format!(
                "cannot render {}: {why}",
                look.kind.gvk
            ))),
        }
    }
}

/// Whose share of the pool rendering an instance is: its namespace's.
fn share<'l>(look: &'l Look<'_>) -> &'l str {
    look.object["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default()
}
